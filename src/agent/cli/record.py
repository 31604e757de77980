"""Keep the record of a run: prompts, replies, tool calls and verdicts, readable or as one object.

The readable one goes into `--log-file` between the log's lines, the object into `--trace-dir`.
Everything is scrubbed. With `--url` the calls are the server's, and only the result is known here.
"""

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.batch.disk import TraceFolder
from agent.cli.environment import NO_RUN, RUN_ID
from agent.client.run_result import RunResult
from agent.core.errors import AgentError
from agent.core.outside import parse_json
from agent.core.redaction import scrub, scrub_values
from agent.core.telemetry import Event, Exchange, listening

log = logging.getLogger(__name__)
_RULE = "─" * 72


class RunRecord:
    """Collect the calls of one `tanlu ask`, and write them with its outcome."""

    def __init__(self, folder: TraceFolder | None) -> None:
        self._folder = folder
        self._calls: list[Exchange] = []

    @contextlib.contextmanager
    def listening(self, *, log_file: bool) -> Iterator[None]:
        """Collect the calls while the run lasts; with `log_file` also log them."""

        def collect(exchange: Event) -> None:
            if not isinstance(exchange, Exchange):
                return
            if log_file:
                log.info("%s\n%s", exchange.provider, readable_call(exchange))
            # A command may bring other runs to their end besides its own.
            if RUN_ID.get() != NO_RUN:
                self._calls.append(exchange)

        with listening(collect) if log_file or self._folder else contextlib.nullcontext():
            yield

    def finish(self, outcome: RunResult) -> Path | None:
        """Write the record of an answered run; return the trace's path."""
        result = {"checks": outcome.checks, "usage": outcome.usage, "gaps": outcome.gaps}
        log.info("run ended: %s\n%s", outcome.run_id, _block("result", [
            ("answer", outcome.answer), ("figures", _pretty(result)),
        ]))  # fmt: skip
        run = {"question": outcome.question, **outcome.as_json()}
        return self._write(outcome.run_id, run, outcome.state)

    def fail(self, thread_id: str, error: AgentError) -> Path | None:
        """Write the record of a run without an answer; return the trace's path."""
        return self._write(thread_id, {"thread_id": thread_id, "error": error.message}, {})

    def _write(self, name: str, run: Mapping[str, Any], state: Mapping[str, Any]) -> Path | None:
        if self._folder is None:
            return None
        steps = {key: value for key, value in state.items() if key != "messages"}
        trace = {**run, "state": steps, "calls": [_readable_call(call) for call in self._calls]}
        self._folder.write(name, scrub_values(trace))
        return self._folder.path(name)


def readable_call(exchange: Exchange) -> str:
    """Return one call as text: its request part by part, and its reply."""
    call = _readable_call(exchange)
    parts = [(name, text) for name, text in call.items() if name not in ("provider", "seconds")]
    if messages := call.get("messages"):
        parts = [(role, text) for role, text in messages] + parts
    sections = [(name, value if isinstance(value, str) else _pretty(value))
             for name, value in parts if name != "messages" and value]  # fmt: skip
    return scrub(_block(f"{call['provider']} · {call['seconds']:.2f} s", sections))


def _readable_call(exchange: Exchange) -> dict[str, Any]:
    """Return a call as plain values; a model's messages and reply in their own words."""
    call = {name: getattr(exchange, name) for name in ("provider", "request", "reply", "problem")}
    call["seconds"] = round(exchange.seconds, 3)
    request = call["request"]
    if isinstance(request, Mapping) and "messages" in request:
        call["messages"] = [_message(message) for message in request["messages"]]
        call["request"] = {name: value for name, value in request.items() if name != "messages"}
        call["reply"], call["tool_calls"] = _reply(exchange.reply)
    return call


def _message(message: Any) -> tuple[str, Any]:
    """Return role and text of a message of a request; tool calls follow the text."""
    role, content, *calls = message
    text = content if isinstance(content, str) else _pretty(content)
    return str(role), "\n".join([text, *(_pretty(call) for call in calls if call)])


def _reply(text: str) -> tuple[str, list[Any]]:
    """Return the words and the tool calls of a model's reply as it is kept; else the text."""
    try:
        reply = parse_json(text)
        return str(reply["text"]), list(reply["message"]["data"].get("tool_calls") or [])
    except (ValueError, KeyError, TypeError, AttributeError):
        return text, []


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _block(title: str, parts: list[tuple[str, str]]) -> str:
    texts = [f"[{name}]\n{text.strip()}" for name, text in parts]
    return "\n".join([_RULE, title, *texts, _RULE])
