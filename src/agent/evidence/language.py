"""Take a text of any language apart: one fold, one splitter of sentences, one set of words."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import add

from opencc import OpenCC

from agent.core.patterns import Linear
from agent.core.processor import breathe
from agent.core.strings import word_set

SENTENCE, KEPT_SENTENCES = 500, 8192
"""Characters of a sentence, and of how many what was read in them is kept: a check reads each
again beside each of its sources.
"""
LONGEST, _LONGEST_MARKED = 1000, 20_000
"""Characters of one piece of a text, and with its markers: what is longer is cut, so that all work
on it stays linear."""


SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n+")
"""Where excerpts are parted and cut, quickly; `sentence_spans` knows "no. 3" and "31. August"."""


def whole_sentences(text: str, limit: int) -> str:
    """Return the sentences that fit into so many characters; empty where the first does not."""
    ends = [end.start() for end in SENTENCE_END.finditer(text, 0, limit)]
    return text[: ends[-1]].strip() if ends else ""


def with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the text folded in width and script, and each character's index in it (and the end).

    Wide commas stay (they join no digits), and so do superscripts: 10³ is not 103.
    """
    plain = _plain(text)
    if len(plain) == len(text):
        return plain, range(len(text) + 1)
    pieces = [_FOLDED[ord(char)] for char in text]
    places = [index for index, piece in enumerate(pieces) for _ in piece]
    return plain, [*places, len(text)]


def in_simplified(name: str) -> str:
    """Return a Chinese name in simplified characters."""
    return _SIMPLIFIED(name)


def _plain(text: str) -> str:
    return text if text.isascii() else text.translate(_FOLDED)


def fold(text: str) -> str:
    """Return a text as it is compared: plain width, simplified characters, small letters."""
    breathe()
    return _plain(text).casefold()


class _Folding(dict[int, str]):
    """The plain form of each character; none is empty."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _FOLDED_AT_MOST:
            self.clear()
        char = chr(code)
        stays = char == "，" or unicodedata.category(char) == "No"
        folded = _SIGNS.get(char) or (char if stays else unicodedata.normalize("NFKC", char))
        if "\u4e00" <= folded <= "\u9fff":
            folded = _SIMPLIFIED(folded)
            if not _is_simplified(folded):
                folded = _SIMPLIFIED(_OF_JAPANESE(folded))
        self[code] = folded
        return folded


def _is_simplified(char: str) -> bool:
    """Return whether simplified Chinese has a character: its 欠 is not the Japanese for 缺."""
    try:
        return bool(char.encode("gb2312"))
    except UnicodeEncodeError:
        return False


_SIMPLIFIED: Callable[[str], str] = OpenCC("t2s").convert
_OF_JAPANESE: Callable[[str], str] = OpenCC("jp2t").convert
"""Read with the package, in some milliseconds: an async node must not read files."""

_SIGNS = {**dict.fromkeys("‘’‚‛ʼ‹›", "'"), **dict.fromkeys("“”„‟«»", '"'), "〜": "~"}
"""Quotes, and the tilde of a Japanese range: the wide one is folded by its width."""
_FOLDED_AT_MOST = 32_768
_FOLDED = _Folding()

_CLOSING = r"[”’\"'」』）)】\]*_`]*"
_END = re.compile(rf"[。！？!?…]+{_CLOSING}|\.+{_CLOSING}(?=[\s\0]|$)")
_SHORTENED = word_set(
    "mr mrs ms dr prof st vs jr sr inc ltd co al gen gov sen rep lt col capt rev mt incl inkl tel"
    " rn vgl bzw ggf approx abschn hausnr"
)
"""What is short before a capital: before anything else a full stop ends nothing."""
_LONGEST_SHORTENED, _MOST_ITEM_DIGITS = 16, 3
_COUNTED = (
    *("jan", "jän", "feb", "märz", "apr", "mai", "jun", "jul", "aug", "sept", "okt", "nov", "dez"),
    *(
        "stock",
        "etage",
        "obergesch",
        "untergesch",
        "og ",
        "ug ",
        "jahrhundert",
        "bezirk",
        "quartal",
    ),
    *("halbjahr", "weltkrieg", "auflage", "platz", "klasse", "kapitel", "woche", "tag "),
)
"""What German counts in capital letters; other languages that write "31." go on in small ones."""
_BEHIND = re.compile(r"[ \t]?\0+")


_LONGEST_NAME = 80


def is_cut(name: str) -> bool:
    """Return whether a sentence could end within a name, or with it: Ciao! Caffé; not long ones."""
    return len(name) <= _LONGEST_NAME and bool(_END.search(name))


def sentence_spans(
    text: str, markers: re.Pattern[str] | None = None, names: Iterable[str] = ()
) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a text begin and end, line by line, without the blanks between.

    Markers are no words: they belong to the sentence before them, also behind its full stop. Within
    `names` none ends, nor with them.
    """
    for name in names:
        text = text.replace(name, _END.sub(lambda match: "_" * len(match[0]), name))
    if markers is not None:
        text = markers.sub(lambda match: "\0" * len(match[0]), text)
    at = 0
    for line in text.splitlines(keepends=True):
        for start, end in _spans(line.rstrip()):
            yield at + start, at + end
        at += len(line)


