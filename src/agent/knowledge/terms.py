"""Split texts into search terms: pairs of Chinese characters, words, numbers, models."""

import re
import unicodedata
from functools import lru_cache
from itertools import takewhile
from operator import add, eq

from agent.core.processor import breathe
from agent.core.strings import without_accents, without_digit_groups

_CHARACTERS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Written without spaces, and searched in pairs: Chinese, Japanese, Korean."""
_LETTER = rf"[^\W_{_CHARACTERS}]"
# Bounded, because a piece is a cache key: a hostile text could otherwise fill the memory.
_PIECE = re.compile(rf"[{_CHARACTERS}]+|{_LETTER}{{1,64}}(?:[-.,'’]{_LETTER}{{1,64}}){{0,7}}")
_CHARACTER = re.compile(f"[{_CHARACTERS}]")
_FIRST_CHARACTER = "\u2e80"
_PART = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\W_]")
_WIDE_COMMA = "\uff0c"
_MOST_PARTS = 4
"""A piece that changes between letters and digits more often is an identifier: whole only."""

_ASKED_ENGLISH = """
a an and are as at be by can do doe does did for from had has have how i if in into is it its me
my of on or our s should that the their them there these this those to us was we were what when
where which who whom whose why will with would you your about tell compare
"""
_ASKED_CHINESE = """
什么 怎么 怎样 如何 哪些 哪个 哪里 哪种 是否 为何 为什 多少 请问 以及 还是 或者 关于 有哪 是什 介绍
有何 样的 么样
"""
_ASKING = frozenset(_ASKED_ENGLISH.split() + _ASKED_CHINESE.split())
_PARTICLES = frozenset("的了吗呢吧么")
_COVERAGE = 0.3
"""The share of a query's terms a text must have to bear on it: one common word is not enough."""
_FEW = 3
"""Of fewer words one may be all that a text shares."""
_STEM, _SAME_SHARE, _GLUED = 5, 0.75, 7
"""Letters that words of one root begin with, their least share of the longer; and of a name that
counts within a longer word."""


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions; the same for documents and queries.

    Width, case, accents and English plurals are folded. `LFP-280` gives lfp, 280 and lfp280;
    `1,234` gives 1234. A run of one Chinese character gives that character.
    """
    breathe()
    # A wide comma never groups digits, and its plain form would.
    plain = unicodedata.normalize("NFKC", text.replace(_WIDE_COMMA, " ")).casefold()
    result: list[str] = []
    for piece in _PIECE.findall(plain):
        if piece[0] < _FIRST_CHARACTER or not _CHARACTER.match(piece):
            result.extend(_of_piece(piece))
        elif len(piece) == 1:
            result.append(piece)
        else:
            result.extend(map(add, piece, piece[1:]))
    return result


@lru_cache(maxsize=8)
def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a question without its asking words, unless it has no others.

    Kept for a few, because one question, or a whole discussion, is held against many texts.
    """
    distinct = tuple(dict.fromkeys(terms(text)))
    telling = tuple(t for t in distinct if t not in _ASKING and _PARTICLES.isdisjoint(t))
    return telling or distinct


def bears_on(query: str, text: str) -> bool:
    """Return True if a text has enough of a query's terms for words to say that it is about it."""
    terms_of_query = query_terms(query)
    # Of the pairs of a Chinese phrase half straddle two words: 钠电技术 has 电技.
    words = sum(1 if term.isascii() else 0.5 for term in terms_of_query)
    least = max(_COVERAGE * len(terms_of_query), 1 if words < _FEW else 2)
    return bool(terms_of_query) and len(shared_terms(query, text)) >= least


def shared_terms(query: str, text: str) -> set[str]:
    """Return the query's terms that the text has, also in another form or within a glued name.

    `determinism` stands in a text on what is deterministic, `temporal` in one on temporalio.
    """
    terms_of_text = set(terms(text))
    asked = set(query_terms(query))
    common = asked & terms_of_text
    latin = [term for term in terms_of_text if _is_long_word(term)]
    others = (term for term in asked - common if _is_long_word(term))
    return common | {term for term in others if any(_same_word(term, each) for each in latin)}


def _is_long_word(term: str) -> bool:
    return len(term) >= _STEM and term.isascii() and term.isalpha()


def _same_word(term: str, other: str) -> bool:
    """Return True for words of one root, and for a name that another word contains."""
    if len(term) >= _GLUED and term in other:
        return True
    common = len(list(takewhile(bool, map(eq, term, other))))
    return common >= max(_STEM, _SAME_SHARE * max(len(term), len(other)))


@lru_cache(maxsize=1 << 15)
def _of_piece(piece: str) -> tuple[str, ...]:
    if piece.isascii() and piece.isalpha():
        return (_singular(piece),)
    result: list[str] = []
    for word in _words(without_accents(piece)):
        result.extend(_of_compound(word))
    return tuple(result)


def _words(piece: str) -> list[str]:
    """Split at the joints that join nothing: `end.Next`, `Li,Na`."""
    piece = (
        re.sub(r"['’]s(?![^\W_])", "", without_digit_groups(piece))
        .replace("'", "")
        .replace("’", "")
    )
    return [word for word in re.split(r",|(?<!\d)\.|\.(?!\d)", piece) if word]


def _of_compound(word: str) -> list[str]:
    parts = _PART.findall(word)
    joined = word.replace("-", "")
    whole = joined if len(parts) > 1 and _is_name(parts) else None
    if whole and len(parts) > _MOST_PARTS:
        return [whole]
    singulars = [_singular(part) for part in parts]
    return [*singulars, whole] if whole else singulars


def _is_name(parts: list[str]) -> bool:
    """Return letters with digits, or a single letter before a word as in e-bike."""
    digits = sum(part[0].isdigit() for part in parts)
    return 0 < digits < len(parts) or (not digits and len(parts) == 2 and len(parts[0]) == 1)


def _singular(word: str) -> str:
    """Return `batteries` and `battery` alike; words in -ss, -us, -is are no plurals."""
    if len(word) < 4 or word[-1] != "s" or word[-2] in "sui" or not word.isascii():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
