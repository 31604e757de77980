"""Where a list of sums calls a number assumed."""

from agent.evidence.sum_lines import assumed_once


def test_a_number_is_called_assumed_where_it_stands_not_where_its_result_is_used() -> None:
    lines = [
        "人工：30000 ÷ 174 = 172元（假设 174）",
        "合计：125486 + 172 × 296 = 176398元（假设 174）",
        "多付：2 × 172 = 344元（假设 172）",
        "写入：25000 ÷ 10 = 2500 次（假设 10）",
    ]
    assert assumed_once(lines, "zh") == [
        lines[0],
        "合计：125486 + 172 × 296 = 176398元",
        "多付：2 × 172 = 344元",
        lines[3],
    ]


def test_what_no_other_line_tells_of_stays_and_so_do_words() -> None:
    lines = ["all: 2 × 20 = 40 € (5, 1,043 assumed)", "rides: 3 (6 minutes assumed)"]
    assert assumed_once(lines, "en") == lines
