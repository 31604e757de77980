"""Which citations of a calculation lead to one of its lines."""

import pytest

from agent.assistants.common.claims import Checked, led_to_lines
from agent.evidence.references import CITATION, lettered, line_letter
from agent.evidence.sum_lines import with_line_citations
from agent.evidence.types import Source

LINES = [
    "one night: 120 + 25.50 = $145.50", "ten nights: 10 × 145.50 = $1,455",
    "lunch: 2 × 20 = $40", "dinner: 2 × 20 = $40", "share: 1,455 / 3,000 = 48.5%",
    "one more booking: 10 × 145.50 = $1,455",
]  # fmt: skip
SOURCES: list[Source] = [
    Source(id="c0-0", kind="document", title="sums", url="", provider="calculation", quotes=[],
           number=1, sums=lettered(LINES)),
    Source(id="w0-0", kind="page", title="Hotel", url="https://a.example", provider="web",
           quotes=[], number=2),
]  # fmt: skip


def led(text: str) -> str:
    return with_line_citations(text, [0, len(text)], SOURCES)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ten nights cost $1,455.[1]", "Ten nights cost $1,455.[1b]"),
        ("**$1,455** for ten, $145.50 each.[1]", "**$1,455** for ten, $145.50 each.[1b][1a]"),
        ("$145.50[1] a night, $1,455[1] in all.", "$145.50[1a] a night, $1,455[1b] in all."),
        ("It takes 48.5%[1] of the budget.", "It takes 48.5%[1e] of the budget."),
        ("About $146[1] a night.", "About $146[1a] a night."),
        ("Lunch costs $40.[1]", "Lunch costs $40.[1]"),
        ("It is dear.[1]", "It is dear.[1]"),
        ("Ten nights cost $1,455.[2](https://a.example)",
         "Ten nights cost $1,455.[2](https://a.example)"),
        ("| | cost |\n|---|---|\n| ten nights | 1,455 [1] |",
         "| | cost |\n|---|---|\n| ten nights | 1,455 [1b] |"),
    ],
)  # fmt: skip
def test_a_citation_names_the_line_that_gives_its_figure_alone_or_none_by_chance(
    text: str, expected: str
) -> None:
    assert led(text) == expected


def test_what_was_led_to_lines_once_stays() -> None:
    once = led("Ten nights cost $1,455.[1] A night costs $145.50.[1]")
    assert led(once) == once


def test_statements_and_the_checked_text_keep_their_places() -> None:
    first, second, below = (
        "A night costs $145.50.[1]",
        "Ten cost $1,455.[1]",
        "\n\nBelow $1,455.[1]",
    )
    text = f"{first} {second}{below}"
    rows = [
        {"start": text.index(one), "end": text.index(one) + len(one)} for one in (first, second)
    ]
    extent = [0, len(text) - len(below)]
    done = led_to_lines(Checked(text, SOURCES, {}, rows, extent, 0))
    assert done.text == f"A night costs $145.50.[1a] Ten cost $1,455.[1b]{below}"
    told = [done.text[row["start"] : row["end"]] for row in done.statements]
    assert told == ["A night costs $145.50.[1a]", "Ten cost $1,455.[1b]"]
    assert done.text[slice(*done.extent)].endswith("[1b]")


def test_lines_are_lettered_beyond_the_alphabet_and_an_ordinal_cites_nothing() -> None:
    assert [line_letter(at) for at in (0, 25, 26, 103)] == ["a", "z", "aa", "cz"]
    assert all(CITATION.fullmatch(f"[1{line_letter(at)}]") for at in range(104))
    assert not any(map(CITATION.fullmatch, ("[1st]", "[2nd]", "[3rd]", "[4th]", "[5km]")))


def test_a_citation_stands_for_the_words_behind_others_a_cell_has_its_head_s_unit() -> None:
    lines = [
        "bill of A: 12 × 7,350 = $88,200",
        "A a month: 2 × 26.5 = $53",
        "down: 53 minutes a year",
        "price with support: 3 × 5 = $15",
        "hours: 4 × 5 = 20 hours",
    ]
    sums: list[Source] = [Source(**{**SOURCES[0], "sums": lettered(lines)}), SOURCES[1]]

    def of(text: str) -> str:
        return with_line_citations(text, [0, len(text)], sums)[0]

    page = "[2](https://a.example)"
    asks = f"It asks $15 {page}; in all $88,200."
    assert of(f"{asks}[1]") == f"{asks}[1a]"
    assert of(f"In all $88,200 {page}[1].") == f"In all $88,200 {page}[1a]."
    assert of(f"In all $88,200[1], by its maker $15.{page}").startswith("In all $88,200[1a], by")
    table = "| | A |\n|---|---|\n| down (minutes) | 53 [1] |\n| nights | 20 [1] |"
    assert of(table) == table.replace("53 [1]", "53 [1c]"), "20 of no unit is no hours"
