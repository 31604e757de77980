"""What people look for → what the map is searched for, from `activities.json` (edit it there)."""

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from agent.language import Language

_MAX_KEYWORDS = 3
_GENERIC = frozenset({"sights", "food"})
_TABLE: list[dict[str, Any]] = json.loads(
    files(__package__).joinpath("activities.json").read_text(encoding="utf-8")
)


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first; Latin words whole, with plural."""
    ordered = sorted(set(words), key=len, reverse=True)
    return "|".join(
        rf"(?<![A-Za-z]){re.escape(word)}s?(?![A-Za-z])" if word.isascii() else re.escape(word)
        for word in ordered
    )


def _trigger(language: Language) -> re.Pattern[str]:
    return re.compile(any_of(w for entry in _TABLE for w in entry[language]["words"]), re.I)


_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_TRIGGERS = {language: _trigger(language) for language in _LANGUAGES}
_KEYWORDS = {
    language: re.compile(any_of(k for entry in _TABLE for k in entry[language]["keywords"]), re.I)
    for language in _LANGUAGES
}
_CANONICAL = {k.casefold(): k for entry in _TABLE for k in entry["en"]["keywords"]}
_MINE = re.compile(r"\bmy \w+|我的?(?:酒店|公司|家|学校)", re.I)
_PARKING_VERB = re.compile(r"\b(?:can|could|to) (?:i|we|you|one)? ?park\b", re.I)
_ENTRIES = {
    word.casefold(): entry
    for entry in _TABLE
    for lang in _LANGUAGES
    for word in entry[lang]["words"]
}


def activity_in(text: str) -> re.Match[str] | None:
    """The first word in the text that names something the map knows, in either language."""
    return _TRIGGERS["zh"].search(text) or _TRIGGERS["en"].search(text)


def without_activities(text: str) -> str:
    """The text with those words blanked out."""
    return _TRIGGERS["en"].sub(" ", _TRIGGERS["zh"].sub(" ", text))


def activity_keywords(text: str, language: Language) -> list[str]:
    """At most three map keywords: those the text names itself, else those of its activities.

    A general activity (sights, food) adds nothing to a particular one.
    """
    text = _PARKING_VERB.sub(" parking lot ", _MINE.sub(" ", text))
    named = _named(text)
    if named:
        return named[:_MAX_KEYWORDS]
    matches = [found[0] for lang in _LANGUAGES for found in _TRIGGERS[lang].finditer(text)]
    entries = {_entry(word)["activity"]: word for word in reversed(matches)}
    particular = {name: word for name, word in entries.items() if name not in _GENERIC}
    found: list[str] = []
    for word in reversed((particular or entries).values()):
        found += _entry(word)[language]["keywords"] or [word]
    return list(dict.fromkeys(found))[:_MAX_KEYWORDS]


def _named(text: str) -> list[str]:
    """Map keywords that stand in the text as they are, such as 亲子餐厅."""
    words = [found[0] for lang in _LANGUAGES for found in _KEYWORDS[lang].finditer(text)]
    special = [word for word in words if _entry(word).get("activity") not in _GENERIC]
    return list(dict.fromkeys(_CANONICAL.get(w.casefold().removesuffix("s"), w) for w in special))


def _entry(word: str) -> dict[str, Any]:
    folded = word.casefold()
    return _ENTRIES.get(folded) or _ENTRIES.get(folded.removesuffix("s")) or {}


def chinese_keyword(keyword: str) -> str:
    """What a map of China lists the kind of place under; the keyword itself where unknown.

    "coffee shop" → 咖啡馆: the table's keywords stand in the same order in both languages.
    """
    return _CHINESE.get(keyword.casefold(), keyword)


def _in_chinese() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _TABLE:
        chinese = entry["zh"]["keywords"]
        if not chinese:
            continue
        found |= {word.casefold(): chinese[0] for word in entry["en"]["words"]}
        for place, word in enumerate(entry["en"]["keywords"]):
            found[word.casefold()] = chinese[min(place, len(chinese) - 1)]
    return found


_CHINESE = _in_chinese()
