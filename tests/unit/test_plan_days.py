"""A day that a text's own plan sets is no figure that a source has to have."""

import pytest

from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from tests.support.rows import by_examples


@by_examples
def test_a_day_of_the_text_s_own_plan_is_not_unproved(
    text: str, page: str, rulings: list[dict[str, object]], unproved: list[str]
) -> None:
    """The last statement is the one that is asked about; rulings are of the last ones."""
    known = Evidence({"w0-0": Record([page])}, question="Plan the move", today="2026-12-01")
    found = statements(text, MARKED)
    first = len(found) - len(rulings)
    ruled = {at: Ruling.model_validate(row) for at, row in enumerate(rulings, first)}
    outcome = proved(found, ruled, known)[-1]
    assert [*outcome.unproved] == unproved
    assert outcome.verdict == ("unchecked" if unproved else "supported")


@pytest.mark.parametrize(("today", "verdict"), [("2026-12-01", "supported"), ("", "unchecked")])
def test_only_where_today_is_known_a_day_lies_ahead(today: str, verdict: str) -> None:
    [one] = statements("- 8 January 2027: cut over; sequences stay behind [^w0-0]", MARKED)
    known = Evidence({"w0-0": Record(["Sequences stay behind."])}, question="", today=today)
    assert proved([one], {0: Ruling(v="s", p=["1.1"])}, known)[0].verdict == verdict
