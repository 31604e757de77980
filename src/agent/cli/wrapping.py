"""Part a terminal's text into lines: at blanks, and between Chinese characters, which have none."""

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.text import Text

from agent.core.strings import is_wide

_NO_BEGIN = frozenset("，。、；：？！）】」』》〉”’…·,.;:?!)]}%％")
"""What no line begins with."""
_NO_END = frozenset("（【「『《〈“‘([{¥￥$€")
"""What no line ends with."""


class WrappedText(Text):
    """A text whose words in Latin letters stay whole beside Chinese ones.

    Rich parts lines at blanks alone: a run of Chinese with a name in it was one word to it, and cut
    wherever the line was full.
    """

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Return the lines; as Rich does, where they are not to be parted by words."""
        is_whole = no_wrap or self.no_wrap or (overflow or self.overflow or "fold") != "fold"
        if is_whole:
            return super().wrap(console, width, justify=justify, overflow=overflow,
                                tab_size=tab_size, no_wrap=no_wrap)  # fmt: skip
        lines = Lines()
        for line in self.split(allow_blank=True):
            if "\t" in line:
                line.expand_tabs(tab_size)
            parted = line.divide(line_ends(line.plain, width))
            for each in parted:
                each.rstrip_end(width)
            if justify or self.justify:
                parted.justify(console, width, justify=justify or self.justify or "left")
            lines.extend(parted)
        return lines


def line_ends(text: str, width: int) -> list[int]:
    """Return where a text is parted into lines of a width in cells.

    >>> line_ends("老北京街景Lin's Dining很安静", 16)
    [16]
    """
    ends, room = list[int](), width
    for begin, end in _pieces(text):
        piece = text[begin:end]
        needed = cell_len(piece.rstrip())
        if needed > room and begin and room < width:
            ends.append(begin)
            room = width
        # What is longer than a line is parted anywhere.
        if needed > width:
            *full, piece = chop_cells(piece, width)
            ends += [begin := begin + len(part) for part in full]
        room -= cell_len(piece)
    return ends


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield what of a text stays on one line, with the blanks behind it."""
    begin = 0
    for at in range(1, len(text)):
        before, sign = text[at - 1], text[at]
        is_blank = before.isspace() and not sign.isspace()
        is_between = (is_wide(before) or is_wide(sign)) and not (sign.isspace() or before.isspace())
        # A figure stays with its counter: 255号.
        is_between = is_between and not (before.isdigit() and is_wide(sign))
        is_apart = sign not in _NO_BEGIN and before not in _NO_END
        if is_blank or (is_between and is_apart):
            yield begin, at
            begin = at
    if text:
        yield begin, len(text)
