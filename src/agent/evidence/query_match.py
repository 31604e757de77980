"""Whether a search was made before: the rule by which a cached result stands for a new query.

Precision comes first, since a wrongly reused result costs the answer and a needless search only
itself. Two queries are one only if they have the same words, numbers and operators: in the same
order, or in another one where nothing in them depends on it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.evidence.query_order import depends_on_order, is_linked, may_move
from agent.evidence.query_words import Word, glued, is_number, words_of

_OPERATOR = re.compile(
    r"(?<!\w)(?:all)?(?:site|intitle|inurl|intext|inbody|filetype|ext|related|before|after|lang|"
    r'source|define|cache):\s*(?:"[^"]*"|\S+)|"[^"]*"|(?<!\S)-(?=[^\s-])(?:"[^"]*"|\S+)',
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\(.*(?:\bor\b|\|)|(?:\bor\b|\|).*\(", re.IGNORECASE)
_QUOTES = re.compile("[“”„‟«»＂「」『』]")
_EDGES = ' \t.,;:!?。，；：！？、…"'
_RAISED = re.compile("[²³¹⁰ⁱ⁴-⁹]+")
_PREFIX = re.compile(r"^(?:please\s+|what(?:['’]s| is| are) the\s+|请问|请帮我|帮我查一下|查一下)+")
_SUFFIX = re.compile(r"(?:是多少|是什么|是谁|有哪些|吗|呢|[?？。.!！\s])+$")
_NOT_PLURAL = frozenset(
    ("customs", "goods", "arms", "means", "news", "savings", "earnings", "works", "colors")
)
_LONG_PLURAL, _LONG_SWAP, _LONG_DOUBLE = 5, 10, 9


@dataclass(frozen=True)
class _Asked:
    plain: str
    operators: tuple[str, ...]
    words: tuple[Word, ...]
    """In order, less a date that may stand anywhere."""
    date: tuple[str, ...]
    ordered: bool
    """Whether the order of the words says something."""
    linked: bool
    """Whether a preposition or 的 joins some of them."""
    relations: frozenset[tuple[str, str]]
    """Neighbours that must stay so: the words of a name, and those around 的."""


def normalised_query(text: str, *, operators: bool = True) -> str:
    """NFKC, one case, one space, no punctuation at the ends; without quotes where they are none of
    the engine's `operators`.
    """
    plain = _plain(text, operators).casefold()
    return plain.strip(_EDGES if '"' in plain else _EDGES + '"') or plain


def same_search(a: str, b: str, *, operators: bool = True) -> bool:
    """Whether the results of one query can stand for those of the other.

    `operators` says whether the engine knows them: quoted words are then other than bare ones.
    """
    first, second = _asked(a, operators), _asked(b, operators)
    if first.plain == second.plain:
        return True
    if first.operators != second.operators or first.date != second.date:
        return False
    if not first.words or not second.words:
        return first.words == second.words and bool(first.operators or first.date)
    return _in_order(first.words, second.words) or _in_another(first, second)


def _asked(text: str, operators: bool) -> _Asked:
    plain = _plain(text, operators)
    rest = _OPERATOR.sub(" ", plain)
    rest = _SUFFIX.sub("", _bare(rest.strip())) or rest
    words = words_of(rest)
    date, kept = may_move(words)
    return _Asked(
        plain=normalised_query(text, operators=operators),
        operators=_operators(plain, rest),
        words=tuple(word for word in kept if not word.filler),
        date=date,
        ordered=depends_on_order(rest.casefold(), kept),
        linked=is_linked(rest.casefold()),
        relations=_relations(words),
    )


def _plain(text: str, operators: bool) -> str:
    """One line of NFKC with one kind of quotes; a raised 2 is no 2."""
    raised = _RAISED.sub(r"^\g<0>", text).replace("−", "-")
    plain = _QUOTES.sub('"', unicodedata.normalize("NFKC", raised))
    return " ".join((plain if operators else plain.replace('"', " ")).split())


def _operators(plain: str, rest: str) -> tuple[str, ...]:
    """What changes a search besides its words; where brackets group alternatives, all of it."""
    found = sorted(re.sub(r":\s+", ":", each).casefold() for each in _OPERATOR.findall(plain))
    return (*found, rest.casefold()) if _GROUPED.search(rest) else tuple(found)


def _bare(text: str) -> str:
    """The text without the words of politeness and of asking it begins with."""
    found = _PREFIX.match(text.casefold())
    return text[found.end() :] if found else text


def _relations(words: Sequence[Word]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (x.text, y.text)
        for x, y in pairwise(words)
        if y.possessed or (x.capital and y.capital and not (x.filler or y.filler))
    )


def _in_order(a: Sequence[Word], b: Sequence[Word]) -> bool:
    """The same words in the same order, but for plurals and one misspelt long word."""
    if glued(a) == glued(b):
        return True
    if len(a) != len(b):
        return False
    other = [(x, y) for x, y in zip(a, b, strict=True) if x.text != y.text]
    other = [(x, y) for x, y in other if not _plural(x, y)]
    return len(other) <= 1 and all(_misspelt(x, y) for x, y in other)


def _in_another(a: _Asked, b: _Asked) -> bool:
    """The same words, where neither query says anything by their order."""
    if a.ordered or b.ordered or (a.linked and b.linked):
        return False
    if not _same_words(a.words, b.words):
        return False
    return all(_before(pair, b.words) for pair in a.relations) and all(
        _before(pair, a.words) for pair in b.relations
    )


def _before(pair: tuple[str, str], words: Sequence[Word]) -> bool:
    return pair in {(x.text, y.text) for x, y in pairwise(words)}


def _same_words(a: Sequence[Word], b: Sequence[Word]) -> bool:
    left, right = Counter(w.text for w in a), Counter(w.text for w in b)
    if left == right:
        return True
    of = {word.text: word for word in (*a, *b)}
    only_a, only_b = sorted((left - right).elements()), sorted((right - left).elements())
    if len(only_a) != len(only_b):
        return False
    return all(_plural(of[x], of[y]) for x, y in zip(only_a, only_b, strict=True))


def _plural(x: Word, y: Word) -> bool:
    """One is the other with an s, and neither is written like a name."""
    short, long = sorted((x, y), key=lambda word: len(word.text))
    if not (x.lower and y.lower) or long.text != short.text + "s":
        return False
    ambiguous = long.text in _NOT_PLURAL or long.text.endswith(("ics", "sss"))
    return len(short.text) >= _LONG_PLURAL - 1 and not ambiguous and not is_number(short.text)


def _misspelt(x: Word, y: Word) -> bool:
    """Two neighbouring letters swapped, or one of a doubled letter lost, in a long Latin word."""
    short, long = sorted((x.text, y.text), key=len)
    if not (short.isascii() and short.isalpha() and long.isascii() and long.isalpha()):
        return False
    if len(short) == len(long) >= _LONG_SWAP:
        at = [n for n, (p, q) in enumerate(zip(short, long, strict=True)) if p != q]
        swapped = len(at) == 2 and at[1] == at[0] + 1
        return swapped and short[at[0]] == long[at[1]] and short[at[1]] == long[at[0]]
    if len(long) != len(short) + 1 or len(short) < _LONG_DOUBLE or not (x.lower and y.lower):
        return False
    return any(
        long[n] == long[n - 1] and long[:n] + long[n + 1 :] == short for n in range(1, len(long))
    )
