"""Ratios and tables are held against the sources like any figure."""

import pytest

from agent.assistants.common.claims import claim_element
from agent.evidence.claims.check import check
from agent.evidence.claims.correct import corrected, shown_passages
from agent.evidence.claims.evidence import Evidence, record
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
    asked = str(claim_element(1, row, shown_passages(row, known)))
    assert block(asked, "table_head") == "| Cell | Price |"
    assert "| Item | Cost | Cycles |\n| Na | 77 dollars | 900 |" in asked


def test_the_head_of_a_source_s_table_is_evidence_too() -> None:
    known = evidence({"w0-0": ["| Year | 2024 |\n|---|---|\n| Cost | 77 dollars |"]})
    assert only("Its cost in 2024 is told [^w0-0].", known).verdict != "marked"


FLAT = (
    "The record is 574.8 km/h (357.2 mph), achieved on 3 April 2007. Speeds: | Date | Train "
    "| Speed | |---|---|---| | 18 May 1990 | TGV 325 | 515.3 km/h | "
    "| 3 April 2007 | V150 | 574.8 km/h |"
)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The V150 train reached 574.8 km/h on 3 April 2007 [^s0-2].", "quoted"),
        ("The V150 train reached 515.3 km/h on 3 April 2007 [^s0-2].", "marked"),
    ],
)
def test_the_rows_of_a_table_that_a_search_gives_in_one_line_are_told_apart(
    sentence: str, verdict: str
) -> None:
    known = Evidence({"s0-2": record("s0-2", [FLAT])}, question="How fast was it?")
    assert only(sentence, known).verdict == verdict


def test_what_code_says_itself_is_no_claim() -> None:
    remark = "*Not verified: the check agreed to “born on March 25, 1941”; check it before use.*"
    records = {"s0-0": record("s0-0", ["Born on March 25, 1940."])}
    known = Evidence(records, question="When was he born?", own=[remark])
    assert only(remark, known).verdict == "own"
    assert only(remark, Evidence(records, question="When was he born?")).verdict == "marked"


TOWERS = {
    "s0-0": "At 828 metres tall, it is as high as Taipei 101 with the Eiffel Tower perched on top.",
    "s1-0": "The Eiffel Tower grew from 324 meters tall to 330 meters.",
}
BOTH = "The Burj Khalifa is 828 m tall [^s0-0] and the Eiffel Tower 330 m [^s1-0]."
RATIO = "828 / 330 is 2.51 (calculation 1), a little more than two and a half."


def towers(*own: str) -> Evidence:
    records = {name: record(name, [text]) for name, text in TOWERS.items()}
    known = ["2.50909090909 True"]
    return Evidence(records, question="Higher?", known=known, own=own)


def test_two_things_in_one_sentence_each_have_their_own_figure() -> None:
    assert not only(BOTH, towers()).contradicted
    assert only(BOTH, towers()).verdict != "marked"
    turned = BOTH.replace("330 m", "324 m").replace("828 m", "330 m")
    assert only(turned, towers()).verdict not in ("quoted", "computed")


def test_what_a_calculation_below_the_answer_came_to_is_not_asked_of_the_pages() -> None:
    assert only(RATIO, towers("(calculation 1)")).verdict == "computed"
    assert only(RATIO, towers()).verdict == "doubtful"
    wrong = RATIO.replace("2.51", "2.61")
    assert only(wrong, towers("(calculation 1)")).verdict in ("marked", "repaired")


TOWER = (
    "The Eiffel Tower, a monument of Paris, added six metres to its height. The feat has now taken "
    "the height of the tower from 324m to 330 m. In 2000 an antenna added the height to 324 m, as "
    "the official site of the Eiffel Tower says."
)


def test_a_clause_without_a_name_is_about_what_its_passage_is_about() -> None:
    known = Evidence({"s1-1": record("s1-1", [TOWER, "2022-03-15"])}, question="How high?")
    for sentence in ("is 330 m tall", "has been 330 m tall since March 2022"):
        assert not only(f"The Eiffel Tower {sentence} [^s1-1].", known).contradicted
    assert only("The Eiffel Tower is 342 m tall [^s1-1].", known).verdict == "marked"


def test_dates_of_pages_in_other_languages_are_read() -> None:
    page = "Gesticht op respectievelijk 8 en 9 januari 1632; le 14 juillet 1789; am 3. März 2020."
    known = Evidence({"s0-0": record("s0-0", [page])}, question="When?")
    for day in ("8 January 1632", "14 July 1789", "March 3, 2020"):
        assert only(f"It was founded on {day} [^s0-0].", known).verdict != "marked"
    assert only("It was founded on 10 January 1632 [^s0-0].", known).verdict == "marked"
