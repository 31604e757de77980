"""Checks of a reply that arrived: its structure, and whether another attempt is worth it."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from agent.core.calls import may_pass
from agent.core.errors import MalformedReply, ProviderError, ProviderRefused
from agent.core.strings import valid_json
from agent.models.types import Request, Response

S = TypeVar("S", bound=BaseModel)
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_SHOWN_PROBLEMS = 5
SCHEMA_INTRO = "Answer with one JSON object and nothing else. Its JSON schema:"


@cache
def schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Its JSON schema, not to be changed: pydantic takes 5 ms to write one."""
    return schema.model_json_schema()


def with_schema(messages: list[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """The messages with the schema told in the system message (endpoints want the word JSON)."""
    shape = json.dumps(schema_of(schema), ensure_ascii=False, separators=(",", ":"))
    told = f"{SCHEMA_INTRO}\n{shape}"
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{told}"), *messages[1:]]
    return [SystemMessage(told), *messages]


def parsed(text: str, schema: type[S]) -> S:
    """The JSON object in the text, validated; raises ValueError that says what is wrong."""
    found = find_object(text)
    try:
        return schema.model_validate(valid_json(found))
    except ValidationError as error:
        raise ValueError(_problems(error)) from None


def find_object(text: str) -> dict[str, Any]:
    """The first JSON object in a text that may have thoughts, fences or words around it."""
    plain = _THOUGHTS.sub("", text)
    fenced = [block for block in _FENCE.findall(plain) if "{" in block]
    decoder = json.JSONDecoder()
    for candidate in (*fenced, plain):
        start = candidate.find("{")
        while start >= 0:
            try:
                found, _ = decoder.raw_decode(candidate, start)
            except json.JSONDecodeError:
                start = candidate.find("{", start + 1)
                continue
            if isinstance(found, dict):
                return found
            break
    raise ValueError("it holds no complete JSON object")


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(map(str, e['loc'])) or 'object'}: {e['msg']}" for e in found]
    return "; ".join(told[:_SHOWN_PROBLEMS])


def repair_request(problem: str) -> HumanMessage:
    """The one further turn a model gets for an answer that does not fit the schema."""
    return HumanMessage(
        f"That answer cannot be used: {problem}. "
        "Answer again with the complete, corrected JSON object only."
    )


def unusable_once() -> Callable[[ProviderError], bool]:
    """Return what one call is retried on: a whole reply that cannot be used, only once.

    It was paid for; what broke on its way was not.
    """
    unusable_before = False

    def retry_on(error: ProviderError) -> bool:
        nonlocal unusable_before
        if error.code not in _WORDS:
            return may_pass(error)
        again, unusable_before = not unusable_before, True
        return again

    return retry_on


def judge(response: Response, request: Request, provider: str) -> None:
    """Raise ProviderRefused or MalformedReply for a reply that cannot be used."""
    model, calls = request.model, response.message.tool_calls
    if response.finish == "blocked":
        raise blocked(provider, model, response.reason)
    if response.finish == "bad_call" or (response.message.invalid_tool_calls and not calls):
        raise malformed(provider, model, "model_bad_call")
    cut = response.finish == "length" or (response.finish == "none" and bool(response.text))
    if request.schema and cut:
        raise malformed(provider, model, "model_truncated")
    if not response.text.strip() and not calls:
        code = "model_truncated" if response.finish == "length" else "model_empty"
        raise malformed(provider, model, code)


_WORDS = {
    "model_bad_call": "it called a tool in a way that cannot be read",
    "model_truncated": "the answer was cut off at the model's limit",
    "model_empty": "the answer was empty",
}


def malformed(provider: str, model: str, code: str) -> MalformedReply:
    return MalformedReply(provider, f"{model}: {_WORDS[code]}", code=code)


def blocked(provider: str, model: str, reason: str) -> ProviderRefused:
    word = reason if reason.replace("_", "").isalnum() else "?"
    return ProviderRefused(provider, f"{model}: blocked ({word})", code="model_blocked")
