"""Read JSON and numbers that somebody else wrote; all that goes wrong is a ValueError."""

import json
import math
from collections.abc import Callable
from typing import Any

from agent.core.strings import has_any, is_valid, valid_json

DEEPEST = 100
"""Arrays and objects within each other; who walks through more of them recurses too deeply."""
_ESCAPES = ("\\b", "\\f", "\\u")
_LARGEST = 2**63 - 1
_DIGITS = 20
"""Of the longest number that may be as large, with its sign."""
_TOO_DEEP = "nested too deeply"


def _whole(digits: str) -> int | str:
    """Return a whole number; one larger than stores take stays text, so that an id keeps all."""
    is_short = len(digits) <= _DIGITS
    return number if is_short and abs(number := int(digits)) <= _LARGEST else digits


def _fraction(digits: str) -> float | None:
    """Return the number; None for one beyond all bounds: no later step could write it out."""
    number = float(digits)
    return number if math.isfinite(number) else None


def _no_number(_word: str) -> None:
    """Stand for NaN and Infinity, which services of Python write where nothing is known."""


_HOOKS: dict[str, Any] = {
    "parse_int": _whole,
    "parse_float": _fraction,
    "parse_constant": _no_number,
}
_DECODER = json.JSONDecoder(**_HOOKS)


def parse_json(raw: str | bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Return the value of JSON in valid text, its numbers finite; raise ValueError.

    What is nested more deeply than DEEPEST is no JSON that anybody writes: a JSONDecodeError.
    """
    try:
        value = json.loads(raw, object_hook=object_hook, **_HOOKS)
    except RecursionError:
        raise json.JSONDecodeError(_TOO_DEEP, "", 0) from None
    if _is_too_deep(value):
        raise json.JSONDecodeError(_TOO_DEEP, "", 0)
    # Valid text without the escapes that stand for other characters holds valid text only.
    if isinstance(raw, str) and not has_any(raw, _ESCAPES) and is_valid(raw):
        return value
    return valid_json(value)


def parse_json_at(text: str, begin: int = 0) -> tuple[Any, int]:
    """Return the value that begins at a place of the text, and where it ends.

    As `parse_json`, whose ValueError is a JSONDecodeError here.
    """
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except RecursionError:
        raise json.JSONDecodeError(_TOO_DEEP, text, begin) from None
    if _is_too_deep(value):
        raise json.JSONDecodeError(_TOO_DEEP, text, begin)
    return valid_json(value), end


def _is_too_deep(value: Any) -> bool:
    """Return whether a value is nested more deeply than DEEPEST, level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def finite(value: Any) -> float | None:
    """Return the number that a value is or writes; None for others, NaN and the endless."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; [] where the value is missing or something else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_MOST = 1e9


def whole_or_none(value: Any) -> int | None:
    """Return metres, seconds or degrees, rounded; None for what is none of them."""
    number = finite(value)
    return round(number) if number is not None and abs(number) <= _MOST else None
