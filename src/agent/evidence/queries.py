"""Search queries: which ones ask the same again, and text made safe to pass on.

Two queries are near-duplicates only if nothing but wording differs. A number, a year, a
name, an operator, a negation or a direction that differs makes them different: a query run
twice costs one search, a query wrongly dropped costs the answer.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .types import Query

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_TOKEN = re.compile(rf"[{_CJK}]+|\d+(?:[.,:/-]\d+)*%?|[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?|[+#]")
_OPERATOR = re.compile(
    r"\b(?:site|intitle|inurl|filetype|before|after|lang):\S+|\"[^\"]+\"|“[^”]+”|(?<!\S)-\w\S*|\bor\b"
)
_NEGATION = re.compile(
    r"\b(?:not|no|non|without|except|excluding|never|nor|isn['’]t|aren['’]t|don['’]t|can['’]t)\b"
    r"|[不没無无非勿别除]"
)
_DIRECTION = re.compile(
    r"\b(?:from|to|into|towards?|than|vs|versus|against|over|beat|before|after)\b|[到至去往从從比→被]|->"
)
_FILLER_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at for and is are do does did please me my some any which there",
    )
)
_FILLER_CJK = re.compile(
    "请问|請問|有哪些|哪些|有什么|什么|推荐一下|推荐|介绍一下|一下|以及|[的了吗呢吧呀啊嘛和与及]"
)
_INVISIBLE = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class _Meaning:
    """What must agree for two queries to be the same."""

    joined: str
    words: frozenset[tuple[str, int]]
    guards: tuple[tuple[str, ...], ...]
    directed: bool


def near_duplicate(a: str, b: str) -> bool:
    """Whether two queries differ in wording only (case, width, order, plural, filler)."""
    return _same(_meaning(a), _meaning(b))


def drop_seen(queries: list[Query], seen: Iterable[str]) -> list[Query]:
    """The queries that ask something new, in order, each once; invisible ones are left out."""
    known = [_meaning(text) for text in seen]
    fresh: list[Query] = []
    for query in queries:
        if not is_visible(query["query"]):
            continue
        meaning = _meaning(query["query"])
        if any(_same(meaning, other) for other in known):
            continue
        known.append(meaning)
        fresh.append(query)
    return fresh


def clean_text(text: str, limit: int) -> str:
    """One line of NFC text of at most `limit` characters.

    Control characters, lone surrogates, bidirectional overrides and invisible characters
    (in which instructions can hide) are removed; runs of white space become one space.
    """
    visible = _INVISIBLE.sub("", _CONTROL.sub("", text))
    return _SPACE.sub(" ", unicodedata.normalize("NFC", visible)).strip()[:limit].rstrip()


def is_visible(text: str) -> bool:
    """Return whether the text has anything but white space, control and invisible characters."""
    return bool(clean_text(text, len(text)))


def _same(a: _Meaning, b: _Meaning) -> bool:
    if a.guards != b.guards:
        return False
    if a.joined == b.joined:
        return True
    return bool(a.words) and not a.directed and a.words == b.words


def _meaning(text: str) -> _Meaning:
    plain = unicodedata.normalize("NFKC", text).casefold()
    tokens = _content(plain) or _TOKEN.findall(plain)
    counted = Counter(word for token in tokens for word in _bigrams(token))
    guards = tuple(
        tuple(sorted(pattern.findall(plain))) for pattern in (_OPERATOR, _NEGATION, _DIRECTION)
    )
    joined = _glue(tokens) or plain.strip()
    return _Meaning(joined, frozenset(counted.items()), guards, bool(guards[2]))


def _content(plain: str) -> list[str]:
    """The tokens that carry meaning: no filler, plurals folded, Chinese runs kept whole."""
    kept: list[str] = []
    for token in _TOKEN.findall(plain):
        if _CJK_RUN.fullmatch(token):
            kept += [run for run in _FILLER_CJK.split(token) if run]
        elif token not in _FILLER_WORDS:
            kept.append(_singular(token))
    return kept


def _glue(tokens: list[str]) -> str:
    """Tokens joined so that a space between Chinese characters makes no difference."""
    spaced = " ".join(tokens)
    return re.sub(rf"(?<=[{_CJK}]) (?=[{_CJK}])", "", spaced)


def _bigrams(token: str) -> list[str]:
    if len(token) < 3 or not _CJK_RUN.fullmatch(token):
        return [token]
    return [token[i : i + 2] for i in range(len(token) - 1)]


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
