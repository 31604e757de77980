"""The sample's model: a reply by the task that a request names; no other task is imitated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent.sample.model import dossier, report, research, team
from agent.sample.model.request import Answer, Turn
from agent.sample.model.text import language_of, task_of
from agent.sample.model.words import say

Reply = Callable[[Turn], Answer]
REPLIES: dict[str, Reply] = {
    reply.__name__: reply
    for reply in (
        research.generate_query,
        research.web_research,
        research.web_writeup,
        research.amap_research,
        research.reflection,
        research.answer,
        report.deep_explore,
        report.deep_compress,
        report.deep_report,
        dossier.plan_tasks,
        dossier.execute_decide,
        dossier.rewrite_headings,
        dossier.dossier,
        team.team_analyze,
        team.team_decompose,
        team.team_select,
        team.team_researcher,
        team.team_analyst,
        team.team_verifier,
        team.team_synthesize,
        team.team_format,
    )
}


class SampleModel:
    """Answers by the task that the system text names."""

    def respond(self, turn: Turn) -> Answer:
        """The reply to one request; for a task it does not know, the schema's honest minimum."""
        if reply := REPLIES.get(task_of(turn)):
            return reply(replace(turn, user=_tagged(turn)))
        if turn.schema is not None:
            return Answer(json=least(turn.schema, turn.schema))
        return Answer(text=say("needs_model", language_of(turn)))


def least(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The emptiest value that a JSON schema allows."""
    if reference := schema.get("$ref"):
        found: Any = root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return least(found, root)
    if choices := schema.get("enum"):
        return choices[0]
    for union in ("anyOf", "oneOf", "allOf"):
        if kinds := schema.get(union):
            null = [kind for kind in kinds if kind.get("type") == "null"]
            return least((null or kinds)[0], root)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = "null" if "null" in kind else kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: least(properties.get(name, {}), root) for name in schema.get("required", ())}
    if kind == "array":
        return [least(schema.get("items", {}), root)] * schema.get("minItems", 0)
    numbers = {"integer": schema.get("minimum", 0), "number": schema.get("minimum", 0)}
    return {"string": "", "boolean": False, **numbers}.get(kind)


def _tagged(turn: Turn) -> str:
    """The text that holds the tags: a request for a repair after it repeats none of them."""
    if "</" in turn.user:
        return turn.user
    tagged = [past.text for past in turn.history if past.role == "user" and "</" in past.text]
    return tagged[-1] if tagged else turn.user
