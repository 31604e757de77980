"""Whether the map is asked, and what a clock is, said once for every assistant."""

import pytest

from agent.assistants.common.search import belongs_on_map
from agent.evidence.constraints import valid_clock

PLACED, UNPLACED = "王府井附近的咖啡馆", "how batteries age"


@pytest.mark.parametrize(
    ("routing", "said", "text", "belongs"),
    [
        ("never", True, PLACED, False),
        ("always", None, UNPLACED, True),
        ("always", False, UNPLACED, True),
        ("llm", True, UNPLACED, True),
        ("llm", False, PLACED, False),
        ("llm", None, PLACED, True),
        ("llm", None, UNPLACED, False),
        ("llm", None, "hotels at 116.41,39.91", True),
        ("rules", False, PLACED, True),
        ("rules", True, UNPLACED, False),
    ],
)
def test_the_map_belongs_to_what_a_model_says_else_to_what_names_a_place(
    routing: str, said: bool | None, text: str, belongs: bool
) -> None:
    assert belongs_on_map(routing, said, ["", text]) is belongs


@pytest.mark.parametrize(
    ("value", "clock"),
    [
        ("9:05", "09:05"),
        ("09：30", "09:30"),
        (" 17.00 ", "17:00"),
        ("24:00", "24:00"),
        ("0:00", "00:00"),
        ("9:5", ""),
        ("009:05", ""),
        ("1:005", ""),
        ("25:00", ""),
        ("9:60", ""),
        (":30", ""),
        ("9", ""),
        ("9:30:00", ""),
        ("-9:30", ""),
        ("9" * 5000 + ":00", ""),
        ("1:" + "0" * 5000, ""),
        (None, ""),
        (930, ""),
    ],
)
def test_a_clock_has_one_or_two_digits_and_two(value: object, clock: str) -> None:
    assert valid_clock(value) == clock
