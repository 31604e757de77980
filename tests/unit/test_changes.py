"""What is new, gone or has other figures in an answer that was asked for again."""

import pytest

from agent.cli.render import changes_text
from agent.evidence.changes import AnswerChanges, answer_changes

BEFORE = """The museum opens at nine and closes at five[1](https://a.org/1). A ticket costs 60 yuan[2](https://a.org/2).

- **Café Linde** — 120 m away, ★4.5, coffee for ¥28[3](https://a.org/3)
- **Café Birke** — 300 m away, ★4.1, with a garden[4](https://a.org/4)
"""
AFTER = """A ticket costs 80 yuan[7](https://b.org/2). The museum opens at nine and closes at five[1](https://b.org/1).

- **Café Linde** — 120 m away, ★4.6, coffee for ¥28[3](https://a.org/3)
- **Teahouse Ahorn** — 90 m away, open until midnight[5](https://a.org/5)
"""


def test_the_same_answer_has_no_changes_whatever_it_cites_and_in_which_order() -> None:
    changes = answer_changes(BEFORE, BEFORE.replace("a.org", "z.org").replace("[1]", "[9]"))
    assert changes == {"new": [], "gone": [], "figures": [], "same": 4}


def test_other_figures_new_and_gone_statements_are_told_apart() -> None:
    changes = answer_changes(BEFORE, AFTER)
    assert [(row["before"], row["after"]) for row in changes["figures"]] == [
        ("A ticket costs 60 yuan.", "A ticket costs 80 yuan."),
        (
            "Café Linde — 120 m away, ★4.5, coffee for ¥28",
            "Café Linde — 120 m away, ★4.6, coffee for ¥28",
        ),
    ]
    assert changes["new"] == ["Teahouse Ahorn — 90 m away, open until midnight"]
    assert changes["gone"] == ["Café Birke — 300 m away, ★4.1, with a garden"]
    assert changes["same"] == 1


def test_a_figure_written_otherwise_is_the_same_figure() -> None:
    changes = answer_changes("全长约 1.5 公里，票价60元。", "全长约1500米，票价 60 元。")
    assert (changes["figures"], changes["same"]) == ([], 1)
    assert answer_changes("票价60元，全天开放。", "票价80元，全天开放。")["figures"]


def test_a_cell_of_a_table_is_told_with_its_row_and_head() -> None:
    table = "| Line | Price |\n|---|---|\n| Ferry | {} euros |\n| Tram | 3 euros |\n"
    (row,) = answer_changes(table.format(12), table.format(14))["figures"]
    assert ("Ferry" in row["after"], "14 euros" in row["after"]) == (True, True)


def test_an_empty_answer_loses_all_and_gains_all() -> None:
    assert answer_changes("", "")["same"] == 0
    assert len(answer_changes("", BEFORE)["new"]) == len(answer_changes(BEFORE, "")["gone"]) == 4


def test_a_very_long_answer_is_compared_as_far_as_there_is_room() -> None:
    long = " ".join(f"Hall{chr(97 + n % 26)}{'x' * (n // 26)} opens at nine." for n in range(2_000))
    changes = answer_changes(long, long)
    assert (changes["same"], changes["new"], changes["gone"]) == (400, [], [])


@pytest.mark.parametrize(("new", "kept", "closing"), [
    ([], 2, "Nothing has changed."),
    ([], 0, "Nothing has changed."),
    (["It is closed."], 2, "The rest is the same."),
    (["It is closed."], 0, "- New: It is closed."),
])  # fmt: skip
def test_a_reader_is_told_what_changed_and_of_the_rest_no_number_beside_the_check_s(
    new: list[str], kept: int, closing: str
) -> None:
    changes = AnswerChanges(new=new, gone=[], figures=[], same=kept)
    told = changes_text(changes, "2026-11-30T10:00", "en")
    assert told.splitlines()[-1] == closing
    assert "2 " not in told
