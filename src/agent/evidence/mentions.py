"""Which places an answer names."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .citations import strip_references
from .types import Place

_BRANCH = re.compile(r"\s*[(\[【][^()\[\]【】]*[)\]】]\s*$")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LINK = re.compile(r"\]\([^()\s]*\)")
_SPACE = re.compile(r"\s+")
_MASK = "\x00"
_SHORT = 2
_SHORTEST_LATIN = 3


def mentioned(places: Sequence[Place], text: str) -> set[str]:
    """The ids of the places that the text names.

    A name counts with or without its branch ("(王府井店)") and whatever its brackets, but
    not inside a longer place name, and a name of two characters only if it stands alone. A
    branch left out means every branch known, unless the text names one of them in full.
    """
    rest = _plain(_LINK.sub("]", strip_references(text)))
    full: dict[str, list[str]] = defaultdict(list)
    short: dict[str, list[str]] = defaultdict(list)
    for place in places:
        name = _plain(place["name"])
        full[name].append(place["id"])
        base = _plain(_BRANCH.sub("", unicodedata.normalize("NFKC", place["name"])))
        if base and base != name:
            short[base].append(place["id"])
    found: set[str] = set()
    for name in _longest_first({*full, *short}):
        rest, seen = _take(rest, name)
        if not seen:
            continue
        found |= set(full.get(name, ()))
        branches = set(short.get(name, ()))
        if not found & branches:
            found |= branches
    return found


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted((name for name in names if name), key=lambda name: (-len(name), name))


def _take(text: str, name: str) -> tuple[str, bool]:
    """The text with the name masked out, and whether it was there."""
    if name not in text:
        return text, False
    pattern = re.escape(name)
    if not _HAN.search(name):
        if len(name) < _SHORTEST_LATIN:
            return text, False
        pattern = rf"(?<![a-z0-9]){pattern}(?![a-z0-9])"
    elif len(name) <= _SHORT:
        pattern = rf"(?<![\w\u3400-\u9fff]){pattern}(?![\w\u3400-\u9fff])"
    masked, count = re.subn(pattern, _MASK, text)
    return masked, count > 0


def _plain(text: str) -> str:
    """Folded for comparison: width, case, brackets; spaces kept only between Latin words."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("·", "")
    folded = folded.translate(str.maketrans("【】[]「」《》", "()()()()"))
    spaced = _SPACE.sub(" ", folded).strip()
    return re.sub(r"(?<![a-z0-9.,!?]) | (?![a-z0-9])", "", spaced)
