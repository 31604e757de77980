"""Tell which figures of a text state something, and do not only count."""

from collections.abc import Iterable, Sequence

from agent.evidence.figures import Figure, figures, same
from agent.evidence.language import fold
from agent.evidence.one_figure import told_by_parts
from agent.evidence.units import SCALES

_A_FEW, _A_WORD = 3, 2


def states(figure: Figure) -> bool:
    """Return whether a figure states something: no small count, no part of a word."""
    if _may_be_a_word(figure):
        return False
    if figure.date or figure.clock is not None:
        return True
    if figure.kind:
        return figure.telling
    return abs(figure.value) > _A_FEW or figure.has_decimals


def quantities(text: str) -> list[Figure]:
    """Return the figures of a bare answer: in one, 112 weeks, 5 days are one value, too."""
    apart, joined = figures(text), figures(text.replace(", ", " and "))
    is_one = len(joined) < len(apart) and not any(figure.date for figure in apart)
    return joined if is_one else apart


def is_told(figure: Figure, found: Sequence[Figure]) -> bool:
    """Return whether others say a figure; a value in two units they may tell by its parts."""
    return any(same(figure, one) for one in found) or told_by_parts(figure, found)


def without_figures(text: str, read: Iterable[Figure]) -> str:
    """Return a text without the words of some figures."""
    for figure in read:
        text = text.replace(figure.text, "", 1)
    return text


def _may_be_a_word(figure: Figure) -> bool:
    """Return whether a number in words may be part of one: 一度 is once, "one foot" no length.

    Two characters are a word as often as a number and its unit; one, in words, may be an article.
    """
    number = fold(figure.text)
    if any(map(str.isdigit, number)):
        return False
    is_time = figure.clock is not None or bool(figure.date and figure.date[1])
    is_great = figure.kind == "percent" or not SCALES.keys().isdisjoint(number)
    is_short = len(number) == _A_WORD and number.isalpha() and not (is_time or is_great)
    return is_short or figure.bare == 1 == figure.value
