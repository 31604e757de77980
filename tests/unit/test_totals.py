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
    again = changed(revised, opened(revised, totals))
    again = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert [line.split("|")[2].strip() for line in again.splitlines()[2:]] == [
        "10 €", "10 €", "7 €", "7 €", "17 €"
    ]  # fmt: skip


@by_examples
def test_a_sign_is_what_its_row_or_its_place_says(rows: list[str], shown: list[str]) -> None:
    table = "".join(f"| {row} |\n" for row in ("What | How many | €", "---|---|---", *rows))
    lines = fill(table).splitlines()[2:]
    assert [line.split("|")[3].strip() for line in lines] == shown


@by_examples
def test_a_row_of_amounts_is_multiplied_or_added_up(
    cells: list[str], sign: str, shown: str
) -> None:
    row = " | ".join(["Museum", *cells, sign])
    done = fill(f"| What | a | b | In all |\n|---|---|---|---|\n| {row} |\n| Bus | | | 90 € |\n")
    assert done.splitlines()[2].split("|")[4].strip() == shown


def test_a_row_s_own_total_follows_its_row_and_the_column_s_follows_it() -> None:
    text = """It costs [=46 €], the museum alone [=36 €].

| What | How many | € |
|---|---|---|
| Tram | | 10 € |
| Museum | 2 × 18 € | [=36 €] |
| In all | | [=46 €] |
"""
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert opened(done, totals) == []
    revised = done.replace("2 × 18 €", "3 × 18 €")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert shown == text.replace("2 × 18 €", "3 × 18 €").replace("[=46 €]", "64 €").replace(
        "[=36 €]", "54 €"
    )


COLUMNS = """So {said}.

| | Careful | Thrifty |
|---|---|---|
| Tram | 10 € | 0 € |
| Lunch | 90 € | 60 € |
| all | [=] | [=61] |
"""


@by_examples
def test_a_sentence_tells_the_total_that_is_nearest_to_its_writer_s_figure(
    said: str, shown: str
) -> None:
    assert fill(COLUMNS.format(said=said)).splitlines()[0] == f"So {shown}."


@by_examples
def test_a_citation_inside_a_total_s_sign_stands_behind_it(said: str, shown: str) -> None:
    assert fill(COLUMNS.format(said=said)).splitlines()[0] == f"So {shown}."


def test_a_cell_s_sign_with_a_citation_inside_is_added_up_and_cited() -> None:
    rows = "| | € |\n|---|---|\n| a | 10 € |\n| b | 5 € |\n"
    text = f"{rows}| all | **[=14 € [1](https://a.example)]** |\n"
    assert fill(text).endswith("| all | **15 € [1](https://a.example)** |\n")


def test_where_several_columns_have_a_total_a_bare_sign_is_left_to_a_revision() -> None:
    text = COLUMNS.format(said="[=]")
    changes, totals = filled(text, ENGLISH_NUMBERS, leaves=True)
    left = changed(text, changes)
    assert left.startswith("So [=].")
    assert "| all | 100 € | 60 € |" in left
    assert changed(left, filled(left, ENGLISH_NUMBERS, totals)[0]).startswith("So –.")


@by_examples
def test_what_cannot_be_added_up_is_told_in_its_writer_s_words(text: str, shown: str) -> None:
    assert fill(f"{text}\n\n| | € |\n|---|---|\n| a | 2 tickets |\n") == (
        f"{shown}\n\n| | € |\n|---|---|\n| a | 2 tickets |\n"
    )


def test_a_total_that_could_not_be_added_up_is_once_its_column_can() -> None:
    text = "It costs [=12].\n\n| | € |\n|---|---|\n| a | 2 tickets |\n| all | [=] |\n"
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert done.startswith("It costs 12.")
    assert "| all | – |" in done
    revised = done.replace("2 tickets", "2 × 7 €")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert "| all | 14 € |" in shown


def test_a_sign_in_a_new_sentence_tells_the_total_that_the_text_has_already() -> None:
    changes, totals = filled(TRIP, ENGLISH_NUMBERS)
    text = changed(TRIP, changes) + "\nSave [=] until May.\n"
    assert "Save 57–71 € until" in changed(text, filled(text, ENGLISH_NUMBERS, totals)[0])


def test_a_range_whose_low_end_changes_is_told_anew_in_each_column_s_sentence() -> None:
    text = COLUMNS.format(said="it is [=100 €] or [=60 €]").replace("| 10 €", "| 10–20 €")
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert done.startswith("So it is 100 € or 60 €.")
    revised = done.replace("10–20 €", "40–50 €").replace("| 0 €", "| 9 €")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert shown.startswith("So it is 130 € or 69 €.")
    assert "| all | 130–140 € | 69 € |" in shown


@pytest.mark.parametrize(
    ("own", "shown"), [("[=]", "≥ 12 €"), ("[=20 €]", "20 €"), ("[=12 €]", "12 €")]
)
def test_where_a_cell_cannot_be_read_the_writer_s_figure_stands_else_a_total_says_at_least(
    own: str, shown: str
) -> None:
    table = "| | € |\n|---|---|\n| a | 12 € |\n| b | {b} |\n| all | {own} |\n"
    text = f"It is [=].\n\n{table.format(b='ca. 8', own=own)}"
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert f"| all | {shown} |" in done
    assert opened(done, totals) == []
    revised = done.replace("ca. 8", "9 €")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert "| all | 21 € |" in shown
    assert "≥" not in shown


