"""The numbers of a program stand in sources, question or notes; others are named."""

import pytest

from agent.assistants.common.literals import results_among, unfounded, without_literals
from tests.support.rows import by_examples

TEXTS = [
    "The hall costs 336,000 € a year, VAT 19 %. Delivery slips to week 16 of 2027.",
    "每人门票 45.5 元，共 3 人；补贴 1.2 万元；折扣 8%。",
]


@by_examples
def test_what_stands_somewhere_or_is_an_everyday_count_is_founded(program: str) -> None:
    assert unfounded(program, TEXTS) == []


@by_examples
def test_a_number_from_nowhere_is_named_as_it_is_written(program: str, lost: list[str]) -> None:
    assert unfounded(program, TEXTS) == lost


@pytest.mark.parametrize(
    ("program", "printed", "results"),
    [
        ("print(25000 - 2500)\nprint(31000 - 22500)", "22500\n8499", ["22500"]),
        ("print(f'31000 - 22500 = {31000 - 22500}')", "8499", []),
        ("print(45000.8 / 2)\nprint(22500 * 2)", "22500.4", ["22500"]),
        ("price = Decimal('22500')\nprint('price', price)", "price 22501", []),
    ],
)
def test_a_result_is_printed_also_by_the_program_without_it(
    program: str, printed: str, results: list[str]
) -> None:
    changed = without_literals(program, ["22500"])
    assert "22500" not in changed
    assert results_among(["22500"], printed) == results


def test_a_program_that_cannot_be_read_has_no_other_form() -> None:
    assert without_literals("not a program (", ["1"]) == ""
