"""A collector: takes OTLP over HTTP as any of them does, and keeps what it was sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

from tests.support.served import serve_in_thread


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


class Collector:
    """What came; its address is `url` while it is served."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Span] = []
        self.metrics: set[str] = set()
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.app = web.Application()
        self.app.router.add_post("/v1/traces", self._traces)
        self.app.router.add_post("/v1/metrics", self._metrics)

    async def _body(self, request: web.Request) -> bytes:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.bodies.append(await request.read())
        return self.bodies[-1]

    async def _traces(self, request: web.Request) -> web.Response:
        sent = traces.ExportTraceServiceRequest.FromString(await self._body(request))
        scopes = [scope for part in sent.resource_spans for scope in part.scope_spans]
        self.spans += [_span(span, scope.schema_url) for scope in scopes for span in scope.spans]
        return _answer(traces.ExportTraceServiceResponse())

    async def _metrics(self, request: web.Request) -> web.Response:
        sent = metrics.ExportMetricsServiceRequest.FromString(await self._body(request))
        scopes = [scope for part in sent.resource_metrics for scope in part.scope_metrics]
        self.metrics |= {metric.name for scope in scopes for metric in scope.metrics}
        return _answer(metrics.ExportMetricsServiceResponse())


def _answer(message: Any) -> web.Response:
    return web.Response(body=message.SerializeToString(), content_type="application/x-protobuf")


def _span(span: Any, schema: str) -> Span:
    ids = (each.hex() for each in (span.trace_id, span.span_id, span.parent_span_id))
    seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
    attributes = {each.key: _plain(each.value) for each in span.attributes}
    return Span(span.name, *ids, seconds, span.status.code == 2, schema, attributes)


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a port of its own."""
    collector = Collector()
    with serve_in_thread(collector.app) as running:
        collector.url = running.url
        yield collector
