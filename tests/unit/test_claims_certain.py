"""What is certain: whose words a passage has, and what a text cites."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.assistants.common.judge import Judge, evidence_of
from agent.evidence.claims.corrected import corrected
from agent.evidence.claims.judging import Ruling, Rulings
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED, finished_notation
from agent.evidence.types import Place, Source


@pytest.mark.parametrize(
    ("text", "letter", "named"),
    [
        ("想早点回家，就去四川科技馆[^w0-0]。", "s", ["3.1", "2.1"]),
        ("想早点回家，就去四川科技馆[^w0-0]，那里安静。", "p", ["3.1", "2.1"]),
        ("想早点回家，就去四川科技馆[^w0-0]。", "o", ["2.1"]),
    ],
)
def test_advice_gets_no_record_that_its_writer_did_not_cite(
    text: str, letter: str, named: list[str]
) -> None:
    """A museum's record stood behind what only a page had said of it."""
    [one] = statements(text, MARKED)
    [outcome] = proved([one], {0: Ruling(v=letter, p=named, bad=["那里安静"])}, HOURS)
    assert outcome.cite is None


SUM = "raw logs a year: 3 × 365 = 1,095 TB"


@pytest.mark.parametrize(
    ("text", "named", "cite"),
    [
        ("Up to 100 TB a month, so 3 TB a day[^w0-0].", ["1.1", "2.1"], None),
        ("Up to 100 TB a month, in all 1,095 TB[^w0-0].", ["1.1", "2.1"], None),
        ("It takes 3 TB a day[^w0-0].", ["2.1"], None),
        ("It takes 1,095 TB a year[^w0-0].", ["2.1"], ("c0-0",)),
        ("It takes 3 TB a day.", ["2.1", "1.1"], ("w0-0",)),
        ("It takes 1,095 TB a year.", ["2.1", "1.1"], ("c0-0", "w0-0")),
    ],
)
def test_a_calculation_is_put_behind_no_other_source_and_nothing_that_the_question_says(
    text: str, named: list[str], cite: tuple[str, ...] | None
) -> None:
    known = Evidence(
        {
            "w0-0": Record(["The tier goes up to 100 TB a month."]),
            "c0-0": Record([SUM], is_worked=True),
        },
        question="Which store for 3 TB a day?",
    )
    [one] = statements(text, MARKED)
    assert proved([one], {0: Ruling(v="s", p=named)}, known)[0].cite == cite


def place(name: str, record: str) -> Record:
    return Record([f"{name} | {record}"], cast(Place, {"id": name, "name": name, "source": ""}))


HOURS = Evidence(
    {
        "a0-0": place("成都博物馆", "周二至周日 09:00-20:30"),
        "a0-1": place("四川科技馆", "周二至周日 09:00-17:00 | 距天府广场 800 m"),
        "w0-0": Record(["周二至周日 09:00-17:00 开放。"]),
        "a0-2": Record(["步行：天府广场 → 成都博物馆，415 m，6 分钟"]),
    },
    today="2026-11-29",
)


STOP = "Hakaniemi tram stop | zone A | 210 m from the hotel | lines 3, 6, 9"
PRESS = "The bridge opened in May after 4 years of work and cost 280 million euros."


@pytest.mark.parametrize(
    ("text", "cited", "named", "cite"),
    [
        ("The Hakaniemi tram stop is 210 m away[^w0-0].", STOP, f"{STOP} | platform 2", None),
        ("The Hakaniemi tram stop is 190 m away[^w0-0].", STOP, STOP.replace("21", "19"), "w1-0"),
        (
            "The Hakaniemi tram stop is 210 m away[^w0-0].",
            STOP.replace("Haka", "Mei"),
            STOP,
            "w1-0",
        ),
        ("The bridge cost 280 million euros[^w0-0].", f"Harju. {PRESS}", PRESS, None),
        ("大桥造价2.8亿欧元[^w0-0]。", f"Harju. {PRESS}", PRESS, None),
        ("大桥造价2.8亿欧元[^w0-0]。", "A ferry line for 280 million euros.", PRESS, "w1-0"),
        ("The bridge cost 280 million euros[^w0-0].", "The bridge cost a lot.", PRESS, "w1-0"),
    ],
)
def test_a_citation_moves_only_where_what_is_cited_does_not_say_as_much(
    text: str, cited: str, named: str, cite: str | None
) -> None:
    known = Evidence({"w0-0": Record([cited]), "w1-0": Record([named])})
    [outcome] = proved(statements(text, MARKED), {0: Ruling(v="s", p=["2.1"])}, known)
    assert outcome.verdict == "supported"
    assert outcome.cite == ((cite,) if cite else None)


