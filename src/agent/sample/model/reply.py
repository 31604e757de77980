"""Reply as the sample's model: what was recorded for a bundled question, else the minimum."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.sample.model.minimum import minimal_reply
from agent.sample.model.recorded import recorded_reply, recordings
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, reply_language, task_of
from agent.texts import say

_NEITHER = ("no", "un", "other")
"""Beginnings of the choices that claim nothing: none, not_there, unknown, unsure, other."""


class SampleModel:
    """Answer by the task that the system text names; no prompt's wording is read."""

    def __init__(self) -> None:
        # Before requests come: they are answered on an event loop, which must not read files.
        recordings()

    def respond(self, turn: ModelTurn) -> ModelReply:
        """Return the reply to a request; for an unknown task, the schema's honest minimum."""
        tagged, task = replace(turn, user=_tagged_text(turn)), task_of(turn)
        answer = recorded_reply(tagged) or minimal_reply(task, tagged)
        if answer is None:
            answer = ModelReply(text=say("sample.needs_model", reply_language(turn)))
            if turn.schema is not None:
                answer = ModelReply(json=least(turn.schema, turn.schema))
        if answer.json is not None and turn.schema:
            return replace(answer, json=fit_schema(answer.json, turn.schema, turn.schema))
        if answer.text is not None and (end := block(turn.user, "cut_off")[-40:]):
            rest = answer.text.partition(end)[2]
            return ModelReply(
                text=rest if rest.strip() else say("sample.end", reply_language(turn))
            )
        return answer


def _tagged_text(turn: ModelTurn) -> str:
    """Return the text with the tags, which a request to repair or to go on does not repeat."""
    texts = [turn.user, *(past.text for past in reversed(turn.history) if past.role == "user")]
    return next((text for text in texts if "</" in text and "<cut_off>" not in text), turn.user)


def fit_schema(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return a value with the least of what its schema requires besides, and nothing it lacks."""
    schema = _dereference(schema, root)
    kind = {dict: "object", list: "array", str: "string", type(None): "null"}.get(type(value))
    kinds = (_dereference(each, root) for each in schema.get("anyOf", ()))
    schema = next((each for each in kinds if each.get("type") == kind), schema)
    if isinstance(value, list):
        return [fit_schema(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict) or (value and "properties" not in schema):
        return value
    properties = schema.get("properties", {})
    own = {n: fit_schema(v, properties[n], root) for n, v in value.items() if n in properties}
    lacking = [name for name in schema.get("required", ()) if name not in own]
    return own | {name: least(properties.get(name, {}), root) for name in lacking}


def least(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the emptiest value that a JSON schema allows: its default, "", 0, [] or null.

    `root` is the whole schema, in which references are looked up.
    """
    schema = _dereference(schema, root)
    if "default" in schema or "const" in schema:
        return schema.get("default", schema.get("const"))
    if choices := schema.get("enum"):
        return next((c for c in choices if str(c).casefold().startswith(_NEITHER)), choices[0])
    if kinds := schema.get("anyOf"):
        return least(next((k for k in kinds if k.get("type") == "null"), kinds[0]), root)
    kind = schema.get("type", "object")
    if kind == "object":
        return fit_schema({}, schema, root)
    if kind == "array":
        return [least(schema.get("items", {}), root)] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"string": "", "boolean": False}.get(kind)


def _dereference(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that a reference leads to."""
    if reference := schema.get("$ref"):
        target: Any = root
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        return _dereference(target, root)
    return schema
