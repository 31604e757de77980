"""Read requests in Gemini's wire format as a Turn, and write answers as candidates."""

import base64
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent.models.catalogue import GOOGLE_MODELS
from agent.sample.model.request import (
    Answer,
    FunctionCall,
    GroundedSentence,
    PastMessage,
    Tool,
    ToolResult,
    Turn,
)

SIGNATURE = base64.b64encode(b"offline thought signature").decode()
_TOP = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings",
    "generationConfig", "cachedContent", "labels", "model",
}  # fmt: skip
_SAMPLING = ("temperature", "topP", "topK")


class Refused(Exception):
    """Refuse a request that breaks a rule of the API, with an error body and this status."""

    def __init__(self, message: str, status: int = 400, reason: str | None = None) -> None:
        super().__init__(message)
        self.message, self.status, self.reason = message, status, reason


def check(body: Any, model: str) -> None:
    """Raise Refused for what the real service answers with 400."""
    if not isinstance(body, Mapping):
        raise Refused("Invalid JSON payload received.")
    for name in body:
        if name not in _TOP:
            raise Refused(f'Invalid JSON payload received. Unknown name "{name}"')
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise Refused("contents is not specified")
    for content in contents:
        if not content.get("parts"):
            raise Refused("contents.parts must not be empty.")
    if contents[-1].get("role") == "model":
        raise Refused("Please ensure that the last turn is a user turn.")
    _check_generation(body.get("generationConfig") or {}, model)
    _check_tools(body)
    _check_calls(contents)


def _check_generation(config: Mapping[str, Any], model: str) -> None:
    for name in _SAMPLING:
        if name in config:
            raise Refused(f"{name} is not supported by {model}.")
    thinking = config.get("thinkingConfig") or config.get("thinking_config") or {}
    level = thinking.get("thinkingLevel") or thinking.get("thinking_level")
    budget = thinking.get("thinkingBudget", thinking.get("thinking_budget"))
    if level and budget is not None:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if budget is not None and model.startswith("gemini-4"):
        raise Refused(f"Thinking budget is not supported by {model}.")
    entry = GOOGLE_MODELS.get(model)
    if level and entry and str(level).lower() not in entry.thinking:
        raise Refused(f"Thinking level {level} is not supported for this model.")
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if schema is not None and config.get("responseMimeType") != "application/json":
        raise Refused("responseSchema needs responseMimeType application/json")


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or []
    kinds = {kind for tool in tools for kind in tool}
    mixed = "functionDeclarations" in kinds and len(kinds) > 1
    config = body.get("toolConfig") or {}
    if mixed and not config.get("includeServerSideToolInvocations"):
        raise Refused("Built-in tools and function calling cannot be combined in this request.")


def _check_calls(contents: Sequence[Mapping[str, Any]]) -> None:
    """Check that every result answers a call of the turn before it, and that none is missing."""
    for before, after in itertools.pairwise([{}, *contents]):
        results = _of(after, "functionResponse")
        calls = _of(before, "functionCall")
        if not results and not calls:
            continue
        if len(results) != len(calls):
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        call_names = {(call.get("id"), call.get("name")) for call in calls}
        if {(r.get("id"), r.get("name")) for r in results} != call_names or None in {
            i for i, _ in call_names
        }:
            raise Refused("Function response id and name must match those of the function call.")
        if not any(p.get("thoughtSignature") for p in before["parts"] if "functionCall" in p):
            raise Refused("Function call is missing a thought_signature in functionCall parts.")