def test_what_was_not_found_gets_no_source_that_its_writer_did_not_name() -> None:
    text = "14 个地脚孔[^w0-0]，气量文件里没有。\n\n别的文件里没有。"
    found = [replace(one, exact=(*one.cited, "none")) for one in statements(text, MARKED)]
    known = Evidence({"w0-0": Record(["14 个地脚孔"]), "w1-0": Record(["气量 3 立方米"])})
    rulings = {at: Ruling(v="s", p=["1.1", "2.1"]) for at in range(2)}
    parts = corrected(text, found, proved(found, rulings, known), MARKED)
    assert "".join(part.text for part in parts) == text


def test_a_statement_is_not_cut_within_the_name_of_a_source_nor_behind_that_of_a_place() -> None:
    names = ["Ciao! Caffé", "Yo! Sushi", "Fazer Café", "Yahoo! Café (Main St.) · 雅虎咖啡", "Oh!"]
    sources = {
        f"a0-{at}": cast(
            Source,
            {"id": f"a0-{at}", "kind": "place", "title": name, "url": f"https://a.example/{at}"},
        )
        for at, name in enumerate(names)
    }
    text = "Ebenso bei Ciao! Caffé und Yo! Sushi. Sehr gut! Bis dann."
    found = statements(text, finished_notation([], sources))
    assert [one.plain for one in found] == [
        "Ebenso bei Ciao! Caffé und Yo! Sushi.", "Sehr gut!", "Bis dann.",
    ]  # fmt: skip
    text = "- **Yahoo! Café**: quiet.\n- Oh! is open till 8. And big!\n\n在Oh!吃午饭。"
    found = statements(text, finished_notation([], sources))
    assert [one.plain for one in found] == [
        "Yahoo! Café: quiet.", "Oh! is open till 8.", "And big!", "在Oh!吃午饭。",
    ]  # fmt: skip


async def test_a_judge_s_word_counts_only_with_passages_that_it_was_shown() -> None:
    evidence = Evidence({"w0-0": Record(["故宫门票 60 元。"]), "w1-0": Record(["颐和园。"])})
    [one] = statements("故宫门票60元[^w0-0]。", MARKED)

    async def ask(*_arguments: object, **_options: object) -> object:
        rulings = [Ruling(id=one.name, v="s", p=["1.1", "[2.1]", "9.1"])]
        return SimpleNamespace(parsed=Rulings(rulings=rulings))

    judge = Judge(cast(Any, SimpleNamespace(ask=ask)), "m", cast(Any, None), MARKED)
    [ruling] = await judge([one], evidence) or []
    assert ruling.p == ["1.1", "2.1"]


def test_the_passages_of_a_page_begin_with_its_title_once() -> None:
    words = "S3 Standard, first 50 TB a month: $0.023 per GB."
    page = Source(id="w0-0", kind="page", title="Amazon S3 pricing", url="https://a.example/",
                  provider="x", quotes=[words])  # fmt: skip
    turn = {"question": "q", "today": "2026-11-29", "language": "en"}
    for text in (
        words,
        f"Amazon S3 pricing\n{words}",
        f"Amazon S3 pricing\nAmazon S3 pricing\n{words}",
        "",
    ):
        known = evidence_of(cast(Any, {"turn": turn}), {"w0-0": page}, {"w0-0": text}, [])
        assert [passage.text for passage in known.passages] == [f"Amazon S3 pricing {words}"]
