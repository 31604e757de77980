"""What a client of `langgraph dev` is told while a run works, by both of its protocols."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, get_args

import httpx
import pytest
from geojson_pydantic import FeatureCollection
from langgraph_sdk.client import LangGraphClient

from agent.core.progress import EventType, ProgressEvent
from tests.e2e.server_fixtures import client_fixture, server_fixture
from tests.support.dev_server import DevServer

__all__ = ["client_fixture", "server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
INTERNAL = re.compile(r"\[\^|\b[wap]\d+-\d+\b")
"""As sources are named inside; the parts of a UUID can look so, too."""
UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
PLAIN = {"geo_routing": "never", "max_research_loops": 1}


@dataclass
class Heard:
    """A run as its client heard it: texts by message id, in pieces, events, the last state."""

    pieces: dict[str, list[str]] = field(default_factory=dict)
    raw: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    def text(self, message: str | None, piece: str) -> None:
        self.pieces.setdefault(str(message), []).append(piece)

    @property
    def texts(self) -> dict[str, str]:
        return {message: "".join(pieces) for message, pieces in self.pieces.items()}

    @property
    def last(self) -> dict[str, Any]:
        message: dict[str, Any] = self.values["messages"][-1]
        return message

    @property
    def kept(self) -> dict[str, Any]:
        kept: dict[str, Any] = self.last["additional_kwargs"]
        return kept


def plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content)


async def by_modes(
    client: LangGraphClient, given: dict[str, Any], settings: dict[str, Any]
) -> Heard:
    """The stream modes that every client knows; settings as context."""
    heard = Heard()
    parts = client.runs.stream(
        None,
        "agent",
        input=given,
        context=settings or None,
        stream_mode=["messages-tuple", "custom", "values"],
    )
    async for part in parts:
        match part.event:
            case "messages":
                heard.raw.append(json.dumps(part.data[0], ensure_ascii=False))
                heard.text(part.data[0]["id"], plain(part.data[0]["content"]))
            case "custom":
                heard.events.append(part.data)
            case "values":
                heard.values = part.data
            case "error":
                heard.error = f"{part.data['error']}: {part.data['message']}"
    return heard


async def by_protocol(
    client: LangGraphClient, given: dict[str, Any], settings: dict[str, Any]
) -> Heard:
    """The event protocol of newer clients, which knows only `configurable`."""
    heard, message = Heard(), ""
    async with client.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=given, config={"configurable": settings})
        async for event in thread.subscribe(["messages", "custom", "values", "lifecycle"]):
            told = event["params"]["data"]
            match event["method"]:
                case "messages":
                    heard.raw.append(json.dumps(told, ensure_ascii=False))
                    message = told.get("id", message)
                    if told["event"] == "content-block-delta":
                        heard.text(message, told["delta"]["text"])
                case "custom":
                    heard.events.append(told)
                case "values":
                    heard.values = told
                case "lifecycle":
                    heard.error = told.get("error", heard.error)
        if not heard.error:
            # The events leave out what messages carry besides their text.
            heard.values = await thread.output
    return heard


Stream = Callable[[LangGraphClient, dict[str, Any], dict[str, Any]], Awaitable[Heard]]
both = pytest.mark.parametrize("stream", [by_modes, by_protocol])


def question(text: str, **options: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **options}


@both
@pytest.mark.parametrize("text", [ZH, EN])
async def test_what_streams_is_one_message_and_the_one_that_is_stored(
    client: LangGraphClient, stream: Stream, text: str
) -> None:
    heard = await stream(client, question(text), {})
    assert heard.texts == {heard.last["id"]: plain(heard.last["content"])}
    (pieces,) = heard.pieces.values()
    assert len(pieces) > 3
    assert re.search(r"\[1\]\(http", heard.texts[heard.last["id"]])


@both
async def test_no_internal_id_and_no_inner_models_text_ever_shows(
    client: LangGraphClient, stream: Stream
) -> None:
    heard = await stream(client, question(ZH), {"max_research_loops": 3})
    assert INTERNAL.search(str(heard.values["web_research_result"])), "the pattern is out of date"
    for shown in [*heard.raw, *heard.texts.values()]:
        assert not INTERNAL.search(UUID.sub("", shown))
        assert "rationale" not in shown
        assert "is_sufficient" not in shown
    assert not any(INTERNAL.search(UUID.sub("", str(event))) for event in heard.events)


@both
async def test_progress_events_have_the_documented_keys_and_tell_every_step(
    client: LangGraphClient, stream: Stream
) -> None:
    heard = await stream(client, question(ZH), {})
    types = [event["type"] for event in heard.events]
    assert set(types) <= set(get_args(EventType))
    assert {"notice", "queries", "search_done", "map_done", "answering", "done"} <= set(types)
    for event in heard.events:
        assert {"type", "node"} <= event.keys() <= ProgressEvent.__annotations__.keys()
        assert all(isinstance(event.get(name, ""), str) for name in ("id", "text", "node"))
        assert isinstance(event.get("count", 0), int)
        assert event.get("seconds", 0) >= 0


@both
async def test_settings_reach_the_run_as_context_and_as_configurable(
    client: LangGraphClient, stream: Stream
) -> None:
    settings = {**PLAIN, "number_of_initial_queries": 1, "answer_language": "zh"}
    heard = await stream(client, question(EN), settings)
    assert heard.values["research_loop_count"] == 1
    assert len(heard.kept["queries"]) == 1
    assert "**来源**" in plain(heard.last["content"])


async def test_context_and_configurable_together_are_refused(client: LangGraphClient) -> None:
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await client.runs.wait(
            None,
            "agent",
            input=question(EN),
            context={"max_research_loops": 1},
            config={"configurable": {"max_searches": 3}},
        )
    assert caught.value.response.status_code == 400
    assert "configurable and context" in caught.value.response.text


@both
async def test_the_place_of_the_user_serves_a_question_about_what_is_near(
    client: LangGraphClient, stream: Stream
) -> None:
    here = {"lng": 116.404, "lat": 39.908}
    heard = await stream(client, question("我附近有什么好吃的", user_location=here), {})
    assert heard.kept["needs"] is None
    assert heard.values["places"]
    assert all(place["distance_m"] is not None for place in heard.values["places"])


@both
async def test_without_the_place_the_stream_asks_for_it(
    client: LangGraphClient, stream: Stream
) -> None:
    heard = await stream(client, question("我附近有什么好吃的"), {})
    assert heard.kept["needs"] == "place"
    assert heard.texts == {heard.last["id"]: plain(heard.last["content"])}


async def test_a_follow_up_on_the_thread_knows_what_was_found(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    first = await client.runs.wait(thread, "agent", input=question(ZH))
    second = await client.runs.wait(thread, "agent", input=question("那附近有停车场吗"))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert [m["type"] for m in second["messages"]] == ["human", "ai", "human", "ai"]
    assert any("停车" in place["name"] for place in second["places"])
    assert second["messages"][1]["content"] == first["messages"][1]["content"]


async def test_a_thread_goes_on_by_the_event_protocol_too(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    for text in (ZH, "那附近有停车场吗"):
        async with client.threads.stream(thread, assistant_id="agent") as session:
            run = await session.run.start(input=question(text))
            await client.runs.join(thread, run["run_id"])
    values: Any = (await client.threads.get_state(thread))["values"]
    assert [m["type"] for m in values["messages"]] == ["human", "ai", "human", "ai"]
    assert any("停车" in place["name"] for place in values["places"])


async def test_a_plan_is_answered_by_the_event_protocol(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    async with client.threads.stream(thread, assistant_id="agent") as session:
        settings = {**PLAIN, "review_plan": True}
        run = await session.run.start(input=question(EN), config={"configurable": settings})
        await client.runs.join(thread, run["run_id"])
        (waiting,) = (await client.threads.get_state(thread))["interrupts"]
        asked = {"interrupt_id": waiting["id"], "namespace": [], "response": {"queries": [EN]}}
        await session._send_command("input.respond", asked)
        await client.runs.join(thread, (await client.runs.list(thread, limit=1))[0]["run_id"])
    values: Any = (await client.threads.get_state(thread))["values"]
    assert values["search_query"][0] == EN


async def test_places_are_geojson_for_every_client(client: LangGraphClient) -> None:
    state = await client.runs.wait(None, "agent", input=question(ZH))
    assert isinstance(state, dict)
    collection: FeatureCollection[Any] = FeatureCollection.model_validate(state["geojson"])
    found = [f for f in collection.features if (f.properties or {}).get("role") == "place"]
    shown = state["messages"][-1]["additional_kwargs"]["places"]
    for feature, place in zip(found, shown, strict=True):
        assert feature.geometry
        longitude, latitude = feature.geometry.model_dump()["coordinates"]
        assert (longitude, latitude) == (place["wgs84"]["lng"], place["wgs84"]["lat"])


FAILING: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an empty question": (question(" "), {}, "messages"),
    "an option out of range": (question(EN, max_research_loops=99), {}, "max_research_loops"),
    "a place that is none": (
        question(EN, user_location={"lng": 999, "lat": 1}),
        {},
        "user_location",
    ),
    "an unknown provider": (question(EN), {"answer_model": "nobody:x"}, "answer_model"),
    "an unknown provider in the input": (
        question(EN, reasoning_model="nobody:x"),
        {},
        "reasoning_model",
    ),
    "no source that answers": (
        question(EN),
        {**PLAIN, "web_search": "google", "research_model": "openai:sample-chat"},
        "every source failed",
    ),
}


@both
@pytest.mark.parametrize("case", FAILING)
async def test_a_failed_run_says_why_in_one_line_of_ours(
    client: LangGraphClient, stream: Stream, case: str
) -> None:
    given, settings, named = FAILING[case]
    heard = await stream(client, given, settings)
    assert named in heard.error
    assert "\n" not in heard.error
    assert "internal error" not in heard.error.lower()
    assert heard.texts == {}


@both
async def test_a_model_the_service_does_not_know_is_replaced_and_the_answer_comes(
    client: LangGraphClient, stream: Stream
) -> None:
    heard = await stream(client, question(EN), {**PLAIN, "answer_model": "gemini-unheard-of"})
    assert heard.kept["sources"]
    assert not heard.kept["degraded"]
    assert heard.error == ""


async def test_nothing_blocked_the_servers_event_loop(server: DevServer) -> None:
    assert "Blocking" not in server.output()
