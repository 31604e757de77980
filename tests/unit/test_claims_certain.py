"""Code writes another figure only where it is certain which one is wrong."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.assistants.common.judge import Judge, evidence_of
from agent.evidence.claims.corrected import corrected, with_known_figures
from agent.evidence.claims.judging import Ruling, Rulings
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import MARKED, finished_notation, statements
from agent.evidence.types import Place, Source
from tests.support.rows import by_examples


@by_examples
def test_a_figure_beside_a_sum_is_neither_accused_nor_changed_unless_it_is_the_result(
    text: str, record: str, calc: str, verdict: str, right: list[list[str]]
) -> None:
    known = Evidence({"a0-0": Record([record])}, question="be there by 9:00", today="2026-11-29")
    [one] = statements(text, MARKED)
    [outcome] = proved([one], {0: Ruling(v="c", p=["1.1"], calc=calc)}, known)
    assert (outcome.verdict, [[*pair] for pair in outcome.right]) == (verdict, right)


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


@by_examples
def test_a_record_of_another_place_is_not_cited_for_what_is_said_of_this_one(
    text: str, letter: str, named: list[str], cite: list[str] | None
) -> None:
    [one] = statements(text, MARKED)
    [outcome] = proved([one], {0: Ruling(v=letter, p=named)}, HOURS)
    assert (None if outcome.cite is None else [*outcome.cite]) == cite


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


def test_what_was_not_found_gets_no_source_that_its_writer_did_not_name() -> None:
    text = "14 个地脚孔[^w0-0]，气量文件里没有。\n\n别的文件里没有。"
    found = [replace(one, exact=(*one.cited, "none")) for one in statements(text, MARKED)]
    known = Evidence({"w0-0": Record(["14 个地脚孔"]), "w1-0": Record(["气量 3 立方米"])})
    rulings = {at: Ruling(v="s", p=["1.1", "2.1"]) for at in range(2)}
    parts = corrected(text, found, proved(found, rulings, known), MARKED)
    assert "".join(part.text for part in parts) == text


def test_a_statement_is_not_cut_within_the_name_of_a_source() -> None:
    names = ["Ciao! Caffé", "Yo! Sushi", "Fazer Café"]
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


@by_examples
def test_of_two_sums_small_results_are_told_and_none_stands_for_the_other(
    text: str, calc: str, verdict: str, value: str
) -> None:
    record = "¥80 a head, ¥600 in all. 15 seats, 19 seats, 14 children."
    known = Evidence({"w0-0": Record([record])}, today="2026-11-29")
    [one] = statements(text, MARKED)
    [outcome] = proved([one], {0: Ruling(v="c", p=["1.1"], calc=calc)}, known)
    assert (outcome.verdict, outcome.value, outcome.right) == (verdict, value, ())


def test_a_judge_that_loses_count_moves_no_citation_of_what_is_borne_out() -> None:
    text = "四川科技馆 800 米[^a0-1]，周二至周日 09:00–17:00。"
    [one] = statements(text, MARKED)
    for named in ("1.1", "3.1"):
        [outcome] = proved([one], {0: Ruling(v="s", p=[named])}, HOURS)
        assert (outcome.verdict, outcome.cite) == ("supported", None), named


async def test_a_judge_s_word_counts_only_with_passages_that_it_was_shown() -> None:
    evidence = Evidence({"w0-0": Record(["故宫门票 60 元。"]), "w1-0": Record(["颐和园。"])})
    [one] = statements("故宫门票60元[^w0-0]。", MARKED)

    async def ask(*_arguments: object, **_options: object) -> object:
        rulings = [Ruling(id=one.name, v="s", p=["1.1", "[2.1]", "9.1"])]
        return SimpleNamespace(parsed=Rulings(rulings=rulings))

    judge = Judge(cast(Any, SimpleNamespace(ask=ask)), "m", cast(Any, None), MARKED)
    [ruling] = await judge([one], evidence) or []
    assert ruling.p == ["1.1", "2.1"]


@by_examples
def test_only_the_figure_that_was_named_is_changed(
    text: str, spans: list[str], right: list[list[str]], written: str
) -> None:
    every = statements(text, MARKED)
    pairs = tuple((wrong, better) for wrong, better in right)
    found = with_known_figures(every, [Outcome("missing", tuple(spans), right=pairs)], MARKED)
    assert "".join(part.text for part in corrected(text, every, found, MARKED)) == written


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


def test_whose_word_it_is_may_be_wrong_though_the_name_stands_on_the_page_that_is_cited() -> None:
    pages = {
        "w0-0": Record(["ISE: larger houses were not measured."]),
        "w1-0": Record(["Field tests: factors of 2.2 to 3.8 in apartment houses."]),
    }
    text = "ISE measured factors of 2.2 to 3.8 in apartment houses[^w0-0]."
    [one] = statements(text, MARKED)
    fix = "Field tests: factors of 2.2 to 3.8 in apartment houses [2]."
    ruling = Ruling(v="p", p=["2.1", "1.1"], bad=["ISE"], fix=fix)
    [outcome] = proved([one], {0: ruling}, Evidence(pages))
    assert (outcome.verdict, outcome.spans, outcome.fix) == ("missing", ("ISE",), fix)
