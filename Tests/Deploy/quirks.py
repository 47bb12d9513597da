"""What proxies do to requests and answers must break no client: each as it is shipped, and as others configure it.

    quirks.py DIRECTORY IDLE-TIME SERVER-URL COMPRESSING-SERVER-URL HASTY-SERVER-URL

The directory has certificate.pem, key.pem and both.pem, for `localhost`, and ingress.cfg, which ingress.py has printed
for the ports 1 and 2. IDLE-TIME is the default of a server's --idle-time, in seconds. The servers run with --base-path
/navigation and --trusted-proxy 127.0.0.1, the second with --compress, the third with --idle-time 5s.
"""
import atexit
import concurrent.futures
import http.client
import http.server
import itertools
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib

sys.path.append("Tests/Clients")
import gateway

directory, idle_time = pathlib.Path(sys.argv[1]), float(sys.argv[2])
plain, compressing, hasty = (address.removeprefix("http://") for address in sys.argv[3:])
LONG = 600  # Seconds; a limit that only finds hangs.
JSON = [("Content-Type", "application/json")]
GZIP = [("Accept-Encoding", "gzip")]
PUSH = b'{"type": "push", "payload": 7}'

NGINX = ["/usr/sbin/nginx", "-e", "stderr", "-p", "{home}", "-c", "{file}", "-g", "daemon off;"]
HAPROXY = ["/usr/sbin/haproxy", "-db", "-f", "{file}"]
CADDY = ["caddy", "run", "--adapter", "caddyfile", "--config", "{file}"]
FILES = [("127.0.0.1:8080", "{server}"), ("/etc/ssl/navigation", "{directory}")]
# The command of each proxy, its configuration, what the paths of the API come after, and what is other here.
PROXIES = {
    "nginx": (NGINX, "deploy/proxy/nginx.conf", "/navigation", [
        *FILES, ("/run/nginx.pid", "{home}/pid"), ("listen 443", "listen 127.0.0.1:{port}")]),
    "HAProxy": (HAPROXY, "deploy/proxy/haproxy.cfg", "/navigation", [
        *FILES, ("bind :443", "bind 127.0.0.1:{port}")]),
    "Caddy": (CADDY, "deploy/proxy/Caddyfile", "/navigation", [
        FILES[0], ("navigation.example.com {",
                   "{{\nadmin off\nauto_https disable_redirects\n}}\nhttps://localhost:{port} {{\n"
                   "bind 127.0.0.1\ntls {directory}/certificate.pem {directory}/key.pem")]),
    "nginx for replicas": (NGINX, "deploy/nginx.conf", "", [
        ("listen 8080", "listen 127.0.0.1:{port}"), ("/tmp/nginx", "{home}"), ("/dev/stdout", "/dev/stderr"),
        ("include replicas.conf", "server {server} max_fails=0")]),
    "Ingress": (HAPROXY, f"{directory}/ingress.cfg", "", [
        ("bind 127.0.0.1:1\n", "bind 127.0.0.1:{port}\n"), ("replica2 127.0.0.1:2", "replica2 {server}")]),
}
# No result may depend on the machine's speed.
LIMITS = re.compile(
    r"((?:connect|read|next_upstream|response_header)_timeout|timeout (?:connect|client|server|http-request)) \w+")

GZIP_ALL = ("server_tokens off;", "server_tokens off; gzip on; gzip_proxied any; gzip_min_length 1; gzip_types *;")
ALL_TYPES = ("compression type application/json application/problem+json", "")
CADDY_ALL = ("""\
				header Content-Type application/json*
				header Content-Type application/problem+json*
				header Cache-Control no-store
				header Cache-Control "private, no-cache"
""", "header Content-Type *\n")
OLD = ("proxy_http_version 1.1", "proxy_http_version 1.0")
SHIPPED = dict.fromkeys(PROXIES, [])
# What others configure, as edits. Only nginx can speak HTTP/1.0 to a server.
QUIRKS = {
    "as shipped": (plain, SHIPPED),
    "before a server that compresses": (compressing, SHIPPED),
    "compressing all": (plain, {
        "nginx": [GZIP_ALL], "nginx for replicas": [GZIP_ALL], "HAProxy": [ALL_TYPES], "Ingress": [ALL_TYPES],
        "Caddy": [CADDY_ALL]}),
    "speaking HTTP/1.0": (plain, {"nginx": [OLD], "nginx for replicas": [OLD]}),
}
# These hold a compressed stream back until enough has come: for seconds, or for good.
HOLDING = {("compressing all", "Caddy")}

