"""Send traces and metrics by OTLP over HTTP (`tanlu[otel]`, TANLU_OTLP_ENDPOINT).

One trace a turn, whichever processes work on it: the trace's id is the turn's. Names are those of
OpenTelemetry's GenAI semantic conventions 1.41. Neither questions nor answers, requests, replies,
errors' texts or keys are in it: what a span says is listed here, field by field.
"""

import asyncio
import contextlib
import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.core.errors import ConfigurationError
from agent.core.redaction import hide
from agent.core.telemetry import STEP, Event, Exchange, NodeStep, RunEnd, StepEnd, listening

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)
CONVENTIONS = "https://opentelemetry.io/schemas/1.41.0"
_ENDPOINT, _HEADERS = "TANLU_OTLP_ENDPOINT", "TANLU_OTLP_HEADERS"
_SCOPE = "tanlu"
_TIMEOUT = 10.0
"""Seconds for one export, its retries included; and for what is left at the end."""
_METRIC_SECONDS = 60
_DURATION_BUCKETS = [0.01 * 2**n for n in range(14)]
_TOKEN_BUCKETS = [4**n for n in range(14)]
_PROVIDERS = {"google": "gcp.gemini", "openai": "openai"}
_EXPORTERS = "opentelemetry.exporter.otlp"


_HEXADECIMAL = frozenset("0123456789abcdef")
_TRACE_LENGTH = 32


def _is_trace_id(text: str) -> bool:
    return len(text) == _TRACE_LENGTH and _HEXADECIMAL.issuperset(text)


class _NextIds:
    """Give the next span of this thread the ids that were chosen for it."""

    def __init__(self) -> None:
        self.chosen = threading.local()

    def generate_trace_id(self) -> int:
        return int(self.chosen.trace)

    def generate_span_id(self) -> int:
        return int(self.chosen.span)

    def is_trace_id_random(self) -> bool:
        return False


class _Losses(logging.Handler):
    """Say once that the collector cannot be reached, in place of each batch that is lost."""

    def __init__(self, where: str) -> None:
        super().__init__(logging.WARNING)
        self._where, self._was_told = where, False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._was_told:
            self._was_told = True
            log.warning("%s: traces do not arrive at %s", _ENDPOINT, self._where)


