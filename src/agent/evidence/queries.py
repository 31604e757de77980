"""Clean search queries, and tell whether two of them are the same search.

A wrongly reused result costs the answer, a needless search only itself: two queries are one only
with the same words in the same order, apart from case, width, marks, words of asking, and where
their one year stands.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from agent.core.patterns import PIECE
from agent.evidence.language import words
from agent.evidence.types import Query
from agent.texts import detect_language

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]+|[^\s{_CJK}]+")
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_LITTLE = frozenset({"the", "of", "in", "for", "的"})
_YEAR = re.compile(r"(?:19|20)\d\d")
_OPERATOR = re.compile(
    r"(?<!\w)(?:all)?(?:site|intitle|inurl|intext|filetype|before|after|lang|source):\s*"
    r'(?:"[^"]*"|\S+)'
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂「」『』", '"'))
_RAISED = re.compile("[²³¹⁰ⁱ⁴-⁹]+")
_EDGES = " \t.,;:!?。，；：！？、…"
_ASKING_BEFORE = (
    *("请问", "请帮我", "帮我", "查一下"),
    *("please ", "what is the ", "what's the ", "what are the "),
)
_ASKING_BEHIND = ("呢", "吗", "是多少", "是什么", "是谁", "有哪些")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def normalised_query(text: str, *, operators: bool = True) -> str:
    """Return a query in one case, with one space and one kind of quotes, and no marks at its ends.

    Without quotes where they are none of the engine's `operators`.
    """
    raised = _RAISED.sub(r"^\g<0>", text).replace("−", "-")
    plain = unicodedata.normalize("NFKC", raised.translate(_QUOTES)).casefold()
    plain = " ".join((plain if operators else plain.replace('"', " ")).split())
    # What is quoted as a whole keeps its quotes; one that is never closed says nothing.
    return plain.strip(_EDGES + '"' if plain.count('"') % 2 else _EDGES) or plain


def same_search(a: str, b: str, *, operators: bool = True) -> bool:
    """Return whether the results of one query can stand for those of the other.

    `operators` says whether the engine knows them: quoted words are then other than bare ones.
    """
    if len(a) > PIECE or len(b) > PIECE:
        return a == b
    return _key(a, operators) == _key(b, operators)


@lru_cache(maxsize=4096)
def _key(text: str, operators: bool) -> tuple[str, ...]:
    """Return all that must agree: the words in order, one year apart, and the operators."""
    plain = normalised_query(text, operators=operators)
    asked = _OPERATOR.sub(" ", plain.replace("’", "'")).strip()
    for words_before in _ASKING_BEFORE:
        asked = asked.removeprefix(words_before)
    for words_behind in _ASKING_BEHIND:
        asked = asked.removesuffix(words_behind)
    said = _words_of(asked)
    numbers = [word for word in said if any(map(str.isdigit, word))]
    year = numbers[0] if len(numbers) == 1 and _YEAR.fullmatch(numbers[0]) else ""
    kept = _words_of(asked.replace(f"{year}年", " ").replace(year, " ")) if year else said
    joined = _BETWEEN_CJK.sub("", " ".join(kept))
    found = sorted(each.replace(": ", ":") for each in _OPERATOR.findall(plain))
    return (joined, year, *found) if joined or year or found else (plain,)


def _words_of(asked: str) -> list[str]:
    said = (word.strip(_EDGES + "《》") for word in _WORD.findall(asked.replace("的", " ")))
    return [word for word in said if word and word not in _LITTLE]


_COMPARED = 60
"""Queries that a new one is compared with; a model may write a thousand."""


def drop_seen(queries: list[Query], earlier: Iterable[Query]) -> list[Query]:
    """Return the new queries in order, each once; invisible ones are left out.

    One whose words were asked before, with another task for the map, asks the map alone: on foot
    and by underground a way is often asked for in the same words.
    """
    known, fresh = list(earlier), list[Query]()
    for query in queries:
        text, task = query["query"], query["map"]
        same = [one for one in known[-_COMPARED:] if same_search(text, one["query"])]
        if not is_visible(text) or (same and (not task or any(o["map"] == task for o in same))):
            continue
        fresh.append(Query(**{**query, "web": False}) if same else query)
        known.append(query)
    return fresh


def shares_nothing(query: str, material: str, tag: str = "") -> bool:
    """Return whether a query has no word of what it was written for, in the same language.

    A weak model copies words of its instructions ("the second one"), and searches for them. A query
    in another language than the material shares no words with it and is judged by nobody; `tag` is
    the material's, where a model has said it: by its letters all that is not Chinese is English.
    """
    own = words(query)
    if not own or own & words(material):
        return False
    language = detect_language(material)
    return detect_language(query) == language and tag.split("-")[0].lower() in ("", language)


def clean_text(text: str, limit: int) -> str:
    """Return one line of NFC text of at most `limit` characters.

    Control characters, lone surrogates, bidirectional overrides and invisible characters
    (in which instructions can hide) are removed; runs of white space become one space.
    """
    visible = _INVISIBLE.sub("", text)
    return " ".join(unicodedata.normalize("NFC", visible).split())[:limit].rstrip()


def is_visible(text: str) -> bool:
    """Return whether the text has anything but white space, control and invisible characters."""
    return bool(clean_text(text, len(text)))
