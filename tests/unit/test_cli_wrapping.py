"""Lines of a terminal: Latin words stay whole beside Chinese ones, which part anywhere."""

import itertools

import pytest
from rich.cells import cell_len
from rich.console import Console

from agent.cli.wrapping import WrappedText, line_ends
from tests.support.cpu_time import takes_less


def lines(text: str, width: int) -> list[str]:
    ends = [0, *line_ends(text, width), len(text)]
    return [text[at:end].rstrip() for at, end in itertools.pairwise(ends) if at < end]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("老北京街景很近Dining很静", 16, ["老北京街景很近", "Dining很静"]),
        ("老北京 Lin's Dining很静", 16, ["老北京 Lin's", "Dining很静"]),
        ("离外滩很近，安静", 10, ["离外滩很", "近，安静"]),
        ("这里（安静）很好", 6, ["这里", "（安", "静）很", "好"]),
        ("王府井大街255号", 13, ["王府井大街", "255号"]),
        ("walk on the way", 9, ["walk on", "the way"]),
        ("abcdefghij kl", 4, ["abcd", "efgh", "ij", "kl"]),
        ("", 5, []),
    ],
)
def test_a_line_ends_at_a_blank_or_between_chinese_characters(
    text: str, width: int, shown: list[str]
) -> None:
    assert lines(text, width) == shown
    assert all(cell_len(line) <= width for line in shown)


def test_a_text_is_shown_in_these_lines_with_its_style() -> None:
    text = WrappedText.assemble(("老北京街景很近Dining", "bold"), "很静")
    shown = text.wrap(Console(width=16), 16)
    assert [each.plain for each in shown] == ["老北京街景很近", "Dining很静"]
    assert all(each.spans for each in shown)


def test_a_long_word_takes_no_time() -> None:
    assert takes_less(lambda: line_ends("a" * 200_000, 80), 2)
