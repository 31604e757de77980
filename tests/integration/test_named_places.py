"""What a page names and the map found is listed whatever its rank; distances are as asked for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.graph import build_graph
from agent.nodes.named_places import searches_to_hold
from agent.sample.model.request import GroundedSentence, GroundingPage, ModelReply
from tests.integration.osm_service import own_elements
from tests.integration.test_question_kept import ENOUGH, Spoken, plan
from tests.integration.test_second_map_server import STATION, osm_world
from tests.support.lab import Lab, laboratory

AROUND = {"intent": "nearby", "place": STATION, "keywords": ["museum"], "country": "de"}
NEAREST = 8
"""Places of a search that are listed by their rank."""


def museum(number: int, **tags: str) -> dict[str, Any]:
    at = {"lat": 52.5210 + 0.0002 * number, "lon": 13.406}
    own = {"tourism": "museum", "name": f"Sammlung {number}", "opening_hours": "Mo-Su 10:00-18:00"}
    return {"type": "node", "id": 9000 + number, **at, "tags": {**own, **tags}}


def town() -> list[dict[str, Any]]:
    """Return seventy museums on one line away from the station; the last has three names."""
    last = museum(
        70, **{"name": "Haus der Gewässer", "name:en": "House of Waters", "name:zh": "水之家"},
        opening_hours="Tu-Su 10:00-18:00",
    )  # fmt: skip
    return [*own_elements(), *(museum(number) for number in range(1, 70)), last]


def page(text: str) -> ModelReply:
    source = GroundingPage(uri="https://seestadt.example/museums", title="Museums of Seestadt")
    return ModelReply(grounded=(GroundedSentence(text, (source,)),), queries=("museums",))


@asynccontextmanager
async def asked(
    question: str, *, web: str = "", searches: int = 1, **replies: list[ModelReply]
) -> AsyncIterator[tuple[dict[str, Any], Spoken]]:
    """Ask before seventy museums; yield the state and the model."""
    async with laboratory() as lab, osm_world(town()) as world:
        services = replace(lab.services, maps=world.maps)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        told = {"web_research": [page(web)]} if web else {}
        query = {"query": "museums in Seestadt", "map": AROUND, "web": bool(web)}
        first = {"generate_query": [plan(query)]}
        lab.gemini.llm = llm = Spoken(**{**first, **told, **replies})
        state = await lab.ask(question)
        overpass = len(world.lab.asked("/overpass"))
        assert overpass == searches, "what a page names costs no further search"
        yield state, llm


def listed(llm: Spoken, task: str) -> str:
    prompt = llm.prompts(task)[-1]
    return prompt.partition("<places>")[2].partition("</places>")[0]


QUESTION = f"Which museum near {STATION} shall I see on Monday?"


@pytest.mark.parametrize("name", ["Haus der Gewasser", "House of Waters", "水之家"])
async def test_what_a_page_names_is_listed_whatever_its_rank(name: str) -> None:
    web = f"Many visit {name} first." if name.isascii() else f"推荐：{name}，很有名。"
    async with asked(QUESTION, web=web) as (state, llm):
        [named] = [place for place in state["places"] if place["id"] == "osm:node/9070"]
        assert named["distance_from"] == STATION
        assert named["source"] in {source["id"] for source in state["sources_gathered"]}
        for task in ("reflection", "answer"):
            assert f"[^{named['source']}]" in listed(llm, task)


async def test_what_the_question_names_is_listed_whatever_its_rank() -> None:
    async with asked(f"Is the House of Waters near {STATION} open on Monday?") as (state, _):
        assert "osm:node/9070" in {place["id"] for place in state["places"]}


async def test_of_what_nobody_names_the_nearest_are_listed_with_how_many_there_are() -> None:
    async with asked(QUESTION, web="Museums here are many.") as (state, llm):
        assert len(state["places"]) == NEAREST
        assert f"{NEAREST} of 7" in listed(llm, "answer").splitlines()[1]
        assert len({source["id"] for source in state["sources_gathered"]}) == len(
            state["sources_gathered"]
        )


@pytest.mark.parametrize("walks", ["", "I walk there."])
async def test_what_is_looked_up_by_name_has_its_distance_from_where_the_question_asks(
    walks: str,
) -> None:
    by_name = {"intent": "poi", "place": "House of Waters", "country": "de"}
    follow_up = {"query": "House of Waters hours", "map": by_name, "web": False}
    more = ModelReply(
        json={"is_sufficient": False, "knowledge_gap": "hours", "follow_up_queries": [follow_up]}
    )
    question = f"{QUESTION} {walks}".strip()
    async with asked(question, reflection=[more, ENOUGH]) as (state, llm):
        [named] = [place for place in state["places"] if place["id"] == "osm:node/9070"]
        assert (named["distance_from"], named["distance_m"]) == (STATION, 1557)
        assert named.get("walk_m", 0) >= 1557 * bool(walks)
        assert ("walk_m" in named) == bool(walks)
        [source] = [s for s in state["sources_gathered"] if s["id"] == named["source"]]
        assert f"{STATION}" in source["quotes"][0]
        assert f"1.6 km from {STATION}" in listed(llm, "answer")


async def test_what_lies_between_two_is_far_from_both_and_from_nothing_else() -> None:
    """A playground without a name was told to be so far from the middle of the way, too."""
    ends = {"origin": STATION, "destination": "Museum of Rivers"}
    between = {"intent": "nearby", "keywords": ["playground"], "country": "de", **ends}
    question = f"A playground between {STATION} and the Museum of Rivers?"
    query = {"query": question, "map": between, "web": False}
    # Little was found, so that it was looked for a second time, further off.
    async with asked(question, searches=2, generate_query=[plan(query)]) as (state, llm):
        [place] = state["places"]
        assert place["distance_from"] == STATION
        assert [far["origin"] for far in place["further"]] == ["Museum of Rivers"]
        assert "a detour of" in listed(llm, "answer")


async def test_amap_s_hits_that_a_page_names_are_looked_up_one_call_each() -> None:
    restaurants = {"intent": "nearby", "place": "王府井", "keywords": ["餐厅"], "radius_m": 3000}
    query = {"query": "王府井 餐厅", "map": restaurants, "web": True}
    states = list[dict[str, Any]]()
    for told in ("王府井的馆子很多。", "最有名的是大董烤鸭店，别的也多。"):
        async with laboratory() as lab:
            replies = {"generate_query": [plan(query)], "web_research": [page(told)]}
            lab.gemini.llm = llm = Spoken(**replies)
            states.append(await lab.ask("王府井附近吃什么好"))
    names = [[place["name"] for place in state["places"]] for state in states]
    [last] = {*names[1]} - {*names[0]}
    assert last.startswith("大董烤鸭店")
    assert last in listed(llm, "answer")
    assert states[1]["usage"]["map_calls"] == states[0]["usage"]["map_calls"] + 1


def test_a_search_is_held_against_the_same_pages_once() -> None:
    """Each round made all searches of the map again, also where it had read no further page."""
    queries: Any = [{"query": "museums", "round": 1}, {"query": "parks", "round": 2}]
    first: Any = [{"id": "w0-0", "kind": "page"}, {"id": "a0-0", "kind": "place"}]
    assert searches_to_hold(queries[:1], first) == [0]
    of_the_map: Any = {"id": "a1-0", "kind": "place"}
    assert searches_to_hold(queries, [*first, of_the_map]) == [1]
    further: Any = {"id": "w1-0", "kind": "page"}
    assert searches_to_hold(queries, [*first, further]) == [0, 1]
    assert searches_to_hold([], []) == []
