"""A place that the answer rules out has no card as if it fitted."""

from typing import Any

import pytest

from agent.assistants.common.shown_records import on_cards, places_as_shown
from agent.evidence.types import Place, PlaceVerdict, Source
from agent.texts import Language, say
from tests.support.rows import by_examples
from tests.unit import export_samples
from tests.unit.test_claims_judged import SOURCES, SUPPORTED, URL, Reader, checked

CLOSED = "门票60元的乙书店周日闭馆"


def entered(name: str, *failed: str) -> Place:
    verdicts = [
        PlaceVerdict(constraint="max_cost", verdict="violated", field="cost", text=text)
        for text in failed
    ]
    more = {"verdicts": verdicts} if failed else {}
    return Place(**{**export_samples.place(name=name), "id": name, **more})  # type: ignore[typeddict-item]


async def shown(
    text: str, ruled_out: dict[str, str], language: Language = "zh", **how: Any
) -> list[Place]:
    places = how.pop("places", None) or [
        entered("乙书店"),
        entered("甲书店"),
        entered("丙书店", "太贵"),
        entered("丁书店"),
    ]
    return await places_as_shown(places, [], text, language, first=(), ruled_out=ruled_out, **how)


@pytest.mark.parametrize(
    ("ruling", "outcome"),
    [
        ({"out": ["乙书店"]}, {"乙书店": f"{CLOSED}。"}),
        ({}, {}),
        ({"out": ["丙书店"]}, {}),
        ({"out": ["乙书店"], "v": "x", "bad": ["周日闭馆"], "says": "周一闭馆", "fix": "-"}, {}),
        ({"out": ["乙书店"], "v": "n", "bad": ["周日闭馆"]}, {}),
    ],
    ids=["said", "not said", "of none that it names", "left out", "not borne out"],
)
async def test_who_judges_a_statement_says_which_places_it_rules_out(
    ruling: dict[str, Any], outcome: dict[str, str]
) -> None:
    reader = Reader(周日={**SUPPORTED, **ruling})
    done = await checked(f"{CLOSED}[1]({URL})。", reader)
    assert done.ruled_out == outcome


async def test_what_a_card_says_against_its_place_has_no_holes_where_markers_stood() -> None:
    said = f"The 乙书店 [1]({URL}), a shop, takes **60元** [1]({URL})."
    done = await checked(said, Reader(乙书店={**SUPPORTED, "out": ["乙书店"]}))
    assert done.ruled_out == {"乙书店": "The 乙书店, a shop, takes 60元."}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Palace Café, 60元{record}, is closed.", "Palace Café Peking"),
        ("Palace Café, 60元{page}, is closed.", "Palace Café"),
        ("Palace Café, unlike Palace Café Peking{record}, 60元, is closed.", "Palace Café"),
        ("Palace Bar, 60元{record}, is closed.", "Palace Bar"),
    ],
    ids=["its record", "no record", "another's record", "another name"],
)
async def test_a_place_that_is_told_shorter_beside_its_own_record_is_ruled_out_by_its_name(
    said: str, told: str
) -> None:
    """Hard Rock Cafe, closed for good, had a card with its hours: Hard Rock Cafe Helsinki."""
    url = "https://map.example/1"
    record = Source(**{**SOURCES["w0-0"], "id": "a0-0", "kind": "place", "url": url,
                       "title": "Palace Café Peking", "number": 2})  # fmt: skip
    text = said.format(record=f"[2]({url})", page=f"[1]({URL})")
    reader = Reader(Palace={**SUPPORTED, "out": [text.split(",")[0]]})
    done = await checked(text, reader, sources={**SOURCES, "a0-0": record})
    assert [*done.ruled_out] == [told]


async def test_the_card_of_a_place_that_is_named_as_closed_says_so_and_stands_behind() -> None:
    """A café that a page had found closed for good had a card with its hours, as if open."""
    text = "- 乙书店周日闭馆。\n- 甲书店 09:00 开门。"
    places = await shown(text, {"乙书店": "乙书店周日闭馆。"})
    told = {p["name"]: [v["text"] for v in p.get("verdicts", [])] for p in places}
    assert told == {"甲书店": [], "乙书店": ["乙书店周日闭馆。"], "丁书店": []}
    assert [p["name"] for p in places if p["mentioned"]] == [*told][:2]


async def test_what_fails_a_demand_and_is_not_named_has_no_card() -> None:
    assert "丙书店" not in {p["name"] for p in await shown("甲书店合适。", {})}
    assert "丙书店" in {p["name"] for p in await shown("甲书店合适，丙书店太贵。", {})}


@pytest.mark.parametrize("language", ["zh", "en", "de"])
@pytest.mark.parametrize("words", ["", "乙" * 91], ids=["anew", "long"])
async def test_words_too_long_for_a_card_or_said_anew_are_told_in_short(
    words: str, language: Language
) -> None:
    places = await shown("甲书店，不去乙书店。", {"乙书店": words}, language)
    [verdict] = next(p for p in places if p["name"] == "乙书店")["verdicts"]
    assert verdict["text"] == say("constraints.answer.violated", language)


async def test_the_card_of_a_place_that_is_named_as_closed_does_not_say_that_it_is_open() -> None:
    """ "✓ open on Sunday" stood above "closed on Sundays", with the sign that it is open now."""
    verdict = PlaceVerdict(
        constraint="open_on", verdict="satisfied", field="open_time", text="周日"
    )
    hours = [{"days": [7], "start": 0, "end": 1440}]
    book = Place(**{**entered("乙书店"), "verdicts": [verdict], "opening": hours})  # type: ignore[typeddict-item]
    [told] = await shown(CLOSED, {"乙书店": CLOSED}, places=[book])
    assert [(v["verdict"], v["text"]) for v in told["verdicts"]] == [("violated", CLOSED)]
    [card] = on_cards([told], "zh", is_report=False)
    assert "opening" not in card
    assert "opening" in on_cards([book], "zh", is_report=False)[0]


@by_examples
async def test_what_only_a_record_does_not_know_is_not_unknown_where_a_page_has_its_figure(
    constraint: str, field: str, text: str, said: str, kept: bool
) -> None:
    verdict = PlaceVerdict(constraint=constraint, verdict="unknown", field=field, text=text)
    places = [Place(**{**entered(name), "verdicts": [verdict]}) for name in ("乙书店", "甲书店")]  # type: ignore[typeddict-item]
    told = await shown(
        "乙书店", {}, places=places, told=[("乙书店：", said), ("乙书店甲书店", said)]
    )
    left = {place["name"]: bool(place["verdicts"]) for place in told}
    assert left == {"乙书店": kept, "甲书店": True}


async def test_what_pages_bear_out_is_told_with_where_it_stands() -> None:
    done = await checked(f"- **乙书店**：{CLOSED}[1]({URL})。", Reader(周日=SUPPORTED))
    assert [said for _, said in done.told] != []


@by_examples
async def test_a_stop_of_the_plan_is_not_ruled_out_by_what_its_text_says_of_another_day(
    text: str, failing: list[str]
) -> None:
    places = await shown(text, {"乙书店": CLOSED, "甲书店": CLOSED})
    found = {
        p["name"] for p in places for v in p.get("verdicts", []) if v["constraint"] == "answer"
    }
    assert found == {*failing}


async def test_a_stop_whose_way_is_told_is_not_ruled_out_either() -> None:
    text = f"{CLOSED}。甲书店也是。"
    places = await shown(text, {"乙书店": CLOSED, "甲书店": CLOSED}, stops=["乙书店"])
    assert [p["name"] for p in places if p.get("verdicts", [])] == ["甲书店"]
