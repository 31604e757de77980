"""Clean search queries, compare them by their words, and match them with earlier ones.

Precision comes first, since a wrongly reused result costs the answer and a needless search only
itself. Two queries are one only if they have the same words, numbers and operators: in the same
order, or in another one where nothing in them depends on it.

Two queries are near-duplicates only if nothing but wording differs. A number, a year, a
name, an operator, a negation or a direction that differs makes them different: a query run
twice costs one search, a query wrongly dropped costs the answer.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from agent.core.patterns import PIECE
from agent.evidence.language import words
from agent.evidence.types import Query
from agent.texts import detect_language

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_LETTER = rf"(?:(?![{_CJK}_])[\w+#$€£¥%°&@*=<>^~|/\\])"
_PIECE = re.compile(
    rf"[{_CJK}]+|{_LETTER}+(?:(?<=\d)[.,:\-]+(?=\d){_LETTER}+|['’](?=[A-Za-z]){_LETTER}+)*"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_COUNTED = re.compile(r"[年月日号]")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_SAME_AND = str.maketrans("与與及跟", "和和和和")
_FILLER = frozenset({"the", "of", "in", "for"})


@dataclass(frozen=True)
class Word:
    """Hold a casefolded word; `capital` if it is written like part of a name."""

    text: str
    capital: bool = False
    lower: bool = False
    possessed: bool = False
    """Whether 的 stands before it."""
    filler: bool = False


def is_number(text: str) -> bool:
    """Return whether there is a digit in it: `2019`, `q3`, `5g`, `3月`."""
    return any(letter.isdigit() for letter in text)


def words_of(text: str) -> list[Word]:
    """Return the words in NFKC; a year's 年 is left out, other units stay with their number."""
    words: list[Word] = []
    for piece in _PIECE.findall(text):
        if not _CJK_RUN.fullmatch(piece):
            words.append(_latin(piece))
            continue
        run = piece.translate(_SAME_AND)
        if words and words[-1].text.isdigit() and _COUNTED.match(run):
            number, run = words.pop().text, run
            year = _YEAR.fullmatch(number) and run[0] == "年"
            words.append(Word(number if year else number + run[0]))
            run = run[1:]
        words += _chinese(run)
    return words


def join_words(words: Sequence[Word]) -> str:
    """Join the words in order; a space between Chinese characters makes no difference."""
    return _BETWEEN_CJK.sub("", " ".join(word.text for word in words))


def _latin(piece: str) -> Word:
    text = piece.casefold().replace("’", "'")
    # "founder's" asks what "founder" does; "Wendy's" is a name.
    text = text.removesuffix("'s") if piece.islower() else text
    capital = len(piece) > 1 and piece[0].isupper() and piece[1:].islower()
    return Word(text, capital, piece.islower(), filler=text in _FILLER)


def _chinese(run: str) -> list[Word]:
    parts = [part for part in run.split("的") if part]
    return [Word(part, possessed=at > 0) for at, part in enumerate(parts)]