def test_a_sum_that_a_change_makes_unreadable_says_at_least() -> None:
    text = "It is [=].\n\n| | € |\n|---|---|\n| a | 12 € |\n| b | 8 € |\n| all | [=21 €] |\n"
    changes, totals = filled(text, ENGLISH_NUMBERS)
    revised = changed(text, changes).replace("8 €", "ca. 8")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert "| all | ≥ 12 € |" in shown


VAN = """| | Van |
|---|---|
| Purchase | 25,000 (used) to 80,000 (electric) |
| Maintenance | 3,000–9,000 |
| Total | [=] |
"""


@pytest.mark.parametrize("own", ["28,000–89,000", "[=28,000–89,000]"])
def test_a_writer_s_new_figure_stays_where_its_column_cannot_be_read(own: str) -> None:
    changes, totals = filled(VAN, ENGLISH_NUMBERS)
    revised = changed(VAN, changes).replace("≥ 3,000 |", f"{own} |")
    again = changed(revised, opened(revised, totals))
    shown, now = filled(again, ENGLISH_NUMBERS, totals)
    assert "| Total | 28,000–89,000 |" in changed(again, shown)
    assert not any(total.is_summed for total in now)


@pytest.mark.parametrize(
    ("own", "is_agreed"), [("[=3]", True), ("[=]", True), ("[=2]", False), ("[=1–3]", False)]
)
def test_a_total_is_agreed_where_its_writer_says_no_other(own: str, is_agreed: bool) -> None:
    _, totals = filled(
        f"| | € |\n|---|---|\n| a | 1 |\n| b | 2 |\n| all | {own} |\n", ENGLISH_NUMBERS
    )
    assert [total.is_agreed for total in totals] == [is_agreed]


SPLIT = """| | € |
|---|---|
| Ferry | 10 € |
| Museum | 20 € |
| Total | {total} |
| Per person | {head} |
"""


@pytest.mark.parametrize(
    ("total", "head", "shown"),
    [("[=]", "[=15 €]", ["30 €", "15 €"]), ("[=31 €]", "[=21 €]", ["30 €", "21 €"])],
)
def test_a_sign_below_the_total_is_another_figure_and_no_sum(
    total: str, head: str, shown: list[str]
) -> None:
    lines = fill(SPLIT.format(total=total, head=head)).splitlines()
    assert [line.split("|")[2].strip() for line in lines[-2:]] == shown


def test_the_last_day_s_total_is_its_own_where_its_writer_s_figure_says_so() -> None:
    rows = "| a | 10 € |\n| 1 | [=10 €] |\n| b | 5 € |\n| 2 | [=5 €] |\n"
    assert fill(f"| | € |\n|---|---|\n{rows}").endswith("| 2 | 5 € |\n")


def test_the_total_of_another_column_lends_its_currency_to_none() -> None:
    text = "| | A | B |\n|---|---|---|\n| a | $1 | 1 € |\n| all | $1 | [=] |\n"
    assert fill(text).endswith("| all | $1 | 1 € |\n")


def test_totals_of_several_currencies_in_a_row_are_no_row_s_own_sum() -> None:
    text = "| | A | B | C |\n|---|---|---|---|\n| a | $2 | 1 € | 1 € |\n| all | [=] | [=] | [=] |\n"
    changes, totals = filled(text, ENGLISH_NUMBERS)
    revised = changed(text, changes).replace("| 1 € | 1 € |\n| all", "| 1 € | 9 € |\n| all")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert shown.endswith("| all | $2 | 1 € | 9 € |\n")


def test_a_bar_inside_a_cell_ends_none() -> None:
    rows = "| Bus 1 \\| 2 | 10 € |\n| Tram | 5 € |\n| all | [=] |\n"
    assert fill(f"| | € |\n|---|---|\n{rows}").endswith("| all | 15 € |\n")


def test_a_great_total_is_told_anew_wherever_it_stands_in_whatever_words() -> None:
    text = """In all it costs [=].

| | € |
|---|---|
| Ferry | 119.50 € |
| Night | 95 € |
| 214.50 | 5 € |
| all | [=] |

Without the ferry it is 219.50 € less 119.50 €, and 1,219.50 € is another.
"""
    changes, totals = filled(text, ENGLISH_NUMBERS)
    revised = changed(text, changes).replace("In all it costs", "You pay").replace("95 €", "97 €")
    again = changed(revised, opened(revised, totals))
    shown = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    assert shown.startswith("You pay 221.50 €.")
    assert "| all | 221.50 € |" in shown
    assert shown.endswith("it is 221.50 € less 119.50 €, and 1,219.50 € is another.\n")


def test_a_total_that_could_be_two_times_is_right_as_it_stands() -> None:
    text = "| | |\n|---|---|\n| a | 1–1.15 |\n| all | [=] |\n"
    changes, totals = filled(text, ENGLISH_NUMBERS)
    done = changed(text, changes)
    assert "| all | 1.00–1.15 |" in done
    assert opened(done, totals) == []


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
    again = changed(revised, opened(revised, totals))
    again = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    told = text.replace("| Tram | 0 |", "| Tram | 26.40 [1] |").replace("[=]", "26.40")
    assert again == told


@pytest.mark.parametrize("text", ["No sum.", "| a | b |\n|---|---|\n| 1 | 2 |\n"])
def test_a_text_without_the_sign_stays_as_it_is(text: str) -> None:
    assert fill(text) == text
