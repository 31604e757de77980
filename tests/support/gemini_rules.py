"""What the real Gemini answers with 400, and a client must therefore never send."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from agent.models.catalogue import GOOGLE_MODELS
from agent.sample.services import gemini
from agent.sample.services.loopback import RefusedRequest

_TOP = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings",
    "generationConfig", "cachedContent", "labels", "model",
}  # fmt: skip
_SAMPLING = ("temperature", "topP", "topK")


def check(body: Any, model: str) -> None:
    """Raise RefusedRequest for what the real service answers with 400."""
    if not isinstance(body, Mapping):
        raise RefusedRequest("Invalid JSON payload received.")
    for name in body:
        if name not in _TOP:
            raise RefusedRequest(f'Invalid JSON payload received. Unknown name "{name}"')
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise RefusedRequest("contents is not specified")
    for content in contents:
        if not content.get("parts"):
            raise RefusedRequest("contents.parts must not be empty.")
    if contents[-1].get("role") == "model":
        raise RefusedRequest("Please ensure that the last turn is a user turn.")
    _check_generation(body.get("generationConfig") or {}, model)
    _check_tools(body)
    _check_calls(contents)


def _check_generation(config: Mapping[str, Any], model: str) -> None:
    for name in _SAMPLING:
        if name in config:
            raise RefusedRequest(f"{name} is not supported by {model}.")
    thinking = config.get("thinkingConfig") or config.get("thinking_config") or {}
    level = thinking.get("thinkingLevel") or thinking.get("thinking_level")
    budget = thinking.get("thinkingBudget", thinking.get("thinking_budget"))
    if level and budget is not None:
        raise RefusedRequest("You can only set only one of thinking budget and thinking level.")
    if budget is not None and model.startswith("gemini-4"):
        raise RefusedRequest(f"Thinking budget is not supported by {model}.")
    entry = GOOGLE_MODELS.get(model)
    if level and entry and str(level).lower() not in entry.thinking:
        raise RefusedRequest(f"Thinking level {level} is not supported for this model.")
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if schema is not None and config.get("responseMimeType") != "application/json":
        raise RefusedRequest("responseSchema needs responseMimeType application/json")


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or []
    kinds = {kind for tool in tools for kind in tool}
    mixed = "functionDeclarations" in kinds and len(kinds) > 1
    config = body.get("toolConfig") or {}
    if mixed and not config.get("includeServerSideToolInvocations"):
        raise RefusedRequest(
            "Built-in tools and function calling cannot be combined in this request."
        )


def _check_calls(contents: Sequence[Mapping[str, Any]]) -> None:
    """Check that every result answers a call of the turn before it, and that none is missing."""
    for before, after in itertools.pairwise([{}, *contents]):
        results = gemini.parts_of_kind(after, "functionResponse")
        calls = gemini.parts_of_kind(before, "functionCall")
        if not results and not calls:
            continue
        if len(results) != len(calls):
            raise RefusedRequest(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        call_names = {(call.get("id"), call.get("name")) for call in calls}
        if {(r.get("id"), r.get("name")) for r in results} != call_names or None in {
            i for i, _ in call_names
        }:
            raise RefusedRequest(
                "Function response id and name must match those of the function call."
            )
        if not any(p.get("thoughtSignature") for p in before["parts"] if "functionCall" in p):
            raise RefusedRequest(
                "Function call is missing a thought_signature in functionCall parts."
            )
