"""Check a reply: its structure, and whether another attempt is worth it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from agent.core.calls import may_pass
from agent.core.errors import MalformedReply, ProviderError, ProviderRefused, TimedOut
from agent.core.outside import parse_json_at
from agent.models.types import ModelRequest, Response

S = TypeVar("S", bound=BaseModel)
OBJECT_BEGINS = re.compile(r'\{(?=\s*["}])')
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_NO_OBJECT = "it holds no complete JSON object"
_SHOWN_PROBLEMS = 5
_EMPTY: tuple[Any, ...] = (None, "", [], False, True)
_EMPTY_DEFAULTS = [("default", empty) for empty in _EMPTY]
SCHEMA_INTRO = "Answer with one JSON object and nothing else. Its JSON schema:"


@cache
def schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return its JSON schema in one piece, without what a model pays for and does not need.

    Titles, docstrings and plain defaults go, and null for a field that may be left out. It is not
    to be changed: pydantic takes 5 ms to write one.
    """
    whole = schema.model_json_schema()
    lean = _lean(_undocumented(whole), whole.get("$defs", {}))
    assert isinstance(lean, dict)
    return lean


def _lean(shape: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(shape, list):
        return [_lean(item, definitions) for item in shape]
    if not isinstance(shape, dict):
        return shape
    if reference := shape.get("$ref"):
        named = definitions[reference.rpartition("/")[2]]
        own = {key: value for key, value in shape.items() if key != "$ref"}
        return _lean({**_undocumented(named), **own}, definitions)
    lean = {
        key: _lean(value, definitions)
        for key, value in shape.items()
        if key not in ("properties", "$defs", "title") and (key, value) not in _EMPTY_DEFAULTS
    }
    if fields := shape.get("properties"):
        # Fields are named freely: one may be called `title`.
        required = shape.get("required", ())
        lean["properties"] = {
            name: _lean(field if name in required else _without_null(field), definitions)
            for name, field in fields.items()
        }
    return lean


def _undocumented(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's schema without its class's docstring, which is an engineer's."""
    return {key: value for key, value in shape.items() if key != "description"}


def _without_null(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a field that is left out where it has no value."""
    variants = shape.get("anyOf", ())
    values = [variant for variant in variants if variant.get("type") != "null"]
    if len(values) != 1 or len(variants) != 2:
        return shape
    return {**values[0], **{key: value for key, value in shape.items() if key != "anyOf"}}


def with_schema(messages: list[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """Return the messages with the schema in the system message (endpoints want the word JSON)."""
    shape = json.dumps(schema_of(schema), ensure_ascii=False, separators=(",", ":"))
    instruction = f"{SCHEMA_INTRO}\n{shape}"
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{instruction}"), *messages[1:]]
    return [SystemMessage(instruction), *messages]


def parse_reply(text: str, schema: type[S]) -> S:
    """Return the JSON object in the text, validated; raise ValueError that says what is wrong."""
    value = _fit(_bounded(find_object(text)), schema_of(schema))
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise ValueError(_problems(error)) from None


_LONGEST, _MOST_ITEMS = 10_000, 200
"""Characters of a text in a form, and its parts: more than a whole form may have in tokens."""


def _bounded(value: Any) -> Any:
    """Return a form without what no field can hold: whoever reads it takes no longer for it."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list):
        return [_bounded(item) for item in value[:_MOST_ITEMS]]
    if isinstance(value, dict):
        return {name[:_LONGEST]: _bounded(inner) for name, inner in value.items()}
    return value


def _fit(value: Any, shape: Mapping[str, Any]) -> Any:
    """Return the value with what models write for short: null for unset, a text for an object."""
    if shape.get("type") == "array" and isinstance(value, list):
        return [_fit(item, shape.get("items", {})) for item in value]
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
        name: _fit(inner, fields.get(name, {}))
        for name, inner in value.items()
        if inner not in (None, "") or name in required
    }


def find_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a text with fences or words around it.

    Commas before a closing bracket are forgiven. Raise ValueError that says what the outer object
    lacks: an object within it is not what was asked for.
    """
    problem = _NO_OBJECT
    fenced = (block for block in text.split("```")[1::2] if "{" in block)
    for candidate in (*fenced, text):
        for begin in OBJECT_BEGINS.finditer(candidate):
            try:
                return _decode(candidate[begin.start() :])
            except json.JSONDecodeError as error:
                problem = f"{_NO_OBJECT}: {error.msg}, line {error.lineno} of it"
                break
    raise ValueError(problem)


def _decode(text: str) -> dict[str, Any]:
    try:
        value, _end = parse_json_at(text)
    except json.JSONDecodeError as error:
        forgiven = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
        try:
            value, _end = parse_json_at(forgiven)
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

    It was paid for; what broke on its way was not. A call that was late is made once more if
    nothing had come; one that ran away would do so again.
    """
    before = False

    def retry_on(error: ProviderError) -> bool:
        nonlocal before
        if error.code in RUNAWAY or (isinstance(error, TimedOut) and error.begun):
            return False
        if not is_unusable(error) and not isinstance(error, TimedOut):
            return may_pass(error)
        again, before = not before, True
        return again

    return retry_on


def judge(response: Response, request: ModelRequest, provider: str) -> None:
    """Raise ProviderRefused or MalformedReply for a reply that cannot be used."""
    model, calls = request.model, response.message.tool_calls
    if response.finish == "blocked":
        raise blocked_reply(provider, model, response.reason)
    if response.finish == "bad_call" or (response.message.invalid_tool_calls and not calls):
        raise malformed_reply(provider, model, "model_bad_call")
    if request.schema and response.finish == "length" and not _is_whole(response.text):
        raise malformed_reply(provider, model, "model_truncated")
    if not response.text.strip() and not calls:
        code = "model_truncated" if response.finish == "length" else "model_empty"
        raise malformed_reply(provider, model, code)


def _is_whole(text: str) -> bool:
    """Return True if a text holds a whole object, whatever its service says of its end."""
    try:
        find_object(text)
    except ValueError:
        return False
    return True


LOOP, TOO_LONG = "model_loop", "model_too_long"
RUNAWAY = (LOOP, TOO_LONG)
"""Codes of replies that were given up as they came: asked for again they would be no shorter."""
_WORDS = {
    TOO_LONG: "it went on beyond MODEL_REPLY_CHARACTERS",
    LOOP: "it repeated itself without end",
    "model_bad_call": "it called a tool in a way that cannot be read",
    "model_truncated": "the answer was cut off at the model's limit",
    "model_empty": "the answer was empty",
}


def is_unusable(error: ProviderError) -> bool:
    """Return True for a reply that came whole, and is of no use as it is."""
    return error.code in _WORDS


def malformed_reply(provider: str, model: str, code: str) -> MalformedReply:
    return MalformedReply(provider, f"{model}: {_WORDS[code]}", code=code)


def blocked_reply(provider: str, model: str, reason: str) -> ProviderRefused:
    word = reason if reason.replace("_", "").isalnum() else "?"
    return ProviderRefused(provider, f"{model}: blocked ({word})", code="model_blocked")
