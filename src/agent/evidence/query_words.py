"""A search query as words: Latin ones, numbers with their units, runs of Chinese."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
    """`text` is casefolded; `capital` a word written like part of a name."""

    text: str
    capital: bool = False
    lower: bool = False
    possessed: bool = False
    """Whether 的 stands before it."""
    filler: bool = False


def is_number(text: str) -> bool:
    """Whether there is a digit in it: `2019`, `q3`, `5g`, `3月`."""
    return any(letter.isdigit() for letter in text)


def words_of(text: str) -> list[Word]:
    """The words of a text in NFKC; a year's 年 is left out, other units stay with their number."""
    found: list[Word] = []
    for piece in _PIECE.findall(text):
        if not _CJK_RUN.fullmatch(piece):
            found.append(_latin(piece))
            continue
        run = piece.translate(_SAME_AND)
        if found and found[-1].text.isdigit() and _COUNTED.match(run):
            number, run = found.pop().text, run
            year = _YEAR.fullmatch(number) and run[0] == "年"
            found.append(Word(number if year else number + run[0]))
            run = run[1:]
        found += _chinese(run)
    return found


def glued(words: Sequence[Word]) -> str:
    """The words in order; a space between Chinese characters makes no difference."""
    return _BETWEEN_CJK.sub("", " ".join(word.text for word in words))


def _latin(piece: str) -> Word:
    text = piece.casefold().replace("’", "'")
    capital = len(piece) > 1 and piece[0].isupper() and piece[1:].islower()
    return Word(text, capital, piece.islower(), filler=text in _FILLER)


def _chinese(run: str) -> list[Word]:
    parts = [part for part in run.split("的") if part]
    return [Word(part, possessed=at > 0) for at, part in enumerate(parts)]
