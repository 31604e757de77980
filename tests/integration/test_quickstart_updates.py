"""The updates of a run, read as the front end of Google's quickstart reads them."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_api.serde import json_dumpb

from agent.core.budget import no_usage
from agent.graph import build_graph
from tests.support.lab import EN, ZH, Lab, laboratory, told

pytestmark = pytest.mark.node
MODELS = ("gemini-2.0-flash", "gemini-2.5-flash-preview-04-17", "gemini-2.5-pro-preview-05-06")
"""What its selector offers; all of them are retired."""


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


async def updates_of(lab: Lab, question: str, model: str, thread: str) -> list[dict[str, Any]]:
    """The updates as they go over the wire."""
    history = (await lab.graph.aget_state(config_of(thread))).values.get("messages", [])
    payload: Any = {
        "messages": [*history, {"type": "human", "content": question, "id": question}],
        "initial_search_query_count": 3,
        "max_research_loops": 3,
        "reasoning_model": model,
    }
    parts = lab.graph.astream(payload, config_of(thread), stream_mode="updates")
    return [json.loads(json_dumpb(part)) async for part in parts]


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def timeline(updates: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The rows that the front end makes of the updates; raises where it would fail."""
    rows: list[tuple[str, str]] = []
    for update in updates:
        if node := update.get("generate_query"):
            rows.append(("Generating Search Queries", ", ".join(node.get("search_query") or [])))
        elif node := update.get("web_research"):
            sources = node.get("sources_gathered") or []
            labels = dict.fromkeys(source["label"] for source in sources if source.get("label"))
            related = ", ".join(list(labels)[:3]) or "N/A"
            rows.append(("Web Research", f"Gathered {len(sources)} sources. Related to: {related}"))
        elif update.get("reflection"):
            rows.append(("Reflection", "Analysing Web Research Results"))
        elif update.get("finalize_answer"):
            rows.append(("Finalizing Answer", "Composing and presenting the final answer."))
    return rows


@pytest.mark.parametrize("model", MODELS)
async def test_its_timeline_fills_and_each_of_its_models_is_answered_for(
    lab: Lab, model: str
) -> None:
    rows = timeline(await updates_of(lab, ZH, model, "t"))
    titles = [title for title, _ in rows]
    assert titles[0] == "Generating Search Queries"
    assert titles[-2:] == ["Reflection", "Finalizing Answer"]
    assert "王府井" in rows[0][1]
    assert not any("N/A" in words for _, words in rows)
    kept = told((await lab.graph.aget_state(config_of("t"))).values)
    assert not kept["degraded"]
    assert [(gap["code"], gap["recovered"]) for gap in kept["gaps"]] == [("model_retired", True)]
    assert model in kept["gaps"][0]["message"]
    assert not any(model in request.path for request in lab.gemini.requests)


async def test_updates_hold_plain_values_and_a_second_question_none_of_the_first(lab: Lab) -> None:
    await updates_of(lab, ZH, MODELS[0], "t")
    for update in await updates_of(lab, EN, MODELS[1], "t"):
        for fields in update.values():
            assert not any(
                isinstance(value, dict) and "value" in value for value in fields.values()
            )
        if finished := update.get("finalize_answer"):
            assert {source["label"] for source in finished["sources_gathered"]}
            assert isinstance(finished["places"], list)
        if opened := update.get("generate_query"):
            assert opened["search_query"] == [query["query"] for query in opened["queries"]]
            assert opened["usage"]["model_calls"] == 1


class Killed(Exception):
    """The process ended between a write and its checkpoint."""


class KilledSaver(InMemorySaver):
    """Keeps what nodes wrote, and fails at one checkpoint after it, as a kill would."""

    left = -1
    """Checkpoints before the one that fails."""

    async def aput(self, *values: Any) -> Any:
        self.left -= 1
        if self.left == -1:
            raise Killed
        return await super().aput(*values)


async def test_writes_that_a_kill_left_without_their_checkpoint_are_not_added_twice(
    lab: Lab,
) -> None:
    whole = await second_question(lab, killed_at=-1)
    for step in range(1, 6):
        assert await second_question(lab, killed_at=step) == whole, step


async def second_question(lab: Lab, *, killed_at: int) -> dict[str, Any]:
    """What a thread's second turn gathered, after a kill at one of its checkpoints."""
    saver = KilledSaver()
    graph = build_graph(lambda: lab.services).compile(checkpointer=saver)
    for question in (EN, ZH):
        saver.left = killed_at if question == ZH else -1
        payload: Any = {"messages": {"type": "human", "content": question, "id": question}}
        config = config_of(f"killed-{killed_at}")
        try:
            state = await graph.ainvoke(payload, config, durability="sync")
        except Killed:
            state = await graph.ainvoke(None, config, durability="sync")
        assert question == EN or saver.left < 0
    assert set(state["usage"]) == set(no_usage())
    keys = ("queries", "search_query", "gaps", "sources_gathered", "places")
    spent = {name: state["usage"][name] for name in ("model_calls", "searches")}
    return spent | {key: [without_times(each) for each in state[key]] for key in keys}


def without_times(record: Any) -> Any:
    """A record without when it was looked up."""
    return record if isinstance(record, str) else {**record, "fetched_at": ""}
