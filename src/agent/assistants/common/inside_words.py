"""Tell what of a query stands in a user's own documents alone: it must not be sent outside.

Held by code is what is exact: numbers of four digits and more (contracts, amounts, telephones),
names of two words, and persons by how they are addressed. What the question or a page that was
read says as well is no secret; what a word means is left to the models.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage

from agent.assistants.common.workspace import Item
from agent.core.patterns import Linear
from agent.core.processor import breathe, compute
from agent.core.strings import has_han, without_digit_groups
from agent.state import Gathered
from agent.texts import Language, say

_TOKEN = Linear(r"[A-Za-z0-9][A-Za-z0-9@_.,/-]*")
_WORDS = Linear(r"\p{Lu}?[\p{Latin}\p{Cyrillic}\p{Greek}'’-]+")
_ADDRESSED = Linear(r"[\u3400-\u9fff](?:老师|老師|先生|女士|小姐|太太|师傅|師傅)")
_YEAR = Linear(r"(?:19|20)[0-9]{2}(?:[-/.][0-9]{1,4}){0,2}")
_STANDARDS = frozenset(("ASTM", "BS", "DIN", "EN", "GB", "GB/T", "IEC", "IEEE", "ISO", "JGJ",
                        "NFPA", "RFC"))  # fmt: skip
"""Whose numbers are public."""
_LEAST_DIGITS, _NAMED = 4, 8
_LONGEST = 1_000_000
"""Characters that are looked through on either side."""


def inside_words(
    query: str, own: Iterable[str], public: Iterable[str], told: str = ""
) -> list[str]:
    """Return the words of a query that own documents have and no public text, as they stand in it.

    Two words may be the name of a city or a product, which has to be looked up: those that stand
    in `told`, what the model was told of them before, it may use. A number it may not.

    >>> inside_words("permit HT-2026-017", ["Contract HT-2026-017"], ["What is due?"])
    ['HT-2026-017']
    """
    query = without_digit_groups(query)
    wanted = dict.fromkeys([*_numbers(query), *_names(query), *_addressed(query)])
    if not wanted:
        return []
    inside = _Text.of(own)
    found = [words for words in wanted if inside.says(words) and _is_name(words, inside)]
    found = [words for words in found if not _is_pair(words) or words not in told]
    outside = _Text.of(public) if found else inside
    return [words for words in found if not outside.says(words)]


@dataclass(frozen=True)
class KeptInside:
    """Hold what own documents say, what is public, and what the model was told of it before."""

    own: Sequence[str]
    public: Sequence[str]
    before: Sequence[AnyMessage] = ()
    """The messages that the model has before it."""

    async def refusal(self, query: str, language: Language) -> str:
        """Return why a query is not sent outside, for the model; empty if it may be."""
        begin = say("tools.inside", language, words="|").partition("|")[0]
        lines = (line for message in self.before for line in str(message.text).splitlines())
        told = "\n".join(line for line in lines if begin in line)
        words = await compute(
            lambda: inside_words(query, self.own, self.public, told), otherwise=list[str]
        )
        listed = say("punctuation.comma", language).join(words[:_NAMED])
        return say("tools.inside", language, words=listed) if words else ""

    async def without(self, query: str) -> str:
        """Return a query that no model words anew without the numbers and persons in it."""
        words = await compute(
            lambda: inside_words(query, self.own, self.public, query), otherwise=list[str]
        )
        bare = without_digit_groups(query) if words else query
        for each in words:
            bare = bare.replace(each, " ")
        return " ".join(bare.split())


def public_texts(state: Gathered, items: Iterable[Item]) -> list[str]:
    """Return what a person has asked, and what was read that is not own documents."""
    messages = cast(Mapping[str, Any], state).get("messages") or []
    said = (str(message.text) for message in messages if isinstance(message, HumanMessage))
    asked = [
        state["turn"]["question"],
        *said,
        *(wish["text"] for wish in state.get("wishes") or []),
    ]
    read = (item for item in items if item.kind != "document")
    return [*asked, *(text for item in read for text in (item.title, item.snippet, item.text))]


@dataclass(frozen=True)
class _Text:
    """Hold a text, and the same in small letters, of the same length."""

    text: str
    small: str

    @staticmethod
    def of(texts: Iterable[str]) -> "_Text":
        """Return texts as one, bounded, without separators of thousands."""
        kept, left = list[str](), _LONGEST
        for each in texts:
            breathe()
            kept.append(each[: max(0, left)])
            left -= len(each)
        text = without_digit_groups("\n".join(kept))
        return _Text(text, _small(text))

    def says(self, words: str) -> bool:
        return next(self.written(words), None) is not None

    def written(self, words: str) -> Iterator[str]:
        """Yield how words are written wherever they stand by themselves."""
        sought, at = _small(words), 0
        while (at := self.small.find(sought, at)) >= 0:
            breathe()
            end = at + len(sought)
            if not (
                _goes_on(self.small[at - 1 : at + 1]) or _goes_on(self.small[end - 1 : end + 1])
            ):
                yield self.text[at:end]
            at = end


def _small(text: str) -> str:
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _goes_on(letters: str) -> bool:
    """Return whether one word has both letters; Chinese has no blanks between words."""
    return len(letters) == 2 and all(c == "@" or (c.isalnum() and c < "\u2e80") for c in letters)


def _numbers(query: str) -> Iterator[str]:
    """Yield addresses of mail and numbers with four digits; no years, days, numbers of norms."""
    before = ""
    for match in _TOKEN.finditer(query):
        token = match[0].strip(".,/-_")
        digits = sum(letter.isdigit() for letter in token)
        is_public = _YEAR.fullmatch(token) or before.upper() in _STANDARDS
        if "@" in token or (digits >= _LEAST_DIGITS and not is_public):
            yield token
        before = token


def _names(query: str) -> Iterator[str]:
    """Yield each two words that stand side by side."""
    words = list(_WORDS.finditer(query))
    for one, other in pairwise(words):
        is_pair = not query[one.end() : other.start()].strip(" .")
        if is_pair and min(len(one[0]), len(other[0])) > 1:
            yield query[one.start() : other.end()]


def _is_pair(words: str) -> bool:
    return not (has_han(words) or any(char == "@" or char.isdecimal() for char in words))


def _addressed(query: str) -> Iterator[str]:
    return (match[0] for match in _ADDRESSED.finditer(query))


def _is_name(words: str, text: _Text) -> bool:
    """Return whether words are no pair, or one that a text always writes with capitals."""
    if not _is_pair(words):
        return True
    pair = [match[0] for match in _WORDS.finditer(words)]
    return all(written[0].isupper() for word in pair for written in text.written(word))
