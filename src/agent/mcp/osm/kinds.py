"""Know kinds of places by OpenStreetMap's tags and by the words people use for them."""

from functools import cache
from importlib.resources import files
from typing import Any

from agent.core.outside import parse_json
from agent.texts import Language, is_chinese

_ROWS: list[dict[str, Any]] = parse_json(
    files(__package__).joinpath("kinds.json").read_text(encoding="utf-8")
)
_SPECIAL = str.maketrans(dict.fromkeys('\\"^$.*+?()[]{}|', " "))
"""What a pattern of Overpass, or the text around it, would take for more than a character."""
_LONGEST = 60
_OTHER_KEYS = ("shop", "amenity", "tourism", "leisure", "historic", "office", "craft", "natural")


@cache
def _words() -> dict[str, list[str]]:
    """Return the tags of each word."""
    tags: dict[str, list[str]] = {}
    for row in _ROWS:
        for word in (*row["en"], *row["zh"]):
            tags.setdefault(word.casefold(), []).append(str(row["tag"]))
    return tags


@cache
def _names() -> dict[str, dict[str, Any]]:
    return {str(row["tag"]): row for row in _ROWS}


def tags_of(word: str) -> list[str]:
    """Return the tags of a kind in words, or of a tag itself; none of an unknown word."""
    plain = " ".join(word.split()).casefold()
    key, _, value = plain.partition("=")
    if value and plain == plain.translate(_SPECIAL) and key.replace(":", "").isidentifier():
        return [plain[: 2 * _LONGEST]]
    known = _words()
    return known.get(plain) or known.get(plain.removesuffix("s")) or []


def pattern_of(word: str) -> str:
    """Return the words of an unknown kind as Overpass may look for them in names."""
    return " ".join(word.translate(_SPECIAL).split())[:_LONGEST]


def tag_of(tags: dict[str, str]) -> str:
    """Return what an element is before all: the first tag of our table, else of a usual key."""
    own = {f"{key}={value}" for key, value in tags.items()}
    for tag in _names():
        if tag in own:
            return tag
    return next((f"{key}={tags[key]}" for key in _OTHER_KEYS if tags.get(key)), "")


def kind_words(tag: str, language: Language) -> str:
    """Return a tag in a reader's words; of one without any what it says itself."""
    if row := _names().get(tag):
        return str(row["zh" if is_chinese(language) else "en"][0])
    return tag.partition("=")[2].replace("_", " ")
