"""A collector: takes OTLP over HTTP as any of them does, and keeps what it was sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass
class Span:
    """One span as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    seconds: float
    failed: bool
    schema: str
    attributes: dict[str, Any]


@dataclass
class Collector:
    url: str = ""
    spans: list[Span] = field(default_factory=list)
    metrics: set[str] = field(default_factory=set)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> bytes | None:
        """Read one request; None for what no collector has an address for."""
        self.headers.append(headers)
        body = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        self.bodies.append(body)
        if path == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            self.spans += [
                _span(span, scope.schema_url)
                for part in request.resource_spans
                for scope in part.scope_spans
                for span in scope.spans
            ]
            return ExportTraceServiceResponse().SerializeToString()
        if path == "/v1/metrics":
            metrics = ExportMetricsServiceRequest.FromString(body)
            self.metrics |= {
                metric.name
                for part in metrics.resource_metrics
                for scope in part.scope_metrics
                for metric in scope.metrics
            }
            return ExportMetricsServiceResponse().SerializeToString()
        return None


def _span(span: Any, schema: str) -> Span:
    return Span(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        span.status.code == 2,
        schema,
        {each.key: _plain(each.value) for each in span.attributes},
    )


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a port of its own."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers["content-length"]))
            answer = collector.take(self.path, headers, body)
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield collector
        server.shutdown()
        thread.join()