KEPT_LONG = ("keepalive_timeout 30s", "keepalive_timeout 10m")
# How each that keeps connections keeps them longer than the server does, and which requests it then repeats when the
# server has closed the connection; others get a 502. Their clients do not know whether they have been carried out.
KEEPING_LONG = {
    "nginx": ([KEPT_LONG], ["GET"]),
    "nginx for replicas": ([KEPT_LONG], ["GET", "POST with a key"]),
    "Caddy": ([("keepalive 30s", "keepalive 10m")], ["GET"]),
}
KEY = [("Idempotency-Key", "0f8c1a7e-5b7d")]
# First what no proxy repeats: repetitions use up the connections that it has kept.
KINDS = {"POST without": ("POST", JSON, PUSH), "POST with a key": ("POST", JSON + KEY, PUSH), "GET": ("GET", [], None)}

# What a walk asks about its session, and the status of the answer.
WALK = [
    ("POST", "/events?dryRun=true", JSON, PUSH, 200),
    ("POST", "/events?include=controls", JSON + KEY, PUSH, 200),
    ("GET", "/outcomes/0f8c1a7e-5b7d", [], None, 200),
    ("POST", "/events", JSON, b'{"type": "unknown"}', 422),
    ("GET", "/history", [], None, 200),
    ("GET", "/history/1", [], None, 200),
    ("GET", "/coordinators", [], None, 200),
    ("GET", "/tokens", [], None, 200),
    ("POST", "/pairings", [], b"", 201),
    ("GET", "/unknown", [], None, 404),
    ("PUT", "", JSON, b"{}", 405),
    ("DELETE", "", [], None, 204),
    ("GET", "", [], None, 410),
]
# A field whose values come in several lines, or in one, as proxies may merge them; other fields; the answer's status.
REPEATED = [
    ("GET", "If-Match", ['"99"', "{tag}"], [], 200),
    ("GET", "If-None-Match", ['"99"', "{tag}"], [], 304),
    ("GET", "Prefer", ["respond-async", "wait=1"], [("If-None-Match", '"99"')], 200),
    ("GET", "Accept-Encoding", ["br;q=0.5", "gzip"], [], 200),
    ("GET", "X-Forwarded-For", ["203.0.113.7", "nobody"], [], 200),
    ("GET", "Cookie", ["a=1", "b=2"], [], 200),
    ("GET", "Authorization", ["Bearer {token}", "Bearer {token}"], [], 401),
    ("POST", "Idempotency-Key", ["0f8c1a7e", "5b7d11aa"], [], 400),
    ("POST", "Expect", ["100-continue"], [], 200),
    ("POST", "If-Match", ['W/"99"', "{tag}"], [], 200),
]
# nginx before 1.23 refuses several lines of these itself.
UNIQUE = {"If-Match", "If-None-Match", "Authorization"}

failures = []


def expect(place, condition, what):
    print(f"{place}: {what}" if condition else f"not so: {place}: {what}", flush=True)
    if not condition:
        failures.append(what)


