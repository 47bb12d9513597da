"""A gateway that forwards requests, and answers the first sending of each POST with an error of its own, after the server
has carried it out: in JSON and in HTML by turns."""

import http.client
import http.server
import itertools
import threading
import urllib.parse

ERRORS = [("application/json", b'{"message": "Bad Gateway", "type": "about:blank", "status": 502, "detail": ""}'),
          ("text/html", b"<html><h1>502 Bad Gateway</h1></html>")]


class Gateway:
    def __init__(self, server):
        seen, errors, address = set(), itertools.cycle(ERRORS), urllib.parse.urlsplit(server)
        self.lost = 0
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                there = http.client.HTTPConnection(address.hostname, address.port)
                there.request(self.command, self.path, body or None, dict(self.headers))
                answer = there.getresponse()
                key = self.headers.get("Idempotency-Key")
                if self.command == "POST" and key not in seen:
                    seen.add(key)
                    gateway.lost += 1
                    answer.read()
                    form, text = next(errors)
                    return self.send(502, [("Content-Type", form), ("Content-Length", str(len(text)))], [text])
                isStream = answer.getheader("Content-Type", "").startswith("text/event-stream")
                fields = [(name, value) for name, value in answer.getheaders() if name not in ("Transfer-Encoding", "Connection")]
                self.close_connection = isStream
                self.send(answer.status, fields, iter(lambda: answer.read1(65536), b"") if isStream else [answer.read()])

            def send(self, status, fields, parts):
                self.send_response_only(status)
                for name, value in fields:
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for part in parts:
                        self.wfile.write(part)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_DELETE = forward

            def log_message(self, *_):
                pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
