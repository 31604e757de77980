"""What a judge was not shown of a cited source may bear what it would take out."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.assistants.common.judge import Judge
from agent.evidence.claims.corrected import as_the_judge_says, corrected
from agent.evidence.claims.judging import Ruling, Rulings, shown
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from agent.evidence.unshown import may_stand_unshown
from tests.support.rows import by_examples


@by_examples
def test_words_at_fault_may_stand_in_a_passage_that_was_not_shown(
    seen: str, unseen: str, bad: str, is_open: bool
) -> None:
    known = Evidence({"w0-0": Record([seen * 40, unseen * 40]), "w1-0": Record([bad])})
    [one] = statements("The lift is by the north door [^w0-0].", MARKED)
    names = {p.name for p in known.passages if p.text.startswith(seen.strip())}
    assert names
    assert may_stand_unshown([bad], one, names, known) is is_open


CABLE = "The cable car runs every day but Monday, and the last one leaves at half past four. "
FERRY = "Dogs travel for nothing on the upper deck of the ferry between May and October. "
TEXT = "The cable car runs daily but Monday, and dogs ride on the upper deck [^w0-0]."


@pytest.mark.parametrize(("is_shown", "verdict"), [(True, "missing"), (False, "unchecked")])
async def test_a_proposal_takes_out_nothing_that_an_unshown_passage_may_bear(
    is_shown: bool, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Evidence({"w0-0": Record([CABLE * 40, FERRY * 40])})
    found = statements(TEXT, MARKED)
    kept = [one for one in shown(found, known) if is_shown or "Dogs" not in one.text]
    monkeypatch.setattr("agent.evidence.claims.judging.shown", lambda *_: kept)
    fix = "The cable car runs daily but Monday [1]."
    ruling = Ruling(id="1", v="p", p=["1.1"], bad=["dogs ride on the upper deck"], fix=fix)

    async def ask(*_arguments: object, **_options: object) -> object:
        return SimpleNamespace(parsed=Rulings(rulings=[ruling]))

    judge = Judge(cast(Any, SimpleNamespace(ask=ask)), "m", cast(Any, None), MARKED)
    rulings = await judge(found, known)
    assert isinstance(rulings, list)
    outcomes = proved(found, dict(enumerate(rulings)), known)
    [said] = as_the_judge_says(found, outcomes, MARKED)
    assert said.verdict == verdict
    [part] = corrected(TEXT, found, [said], MARKED)
    assert (part.text == TEXT) is (not is_shown)
