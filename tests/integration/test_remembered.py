"""A follow-up has every source and place that the last answers cited, however little room."""

from typing import Any

import pytest

from agent.assistants.common.remembered import (
    _is_kept_for_later,
    _item,
    _place_item,
    with_items,
)
from agent.assistants.common.toolbox import CODE
from agent.assistants.common.workspace import Item
from agent.evidence.numbering import is_kept
from agent.evidence.references import site_of
from agent.evidence.types import Place, Source
from agent.runs.workspace_store import Room
from tests.integration.team_lab import Team, team_laboratory
from tests.support.deep_lab import Researcher, deep_laboratory
from tests.support.lab import Lab, laboratory, told
from tests.support.plan_lab import plan_laboratory
from tests.unit.test_evidence_mentions import place
from tests.unit.test_previous import PAGES, left
from tests.unit.test_previous import Knowledge as Known

pytestmark = pytest.mark.node
LITTLE = 700
"""Bytes: a source or two without a word of theirs."""


def urls(rows: Any) -> set[str]:
    return {row["url"] for row in rows}


async def assert_all_is_known(lab: Any, first: dict[str, Any], question: str) -> None:
    """Begin the next turn with all that the first answer cited."""
    cited = told(first)["sources"]
    assert len(cited) > len(first["previous"]["sources"])
    given = {"messages": question}
    config = {"configurable": {"thread_id": "t"}}
    updates = [update async for update in lab.graph.astream(given, config, stream_mode="updates")]
    [previous] = [row["previous"] for row in updates[0].values()]
    assert urls(cited) <= urls(previous["sources"])
    assert all(source["quotes"] for source in previous["sources"] if source["url"] in urls(cited))
    ids = [source["id"] for source in previous["sources"]]
    assert len(ids) == len(set(ids))
    places = [place["id"] for place in told(first)["places"] if place["mentioned"]]
    assert set(places) <= {place["id"] for place in previous["places"]}
    assert {place["source"] for place in previous["places"]} <= set(ids)


async def test_the_main_assistant_has_all_sources_and_places_that_it_cited() -> None:
    async with laboratory() as lab:
        question = "王府井附近适合遛娃的好去处"
        first = await lab.ask(question, context={"max_previous_bytes": LITTLE})
        assert any(place["mentioned"] for place in told(first)["places"])
        await assert_all_is_known(lab, first, "哪一个最便宜？")


async def test_deep_research_has_all_sources_that_it_cited() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        first = await lab.ask(max_previous_bytes=LITTLE)
        await assert_all_is_known(lab, first, "那么寿命呢？")


async def test_a_team_has_all_sources_that_it_cited() -> None:
    async with team_laboratory(Team()) as lab:
        first = await lab.ask(max_previous_bytes=LITTLE)
        await assert_all_is_known(lab, first, "再确认一下是哪一年？")


async def test_a_dossier_has_all_sources_that_it_cited() -> None:
    async with plan_laboratory() as lab:
        first = await lab.ask(max_previous_bytes=LITTLE)
        await assert_all_is_known(lab, first, "那么成本呢？")


async def remembered(lab: Lab, thread: str = "t", owner: str = "") -> list[Item]:
    return await lab.services.workspace(Room(thread, owner, "later")).of_before()


async def test_nothing_is_remembered_of_a_thread_on_another_one() -> None:
    async with laboratory() as lab:
        await lab.ask("王府井附近适合遛娃的好去处")
        assert await remembered(lab)
        assert await remembered(lab, "another") == []
        second = await lab.ask("哪一个最便宜？", "another")
    assert second["previous"]["sources"] == []


async def test_what_is_found_again_keeps_its_id_over_turns() -> None:
    async with laboratory() as lab:
        for question in ("王府井附近适合遛娃的好去处", "哪一个最便宜？"):
            await lab.ask(question, context={"max_previous_bytes": LITTLE})
        items = await remembered(lab)
    assert all(is_kept(item.id) for item in items)
    assert len({item.key for item in items}) == len(items)


def test_a_source_whose_words_had_no_room_has_those_nearest_to_the_question() -> None:
    previous = left(Known(PAGES, PAGES, [], []), limit=900)
    filler = "\n\n".join(
        f"这一段说的是别的事情，与问题没有什么关系，第{n}段。" * 10 for n in range(40)
    )
    items = [
        Item("page", "t", page["url"], text=f"{filler}\n\n乙的高度是 {n} 米。", id=f"w10{n}-10")
        for n, page in enumerate(PAGES)
    ]
    whole = with_items(previous, items, "乙的高度")
    words = {source["url"]: " ".join(source["quotes"]) for source in whole["sources"]}
    assert urls(whole["sources"]) == urls(PAGES)
    silent = {s["url"] for s in whole["sources"]} - {
        s["url"] for s in previous["sources"] if s["quotes"]
    }
    assert silent
    heights = {page["url"]: f"高度是 {n} 米" for n, page in enumerate(PAGES)}
    assert all(heights[url] in words[url] for url in silent)


async def test_own_documents_are_not_copied_and_calculations_are_remembered() -> None:
    def row(name: str, **more: Any) -> Source:
        return Source(**{**PAGES[0], "id": name, "kind": "document", "url": "", **more})  # type: ignore[typeddict-item]

    own = row("o0-0", title="检修手册", provider="自有资料", quotes=["每三年一次。"])
    sums = [row(f"c{n}-0", title="计算", provider=CODE, quotes=[f"3 × {n}"]) for n in range(2)]
    paper = row("e0-0", url="https://papers.org/a.pdf#page=3")
    assert not _is_kept_for_later(own)
    assert all(map(_is_kept_for_later, [*sums, paper, PAGES[1]]))
    assert len({_item(source, "").key for source in sums}) == 2


def test_a_place_of_an_earlier_answer_is_cited_by_its_map_s_name_and_its_reader_s() -> None:
    """“— Osm” stood in a list of sources beside “— OpenStreetMap”."""
    bank = Place(**{**place("Suomen Pankin rahamuseo"), "id": "osm:node/1"})  # type: ignore[typeddict-item]
    bank["name_en"] = "Bank of Finland Museum"
    source = _place_item(bank, "en").source(["…"])
    assert site_of(source) == "OpenStreetMap"
    assert source["title"] == "Bank of Finland Museum · Suomen Pankin rahamuseo"
