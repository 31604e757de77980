"""Ratios and tables are held against the sources like any figure."""

import pytest

from agent.assistants.common.claims import ClaimCheck
from agent.evidence.claims.check import check
from agent.evidence.claims.correct import corrected, shown_passages
from agent.evidence.claims.sentences import MARKED
from agent.sample.model.text import block
from tests.unit.test_claims import evidence, only

CELLS = ["Sodium-ion cells cost 77 dollars and last three times as long.", "LFP: 60 dollars."]


@pytest.mark.parametrize(
    "sentence",
    [
        "It is cheaper by a factor of 3 to 10.",
        "That is 3–10x faster.",
        "It is 4 to 12 times as long.",
        "通常快5到10倍。",
        "It has 35k stars.",
    ],
)
def test_an_invented_ratio_is_marked(sentence: str) -> None:
    assert only(sentence, evidence({"w0-0": CELLS})).verdict == "marked"


@pytest.mark.parametrize(
    "sentence",
    [
        "They last 3x as long [^w0-0].",
        "They last 3 times longer [^w0-0].",
        "Rinse it 3 times and go there 2 times a day.",
        "The picture has 1920x1080 dots.",
        "77 dollars are about 1.3 times the price of 60 dollars [^w0-0].",
    ],
)
def test_a_ratio_that_is_borne_or_calculated_or_none_is_not_marked(sentence: str) -> None:
    known = evidence({"w0-0": CELLS, "w0-1": ["A screen of 1920x1080 dots."]})
    assert only(sentence, known).verdict != "marked"


def test_every_cell_without_a_source_is_marked_and_no_other() -> None:
    table = (
        "| | Sodium | LFP | Lead |\n|---|---|---|---|\n"
        "| Cost | 77 dollars [^w0-0] | 60 dollars [^w0-0] | 150 dollars |\n"
        "| Cycles | 3,000 | 6,000 | 500 |\n"
    )
    findings = check(table, evidence({"w0-0": CELLS}))
    lines = "".join(part.text for part in corrected(table, findings, MARKED)).splitlines()
    assert lines[2] == "| Cost | 77 dollars [^w0-0] | 60 dollars [^w0-0] | 150 dollars † |"
    assert lines[3] == "| Cycles | 3,000 † | 6,000 † | 500 † |"


TABLE = (
    "| Item | Cost | Cycles |\n|---|---|---|\n"
    "| LFP | 60 dollars | 6000 |\n| Na | 77 dollars | 900 |"
)


def test_a_row_is_judged_with_the_head_of_its_table_on_both_sides() -> None:
    known = evidence({"w0-0": [f"The prices:\n{TABLE}\n\nCells are cheaper now."]})
    answer = (
        "| Cell | Price |\n|---|---|\n| Na | never below 77 dollars [^w0-0] |\n\nThe end is near."
    )
    row, after = check(answer, known)
    assert row.sentence.head == "| Cell | Price |"
    assert after.sentence.head == ""
    shown = {passage.text: passage.head for passage in shown_passages(row, known)}
    assert shown["| Na | 77 dollars | 900 |"] == "| Item | Cost | Cycles |"
    assert shown.get("Cells are cheaper now.", "") == ""
    check_of = ClaimCheck(answer, [], {}, known, "en")
    asked = str(check_of._claim_element(1, row))
    assert block(asked, "table_head") == "| Cell | Price |"
    assert "| Item | Cost | Cycles |\n| Na | 77 dollars | 900 |" in asked


def test_the_head_of_a_source_s_table_is_evidence_too() -> None:
    known = evidence({"w0-0": ["| Year | 2024 |\n|---|---|\n| Cost | 77 dollars |"]})
    assert only("Its cost in 2024 is told [^w0-0].", known).verdict != "marked"
