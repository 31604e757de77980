"""Figures that no cited source has: numbers with units, percentages, prices, dates, times.

A figure is compared by its value: ¥1,234 is 1234元, 3万 is 30,000, 9:00 is 9点 and 9 am. The sign
is not compared, and small numbers that only count something (three ways, 2 个) are not figures.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from agent.language import Language

from .figure_reading import JOINED, Figure, KnownFigures, figures, known_figures
from .markers import id_letters, read_marker

__all__ = ["NOT_FOUND", "FigureMarker", "unverified_figures"]

NOT_FOUND: Mapping[Language, str] = {
    "zh": "（未在来源中核实）",
    "en": " (not found in the source)",
}
_MAX_SENTENCE = 2000
_BRACKET = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")
_NO_FIGURES = re.compile(r"`[^`\n]{1,500}`|(?:\w{2,10}://|www\.)[!-~]{1,2000}")
_LIST_SIGN = re.compile(r"\s*\d{1,3}[.)](?=\s)")
_STOP = re.compile(r"[\n。！？!?.]")
_TAIL = re.compile(
    r"[。！？!?.]{1,20}[”」』）)\"’*]{0,4}"
    r"((?:[ \t]{0,4}[\[【［][^\[\]【】［］\n]{1,200}[\]】］]){0,20})"
)
_UNFINISHED = re.compile(r"[”」』）)\"’*]{0,4}[ \t]{0,4}(?:[\[【［][^\[\]【】［］\n]{0,200})?")


def unverified_figures(sentence: str, texts: Sequence[str]) -> list[str]:
    """The figures of a sentence that occur in none of the texts, as written, in order."""
    known = [known_figures(text) for text in texts]
    return [figure.text for figure in _unverified(sentence, known, frozenset({"t"}))]


class FigureMarker:
    """Says behind each figure of a streamed text that the sources its sentence cites lack it.

    Sits before the Citer. Text is held to the end of its sentence and of the markers behind it;
    headings, sentences that cite no known source, and overlong ones pass as they are.
    """

    def __init__(self, texts_by_id: Mapping[str, str], language: Language) -> None:
        self.marked = 0
        self._texts = texts_by_id
        self._letters = id_letters(texts_by_id)
        self._mark = NOT_FOUND[language]
        self._known: dict[str, KnownFigures] = {}
        self._buffer = ""
        self._searched = 0
        self._line_begins, self._heading, self._overlong = True, False, False

    def feed(self, chunk: str) -> str:
        """The sentences that this piece completes; may be empty."""
        self._buffer += chunk
        return self._run(final=False)

    def flush(self) -> str:
        """What is still held back; call where the text ends."""
        return self._run(final=True)

    def _run(self, *, final: bool) -> str:
        text, at, out = self._buffer, 0, list[str]()
        while at < len(text):
            end, self._searched = _sentence_end(text, max(at, self._searched), final)
            limit = at + _MAX_SENTENCE
            if not self._overlong and (end or len(text)) > limit:
                self._overlong = True
            if not end:
                break
            out.append(self._sentence(text[at:end]))
            at = end
        if self._overlong and at < len(text):
            out.append(text[at : self._searched])
            at = self._searched
        self._buffer, self._searched = text[at:], max(self._searched - at, 0)
        return "".join(out)

    def _sentence(self, text: str) -> str:
        """A whole sentence, or the end of one that was too long."""
        if self._line_begins:
            self._heading = text.lstrip(" ").startswith("#")
        passes = self._heading or self._overlong
        self._line_begins, self._overlong = text.endswith("\n"), False
        return text if passes else self._checked(text)

    def _checked(self, text: str) -> str:
        cited = [name for name in _cited(text, self._letters) if name in self._texts]
        if not cited:
            return text
        missing = _unverified(text, [self._source(name) for name in cited], self._letters)
        self.marked += len(missing)
        out, at = list[str](), 0
        for figure, following in pairwise([*missing, None]):
            between = text[figure.end : following.start] if figure and following else None
            if figure and not (between is not None and JOINED.fullmatch(between)):
                out.append(text[at : figure.end] + self._mark)
                at = figure.end
        return "".join([*out, text[at:]])

    def _source(self, name: str) -> KnownFigures:
        if name not in self._known:
            self._known[name] = known_figures(self._texts[name])
        return self._known[name]


def _sentence_end(text: str, at: int, final: bool) -> tuple[int, int]:
    """The end of the sentence, 0 if it is not known yet; and where to look from next time."""
    for stop in _STOP.finditer(text, at):
        start = stop.start()
        if stop[0] == "\n":
            return stop.end(), stop.end()
        tail = _TAIL.match(text, start)
        end = tail.end() if tail else stop.end()
        if not final and _UNFINISHED.fullmatch(text, end):
            return 0, start
        follows = text[end : end + 1]
        latin = stop[0].isascii() and not (tail and tail[1])
        if not latin or not follows or follows.isspace():
            return end, end
    return (len(text), len(text)) if final else (0, len(text))


def _unverified(
    sentence: str, known: Sequence[KnownFigures], letters: frozenset[str]
) -> list[Figure]:
    found = [figure for figure in figures(_without_markers(sentence, letters)) if figure.telling]
    return [figure for figure in found if not any(source.has(figure) for source in known)]


def _cited(text: str, letters: frozenset[str]) -> list[str]:
    read = (read_marker(found[1], letters) for found in _BRACKET.finditer(text))
    return [name for names in read for name in names or ()]


def _without_markers(text: str, letters: frozenset[str]) -> str:
    """The text with markers, URLs, code and the list sign blanked: every place keeps its index."""

    def blank(found: re.Match[str]) -> str:
        return "\0" * len(found[0])

    text = _BRACKET.sub(lambda f: f[0] if read_marker(f[1], letters) is None else blank(f), text)
    text = _NO_FIGURES.sub(blank, text)
    listed = _LIST_SIGN.match(text)
    return "\0" * listed.end() + text[listed.end() :] if listed else text