def is_listening(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class Direct:
    """A server without a proxy."""

    prefix, is_safe = "/navigation", False

    def __init__(self, server):
        self.port = int(server.rpartition(":")[2])

    def connect(self):
        if not self.is_safe:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        context = ssl.create_default_context(cafile=directory / "certificate.pem")
        return http.client.HTTPSConnection("localhost", self.port, timeout=LONG, context=context)


class Proxy(Direct):
    """A proxy that is running, in front of a server."""

    def __init__(self, name, server, edits=()):
        command, file, self.prefix, places = PROXIES[name]
        self.is_safe = bool(self.prefix)
        free = subprocess.run(["bash", "-c", ". scripts/common.sh; free_port"], check=True, stdout=subprocess.PIPE)
        self.port = int(free.stdout)
        home = directory / f"proxy-{self.port}"
        home.mkdir()
        values = {"server": server, "directory": directory, "home": home, "port": self.port, "file": home / "file"}
        text = pathlib.Path(file).read_text()
        for old, new in [(old, new.format(**values)) for old, new in places] + list(edits):
            if old not in text:
                sys.exit(f"{file} has no {old!r}")
            text = text.replace(old, new)
        values["file"].write_text(LIMITS.sub(r"\1 600s", text))
        environment = os.environ | {"XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        with open(home / "log", "w") as log:
            self.process = subprocess.Popen(
                [part.format(**values) for part in command], stdout=log, stderr=log, env=environment)
        atexit.register(self.stop)
        while not is_listening(self.port):
            if self.process.poll() is not None:
                sys.exit(f"{name}: {(home / 'log').read_text()}")
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Session:
    def __init__(self, proxy):
        self.proxy, self.path, self.token = proxy, "/v1/sessions", "none"
        answer, state = self.call("POST", "?include=controls", JSON + GZIP, b'{"app": "numbers"}')
        if answer.status != 201:
            sys.exit(f"no session: {answer.status} {state}")
        self.path, self.token = f"/v1/sessions/{state['session']['id']}", state["token"]

    def open(self, method, path="", fields=(), body=None):
        """A field may be there several times."""
        connection = self.proxy.connect()
        connection.putrequest(method, self.proxy.prefix + self.path + path, skip_accept_encoding=True)
        own = [] if "Authorization" in dict(fields) else [("Authorization", f"Bearer {self.token}")]
        length = [] if body is None else [("Content-Length", str(len(body)))]
        for name, value in [*fields, *own, *length]:
            connection.putheader(name, value)
        connection.endheaders(body)
        return connection, connection.getresponse()

    def call(self, *request):
        connection, answer = self.open(*request)
        text = reader(answer)(answer.read())
        connection.close()
        return answer, json.loads(text) if "json" in answer.getheader("Content-Type", "") else None

    def tag(self):
        return self.call("GET", "", GZIP)[0].getheader("ETag")


def reader(answer):
    """Decompresses the parts of an answer's body, if they are compressed."""
    return zlib.decompressobj(31).decompress if answer.getheader("Content-Encoding") == "gzip" else bytes


def check_conditions(place, session):
    for fields in [], GZIP:
        answer, state = session.call("GET", "?include=controls", fields)
        tag = answer.getheader("ETag")
        what = f"the tag {tag} of {'a compressed' if answer.getheader('Content-Encoding') else 'an'} answer"
        expect(place, answer.status == 200 and state["controls"], f"a state has {what}")
        for accepted in [], GZIP:
            answer, _ = session.call("GET", "?include=controls", accepted + [("If-None-Match", tag)])
            expect(place, answer.status == 304, f"it has not changed by {what}")
        # Whichever comes first, the event or the request that waits for it, the answer is the same.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(session.call, "GET", "", fields + [("If-None-Match", tag), ("Prefer", "wait=50")])
            answer, state = session.call("POST", "/events", JSON + fields + [("If-Match", tag)], PUSH)
            expect(place, answer.status == 200, f"an event is accepted with {what}")
            expect(place, waiting.result()[1]["session"] == state["session"], f"who waits with {what} has its state")
        for method, path, body in ("GET", "", None), ("POST", "/events", PUSH):
            answer, problem = session.call(method, path, JSON + fields + [("If-Match", tag)], body)
            expect(place, answer.status == 412 and problem["status"] == 412, f"then {method} is refused with {what}")


def check_repeated(place, session):
    for (method, name, values, others, status), is_merged in itertools.product(REPEATED, [False, True]):
        values = [value.format(tag=session.tag(), token=session.token) for value in values]
        fields = others + [(name, line) for line in ([", ".join(values)] if is_merged else values)]
        path, body = ("", None) if method == "GET" else ("/events", PUSH)
        answer, _ = session.call(method, path, fields + JSON, body)
        is_refused = "nginx" in place and name in UNIQUE and not is_merged and answer.status == 400
        expect(place, answer.status == status or is_refused,
               f"{method} with {name}, {'merged' if is_merged else 'in lines'}, gets {answer.status}")


def check_stream(place, session, fields):
    connection, answer = session.open("GET", "/updates", fields)
    read, text = reader(answer), b""

    def next_version():
        nonlocal text
        while not (found := re.search(rb"(?m)^data: (.*)\n\n", text)):
            part = answer.read1()
            if not part:
                sys.exit(f"{place}: a stream has ended")
            text += read(part)
        text = text[found.end():]
        return json.loads(found[1])["session"]["version"]

    begun = next_version()
    coding = answer.getheader("Content-Encoding", "not compressed")
    for number in range(1, 4):
        session.call("POST", "/events", JSON, PUSH)
        expect(place, next_version() == begun + number, f"message {number} of a stream comes before the next, {coding}")
    answer.close()
    connection.close()


def check_old_client(place, session):
    proxy = session.proxy
    connection = proxy.connect()
    connection.connect()
    connection.sock.sendall(f"GET {proxy.prefix}{session.path} HTTP/1.0\r\nHost: localhost\r\n"
                            f"Authorization: Bearer {session.token}\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    expect(place, answer.status == 200 and not answer.chunked and json.loads(answer.read())["session"],
           "a client of HTTP/1.0 is answered")
    connection.close()


def check_walk(place, session):
    for method, path, fields, body, status in WALK:
        answer, found = session.call(method, path, fields + GZIP, body)
        is_whole = (found is None) == (status == 204)
        expect(place, answer.status == status and is_whole, f"{method} …{path} gets {answer.status}")


def check(quirk, name, server, edits):
    place = f"{name}, {quirk}"
    proxy = Proxy(name, server, edits) if name in PROXIES else Direct(server)
    session = Session(proxy)
    check_conditions(place, session)
    check_repeated(place, session)
    for fields in [[], GZIP][:1 if (quirk, name) in HOLDING else 2]:
        check_stream(place, session, fields)
    check_old_client(place, session)
    check_walk(place, session)


class Origin(http.server.ThreadingHTTPServer):
    """Stands for a server that closes a connection that has been idle for so long just when a request arrives on it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, idle_time):
        self.idle_time, self.together = idle_time, threading.Barrier(8)
        super().__init__(("127.0.0.1", 0), Kept)
        self.address = f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, address):
        """A proxy may close a connection as it likes."""


class Kept(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answered = None

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.answered is not None and time.monotonic() - self.answered >= self.server.idle_time:
            self.close_connection = True
            return
        if self.path.endswith("/together"):
            self.server.together.wait()
        self.answered = time.monotonic()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = answer

    def log_message(self, *arguments):
        pass


def status(connection, path, kind="GET"):
    """The answer's; `None` if there is none."""
    method, fields, body = KINDS[kind]
    try:
        connection.request(method, path, body, dict(fields))
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except ConnectionError:
        return None


def statuses(name, idle_time, edits=()):
    """The answers to each kind of request, when a server closes the connections that have been idle for so long."""
    proxy = Proxy(name, Origin(idle_time).address, edits)
    path = f"{proxy.prefix}/v1/sessions/s_0007x"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        if set(pool.map(lambda _: status(proxy.connect(), f"{path}/together"), range(8))) != {200}:
            sys.exit(f"{name} does not answer")
    time.sleep(idle_time)
    # HAProxy sends a client's first request on a new connection, and only the next ones on any that it has kept.
    found = {kind: set() for kind in KINDS}
    for kind, _ in itertools.product(KINDS, range(3)):
        connection = proxy.connect()
        found[kind] |= {status(connection, f"{path}/events", kind) for _ in range(3)}
    return found


def check_kept(name):
    found = statuses(name, idle_time)
    expect(f"{name}, as shipped", all(each == {200} for each in found.values()),
           f"no request meets the end of a connection that was idle for {idle_time:g} s: {found}")


def check_hasty(name):
    """Around the idle time of a real server, which is shorter than the proxy's."""
    session = Session(Proxy(name, hasty))
    for pause, kind in itertools.product([4.5, 5, 5.5, 7.5], KEEPING_LONG[name][1]):
        time.sleep(pause)
        method, fields, body = KINDS[kind]
        answer, _ = session.call(method, "/events" if body else "", fields, body)
        expect(f"{name}, keeping longer", answer.status == 200, f"{kind} is answered after {pause} s")


def check_failures(name):
    """What a proxy answers itself is among what the libraries of the clients are tested with."""
    forms = {form for form, _ in (gateway.JSON, gateway.HTML, gateway.EMPTY)}
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    proxy = Proxy(name, f"127.0.0.1:{reserved.getsockname()[1]}")
    for kind, (method, fields, body) in KINDS.items():
        connection = proxy.connect()
        connection.request(method, f"{proxy.prefix}/v1/sessions/s_0007x/events", body, dict(fields))
        answer = connection.getresponse()
        form = answer.getheader("Content-Type") if answer.read() else None
        expect(f"{name}, without a server", answer.status in (502, 503, 504) and form in forms,
               f"{kind} gets {answer.status}, {form}")
    reserved.close()


with concurrent.futures.ThreadPoolExecutor(2 * len(PROXIES)) as pool:
    idle = [pool.submit(check_kept, name) for name in PROXIES]
    idle += [pool.submit(check_hasty, name) for name in KEEPING_LONG]
    check("as it is", "No proxy", plain, [])
    for quirk, (server, edits) in QUIRKS.items():
        for name in edits:
            check(quirk, name, server, edits[name])
    for name, (edits, repeated) in KEEPING_LONG.items():
        found = statuses(name, 0, edits)
        for kind in KINDS:
            expect(f"{name}, keeping longer", found[kind] == ({200} if kind in repeated else {200, 502}),
                   f"{kind} gets one of {found[kind]} when the server closes the connection")
    for name in PROXIES:
        check_failures(name)
    for each in idle:
        each.result()
sys.exit(bool(failures))