_DATE = re.compile(
    r"(?:1\d{3}|20\d{2})(?:[-/.]\d{1,2}){0,2}|(?:(?:19|20)\d{2})?[qh][1-4]|fy\d{2,4}|\d{1,2}[月日号]"
)
_BOUND = frozenset(
    ("before", "after", "since", "until", "till", "by", "from", "to", "through", "than", "pre")
)
_BOUND_CJK = tuple("前后後以之起至到来來间間至自比")
_RELATION = re.compile(
    r"\b(?:from|to|into|onto|towards?|than|vs|versus|against|over|under|before|after|by|via|"
    r"without|except|excluding|not|no|non|never|nor|or|who|whom|whose|vice|deputy|former|ex|"
    r"beats?|beating|won|wins?|bought|buys?|buying|sold|sells?|sue[sd]?|suing|wrote|writes?|met|"
    r"gave|gives?|took|takes?|led|leads?|lost|loses?|left|made|makes?|taught|teach\w*|own[s]?|"
    r"acqui\w+|defeat\w*|marr(?:y|ie)\w*|kill\w*|hire\w*|invad\w+|influenc\w+|replac\w+|succeed\w*|"
    r"attack\w*|invest\w*|fund\w*|support\w*|import\w*|export\w*|translat\w+|adapt\w*|convert\w*|"
    r"prefer\w*|precede\w*|predecessor\w*|successor\w*|exceed\w*|outperform\w*|overt(?:ake|ook)\w*|"
    r"bigger|larger|smaller|higher|lower|older|younger|taller|greater|less|more|"
    r"flights?|trains?|bus(?:es)?|ferr(?:y|ies)|tickets?|routes?|drive|driving|exchange|rates?|"
    r"\w{2,}ed)\b"
    "|[到至去往从從比→被把给給让讓对對向由于於不没沒無无非勿别除否未]|->|[|()]"
    "|收购|收購|并购|併購|击败|擊敗|战胜|戰勝|打败|起诉|起訴|入侵|进攻|投资|控股|继任|接替|取代|代替"
    "|影响|师从|师承|导演|翻译|改编|主持|持有|拥有|隶属|属于|包含|包括|超过|领先|大于|小于|高于|低于|多于"
    "|少于|援助|批评|支持|反对|出口|进口|娶|嫁|杀|赢|输|胜|负|教|兑|换算|汇率|高铁|火车|动车|机票|航班"
    "|车票|路线|运费|物流|快递|寄|飞|比分|对阵|前任|后任|副"
)
_ROLE = re.compile(
    r"\b(?:father|mother|parent|wife|husband|spouse|son|daughter|child|brother|sister|uncle|aunt|"
    r"grand\w+|cousin|teacher|student|pupil|advis[eo]r|mentor|boss|owner|founder|president|ceo|cfo|"
    r"chair\w*|minister|king|queen|prince|princess|director|author|writer|lawyer|assassin|capital|"
    r"company|subsidiary|team|club|city|country|state|province)s?\b"
    "|父|母|爸|妈|妻|夫|儿子|女儿|兄|弟|姐|妹|祖|孙|老师|学生|导师|弟子|创始人|董事长|总裁|总统|总理"
    "|首相|主席|部长|国王|女王|王后|王子|公主|作者|律师|首都|省会|公司|球队|城市|国家"
)
_OF = re.compile(r"\bof\b|['’]s\b|的")
_LINK = re.compile(
    r"\b(?:of|in|for|on|at|with|about|around|near|between|among|as|like)\b|['’]s\b|的|在"
)


def depends_on_order(plain: str, words: Sequence[Word]) -> bool:
    """Return whether another order of words could make another question of it.

    Directions, verbs, comparisons, negations, relations of relations, numbers that belong to
    something: none of these may be read backwards.
    """
    if _RELATION.search(plain) or any(is_number(word.text) for word in words):
        return True
    return len(_ROLE.findall(plain)) > 1 or len(_OF.findall(plain)) > 1


def is_linked(plain: str) -> bool:
    """Return whether a preposition joins two words: such queries are compared in order."""
    return bool(_LINK.search(plain))


def may_move(words: Sequence[Word]) -> tuple[tuple[str, ...], list[Word]]:
    """The query's date where it has just one, and no other number, and nothing hangs on its place
    (`after 2019` does); with the other words.
    """
    places = [at for at, word in enumerate(words) if is_number(word.text)]
    if not places or places[-1] - places[0] + 1 != len(places):
        return (), list(words)
    first, last = places[0], places[-1]
    before = words[first - 1].text if first else ""
    behind = words[last + 1].text if last + 1 < len(words) else ""
    dates = [word.text for word in words[first : last + 1]]
    bound = before in _BOUND or before.endswith(_BOUND_CJK) or behind.startswith(_BOUND_CJK)
    if bound or not all(_DATE.fullmatch(date) for date in dates):
        return (), list(words)
    return tuple(sorted(dates)), [*words[:first], *words[last + 1 :]]