def _of(content: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [part[kind] for part in content.get("parts") or () if kind in part]


def read(body: Mapping[str, Any], model: str) -> Turn:
    """Return the request as a Turn."""
    contents = body["contents"]
    last = max(
        (i for i, c in enumerate(contents) if c.get("role") != "model" and _text(c)), default=-1
    )
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    wants_json = config.get("responseMimeType") == "application/json"
    tools = body.get("tools") or []
    return Turn(
        system=_text(body.get("systemInstruction") or {}),
        user=_text(contents[last]) if last >= 0 else "",
        history=tuple(_past(c) for i, c in enumerate(contents) if i != last and _is_said(c)),
        tools=tuple(
            Tool(f["name"], f.get("description", ""), _parameters(f))
            for tool in tools
            for f in tool.get("functionDeclarations") or ()
        ),
        tool_results=tuple(
            ToolResult(r["name"], _result(r.get("response")), r.get("id") or "")
            for content in contents[last + 1 :]
            for r in _of(content, "functionResponse")
        ),
        schema=schema if schema is not None else {} if wants_json else None,
        search=any("googleSearch" in tool for tool in tools),
        model=model,
    )


def _is_said(content: Mapping[str, Any]) -> bool:
    return bool(_text(content) or _of(content, "functionCall"))


def _past(content: Mapping[str, Any]) -> PastMessage:
    calls = tuple(
        FunctionCall(c["name"], c.get("args") or {}, c.get("id") or "")
        for c in _of(content, "functionCall")
    )
    return PastMessage("model" if content.get("role") == "model" else "user", _text(content), calls)


def _text(content: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content.get("parts") or ())


def _parameters(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return declaration.get("parametersJsonSchema") or declaration.get("parameters") or {}


def _result(response: Any) -> str:
    """Return the text of a result; LangChain wraps what is not an object as {"output": …}."""
    if isinstance(response, Mapping) and set(response) == {"output"}:
        response = response["output"]
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def write(answer: Answer, ids: Iterator[int]) -> dict[str, Any]:
    """Return the answer as a candidate (parts, finishReason, groundingMetadata)."""
    candidate: dict[str, Any] = {"finishReason": answer.finish, "index": 0}
    parts: list[dict[str, Any]] = []
    if answer.calls:
        parts = [
            {"functionCall": {"name": c.name, "args": c.args, "id": c.id or f"call-{next(ids)}"}}
            for c in answer.calls
        ]
        parts[0]["thoughtSignature"] = SIGNATURE
    elif answer.grounded is not None:
        parts = [{"text": "".join(sentence.text for sentence in answer.grounded)}]
        candidate["groundingMetadata"] = grounding_metadata([answer.grounded], answer.queries)
    elif answer.json is not None:
        parts = [{"text": json.dumps(answer.json, ensure_ascii=False)}]
    elif answer.text is not None:
        parts = [{"text": answer.text}]
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    return candidate


def grounding_metadata(
    parts: Sequence[Iterable[GroundedSentence]], queries: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the grounding metadata of parts made of sentences; offsets are UTF-8 bytes."""
    chunks: dict[str, dict[str, Any]] = {}
    supports: list[dict[str, Any]] = []
    for index, sentences in enumerate(parts):
        at = 0
        for sentence in sentences:
            start, at = at, at + len(sentence.text.encode("utf-8", "replace"))
            if not sentence.pages:
                continue
            for page in sentence.pages:
                chunks.setdefault(page.uri, {"web": {"uri": page.uri, "title": page.title}})
            segment = {"partIndex": index, "startIndex": start, "endIndex": at}
            supports.append(
                {
                    "segment": {k: v for k, v in segment.items() if v} | {"text": sentence.text},
                    "groundingChunkIndices": [list(chunks).index(p.uri) for p in sentence.pages],
                }
            )
    metadata: dict[str, Any] = {"webSearchQueries": list(queries)}
    if queries:
        chips = "".join(f'<a class="chip">{_escape(query)}</a>' for query in queries)
        metadata["searchEntryPoint"] = {"renderedContent": f'<div class="chips">{chips}</div>'}
    if chunks:
        metadata |= {"groundingChunks": list(chunks.values()), "groundingSupports": supports}
    return metadata


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def tokens(value: Any) -> int:
    """Return the tokens of a value, at about four bytes each."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return -(-len(text.encode("utf-8", "replace")) // 4) if text else 0
