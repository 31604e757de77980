"""Tell which figures of a text state something, and do not only count."""

from collections.abc import Iterable

from agent.evidence.figures import Figure
from agent.evidence.language import fold
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
