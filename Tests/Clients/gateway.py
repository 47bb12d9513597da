"""A gateway that forwards requests, and answers some of them itself after the server has carried them out: in JSON, in
HTML, with nothing, with half of the answer.

`plan(request)` chooses what happens to a request: None forwards it and its answer. By default the first sending of each
POST gets an error, in JSON and in HTML by turns.
"""

import http.client
import http.server
import itertools
import threading
import time
import urllib.parse

JSON = ("application/json", b'{"message": "Bad Gateway", "type": "about:blank", "status": 502, "detail": ""}')
HTML = ("text/html", b"<html><h1>Bad Gateway</h1></html>")
EMPTY = (None, b"")
# Besides (status, (type, text)), the answer of the gateway itself:
HALF = "half of the answer"
NOTHING = "no answer"
UNSENT = "neither forwarded nor answered"
# Or a function, which is called when the server has answered; that answer is lost.


class Request:
    def __init__(self, method, path, key, body):
        self.method, self.path, self.key, self.body = method, path, key, body
        self.status, self.answer = None, None


def first_posts():
    """Loses the answer to the first sending of each POST."""
    seen, errors = set(), itertools.cycle([(502, JSON), (502, HTML)])

    def plan(request):
        if request.method == "POST" and request.key not in seen:
            seen.add(request.key)
            return next(errors)

    return plan


class Gateway:
    """`server` is the address of the server, or a function that returns it. `lost` counts the answers that did not get
    through. `latency` is added to each request, in seconds, half of it on either way. `requests` are those that have
    arrived."""

    def __init__(self, server, plan=None, latency=0):
        plan, find = plan or first_posts(), server if callable(server) else lambda: server
        self.lost, self.requests = 0, []
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.command, self.path, self.headers.get("Idempotency-Key"), body)
                gateway.requests.append(request)
                time.sleep(latency / 2)
                fault = plan(request)
                if fault:
                    gateway.lost += 1
                if fault == UNSENT:
                    return self.cut()
                there = http.client.HTTPConnection(urllib.parse.urlsplit(find()).netloc)
                try:
                    there.request(self.command, self.path, body or None, dict(self.headers))
                    answer = there.getresponse()
                    is_stream = answer.getheader("Content-Type", "").startswith("text/event-stream") and not fault
                    text = None if is_stream else answer.read()
                    request.status, request.answer = answer.status, text
                except (OSError, http.client.HTTPException):
                    return self.cut()
                time.sleep(latency / 2)
                fields = [(name, value) for name, value in answer.getheaders() if name not in ("Transfer-Encoding", "Connection")]
                if is_stream:
                    self.close_connection = True
                    self.send(answer.status, fields, iter(lambda: answer.read1(65536), b""))
                elif fault == NOTHING:
                    self.cut()
                elif callable(fault):
                    fault()
                    self.cut()
                elif fault == HALF:
                    self.send(answer.status, fields, [text[:len(text) // 2]])
                    self.cut()
                elif fault:
                    status, (form, text) = fault
                    self.send(status, [("Content-Type", form)] * bool(form) + [("Content-Length", str(len(text)))], [text])
                else:
                    self.send(answer.status, fields, [text])

            def send(self, status, fields, parts):
                self.send_response_only(status)
                for name, value in fields:
                    self.send_header(name, value)
                try:
                    self.end_headers()
                    for part in parts:
                        self.wfile.write(part)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            def cut(self):
                self.close_connection = True

            do_GET = do_POST = do_DELETE = forward

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
