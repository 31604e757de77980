"""A place that the answer rules out has no card as if it fitted."""

from typing import Any

import pytest

from agent.assistants.common.shown_records import places_as_shown
from agent.evidence.types import Place, PlaceVerdict
from agent.texts import Language, say
from tests.unit import export_samples
from tests.unit.test_claims_judged import SUPPORTED, URL, Reader, checked

CLOSED = "门票60元的乙书店周日闭馆"


def entered(name: str, *failed: str) -> Place:
    verdicts = [
        PlaceVerdict(constraint="max_cost", verdict="violated", field="cost", text=text)
        for text in failed
    ]
    more = {"verdicts": verdicts} if failed else {}
    return Place(**{**export_samples.place(name=name), "id": name, **more})  # type: ignore[typeddict-item]


async def shown(text: str, ruled_out: dict[str, str], language: Language = "zh") -> list[Place]:
    places = [entered("乙书店"), entered("甲书店"), entered("丙书店", "太贵"), entered("丁书店")]
    return await places_as_shown(places, [], text, language, first=(), ruled_out=ruled_out)


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
