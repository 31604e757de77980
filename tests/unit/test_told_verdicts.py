"""What a record does not know is no open question where the answer's pages tell it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agent.assistants.common.claims import Checked, ClaimCheck
from agent.assistants.common.told_verdicts import with_settled
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement
from agent.evidence.constraints import check
from agent.evidence.outing.text import outing_section, settle
from agent.evidence.types import Place, Source
from agent.texts import say
from tests.unit.test_evidence_mentions import place
from tests.unit.test_outing_stops import MUSEUM as STOP
from tests.unit.test_outing_stops import planned

PAGE = "https://helsinki.example/"
MUSEUM = Place(**{**place("City Museum"), "cost": None, "category": "museum"})
OPEN = say("constraints.children.unknown", "en")
TOUCH = f"At City Museum, Children's Town lets them touch everything [1]({PAGE})."


@pytest.mark.parametrize(
    ("told", "is_open"),
    [("Amos Rex: 15 € at the door [1]", False), ("Amos Rex: modern art under a square [1]", True)],
)
def test_a_card_asks_no_more_whether_it_is_free_where_its_text_has_a_price(
    told: str, is_open: bool
) -> None:
    museum = Place(**{**place("Amos Rex"), "cost": None})
    museum["verdicts"] = check(museum, {"free": True}, "en")
    assert [verdict["verdict"] for verdict in museum["verdicts"]] == ["unknown"]
    [card] = with_settled([museum], [(told, told)])
    assert bool(card["verdicts"]) is is_open


async def checked(
    body: str, *, rules: str = "s", passage: str = "2.1", is_worked: bool = False, **demands: Any
) -> tuple[Checked, list[str], Place]:
    """Return a text as it is checked, what its judge was asked, and the place that it is of."""
    museum = Place(**{**MUSEUM, "verdicts": check(MUSEUM, demands, "en")})  # type: ignore[arg-type]
    asked = list[str]()

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        asked.extend(one.plain for one in batch)
        return [Ruling(id=one.name, v=rules, p=[passage]) for one in batch]

    async def evidence() -> Evidence:
        page = Record(
            ["Children's Town: touch everything. Vegetarian soup."], page=PAGE, is_worked=is_worked
        )
        own, other = Record(["City Museum | museum"], museum, "place a"), place("Oodi", "b")
        oodi = Record(["Oodi | library"], other, "place b")
        return Evidence({"a0-0": own, "w0-0": page, "a1-0": oodi})

    rows = {"w0-0": ("page", PAGE), "a0-0": ("place", "https://map.example/")}
    sources = {
        id: Source(id=id, kind=kind, title=id, url=url, provider="x", quotes=[], number=at)  # type: ignore[typeddict-item]
        for at, (id, (kind, url)) in enumerate(rows.items(), 1)
    }
    claims = ClaimCheck(asyncio.ensure_future(evidence()), [], sources, "en", judge)
    claims.used[:] = sources.values()
    await claims.finish(body)
    return claims.finished(body, {}), asked, museum


@pytest.mark.parametrize(
    ("demands", "asked"),
    [
        ({"suits": ["children"]}, "City Museum: for children"),
        ({"suits": ["vegetarian"]}, "City Museum: vegetarian options"),
        ({"other": ["things to touch"]}, "City Museum: things to touch"),
        ({"free": True}, "City Museum: free of charge"),
    ],
)
async def test_what_a_record_does_not_know_is_judged_by_the_pages_that_are_cited_of_the_place(
    demands: dict[str, Any], asked: str
) -> None:
    """What a record does not know was asked under "touch everything" and its page."""
    done, judged, museum = await checked(TOUCH, **demands)
    assert asked in judged
    assert done.counts["total"] == 1
    [card] = with_settled([museum], done.told, done.settled)
    assert card["verdicts"] == []


async def test_no_judge_is_asked_what_the_record_of_a_place_alone_is_cited_for() -> None:
    _, judged, _ = await checked(
        "City Museum is 700 m away [2](https://map.example/).", suits=["children"]
    )
    assert len(judged) == 1


async def test_no_judge_is_asked_of_a_place_that_is_no_stop_of_the_text_s_plan_or_of_a_sum() -> (
    None
):
    """“Amos Rex: accessible by wheelchair [376] [376]” was judged by sums, of a corner to rest."""
    plan = "\n\n| Time | Stop |\n|---|---|\n| 12:00 | City Museum |\n"
    for body, is_worked, is_asked in (
        (TOUCH + plan, False, True),
        (TOUCH + plan.replace("City Museum", "Oodi"), False, False),
        (TOUCH + plan, True, False),
    ):
        _, judged, _ = await checked(body, suits=["children"], is_worked=is_worked)
        assert ("City Museum: for children" in judged) is is_asked


@pytest.mark.parametrize(
    ("body", "ruling"),
    [
        (TOUCH, {"rules": "n"}),
        (TOUCH, {"passage": "1.1"}),  # Its own record.
        (TOUCH, {"passage": "9.9"}),
        ("City Museum is 700 m away [2](https://map.example/).", {}),
        (f"Helsinki is lively [1]({PAGE}).", {}),  # Of no place.
    ],
)
async def test_an_open_question_stays_where_no_page_that_is_cited_of_the_place_answers_it(
    body: str, ruling: dict[str, str]
) -> None:
    done, _, museum = await checked(body, suits=["children"], **ruling)
    [card] = with_settled([museum], done.told, done.settled)
    assert [verdict["text"] for verdict in card["verdicts"]] == [OPEN]


def test_a_plan_asks_no_more_what_a_page_has_told_of_its_stop() -> None:
    verdicts = check(STOP, {"suits": ["children"]}, "en")
    outing = planned(Place(**{**STOP, "verdicts": verdicts}))
    assert OPEN in outing_section(outing, "en")
    assert not settle(outing, [("amap:99", OPEN)])
    assert settle(outing, [(STOP["id"], OPEN)])
    assert OPEN not in outing_section(outing, "en")