class Tracing:
    """Send what this process tells of runs, from its construction until it is closed.

    Raises ConfigurationError for an address or headers that cannot be such, or where the libraries
    are missing.
    """

    def __init__(self, endpoint: str, headers: SecretStr | None = None) -> None:
        try:
            import_module("opentelemetry.exporter.otlp.proto.http")
        except ImportError:
            needed = 'needs the extra: `pip install "tanlu[otel]"`'
            raise ConfigurationError(_ENDPOINT, needed) from None
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(_ENDPOINT, "is no address of the form http://host:4318")
        sent = _headers(headers)
        self._ids = _NextIds()
        self._losses = _Losses(parts.hostname)
        logger = logging.getLogger(_EXPORTERS)
        logger.addHandler(self._losses)
        logger.propagate = False
        self._spans = self._tracer_provider(f"{endpoint.rstrip('/')}/v1/traces", sent)
        self._metrics = self._meter_provider(f"{endpoint.rstrip('/')}/v1/metrics", sent)
        self._tracer = self._spans.get_tracer(_SCOPE, schema_url=CONVENTIONS)
        self._create_instruments()
        self._listening = contextlib.ExitStack()
        self._listening.enter_context(listening(self._note))

    def _tracer_provider(self, url: str, headers: Mapping[str, str]) -> "TracerProvider":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=_resource(),
            id_generator=self._ids,  # type: ignore[arg-type]
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(url, headers=dict(headers), timeout=_TIMEOUT)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return provider

    def _meter_provider(self, url: str, headers: Mapping[str, str]) -> "MeterProvider":
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        exporter = OTLPMetricExporter(url, headers=dict(headers), timeout=_TIMEOUT)
        reader = PeriodicExportingMetricReader(exporter, _METRIC_SECONDS * 1000)
        return MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)

    def _create_instruments(self) -> None:
        meter = self._metrics.get_meter(_SCOPE, schema_url=CONVENTIONS)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_DURATION_BUCKETS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        )

    def _note(self, event: Event) -> None:
        if isinstance(event, Exchange):
            self._note_call(event)
        elif isinstance(event, StepEnd):
            step = event.step
            attributes = {"langgraph.node": step.node, "error.type": event.code}
            trace = trace_of(step)
            self._span(
                step.node,
                trace,
                step.id,
                root_of(trace),
                began=step.began_at,
                attributes=attributes,
            )
        elif isinstance(event, RunEnd) and event.status != "paused":
            self._note_run(event)

    def _note_call(self, call: Exchange) -> None:
        name, attributes, is_model = span_of_call(call)
        if is_model and not call.reused:
            self._measure(call, attributes)
        if (step := STEP.get()) is None:
            return
        if not step.turn_id and _is_trace_id(call.turn_id):
            step.turn_id = call.turn_id
        began = time.time() - call.seconds
        self._span(
            name, trace_of(step), secrets.token_hex(8), step.id,
            began=began, attributes=attributes, is_client=is_model,
        )  # fmt: skip

    def _note_run(self, end: RunEnd) -> None:
        step, trace = end.step, trace_of(end.step)
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": step.assistant,
            "gen_ai.conversation.id": step.thread_id,
            "session.id": step.thread_id,
            "user.id": step.owner,
            "tanlu.run.id": step.run_id,
            "tanlu.run.status": end.status,
            "tanlu.gaps": sorted(set(end.gaps)),
            "error.type": "" if end.status == "success" else end.status,
        }
        began = time.time() - end.seconds
        self._span(
            f"invoke_agent {step.assistant}",
            trace,
            root_of(trace),
            "",
            began=began,
            attributes=attributes,
        )

    def _measure(self, call: Exchange, attributes: Mapping[str, Any]) -> None:
        kept = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model",
                "gen_ai.response.model", "error.type")  # fmt: skip
        labels = {name: attributes[name] for name in kept if attributes.get(name)}
        self._duration.record(call.seconds, labels)
        for kind, count in (("input", call.tokens.input), ("output", call.tokens.output)):
            if count:
                self._tokens.record(count, {**labels, "gen_ai.token.type": kind})

    def _span(
        self,
        name: str,
        trace: str,
        span: str,
        parent: str,
        *,
        began: float,
        attributes: Mapping[str, Any],
        is_client: bool = False,
    ) -> None:
        """Make a span that ends now; `began` in seconds since 1970, ids as hexadecimal text."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        if not _is_trace_id(trace):
            return
        self._ids.chosen.trace, self._ids.chosen.span = int(trace, 16), int(span, 16)
        made = self._tracer.start_span(
            name,
            context=_within(trace, parent),
            kind=SpanKind.CLIENT if is_client else SpanKind.INTERNAL,
            attributes={key: value for key, value in attributes.items() if value},
            start_time=int(began * 1e9),
        )
        if attributes.get("error.type"):
            made.set_status(Status(StatusCode.ERROR))
        made.end()

    async def aclose(self) -> None:
        """Stop listening, and send what is left."""
        self._listening.close()
        await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        self._spans.force_flush(int(_TIMEOUT * 1000))
        self._spans.shutdown()
        self._metrics.shutdown(_TIMEOUT * 1000)
        logger = logging.getLogger(_EXPORTERS)
        logger.removeHandler(self._losses)
        logger.propagate = True


def span_of_call(call: Exchange) -> tuple[str, dict[str, Any], bool]:
    """Return a call's name and attributes, and if it was a model's; nothing of its content."""
    service, _, vendor = call.provider.partition(":")
    request = call.request if isinstance(call.request, Mapping) else {}
    attributes: dict[str, Any] = {"error.type": call.code, "tanlu.retries": len(call.retried),
              "tanlu.reused": call.reused}  # fmt: skip
    if service not in ("model", "embed"):
        tool = str(request.get("tool") or call.provider)
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
                   "gen_ai.tool.type": "extension"}  # fmt: skip
        return f"execute_tool {tool}", attributes, False
    operation, model = ("chat" if service == "model" else "embeddings"), request.get("model", "")
    attributes |= {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(vendor, vendor),
        "gen_ai.request.model": model,
        "gen_ai.response.model": call.tokens.served_by.removeprefix("models/"),
        "gen_ai.usage.input_tokens": call.tokens.input,
        "gen_ai.usage.output_tokens": call.tokens.output,
        "gen_ai.output.type": "json" if request.get("schema") else "",
    }
    return f"{operation} {model}", attributes, True


def trace_of(step: NodeStep) -> str:
    """Return the trace's id: the turn's, or the run's where none was opened."""
    return step.turn_id or step.run_id.replace("-", "")


def root_of(trace: str) -> str:
    """Return the id of the span that all others of a trace are below."""
    return hashlib.sha256(trace.encode()).hexdigest()[:16]


def _within(trace: str, parent: str) -> Any:
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if not parent:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED)
    place = SpanContext(int(trace, 16), int(parent, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(place), Context())


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource.create({"service.name": "tanlu"})


def _headers(secret: SecretStr | None) -> dict[str, str]:
    """Return the headers of `name=value,name=value`; their values are never shown."""
    headers = {}
    for part in (secret.get_secret_value() if secret else "").split(","):
        name, equals, value = part.strip().partition("=")
        if part.strip() and not (name and equals and value):
            raise ConfigurationError(_HEADERS, "must be name=value,name=value")
        if value:
            hide(value)
            headers[name.strip().lower()] = value.strip()
    return headers
