"""Check a reply: its structure, and whether another attempt is worth it."""

import json
import re
from collections.abc import Callable, Mapping
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
_OBJECT_BEGINS = re.compile(r'\{(?=\s*["}])')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_DECODER = json.JSONDecoder()
_NO_OBJECT = "it holds no complete JSON object"
_SHOWN_PROBLEMS = 5
SCHEMA_INTRO = "Answer with one JSON object and nothing else. Its JSON schema:"


@cache
def schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return its JSON schema without titles and null defaults, which a model pays for unread.

    It is not to be changed: pydantic takes 5 ms to write one.
    """
    lean = _lean(schema.model_json_schema())
    assert isinstance(lean, dict)
    return lean


def _lean(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # Fields are named freely: one may be called `title`.
    named = {
        key: {name: _lean(inner) for name, inner in schema[key].items()}
        for key in ("properties", "$defs")
        if key in schema
    }
    rest = {
        key: _lean(value)
        for key, value in schema.items()
        if key not in (*named, "title") and (key, value) != ("default", None)
    }
    return {**rest, **named}


def with_schema(messages: list[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """Return the messages with the schema in the system message (endpoints want the word JSON)."""
    shape = json.dumps(schema_of(schema), ensure_ascii=False, separators=(",", ":"))
    instruction = f"{SCHEMA_INTRO}\n{shape}"
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{instruction}"), *messages[1:]]
    return [SystemMessage(instruction), *messages]


def parse_reply(text: str, schema: type[S]) -> S:
    """Return the JSON object in the text, validated; raise ValueError that says what is wrong."""
    shape = schema_of(schema)
    value = _fit(valid_json(find_object(text)), shape, shape.get("$defs", {}))
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise ValueError(_problems(error)) from None


def _fit(value: Any, shape: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return the value with what models write for short: null for unset, a text for an object."""
    if reference := shape.get("$ref"):
        return _fit(value, definitions[reference.rpartition("/")[2]], definitions)
    if variants := [v for v in shape.get("anyOf", ()) if v.get("type") != "null"]:
        return value if value is None else _fit(value, variants[0], definitions)
    if shape.get("type") == "array" and isinstance(value, list):
        return [_fit(item, shape.get("items", {}), definitions) for item in value]
    fields = shape.get("properties", {})
    required = shape.get("required", ())
    if (
        isinstance(value, str)
        and len(required) == 1
        and fields[required[0]].get("type") == "string"
    ):
        return {required[0]: value}
    if not isinstance(value, dict):
        return value
    return {
        name: _fit(inner, fields.get(name, {}), definitions)
        for name, inner in value.items()
        if inner is not None or name in required or _takes_null(fields.get(name, {}))
    }


def _takes_null(shape: Mapping[str, Any]) -> bool:
    return any(variant.get("type") == "null" for variant in shape.get("anyOf", ()))


def find_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a text with thoughts, fences or words around it.

    Commas before a closing bracket are forgiven. Raise ValueError that says what the outer object
    lacks: an object within it is not what was asked for.
    """
    plain = _THOUGHTS.sub("", text)
    problem = _NO_OBJECT
    for candidate in (*(block for block in _FENCE.findall(plain) if "{" in block), plain):
        for begin in _OBJECT_BEGINS.finditer(candidate):
            try:
                return _decode(candidate[begin.start() :])
            except json.JSONDecodeError as error:
                problem = f"{_NO_OBJECT}: {error.msg}, line {error.lineno} of it"
                break
    raise ValueError(problem)


def _decode(text: str) -> dict[str, Any]:
    try:
        value, _end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        forgiven = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
        try:
            value, _end = _DECODER.raw_decode(forgiven)
        except json.JSONDecodeError:
            raise error from None
    assert isinstance(value, dict)
    return value


def _problems(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [f"{'.'.join(map(str, e['loc'])) or 'object'}: {e['msg']}" for e in details]
    return "; ".join(problems[:_SHOWN_PROBLEMS])


def repair_request(problem: str) -> HumanMessage:
    """Return the one further turn a model gets for an answer that does not fit the schema."""
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
        raise blocked_reply(provider, model, response.reason)
    if response.finish == "bad_call" or (response.message.invalid_tool_calls and not calls):
        raise malformed_reply(provider, model, "model_bad_call")
    is_cut = response.finish == "length" or (response.finish == "none" and bool(response.text))
    if request.schema and is_cut:
        raise malformed_reply(provider, model, "model_truncated")
    if not response.text.strip() and not calls:
        code = "model_truncated" if response.finish == "length" else "model_empty"
        raise malformed_reply(provider, model, code)


_WORDS = {
    "model_bad_call": "it called a tool in a way that cannot be read",
    "model_truncated": "the answer was cut off at the model's limit",
    "model_empty": "the answer was empty",
}


def malformed_reply(provider: str, model: str, code: str) -> MalformedReply:
    return MalformedReply(provider, f"{model}: {_WORDS[code]}", code=code)


def blocked_reply(provider: str, model: str, reason: str) -> ProviderRefused:
    word = reason if reason.replace("_", "").isalnum() else "?"
    return ProviderRefused(provider, f"{model}: blocked ({word})", code="model_blocked")
