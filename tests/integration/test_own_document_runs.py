"""Collections of own documents, read in and asked about: what is measured of a run."""

import pytest
from evals.own_documents import __main__ as measuring
from evals.own_documents import sets

pytestmark = pytest.mark.node


async def test_a_run_tells_what_reached_the_writer_and_what_was_sent_outside() -> None:
    labels = [each for each in sets.load() if each["collection"] in ("en_station", "zh_lease")]
    tallies = await measuring.measured(labels, ["plan_execute"])
    tally = tallies["plan_execute"]
    assert all(tally.facts)
    assert all(tally.sides)
    assert (len(tally.facts), len(tally.sides)) == (16, 4)
    assert (all(tally.found), tally.false) == (True, 0)
    assert (tally.requests, tally.words) == (0, 0)
    assert next(iter(tally.lines())) == "  facts at the writer        16/16 (100.0%)"
