"""What a thread keeps of its turns: how they went, and of old answers what they cite."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START

from agent.assistants.common.turn import (
    MOST_BYTES,
    Recorder,
    ResearchGraph,
    lightened,
    progress_of,
)
from agent.configuration import Configuration
from agent.core.progress import ListedSource, Spot, event
from agent.state import NOTHING_GATHERED, Gathered

TURN: Any = {"id": "t", "started_at": 1_700_000_000.0}


def source(id: str, number: int | None, *quotes: str) -> dict[str, Any]:
    return {"id": id, "kind": "page", "url": f"https://a.cn/{id}", "quotes": list(quotes),
            **({"number": number} if number else {})}  # fmt: skip


def answer(id: str, **fields: Any) -> AIMessage:
    return AIMessage("text [1]", id=id, additional_kwargs=fields)


def test_an_old_answer_keeps_numbered_sources_with_the_quotes_exports_print_and_its_places() -> (
    None
):
    old = answer(
        "a",
        usage={"model_calls": 3},
        sources=[source("w0-0", 1, "one", "two", "more"), source("w0-1", None, "three")],
        places=[{"id": f"p{n}", "mentioned": n == 13} for n in range(20)],
        checks={"cited": 1, "statements": [
            {"start": 0, "end": 2, "verdict": "supported", "source": "w0-0", "quote": "one"},
            {"start": 2, "end": 4, "verdict": "repaired", "source": "w0-0", "quote": "two"},
        ]},
    )  # fmt: skip
    (light,) = lightened([HumanMessage("q", id="h"), old])
    assert (light.id, light.text) == ("a", "text [1]")
    assert light.additional_kwargs == {
        "usage": {"model_calls": 3},
        "sources": [source("w0-0", 1, "one", "two")],
        "places": [
            {"id": "p13", "mentioned": True},
            *({"id": f"p{n}", "mentioned": False} for n in range(11)),
        ],
        "checks": {"cited": 1, "statements": [
            {"start": 0, "end": 2, "verdict": "supported", "source": "w0-0"},
            {"start": 2, "end": 4, "verdict": "repaired", "source": "w0-0", "quote": "two"},
        ]},
    }  # fmt: skip
    assert lightened([light]) == []


def test_places_stay_where_the_answer_names_none() -> None:
    places = [{"id": "p", "mentioned": False}]
    assert lightened([answer("a", places=places)]) == []


@pytest.mark.parametrize(
    "value", [None, 1, "x", [1], [None], {"a": 1}, [{"number": 1, "quotes": 3}], [{}]]
)
@pytest.mark.parametrize("name", ["sources", "places", "checks"])
def test_what_a_client_made_up_stops_nothing(name: str, value: Any) -> None:
    light = lightened([answer("a", **{name: value})])
    assert all(message.id == "a" for message in light)


async def test_the_events_of_every_node_outlive_the_process_that_sent_them() -> None:
    heard: list[dict[str, Any]] = []

    async def first(state: Gathered, runtime: Any) -> dict[str, Any]:
        runtime.stream_writer(event("notice", "first", text="sample"))
        return dict(NOTHING_GATHERED)

    async def second(state: Gathered, runtime: Any) -> dict[str, Any]:
        runtime.stream_writer(event("queries", "second", text="a", count=1))
        return {}

    async def last(state: Gathered, runtime: Any) -> dict[str, Any]:
        runtime.stream_writer(event("answering", "last"))
        heard.extend(progress_of(Gathered(**{**state, "turn": TURN}), runtime.stream_writer))
        return {"progress": []}

    def graph() -> Any:
        builder: Any = ResearchGraph(Gathered, context_schema=Configuration)
        for node in (first, second, last):
            builder.add_node(node.__name__, node)
        builder.add_edge(START, "first")
        builder.add_edge("first", "second")
        builder.add_edge("second", "last")
        return builder

    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    for _ in range(2):
        heard.clear()
        dying = graph().compile(checkpointer=saver, interrupt_before=["last"])
        await dying.ainvoke({"geojson": None}, config)
        values = await graph().compile(checkpointer=saver).ainvoke(None, config)
        assert [row["type"] for row in heard] == ["notice", "queries", "answering"]
        assert values["progress"] == []


def test_a_long_turn_is_kept_in_eight_kilobytes_with_its_end() -> None:
    recorder = Recorder(lambda _: None)
    for number in range(400):
        recorder(event("map_call", "amap_research", id=f"a{number}", text="王府井附近" * 50))
    recorder(event("answering", "finalize_answer"))
    recorder(event("done", "finalize_answer", count=7, seconds=3.2))
    rows = progress_of(Gathered(turn=TURN), recorder)
    assert len(json.dumps(rows, ensure_ascii=False).encode()) <= MOST_BYTES
    assert [row["type"] for row in rows[-2:]] == ["answering", "done"]
    assert rows[0]["id"] == "a0"


def test_what_only_tells_early_what_the_answer_has_is_not_kept() -> None:
    recorder = Recorder(lambda _: None)
    recorder(event("map_found", "n", spots=[Spot(role="place", name="书店", lng=116.4, lat=39.9)]))
    source = ListedSource(title="t", url="https://a.example/", site="a.example")
    recorder(event("search_done", "n", id="w0", sources=[source]))
    [kept] = recorder.events
    assert (kept["type"], kept["id"], "sources" in kept) == ("search_done", "w0", False)


def test_texts_that_fit_are_kept_whole_in_the_order_in_which_they_were_sent() -> None:
    state = Gathered(turn=TURN, progress=[
        {"type": "search_done", "node": "w", "id": "w1", "at": 1_700_000_000_900},
        {"type": "search_done", "node": "w", "id": "w0", "at": 1_700_000_000_400},
    ])  # fmt: skip
    assert progress_of(state, lambda _: None) == [
        {"type": "search_done", "id": "w0", "at": 400},
        {"type": "search_done", "id": "w1", "at": 900},
    ]
