"""A total is the sum of its column, wherever it is told, and stays so."""

import pytest

from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm
from agent.evidence.tables import changed
from agent.evidence.totals import filled, opened
from tests.support.rows import by_examples

GERMAN = NumberForm(".", ",")
TRIP = """# Two days

In all it costs [=] for two.

| What | How many | Cost |
|---|---|---|
| Ferry | 2 × 9.50 € | 2 × 9.50 = 19 € [1](https://a.example) |
| Museum | two | **38–52 €** |
| Park | two | free |
| **Total** | | **[=]** |

Take [=] € with you.
"""


def fill(text: str, form: NumberForm = ENGLISH_NUMBERS) -> str:
    return changed(text, filled(text, form)[0])


def test_a_total_is_the_sum_of_its_column_wherever_the_text_tells_it() -> None:
    shown = fill(TRIP)
    assert "In all it costs 57–71 € for two." in shown
    assert "| **Total** | | **57–71 €** |" in shown
    assert "Take 57–71 € with you." in shown


@by_examples
def test_cells_are_added_up_as_they_are_written(cells: list[str], total: str) -> None:
    rows = "".join(f"| {n} | {cell} |\n" for n, cell in enumerate(cells))
    assert (
        fill(f"| | € |\n|---|---|\n{rows}| all | [=] |\n").splitlines()[-1] == f"| all | {total} |"
    )


def test_the_last_total_of_a_column_adds_up_all_and_each_before_it_its_part() -> None:
    text = "| | ¥ |\n|---|---|\n| a | ¥10 |\n| 1 | [=] |\n| b | ¥5 |\n| 2 | [=] |\n| all | [=] |\n"
    assert [line.split("|")[2].strip() for line in fill(text).splitlines()[2:]] == [
        "¥10", "¥10", "¥5", "¥5", "¥15"
    ]  # fmt: skip


def test_parts_and_the_whole_of_a_column_stay_right_together() -> None:
    rows = ("| | € |", "|---|---|", "| a | 10 € |", "| one | [=] |", "| b | 5 € |", "| two | [=] |")
    text = "\n".join([*rows, "| all | [=] |\n"])
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert opened(done, totals) == []
    revised = done.replace("| b | 5 €", "| b | 7 €")
    again = fill(changed(revised, opened(revised, totals)))
    assert [line.split("|")[2].strip() for line in again.splitlines()[2:]] == [
        "10 €", "10 €", "7 €", "7 €", "17 €"
    ]  # fmt: skip


def test_a_sentence_tells_no_total_where_several_columns_have_one() -> None:
    text = "So [=].\n\n| | A | B |\n|---|---|---|\n| x | 10 € | 20 € |\n| all | [=] | [=] |\n"
    shown = fill(text)
    assert "| all | 10 € | 20 € |" in shown
    assert shown.startswith("So .")


def test_a_reader_s_numbers_are_written_as_his_language_does() -> None:
    text = "| | € |\n|---|---|\n| a | 1.204,50 € |\n| b | 20.000 € |\n| all | [=] |\n"
    assert "| all | 21.204,50 € |" in fill(text, GERMAN)


def test_a_total_of_what_was_changed_is_added_up_again_and_told_so_everywhere() -> None:
    changes, totals = filled(TRIP, ENGLISH_NUMBERS)
    revised = changed(TRIP, changes).replace("= 19 €", "= 24 €")
    again = fill(changed(revised, opened(revised, totals)))
    assert again.count("62–76 €") == 3
    assert "57" not in again
    assert opened(again, totals) == []


def test_a_total_that_is_a_small_number_changes_no_other_number_of_the_text() -> None:
    text = """It is -5 to 0 °C [9](https://a.example/town-0), in all [=], 0 stairs.

| What | Cost |
|---|---|
| Tram | 0 |
| Total | [=] [1] |
"""
    changes, totals = filled(text, ENGLISH_NUMBERS)
    revised = changed(text, changes).replace("| Tram | 0 |", "| Tram | 26.40 [1] |")
    again = fill(changed(revised, opened(revised, totals)))
    told = text.replace("| Tram | 0 |", "| Tram | 26.40 [1] |").replace("[=]", "26.40")
    assert again == told


@pytest.mark.parametrize("text", ["No sum.", "| a | b |\n|---|---|\n| 1 | 2 |\n"])
def test_a_text_without_the_sign_stays_as_it_is(text: str) -> None:
    assert fill(text) == text
