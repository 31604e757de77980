"""Tell which figures of a text state something, and do not only count, and which say another."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise

from agent.core.strings import letters_of
from agent.evidence.figures import Figure, are_joined, figures, same
from agent.evidence.language import bare_words, fold
from agent.evidence.one_figure import told_by_parts
from agent.evidence.shown_sums import last_place
from agent.evidence.units import SCALES

_A_FEW, _A_WORD = 3, 2
_HOUR, _HOURS, _LENGTH = 60, 24, "second"
_SHARES = ("percent", "percentage point")


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


def says(other: Figure, figure: Figure) -> bool:
    """Return whether one figure says another.

    A word may tell the sign of a share or of money, and that a number is an hour: "после 15 часов"
    says 15:00, and a length of fifteen hours.
    """
    if figure.kind == other.kind and (figure.kind in _SHARES or figure.is_money):
        return same(figure, other) or abs(figure.amount) == abs(other.amount)
    if same(figure, other) or hour_of(figure) in other.clocks:
        return True
    return other.kind == _LENGTH and hour_of(other) in figure.clocks


def hour_of(figure: Figure) -> Decimal | None:
    """Return the minutes after midnight of a time, or which a number of hours may be."""
    if figure.clock is not None:
        return Decimal(figure.clock)
    is_bare = not (figure.kind or figure.date)
    is_length = figure.kind == _LENGTH and figure.factor == _HOUR**2 and not figure.value % 1
    is_hour = (is_bare or is_length) and 0 <= figure.value <= _HOURS
    return figure.value % _HOURS * _HOUR if is_hour else None


def bounds(figure: Figure, known: Iterable[Figure]) -> bool:
    """Return whether a round figure is near a known one: under 600 m for 560 m, nearly 300 TB."""
    place = last_place(figure.value) * figure.scale
    return any(
        other.kind == figure.kind and abs(other.amount - figure.amount) < place
        for other in known
        if figure.clock is None and not (figure.date or other.date) and other.clock is None
    )


def quote_says(span: str, quote: str) -> bool:
    """Return whether a quote says what the span says: the same words, or its figures alone.

    One end of a range is not what the range says: ¥80 of ¥80–120. A time or a day may be.
    """
    if bare_words(span) == bare_words(quote):
        return True
    own, others = only_figures(span), figures(quote)
    for ends in pairwise(others):
        is_told = [any(same(one, end) for one in own) for end in ends]
        is_amount = not any(end.date or end.clock is not None for end in ends)
        if is_amount and any(is_told) and not all(is_told) and are_joined(*ends, quote):
            others = [other for other in others if other not in ends]
    # Behind 9.2 mmHg stands a word that is no unit: 9.2 % is something else.
    return bool(own) and all(
        any(same(one, other) and not (one.kind and other.kind is None) for other in others)
        for one in own
    )


def only_figures(span: str) -> list[Figure]:
    """Return the figures of some words that are nothing else."""
    own = figures(span)
    return [] if letters_of(without_figures(span, own)) else own


def gives_all(added: Sequence[Figure], span: str) -> bool:
    """Return whether the figures of some words are what right sums give: that is no accusation."""
    told = [figure for figure in figures(span) if states(figure)]
    return bool(told) and all(any(says(one, figure) for one in added) for figure in told)


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
