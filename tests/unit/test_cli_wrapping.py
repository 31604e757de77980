"""Lines of a terminal: Latin words stay whole beside Chinese ones, which part anywhere."""

import itertools

from rich.cells import cell_len
from rich.console import Console

from agent.cli.wrapping import WrappedText, line_ends
from tests.support.rows import by_examples
from tests.unit.cpu_time import takes_less


def lines(text: str, width: int) -> list[str]:
    ends = [0, *line_ends(text, width), len(text)]
    return [text[at:end].rstrip() for at, end in itertools.pairwise(ends) if at < end]


@by_examples
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
