"""A collector that reads every request by OpenTelemetry's own definition: a name or a type that the definition does not
have is an error. It writes the name of each span to standard error when it arrives. At the end of its input it prints a
line for each span, and ends with an error if a request was wrong.

python collector.py PORT
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
spans, faults = [], []


def with_base64(value):
    """Ids are hexadecimal digits in OTLP, unlike the bytes of other JSON of protobuf."""
    if isinstance(value, list):
        return [with_base64(element) for element in value]
    if not isinstance(value, dict):
        return value
    changed = {}
    for name, member in value.items():
        if name in IDS:
            number = bytes.fromhex(member)
            if len(number) != IDS[name] or not any(number):
                raise ValueError(f"{name} is {member}")
            changed[name] = base64.b64encode(number).decode()
        else:
            changed[name] = with_base64(member)
    return changed


def read(body):
    request = ExportTraceServiceRequest()
    json_format.ParseDict(with_base64(json.loads(body)), request)
    for resource in request.resource_spans:
        service = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
        if not service.get("service.name"):
            raise ValueError("no service.name")
        for scope in resource.scope_spans:
            for span in scope.spans:
                if not span.name or not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
                    raise ValueError(f"a span without a name or a time: {span}")
                spans.append(span)
                print(span.name, file=sys.stderr, flush=True)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/json":
                raise ValueError(f"{self.path}, {self.headers['Content-Type']}")
            read(body)
        except Exception as error:
            faults.append(f"{error}: {body.decode()[:1000]}")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
server.shutdown()
names = {span.span_id: span.name for span in spans}
for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
    parent = names.get(span.parent_span_id, span.parent_span_id.hex())
    print(span.trace_id.hex(), Span.SpanKind.Name(span.kind), span.name, "in", parent or "nothing")
if faults:
    sys.exit("\n".join(faults))
