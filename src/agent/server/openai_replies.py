"""Write answers in the shapes of OpenAI's API, whole or as events: chat completions, responses.

The text is the checked answer; what a run says on its way comes as reasoning. A stream gives the
answer in pieces only once it is checked, for no client takes back what it has shown.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from agent.client.run_result import RunResult
from agent.server.mcp_tools import tool_result

JsonObject = dict[str, Any]


class Reply(Protocol):
    """Write one answer; the parts of a stream are events in their order."""

    def whole(self, result: RunResult, lines: Sequence[str]) -> JsonObject: ...

    def begin(self) -> Iterator[str]: ...

    def progress(self, line: str) -> Iterator[str]: ...

    def end(self, result: RunResult) -> Iterator[str]: ...

    def failed(self, error: JsonObject) -> Iterator[str]: ...


def citations(result: RunResult) -> list[JsonObject]:
    """Return each link to a numbered source in the text: {start_index, end_index, url, title}."""
    found = []
    for source in result.sources:
        if not ((number := source.get("number")) and source.get("url")):
            continue
        link = f"[{number}]({source['url']})"
        cited = {"url": source["url"], "title": source.get("title") or source["url"]}
        start = result.answer.find(link)
        while start >= 0:
            end = start + len(link)
            found.append({"start_index": start, "end_index": end, **cited})
            start = result.answer.find(link, end)
    return sorted(found, key=lambda citation: int(citation["start_index"]))


def _further(result: RunResult) -> JsonObject:
    """Return what no field of OpenAI's holds: places, gaps, the plan, by the names of our tools."""
    structured = tool_result(result).structuredContent or {}
    return {name: value for name, value in structured.items() if name != "answer"}


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines of a text, which clients show one by one."""
    yield from text.splitlines(keepends=True)


def _data(event: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


class ChatReply:
    """Write a chat completion."""

    def __init__(self, model: str, *, include_usage: bool) -> None:
        self._usage = include_usage
        self._common = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
        }

    def whole(self, result: RunResult, lines: Sequence[str]) -> JsonObject:
        message = {
            "role": "assistant",
            "content": result.answer,
            "refusal": None,
            "reasoning_content": "".join(f"{line}\n" for line in lines),
            "annotations": self._annotations(result),
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._common,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._tokens(result),
            "tanlu": _further(result),
        }

    def begin(self) -> Iterator[str]:
        yield self._chunk({"role": "assistant", "content": ""})

    def progress(self, line: str) -> Iterator[str]:
        yield self._chunk({"reasoning_content": f"{line}\n"})

    def end(self, result: RunResult) -> Iterator[str]:
        for piece in _pieces(result.answer):
            yield self._chunk({"content": piece})
        if annotations := self._annotations(result):
            yield self._chunk({"annotations": annotations})
        yield self._chunk({}, finish_reason="stop", tanlu=_further(result))
        if self._usage:
            yield self._event([], usage=self._tokens(result))
        yield "data: [DONE]\n\n"

    def failed(self, error: JsonObject) -> Iterator[str]:
        yield _data({"error": error})
        yield "data: [DONE]\n\n"

    def _annotations(self, result: RunResult) -> list[JsonObject]:
        return [{"type": "url_citation", "url_citation": each} for each in citations(result)]

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return self._event([choice], **more)

    def _event(self, choices: Sequence[JsonObject], **more: Any) -> str:
        usage = {"usage": None} if self._usage else {}
        event = {"object": "chat.completion.chunk", "choices": choices, **usage, **more}
        return _data({**self._common, **event})

    def _tokens(self, result: RunResult) -> JsonObject:
        taken, written = result.usage["input_tokens"], result.usage["output_tokens"]
        return {
            "prompt_tokens": taken,
            "completion_tokens": written,
            "total_tokens": taken + written,
        }


class ResponseReply:
    """Write a response; its id names the thread, so that the next one can follow up."""

    def __init__(self, model: str, id: str, *, previous: str, metadata: Mapping[str, str]) -> None:
        self._number = 0
        self._reasoning_id, self._message_id = f"rs_{uuid.uuid4().hex}", f"msg_{uuid.uuid4().hex}"
        self._lines: list[str] = []
        self._common: JsonObject = {
            "id": id,
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
            "previous_response_id": previous or None,
            "metadata": dict(metadata),
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "parallel_tool_calls": False,
            "tool_choice": "none",
            "tools": [],
        }

    def whole(self, result: RunResult, lines: Sequence[str]) -> JsonObject:
        message = self._message([self._text(result)])
        return self._response("completed", [self._thought(lines), message], result)

    def begin(self) -> Iterator[str]:
        for kind in ("created", "in_progress"):
            yield self._event(f"response.{kind}", response=self._response("in_progress", []))
        yield self._item("added", 0, self._thought(()))
        place = {"item_id": self._reasoning_id, "output_index": 0, "summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        yield self._event("response.reasoning_summary_part.added", **place, part=part)

    def progress(self, line: str) -> Iterator[str]:
        self._lines.append(line)
        place = {"item_id": self._reasoning_id, "output_index": 0, "summary_index": 0}
        yield self._event("response.reasoning_summary_text.delta", **place, delta=f"{line}\n")

    def end(self, result: RunResult) -> Iterator[str]:
        yield from self._end_of_thought()
        yield self._item("added", 1, self._message([], status="in_progress"))
        place = {"item_id": self._message_id, "output_index": 1, "content_index": 0}
        empty = {"type": "output_text", "text": "", "annotations": []}
        yield self._event("response.content_part.added", **place, part=empty)
        for piece in _pieces(result.answer):
            yield self._event("response.output_text.delta", **place, delta=piece, logprobs=[])
        text = self._text(result)
        for number, annotation in enumerate(text["annotations"]):
            told = {"annotation_index": number, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **place, **told)
        yield self._event("response.output_text.done", **place, text=result.answer, logprobs=[])
        yield self._event("response.content_part.done", **place, part=text)
        yield self._item("done", 1, self._message([text]))
        response = self.whole(result, self._lines)
        yield self._event("response.completed", response=response)

    def failed(self, error: JsonObject) -> Iterator[str]:
        told = {"code": error["code"] or "server_error", "message": error["message"]}
        response = {**self._response("failed", []), "error": told}
        yield self._event("response.failed", response=response)

    def _end_of_thought(self) -> Iterator[str]:
        place = {"item_id": self._reasoning_id, "output_index": 0, "summary_index": 0}
        thought = self._thought(self._lines)
        part = thought["summary"][0] if thought["summary"] else {"type": "summary_text", "text": ""}
        yield self._event("response.reasoning_summary_text.done", **place, text=part["text"])
        yield self._event("response.reasoning_summary_part.done", **place, part=part)
        yield self._item("done", 0, thought)

    def _thought(self, lines: Sequence[str]) -> JsonObject:
        text = "".join(f"{line}\n" for line in lines)
        summary = [{"type": "summary_text", "text": text}] if text else []
        return {"id": self._reasoning_id, "type": "reasoning", "summary": summary}

    def _message(self, content: list[JsonObject], status: str = "completed") -> JsonObject:
        kind = {"type": "message", "role": "assistant", "status": status}
        return {"id": self._message_id, **kind, "content": content}

    def _text(self, result: RunResult) -> JsonObject:
        annotations = [{"type": "url_citation", **each} for each in citations(result)]
        text = {"type": "output_text", "text": result.answer, "annotations": annotations}
        return {**text, "logprobs": []}

    def _response(
        self, status: str, output: list[JsonObject], result: RunResult | None = None
    ) -> JsonObject:
        response = {**self._common, "status": status, "output": output, "usage": None}
        if result is None:
            return response
        taken, written = result.usage["input_tokens"], result.usage["output_tokens"]
        usage = {
            "input_tokens": taken,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": taken + written,
        }
        return {**response, "usage": usage, "tanlu": _further(result)}

    def _item(self, what: str, place: int, item: JsonObject) -> str:
        return self._event(f"response.output_item.{what}", output_index=place, item=item)

    def _event(self, kind: str, **fields: Any) -> str:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {kind}\n{_data(event)}"
