"""Text from outside, made such that every store, protocol and screen takes it."""

import json
import re
from typing import Any

# Controls (but tab and line ends), bidirectional embeddings, overrides and isolates, halves of
# characters, and what XML does not know. Marks such as ZWJ, LRM and RLM belong to writing.
_INVALID = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85"
_SURROGATE = re.compile("[\ud800-\udfff]")


def valid_text(text: str) -> str:
    """Return the text without what no store takes, or what would steer a screen.

    The two halves of a character are joined, one alone becomes U+FFFD. Control characters that end
    a line become a line break; all others go, and so does what turns writing around.
    """
    if _INVALID.search(text) is None:
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _INVALID.sub(lambda found: "\n" if found[0] in _LINE_ENDS else "", text)


def valid_json(value: Any) -> Any:
    """Return a JSON-like value in which every text, names of fields too, is `valid_text`."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid_json(name): valid_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [valid_json(inner) for inner in value]
    return value


def parse_json(raw: str | bytes) -> Any:
    """Return what JSON from outside says, in valid text; raises ValueError where it is none."""
    try:
        return valid_json(json.loads(raw))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def ends_in_half(text: str) -> bool:
    """Return whether the text ends in the first half of a character, as a piece of a stream may."""
    return "\ud800" <= text[-1:] <= "\udbff"
