"""What a proxy in front of replicas must do, tried on one that is running, with stand-ins for three replicas.

    proxy.py PROXY-PORT REPLICA-PORT REPLICA-PORT REPLICA-PORT
"""
import collections
import http.client
import http.server
import json
import sys
import threading

proxy_port, *replica_ports = (int(argument) for argument in sys.argv[1:])
KEY = {"Idempotency-Key": "0f8c1a7e-5b7d"}


class Replica(http.server.ThreadingHTTPServer):
    """Answers with its number, is full, cuts the connection when it has read a request, or does not listen."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, number, port):
        self.number, self.port = number, port
        self.mode = "serving"
        self.requests = []
        self.goes_on = threading.Event()
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, address):
        """A proxy may hang up as soon as it has read the status."""

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self):
        replica = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        replica.requests.append((self.command, self.path, self.headers, body))
        if replica.mode == "cutting":
            self.close_connection = True
            return
        if self.path.endswith("/updates"):
            return self.stream()
        status = 503 if replica.mode == "full" else 200
        text = json.dumps({"replica": replica.number}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        # A stand-in that stops closes its listening socket only: no connection may be kept.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def stream(self):
        self.send_response(200)
        self.send_header("X-Accel-Buffering", "no")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: 1\n\n")
        self.wfile.flush()
        self.server.goes_on.wait()
        self.wfile.write(b"data: 2\n\n")

    do_GET = do_POST = answer


def call(method, path, headers={}, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", proxy_port, timeout=600)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)["replica"] if text.startswith(b"{") else None


def expect(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")
    print(what)


def session(number):
    return f"/v1/sessions/s_{number:04}x"


def homes():
    """Which replica serves each session."""
    return {number: call("GET", session(number)) for number in range(60)}


replicas = {number: Replica(number, port) for number, port in enumerate(replica_ports)}
before = homes()
expect(all(status == 200 for status, _ in before.values()), "requests are answered")
expect(set(replica for _, replica in before.values()) == {0, 1, 2}, "sessions are on all replicas")
expect(homes() == before, "a session stays on its replica")
expect(
    all(
        call("POST", session(number) + "/events?dryRun=true", KEY, b"{}") == home
        and call("GET", session(number) + "/history/7") == home
        for number, home in before.items()),
    "whatever is asked about it")

for replica in replicas.values():
    replica.requests.clear()
connection = http.client.HTTPConnection("127.0.0.1", proxy_port, timeout=600)
connection.request("GET", "/console/api/sessions")
status = connection.getresponse().status
connection.close()
expect(status == 404 and not any(replica.requests for replica in replicas.values()), "the console is not for clients")

creations = collections.Counter(call("POST", "/v1/sessions", body=b"{}") for _ in range(60))
expect(len(creations) == 3 and all(status == 200 for status, _ in creations), "creations go to all replicas")

mine = next(number for number, (_, replica) in before.items() if replica == 1)
event = session(mine) + "/events"
replicas[1].requests.clear()
call("POST", event, {"X-Forwarded-For": "203.0.113.7", "X-Request-Id": "forged"} | KEY, b"x" * 60_000)
_, _, headers, body = replicas[1].requests[-1]
addresses = ",".join(headers.get_all("X-Forwarded-For")).replace(" ", "")
expect(addresses == "203.0.113.7,127.0.0.1", "the client's address is appended")
ids = headers.get_all("X-Request-Id")
expect(len(ids) == 1 and ids != ["forged"], "the request has an id, which the client cannot choose")
expect(headers["Idempotency-Key"] == KEY["Idempotency-Key"], "the client's other fields arrive")
expect(len(body) == 60_000, "the body arrives")


def posts():
    return [path for replica in replicas.values() for method, path, *_ in replica.requests if method == "POST"]


def forget():
    for replica in replicas.values():
        replica.requests.clear()


for mode, status in ("full", 503), ("cutting", 502):
    replicas[1].mode = mode
    forget()
    expect(call("GET", session(mine))[0] == 200, f"{mode}: another replica is asked to read")
    expect(call("POST", event, KEY, b"{}")[0] == 200, f"{mode}: another replica gets an event with a key")
    expect(len(posts()) >= 2, f"{mode}: after this one")
    forget()
    expect(call("POST", event, {}, b"{}")[0] == status, f"{mode}: an event without a key gets {status}")
    expect(len(posts()) == 1, f"{mode}: and is sent once")
    others = {number: home for number, home in before.items() if home[1] != 1}
    expect({number: home for number, home in homes().items() if number in others} == others,
           f"{mode}: the other sessions stay where they are")
    replicas[1].mode = "serving"

for replica in replicas.values():
    replica.mode = "full"
expect(call("GET", session(mine))[0] == 503, "all full: the replicas' own answer")
for replica in replicas.values():
    replica.mode = "serving"

expect(homes() == before, "a replica that serves again has its sessions again")

replicas[1].stop()
during = homes()
expect(all(status == 200 for status, _ in during.values()), "without a replica, the others serve its sessions")
expect(all(during[number] == home for number, home in before.items() if home[1] != 1), "and keep their own")
expect(call("POST", event, {}, b"{}")[0] == 200, "an event without a key that could not be sent goes to another one")
replicas[1] = Replica(1, replica_ports[1])

connection = http.client.HTTPConnection("127.0.0.1", proxy_port, timeout=600)
connection.request("GET", session(mine) + "/updates")
answer = connection.getresponse()
expect(answer.readline() == b"data: 1\n", "a stream is passed on while it is being sent")
for replica in replicas.values():
    replica.goes_on.set()
expect(answer.read() == b"\ndata: 2\n\n", "until its end")
