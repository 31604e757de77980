"""Know kinds of places by OpenStreetMap's tags and by the words people use for them."""

from collections.abc import Mapping
from dataclasses import dataclass
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
DIETS = frozenset({"vegan", "vegetarian", "halal", "kosher", "gluten_free"})
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


@dataclass(frozen=True)
class WantedKind:
    """Hold a kind that is searched: its tags, and what its names or cuisines are to have besides.

    "vegan restaurant" is a restaurant whose cuisine is vegan; a word without any tag is looked for
    in names and cuisines of all kinds.
    """

    tags: tuple[str, ...]
    words: str = ""
    """In lower case; empty where the tags say all."""

    @classmethod
    def of(cls, text: str) -> "WantedKind":
        """Read a kind in words: the longest end of it that is known has the tags."""
        plain = " ".join(text.split()).casefold()
        parts = plain.split(" ")
        for first in range(len(parts)):
            if tags := tags_of(" ".join(parts[first:])):
                return cls(tuple(tags), _plain(" ".join(parts[:first])))
        return cls((), _plain(plain))

    def statements(self, where: str) -> str:
        """Return what finds such places in Overpass's language; empty for a kind without a word."""
        kinds = [_filter(tag) for tag in self.tags]
        kinds += [f'["diet:{self.diet}"~"yes|only"]'] if self.diet and not self.words else []
        if self.words:
            more = [f'["{key}"~"{self.words}",i]' for key in ("name", "cuisine")]
            more += [f'["diet:{self.diet}"~"yes|only"]'] if self.diet else []
            kinds = [f"{kind}{each}" for kind in kinds or [""] for each in more]
        return "".join(f"nwr{where}{each};" for each in kinds)

    def rank(self, tags: Mapping[str, str]) -> int | None:
        """Return how well an element is of this kind, 0 best; None where it is not.

        A kitchen that has vegan dishes comes behind one that has no others.
        """
        own = {f"{key}={value}" for key, value in tags.items()}
        own |= {f"cuisine={each.strip()}" for each in tags.get("cuisine", "").split(";")}
        is_of_kind = not own.isdisjoint(self.tags)
        offers = tags.get(f"diet:{self.diet}") if self.diet else None
        said = f"{tags.get('name', '')} {tags.get('cuisine', '')}".casefold()
        if self.words and self.tags and not is_of_kind:
            return None
        if offers == "only" or (self.words in said if self.words else is_of_kind):
            return 0
        return 1 if offers == "yes" else None

    @property
    def diet(self) -> str:
        """Return the diet that the kind names; empty where it names none."""
        named = {tag.partition("=")[2] for tag in self.tags if tag.startswith("cuisine=")}
        return next(iter(sorted(DIETS & {*named, self.words.replace(" ", "_")})), "")


def _filter(tag: str) -> str:
    """Return the filter of Overpass for a tag; of cuisines an element may have several."""
    key, _, value = tag.partition("=")
    return f'["{key}"~"(^|;) *{value} *(;|$)"]' if key == "cuisine" else f'["{key}"="{value}"]'


def _plain(words: str) -> str:
    """Return words as a pattern of Overpass may have them."""
    return " ".join(words.translate(_SPECIAL).split())[:_LONGEST]


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
