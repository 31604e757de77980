"""Sums as answers tell them: right ones carry no sign, of wrong ones the wrong figure does."""

from typing import Any

from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from tests.support.rows import by_examples


def ruled(text: str, record: str, question: str, calc: Any) -> Outcome:
    """Return what becomes of a sentence by a judge who names its sum; without one, of none."""
    known = Evidence({"w0-0": Record([record])}, question=question, today="2026-11-29")
    [one] = statements(f"{text} [^w0-0]", MARKED)
    fields = {"v": "c", "p": ["1.1"], "calc": calc}
    rulings = {} if calc is None else {0: Ruling.model_validate(fields)}
    return proved([one], rulings, known)[0]


@by_examples
def test_a_right_sum_carries_no_sign_and_a_wrong_one_does(
    lang: str, kind: str, question: str, record: str, text: str, right: str, wrong: str, calc: str
) -> None:
    sound = ruled(text.format(right), record, question, calc)
    assert (sound.verdict, sound.spans) == ("computed", ()), (lang, kind)
    accused = ruled(text.format(wrong), record, question, calc)
    assert accused.fails
    assert all(span in wrong or wrong in span for span in accused.spans)
    assert not ruled(text.format(right), record, question, None).fails


def test_a_judge_may_name_its_sums_as_a_list() -> None:
    outcome = ruled(
        "It is 240 to 360 yuan for two.", "Admission is 120 to 180 yuan.", "for two",
        ["120*2", "180*2", None],
    )  # fmt: skip
    assert outcome.verdict == "computed"


def test_a_sum_that_its_judge_names_with_a_word_before_it_is_worked_out() -> None:
    table = "| Item | Reckoned as | Euros |\n|---|---|---|\n| Dinner | 4 × 33, assumed | {} |\n"

    def outcomes(total: str) -> list[str]:
        found = statements(table.format(total), MARKED)
        rulings = [Ruling(v="o"), Ruling(v="c", calc="assumed: 4*33")]
        done = proved(
            found, dict(enumerate(rulings)), Evidence({}, question="", today="2026-11-29")
        )
        return [one.verdict for one in done]

    assert outcomes("132") == ["own", "computed"]
    assert outcomes("142") == ["own", "missing"]


def test_a_sum_too_many_leaves_the_figures_that_are_told_computed() -> None:
    record = "Each year 124 € is saved, with storage 114 € more. The set is 350 €, storage 600 €."
    sums = "(124+114)*10-(350+600); 124*10-350; (124+114)*10/350"
    text = "In ten years 1430 € remain with storage and 890 € without it."
    assert ruled(text, record, "", sums).verdict == "computed"
    assert ruled(text.replace("1430", "1530"), record, "", sums).verdict != "computed"
    assert ruled("The set is 350 €.", record, "", "124*10-350").verdict != "computed", "none told"


@by_examples
def test_a_sum_of_which_no_number_is_told_leaves_what_its_passages_bear(
    record: str, text: str, calc: str, verdict: str
) -> None:
    """It was thrown away with its ruling, and the statement stayed "not checked"."""
    assert ruled(text, record, "", calc).verdict == verdict
