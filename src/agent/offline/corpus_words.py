"""Words of the bundled sample's look-ups: normal forms, keyword phrases, search terms (zh, en)."""

import re
import unicodedata
from collections.abc import Collection
from itertools import pairwise

_CJK = re.compile("[\u3400-\u9fff]")
_TOKEN = re.compile("[\u3400-\u9fff]+|[a-z0-9]+")
_LATIN_WORD = re.compile(r"[a-z0-9]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_FILLER = re.compile(
    "有没有|为什么|好去处|怎么样|是什么|附近|周边|适合|哪些|哪里|哪个|哪家|什么|怎么|怎样|如何|多少|"
    "是否|可以|推荐|去处|好玩|地方|请问|介绍|最新|今年|现在|攻略|指南|的|了|吗|呢|和|与|是|在|有"
)
_STOPWORDS = re.compile(
    "a|about|an|and|any|are|around|as|at|be|best|by|can|compare|do|does|explain|find|for|from|"
    "good|guide|has|have|how|i|in|is|it|its|latest|like|me|my|near|nearby|now|of|on|or|should|"
    "tell|that|the|their|there|these|they|this|to|up|was|what|when|where|which|who|why|will|with|"
    "you"
)


def phrase(text: str) -> str:
    """Normal form of a name or keyword: folded case and width, English plurals cut."""
    folded = _fold(text).replace("'", "").replace("’", "")
    return " ".join(_LATIN_WORD.sub(lambda match: _stem(match[0]), folded).split())


def key(text: str) -> str:
    """Letters and digits only, folded: what names are compared by."""
    return "".join(char for char in _fold(text) if char.isalnum())


def has(words: str, wanted: str) -> bool:
    """Whether the normal form `wanted` is in `words`; Latin text only as whole words."""
    if not wanted:
        return False
    if _CJK.search(wanted):
        return wanted in words
    return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", words) is not None


def is_chinese(text: str) -> bool:
    return _CJK.search(text) is not None


def segments(text: str, vocabulary: Collection[str]) -> list[str]:
    """The normal form `text` cut into known phrases, longest first; empty if something is left."""
    found: list[str] = []
    rest = text
    while rest:
        ends = (end for end in range(len(rest), 0, -1) if rest[:end] in vocabulary)
        end = next(ends, 0)
        if not end:
            return []
        found.append(rest[:end])
        rest = rest[end:].lstrip()
    return found


def terms(text: str) -> frozenset[str]:
    """What pages are searched by: pairs of Chinese characters, stemmed English words.

    A Chinese character standing alone is a term, too. Filler phrases, stop words and years are
    left out: they say nothing about the subject.
    """
    found: set[str] = set()
    for token in _TOKEN.findall(_FILLER.sub(" ", _fold(text).replace("'", ""))):
        if _CJK.match(token):
            found.update(a + b for a, b in pairwise(token))
            if len(token) == 1:
                found.add(token)
        elif not _STOPWORDS.fullmatch(token) and not _YEAR.fullmatch(token):
            found.add(_stem(token))
    return frozenset(found)


def unseen(wanted: frozenset[str], known: Collection[str]) -> frozenset[str]:
    """The terms that are new to `known`, without single characters and word borders.

    A new pair between two known ones (都带 in 成都带孩子) is where two words meet, not a word.
    """
    seen = {term for term in wanted if term in known}
    ends = {term[-1] for term in seen}
    starts = {term[0] for term in seen}
    return frozenset(
        term
        for term in wanted - seen
        if not (_CJK.match(term) and (len(term) == 1 or (term[0] in ends and term[1] in starts)))
    )


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
