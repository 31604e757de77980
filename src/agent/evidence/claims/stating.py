"""Tell which figures of a statement state something that a source must have."""

import re

from agent.evidence.figures import Figure

_LOOSE = re.compile(
    r"(?:less than|more than|at least|at most|under|over|above|below|within|up to|nearly|almost"
    r"|some|around|about|roughly|不到|不足|不超过|超过|超|近|约|至少|最多|以内)\s*(?:the\s)?[¥$€£]?\Z",
    re.IGNORECASE,
)
_LOOSE_BEHIND = re.compile(r"\s*(?:多|余|左右|以[内上下]|or (?:more|less|so)|\+)")
_GROUPED = re.compile(r"\d{1,3}\.\d{3}")
"""1.200: a thousand in German, a little over one in English."""
_A_NAME = re.compile(r"[A-Z][\w.+-]*\s\Z")
_SMALL, _DOZEN, _BEFORE, _BEFORE_NAME = 3, 12, 14, 24


def _in_digits(figure: Figure) -> bool:
    return any(char.isdigit() for char in figure.text)


def must_stand(figure: Figure, text: str) -> bool:
    """Return whether a figure must stand in a passage as it is: no bound, small count or name."""
    before = text[max(0, figure.start - _BEFORE) : figure.start]
    is_loose = _LOOSE.search(before) or _LOOSE_BEHIND.match(text, figure.end)
    return not is_loose and states(figure, text)


def states(figure: Figure, text: str) -> bool:
    """Return whether a figure states something: no small count, no part of a name."""
    if figure.date or figure.clock is not None:
        return True
    before = text[max(0, figure.start - _BEFORE_NAME) : figure.start]
    is_name = _A_NAME.search(before) and "," not in figure.text
    if not figure.kind and (is_name or _GROUPED.fullmatch(figure.text)):
        return False
    most = _SMALL if _in_digits(figure) else _DOZEN
    if not figure.kind and abs(figure.value) <= most and "." not in figure.text:
        return False
    return not figure.kind or figure.telling
