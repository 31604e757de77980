"""Share a table's width among its columns, so that none cuts a word that has room."""

import re
from collections.abc import Sequence
from typing import Final

from agent.core.strings import is_wide

_NARROWEST: Final = 4
_WIDEST: Final = 24
"""Characters of a column that are counted."""
_WORDS: Final = re.compile(r"[!-~\u00a1-\u024f]+|[^\s!-~]")
_MOST_READ: Final = 2000
_SHORT: Final = 6
"""Characters of a cell that stays on one line."""
_MOST_WHOLE: Final = 7.5
"""Wide characters' room that a word is given whole."""
_NARROW: Final = 0.61
"""A letter's share of a wide character's width."""


def column_widths(
    rows: Sequence[Sequence[str]], width: float, *, wide: float, padding: float
) -> list[float]:
    """Return the columns' widths by their longest texts, which add up to `width`.

    `wide` is the width of a Han character, `padding` that of both sides of a cell together.
    """
    longest = [_NARROWEST] * len(rows[0])
    least = [padding] * len(rows[0])
    for row in rows:
        for column, text in enumerate(row[: len(longest)]):
            longest[column] = max(longest[column], min(len(text), _WIDEST))
            whole = [text] if len(text) <= _SHORT else _WORDS.findall(text[:_MOST_READ])
            word = max(
                (sum(1 if is_wide(c) else _NARROW for c in each) for each in whole), default=0
            )
            least[column] = max(least[column], min(word, _MOST_WHOLE) * wide + padding)
    shares = [width * each / sum(longest) for each in longest]
    if sum(least) >= width:
        return shares
    more = [max(0.0, share - own) for share, own in zip(shares, least, strict=True)]
    spare = width - sum(least)
    return [own + spare * each / sum(more) for own, each in zip(least, more, strict=True)]


def _room(word: str) -> float:
    """Return the room of a word, in wide characters."""
    return sum(1.0 if is_wide(character) else _NARROW for character in word)
