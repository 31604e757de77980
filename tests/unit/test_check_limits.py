"""What nobody judged is counted by its cause, and a report says how much that is and why."""

from collections.abc import Sequence

import pytest

from agent.assistants.common.check_limits import CAUSES
from agent.assistants.common.judge import Ask
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.statements import Statement
from agent.texts import say
from tests.unit.test_claims_judged import (
    SUPPORTED,
    TEXT,
    URL,
    Reader,
    checked,
    never,
    without_budget,
)


async def breaks(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling] | None:
    return None


@pytest.mark.parametrize(
    ("judge", "many", "cause", "n"),
    [(without_budget, 1, "unpaid", 1), (Reader(另有=SUPPORTED), 1, "unanswered", 1),
     (never, 1, "late", 1), (Reader(门票=SUPPORTED), 200, "beyond", 9)],
)  # fmt: skip
async def test_how_many_statements_nobody_judged_is_counted_by_the_cause_and_told_in_a_report(
    judge: Ask, many: int, cause: str, n: int
) -> None:
    told = [f"第{number}句门票60元[1]({URL})。" for number in range(many)]
    done = await checked("\n\n".join(["门票另有说法。", *told]), judge, seconds=0.5, tells=True)
    left = {name: done.counts[name] for name in CAUSES if name in done.counts}
    assert left.keys() == {cause}
    assert left[cause] >= n
    note = say("answer.some_not_checked", "zh", n=left[cause],
               why=say(f"answer.unchecked_{cause}", "zh"))  # fmt: skip
    whole = say("answer.not_checked", "zh")
    assert (note if cause != "unpaid" else whole) in done.text


async def test_a_report_whose_judge_breaks_off_is_told_once_as_not_checked_at_all() -> None:
    done = await checked(TEXT, breaks, tells=True)
    assert say("answer.not_checked", "zh") in done.text
    assert "没有核对（" not in done.text
