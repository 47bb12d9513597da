"""What a proxy in front of one server must do, tried on one that is running.

    front.py PORT CERTIFICATE    the proxy's, for `localhost`; its server runs with --base-path /navigation,
                                 --trusted-proxy 127.0.0.1, --creations-per-second 1, and serves the console, too
"""
import concurrent.futures
import gzip
import http.client
import json
import ssl
import sys
import time

port, certificate = int(sys.argv[1]), sys.argv[2]
JSON = {"Content-Type": "application/json"}
# Addresses that no other run has used.
ONE, OTHER, THIRD = (f"127.{port >> 8}.{port & 255}.{number}" for number in (2, 3, 4))


def connect(client="127.0.0.1", protocols=("http/1.1",)):
    context = ssl.create_default_context(cafile=certificate)
    context.set_alpn_protocols(list(protocols))
    return http.client.HTTPSConnection("localhost", port, timeout=600, context=context, source_address=(client, 0))


def call(method, path, headers={}, body=None, client="127.0.0.1"):
    connection = connect(client)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def expect(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")
    print(what)


connection = connect(protocols=("h2",))
connection.connect()
expect(connection.sock.selected_alpn_protocol() == "h2", "clients may use HTTP/2, with TLS")
connection.close()
expect(call("GET", "/navigation/livez")[0].status == 200, "requests below the base path are answered")
expect(call("GET", "/livez")[0].status != 200, "and no others")
answers = [call("GET", "/navigation/livez", {"X-Request-Id": "forged"})[0] for _ in range(2)]
names = {answer.getheader("X-Request-Id") for answer in answers}
expect(len(names) == 2 and not names & {"forged", None}, "each request has an id, which the client cannot choose")
consoles = ("/navigation/console", "/navigation/%63onsole", "/navigation/%63onsol%65/api/sessions", "/navigation//console",
            "/%6eavigation/console", "/console")
for path in consoles:
    expect(call("GET", path)[0].status == 404, f"the console is not for clients at {path}")
answer, text = call("POST", "/navigation/v1/sessions", JSON, b'"' + b"x" * 100_000 + b'"')
expect(answer.status == 413 and json.loads(text)["status"] == 413, "the server refuses a body that is too large")

answer, text = call("POST", "/navigation/v1/sessions", JSON, b'{"app": "numbers"}', ONE)
place = answer.getheader("Location")
expect(answer.status == 201 and place.startswith("/navigation/v1/sessions/"), "the path of a new session has the base path")
credentials = {"Authorization": f"Bearer {json.loads(text)['token']}"}



def pretend(number):
    return call("POST", "/navigation/v1/sessions", {"X-Forwarded-For": f"203.0.113.{number}"}, client=ONE)[0].status


# Again and again, until the machine was fast enough for more than one in a second.
end, statuses = time.monotonic() + 600, []
with concurrent.futures.ThreadPoolExecutor(10) as pool:
    while 429 not in statuses and time.monotonic() < end:
        statuses = list(pool.map(pretend, range(20)))
expect(429 in statuses, "a client cannot pretend to be many with X-Forwarded-For")
expect(call("POST", "/navigation/v1/sessions", client=OTHER)[0].status == 201, "the limit is not for other clients")

connection = connect()
connection.request("GET", f"{place}/updates", headers=credentials)
stream = connection.getresponse()


def next_state():
    while not (line := stream.readline()).startswith(b"data: "):
        if not line:
            sys.exit("the stream has ended")
    return json.loads(line.removeprefix(b"data: "))["session"]["version"]


expect(stream.status == 200 and next_state() == 1, "a stream begins with the state")
answer, _ = call("POST", f"{place}/events", credentials | JSON, b'{"type": "push", "payload": 7}')
expect(answer.status == 200 and next_state() == 2, "and has each change at once")

accepts = credentials | {"Accept-Encoding": "gzip"}
answer, text = call("GET", f"{place}?include=controls", accepts)
expect(answer.getheader("Content-Encoding") == "gzip" and json.loads(gzip.decompress(text))["controls"],
       "a state is compressed, by the proxy or by the server")
tag = answer.getheader("ETag")
expect(call("GET", place, credentials | {"If-None-Match": tag})[0].status == 304, "it has not changed by its own tag")
answer, _ = call("POST", f"{place}/events", credentials | JSON | {"If-Match": tag}, b'{"type": "push", "payload": 1}')
expect(answer.status == 200, "and an event is accepted with the tag of the compressed state")
answer, text = call("POST", "/navigation/v1/sessions?include=controls", {"Accept-Encoding": "gzip"}, client=THIRD)
expect(answer.status == 201 and not answer.getheader("Content-Encoding") and json.loads(text)["token"],
       "an answer with a token is not compressed")