def _spans(line: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _END.finditer(line):
        before = line[max(begin, match.start() - _LONGEST_SHORTENED) : match.start()]
        if match[0][0] in ".…" and (_is_aside(line, begin, match) or _goes_on(before, line, match)):
            continue
        if match[0].startswith(("…", "...")) and before.endswith(_OMITS):
            continue
        if match[0][-1] in "?!" and _is_inside(line, match.end()):
            continue
        end = match.end()
        if marked := _BEHIND.match(line, end):
            end = marked.end()
        if end > begin:
            yield from _pieces(line, begin, end)
            begin = end
    yield from _pieces(line, begin, len(line))


def _is_inside(line: str, at: int) -> bool:
    """Return whether a sign stands inside an address or a command: _cat/indices?v, page?id=3."""
    return line[at : at + 1].isascii() and line[at : at + 1].isalnum()


_OMITS = tuple(" \t([{（「『")
"""Before dots that stand for words left out: SELECT … FROM, f(…)."""


def _is_aside(line: str, begin: int, stop: re.Match[str]) -> bool:
    """Return whether a full stop closes a bracket that the sentence does not begin with."""
    begins = line[begin : begin + _LONGEST_SHORTENED].lstrip()[:1]
    closes = ")" in stop[0] or "）" in stop[0]
    return closes and begins not in tuple(_OPENS) and any(
        line.rfind(sign, begin, stop.start()) >= 0 for sign in _OPENS
    )  # fmt: skip


_OPENS = "(（"


def _goes_on(before: str, line: str, stop: re.Match[str]) -> bool:
    """Return whether a sentence goes on behind a full stop: "3 min. from", "no. 3", "31. August".

    It does before a small letter or a number, but before the name of a site and a number where it
    surely ends, and behind what is short.
    """
    behind = line[stop.end() : stop.end() + _LONGEST_SHORTENED].lstrip()
    word = behind.lstrip(_OPENS)
    if word[:1].islower():
        return not (stop[0][0] == "." and _is_dotted(line, stop.end())
                    and (_is_whole(before) or _is_unit(before)))  # fmt: skip
    if word.lstrip("€$£¥")[:1].isdigit():
        return stop[0][0] != "." or not (len(stop[0]) > 1 or _is_whole(before))
    if stop[0][0] != ".":
        return False
    goes_up = line[stop.end() :][:1].isspace() and "A" <= behind[:1] <= "Z"
    ends_unit = goes_up and _is_unit(before)
    last = before.rpartition(" ")[2].lstrip(_OPENS)
    is_ordinal = last.isdecimal() or (last != "" and not set(last) - set("IVXL"))
    is_counted = is_ordinal and f"{behind} ".casefold().startswith(_COUNTED)
    return is_counted or (_is_shortened(before) and not ends_unit)


def _is_dotted(line: str, begin: int) -> bool:
    """Return whether the next word is a name with a full stop in it: viarami.com, never e.g."""
    word, *_ = line[begin : begin + _LONGEST_NAME].split(maxsplit=1) or [""]
    labels = word.lstrip(_OPENS).rstrip(".,;:!?)）").split(".")
    return len(labels) > 1 and min(map(len, labels)) > 1 and labels[-1].isalpha()


def _is_shortened(before: str) -> bool:
    """Return whether a text ends with what is written short: "Dr", "e.g", a letter, an item's 3.

    The last letter of "the firm's" is none, nor that of "can't".
    """
    if before[-1:] in _CLIPPED and before[-2:-1] in _APOSTROPHES and before[-3:-2].isalnum():
        return False
    if before.strip().isdecimal() and len(before.strip()) <= _MOST_ITEM_DIGITS:
        return True
    last = "".join(char if char.isalnum() else " " for char in before).split(" ")[-1].casefold()
    return last in _SHORTENED or (len(last) == 1 and "a" <= last <= "z")


_CLIPPED, _APOSTROPHES = (*"stdm",), (*"'’",)
_LEAST_LETTERS, _LEAST_HAN, _LEAST_DIGITS = 5, 2, 3


def _is_whole(before: str) -> bool:
    """Return whether a full stop before a number ends a sentence, and shortens no word.

    It does behind a citation, a sign (5 %), a year, and a word longer than what is shortened; "no.
    3" and "3. 10. 2026" go on, and so does "in May. 3": nobody can tell.
    """
    last = before[-1:]
    if not last.isalnum():
        return bool(last)
    is_of_it = str.isdigit if last.isdigit() else str.isalpha
    length = sum(1 for _ in takewhile(is_of_it, reversed(before)))
    if last.isdigit():
        return length >= _LEAST_DIGITS
    if last.lower() == last.upper():
        return length >= _LEAST_HAN
    is_counted = before[:-length].rstrip()[-1:].isdigit()
    return length >= _LEAST_LETTERS - is_counted and not _is_shortened(before)


def _is_unit(text: str) -> bool:
    """Return whether a text ends with a number and a unit of one letter: 5 m, 20 °C."""
    sign, number = text[-1:], text[:-1].rstrip()[-1:]
    return (sign in ("m", "g", "h", "l") and number.isdigit()) or (
        sign in ("C", "F") and number == "°"
    )


def _pieces(line: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a sentence without the blanks around it, in pieces of bounded length."""
    while begin < end and line[begin].isspace():
        begin += 1
    while end > begin and line[end - 1].isspace():
        end -= 1
    start = begin
    while (last := _last_of_piece(line, start, end)) < end:
        yield start, last
        start = last
    if start < end:
        yield start, end


def _last_of_piece(line: str, begin: int, end: int) -> int:
    """Return where so much of a sentence ends: markers, whose addresses are long, do not count."""
    last = begin + LONGEST
    while last < min(end, begin + _LONGEST_MARKED):
        said = last - begin - line.count("\0", begin, last)
        if said >= LONGEST and line[last] != "\0":
            break
        last += max(1, LONGEST - said)
    return min(last, end)


_LATIN = re.compile(r"[^\W\d_\u3400-\u9fff][\w'’]*|\d+(?:\.\d+)?")
_LITTLE_WORDS = """the a an of in on at to for from by and or but is are was were be been it its
this that as with which also than then both all has have had can may one two not no only about some
more most there their they he she you your after before into over under when where while what who
how if so such other others another each any per very"""
STOP_WORDS = frozenset(_LITTLE_WORDS.split())
_STOP_HAN = "的了是在有和与及也都就被把对从到为于之其这那个一不没可以能会要又再而且但或"
_BETWEEN_HAN = re.compile(rf"[^\u3400-\u9fff]+|[{_STOP_HAN}]")


def words(text: str) -> frozenset[str]:
    """Return what a text is compared by: Latin words without endings, pairs of Han characters."""
    breathe()
    return _sentence_words(text) if len(text) <= SENTENCE else _text_words(text)


@lru_cache(KEPT_SENTENCES)
def _sentence_words(text: str) -> frozenset[str]:
    return _words(text)


@lru_cache(4)
def _text_words(text: str) -> frozenset[str]:
    """Return a long text's words: each of several queries is compared with one material."""
    return _words(text)


def _words(text: str) -> frozenset[str]:
    text = fold(text)
    terms = {_stem(word) for word in _LATIN.findall(text) if word not in STOP_WORDS}
    for part in _BETWEEN_HAN.split(text):
        terms.update(map(add, part, part[1:]))
    return frozenset(terms)


def _stem(word: str) -> str:
    for ending in ("'s", "’s", "ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def bare_words(text: str) -> str:
    """Return a text without all that is no word, in one width and case."""
    return _NO_WORD.sub("", fold(text))


_NO_WORD = re.compile(r"[^\w.%-]|(?<!\d)\.|\.(?!\d)")


_WORD_OR_SIGN = Linear(r"[\u3400-\u9fff]|[a-zA-Z0-9\u00c0-\u024f\u0370-\u1fff\uac00-\ud7a3]+")


def words_in_order(text: str) -> list[str]:
    """Return the words of a text in their order; of a script without blanks, its characters."""
    return [match[0] for match in _WORD_OR_SIGN.finditer(text)]


def without_marks(text: str) -> str:
    """Return a text's letters and digits: a passage's quote has no line breaks."""
    return "".join(filter(str.isalnum, text))


def without_said(line: str, said: str) -> str:
    """Return a line without the sentences that stand in what was said, told without its marks."""
    found = [line[begin:end] for begin, end in sentence_spans(line)]
    new = [one for one in found if without_marks(one) not in said]
    return line if len(new) == len(found) else " ".join(new)