_OPERATOR = re.compile(
    r"(?<!\w)(?:all)?(?:site|intitle|inurl|intext|inbody|filetype|ext|related|before|after|lang|"
    r'source|define|cache):\s*(?:"[^"]*"|\S+)|"[^"]*"|(?<!\S)-(?=[^\s-])(?:"[^"]*"|\S+)',
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\(.*(?:\bor\b|\|)|(?:\bor\b|\|).*\(", re.IGNORECASE)
_QUOTES = re.compile("[“”„‟«»＂「」『』]")
_EDGES = " \t.,;:!?。，；：！？、…"
_ONE_OF = re.compile(f"哪一(?=[{_CJK}])")
_POSSESSIVE = re.compile(r"['’]s\b")
_RAISED = re.compile("[²³¹⁰ⁱ⁴-⁹]+")
_PREFIX = re.compile(r"^(?:please\s+|what(?:['’]s| is| are) the\s+|请问|请帮我|帮我查一下|查一下)+")
_SUFFIX = re.compile(r"(?:是多少|是什么|是谁|有哪些|吗|呢|[?？。.!！\s])+$")
_NOT_PLURAL = frozenset(
    ("customs", "goods", "arms", "means", "news", "savings", "earnings", "works", "colors")
)
_LONG_PLURAL, _LONG_SWAP, _LONG_DOUBLE = 5, 10, 9


@dataclass(frozen=True)
class _QueryForm:
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
    # What is quoted as a whole keeps its quotes; one that is never closed says nothing.
    return plain.strip(_EDGES + '"' if plain.count('"') % 2 else _EDGES) or plain


def same_search(a: str, b: str, *, operators: bool = True) -> bool:
    """Return whether the results of one query can stand for those of the other.

    `operators` says whether the engine knows them: quoted words are then other than bare ones.
    """
    if len(a) > PIECE or len(b) > PIECE:
        return a == b
    first, second = _query_form(a, operators), _query_form(b, operators)
    if first.plain == second.plain:
        return True
    if first.operators != second.operators or first.date != second.date:
        return False
    if not first.words or not second.words:
        return first.words == second.words and bool(first.operators or first.date)
    return _in_order(first.words, second.words) or _in_another(first, second)


@lru_cache(maxsize=4096)
def _query_form(text: str, operators: bool) -> _QueryForm:
    plain = _plain(text, operators)
    rest = _OPERATOR.sub(" ", plain)
    rest = _SUFFIX.sub("", _bare(rest.strip())) or rest
    words = words_of(rest)
    date, others = may_move(words)
    return _QueryForm(
        plain=normalised_query(text, operators=operators),
        operators=_operators(plain, rest),
        words=tuple(word for word in others if not word.filler),
        date=date,
        ordered=bool(_POSSESSIVE.search(rest)) or depends_on_order(rest.casefold(), others),
        linked=is_linked(rest.casefold()),
        relations=_relations(words),
    )


def _plain(text: str, operators: bool) -> str:
    """Return one line of NFKC with one kind of quotes; a raised 2 is no 2."""
    raised = _RAISED.sub(r"^\g<0>", text).replace("−", "-")
    plain = _QUOTES.sub('"', unicodedata.normalize("NFKC", raised))
    plain = _ONE_OF.sub("哪", plain)
    return " ".join((plain if operators else plain.replace('"', " ")).split())


def _operators(plain: str, rest: str) -> tuple[str, ...]:
    """Return the operators of a search; where brackets group alternatives, all of it."""
    operators = sorted(re.sub(r":\s+", ":", each).casefold() for each in _OPERATOR.findall(plain))
    return (*operators, rest.casefold()) if _GROUPED.search(rest) else tuple(operators)


def _bare(text: str) -> str:
    """Remove the words of politeness and of asking that a text begins with."""
    match = _PREFIX.match(text.casefold())
    return text[match.end() :] if match else text


def _relations(words: Sequence[Word]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (x.text, y.text)
        for x, y in pairwise(words)
        if y.possessed or (x.capital and y.capital and not (x.filler or y.filler))
    )


def _in_order(a: Sequence[Word], b: Sequence[Word]) -> bool:
    """Return whether words and order agree, but for plurals and one misspelt long word."""
    if join_words(a) == join_words(b):
        return True
    if len(a) != len(b):
        return False
    other = [(x, y) for x, y in zip(a, b, strict=True) if x.text != y.text]
    other = [(x, y) for x, y in other if not _plural(x, y)]
    return len(other) <= 1 and all(_misspelt(x, y) for x, y in other)


def _in_another(a: _QueryForm, b: _QueryForm) -> bool:
    """Return whether the words agree, where order means nothing in either query."""
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
    """Return whether one is the other with an s, and neither is written like a name."""
    short, long = sorted((x, y), key=lambda word: len(word.text))
    if not (x.lower and y.lower) or long.text != short.text + "s":
        return False
    ambiguous = long.text in _NOT_PLURAL or long.text.endswith(("ics", "sss"))
    return len(short.text) >= _LONG_PLURAL - 1 and not ambiguous and not is_number(short.text)


def _misspelt(x: Word, y: Word) -> bool:
    """Return whether long Latin words differ by two swapped letters or a doubled one."""
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


_TOKEN = re.compile(rf"[{_CJK}]+|\d+(?:[.,:/-]\d+)*%?|[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?|[+#]")
_OPERATORS = re.compile(
    r"\b(?:site|intitle|inurl|filetype|before|after|lang):\S+|\"[^\"]+\"|“[^“”]+”|(?<!\S)-\w\S*|\bor\b"
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
    """Hold all that must agree for two queries to be the same."""

    joined: str
    words: frozenset[tuple[str, int]]
    guards: tuple[tuple[str, ...], ...]
    directed: bool


def near_duplicate(a: str, b: str) -> bool:
    """Return whether two queries differ in wording only (case, width, order, plural, filler)."""
    return _same(_meaning(a), _meaning(b))


_COMPARED = 60
"""Queries that a new one is compared with word by word; a model may write a thousand."""


def drop_seen(queries: list[Query], earlier: Iterable[str]) -> list[Query]:
    """Return the new queries in order, each once; invisible ones are left out."""
    texts = list(earlier)
    meanings = [_meaning(text) for text in texts]
    fresh: list[Query] = []
    for query in queries:
        if not is_visible(query["query"]):
            continue
        meaning = _meaning(query["query"])
        if any(_same(meaning, other) for other in meanings) or any(
            same_search(query["query"], text) for text in texts[-_COMPARED:]
        ):
            continue
        meanings.append(meaning)
        texts.append(query["query"])
        fresh.append(query)
    return fresh


_GENERIC = re.compile(
    r"\b(?:comparisons?|compared?|comparing|guide|overview|reviews?|tips|details?|info(?:rmation)?|"
    r"latest|current|explained|introduction)\b"
    "|对比|比较|攻略|推荐|指南|介绍|详情|信息|大全|最新"
)


def repeats(query: str, earlier: Iterable[str]) -> bool:
    """Return whether a query differs from an earlier one only in words that narrow no search."""
    return any(near_duplicate(_narrow(query), _narrow(text)) for text in earlier)


def _narrow(query: str) -> str:
    """Return the query without words like "comparison" and "guide", or itself if that is all."""
    bare = _SPACE.sub(" ", _GENERIC.sub(" ", query.casefold())).strip()
    return bare or query


def shares_nothing(query: str, material: str, tag: str = "") -> bool:
    """Return whether a query has no word of what it was written for, in the same language.

    A weak model copies words of its instructions ("the second one"), and searches for them. A query
    in another language than the material shares no words with it and is judged by nobody; `tag` is
    the material's, where a model has said it: by its letters all that is not Chinese is English.
    """
    language = detect_language(material)
    if detect_language(query) != language or (tag and tag.split("-")[0].lower() != language):
        return False
    own = words(query)
    return bool(own) and not own & words(material)


def clean_text(text: str, limit: int) -> str:
    """Return one line of NFC text of at most `limit` characters.

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
    plain = _ONE_OF.sub("哪", unicodedata.normalize("NFKC", text).casefold())
    tokens = _content(plain) or _TOKEN.findall(plain)
    counted = Counter(word for token in tokens for word in _bigrams(token))
    guards = tuple(
        tuple(sorted(pattern.findall(plain))) for pattern in (_OPERATORS, _NEGATION, _DIRECTION)
    )
    joined = _glue(tokens) or plain.strip()
    return _Meaning(joined, frozenset(counted.items()), guards, bool(guards[2]))


def _content(plain: str) -> list[str]:
    """Return the tokens that carry meaning: no filler, plurals folded, Chinese runs whole."""
    content: list[str] = []
    for token in _TOKEN.findall(plain):
        if _CJK_RUN.fullmatch(token):
            content += [run for run in _FILLER_CJK.split(token) if run]
        elif token not in _FILLER_WORDS:
            content.append(_singular(token))
    return content


def _glue(tokens: list[str]) -> str:
    """Join tokens so that a space between Chinese characters makes no difference."""
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
