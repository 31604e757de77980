"""What a record does not know is no open question on a card whose text tells it."""

import pytest

from agent.assistants.common.told_verdicts import with_settled
from agent.evidence.constraints import check
from agent.evidence.types import Place
from tests.unit.test_evidence_mentions import place


@pytest.mark.parametrize(
    ("told", "is_open"),
    [
        ("Amos Rex: free entrance on the first Friday [1]", False),
        ("Amos Rex: 15 € at the door [1]", False),
        ("Amos Rex: modern art under a square [1]", True),
    ],
)
def test_a_card_asks_no_more_whether_it_is_free_where_its_text_says_so(
    told: str, is_open: bool
) -> None:
    """“Not known whether it is free” stood right above “free entrance”."""
    museum = Place(**{**place("Amos Rex"), "cost": None})
    museum["verdicts"] = check(museum, {"free": True}, "en")
    assert [verdict["verdict"] for verdict in museum["verdicts"]] == ["unknown"]
    [card] = with_settled([museum], [(told, told)], "en")
    assert bool(card["verdicts"]) is is_open
