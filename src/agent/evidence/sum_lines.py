"""Lead a citation of a calculation to its line that gives the figure, and that to its sources."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, get_args

from agent.core.strings import split_at
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.figures import Figure, figures, same
from agent.evidence.notation import LINKED
from agent.evidence.references import CITATION, line_letter, uncited
from agent.evidence.shown_sums import digits_of
from agent.evidence.stated import states
from agent.evidence.types import Source
from agent.texts import Language, say

_MOST = 4
"""Lines that one citation leads to: more would be another heap."""
_TELLING = 100
_PARTICULAR, _BARE = 4, 3
"""Digits from which two lines do not give the same number by chance, and from which a number
without a unit is no other thing's: 53 in a cell is minutes or euros."""
_OPERATORS = (" + ", " - ", " − ", " x ", " × ", " * ", " / ", " ÷ ")


def results(line: str) -> list[Figure]:
    """Return the figures that a line of a program gives: those behind "=", else all.

    Of what stands behind it the first, or all of a mere list: those of another sum are its terms,
    and a program's "all three" is no number. So are all of a sum behind a mere name: cost = 2 × 3.
    What a line says that it assumes is none.
    """
    line, _ = parted_assumed(line)
    parts = split_at(line, "=＝≈")
    behind = {text for before, part in pairwise(parts) for text in _behind(part, before)}
    return [one for one in figures(line) if not behind or one.text in behind]


def assumed_label(numbers: Iterable[str], language: Language) -> str:
    """Return what stands behind a line of the numbers that it assumes: (5, 6 assumed)."""
    told = say("punctuation.comma", language).join(numbers)
    return say("tools.assumed", language, numbers=told) if told else ""


def parted_assumed(line: str) -> tuple[str, list[str]]:
    """Return a line without such a label, and its numbers.

    >>> parted_assumed("a day: 6 × 8 = 48 (5, 6 assumed)")
    ('a day: 6 × 8 = 48', ['5', '6'])
    """
    if line[-1:] in (")", "）"):
        for tag in _TAGS:
            before, _, after = assumed_label([_MARK], tag).partition(_MARK)
            words, found, told = line.removesuffix(after).rpartition(before)
            if found and line.endswith(after):
                return words, told.split(say("punctuation.comma", tag))
    return line, []


_MARK = "\0"
_TAGS: Sequence[Language] = sorted(get_args(Language), key="zh-Hant".__eq__)
"""The languages of labels; traditional characters last, as what makes them takes long to load."""


def assumed_once(lines: Sequence[str], language: Language) -> list[str]:
    """Return listed lines whose label names only what no other line of them tells of.

    What another one has among its terms is called assumed there, and what another one gives is no
    assumption but its result.

    >>> assumed_once(["hour: 30 / 5 = 6 (5 assumed)", "day: 6 × 8 = 48 (5, 6 assumed)"], "en")
    ['hour: 30 / 5 = 6 (5 assumed)', 'day: 6 × 8 = 48']
    """
    parted = [parted_assumed(line) for line in lines]
    said = [{figure.value for figure in figures(words)} for words, _ in parted]
    given = [{figure.value for figure in results(words)} for words, _ in parted]
    told = list[str]()
    for at, (words, numbers) in enumerate(parted):
        others = [n for n in range(len(parted)) if n != at]
        read = {text: figures(text) for text in numbers}
        if not all(len(found) == 1 and found[0].text == text for text, found in read.items()):
            told.append(lines[at])
            continue
        left = [
            text for text, (number,) in read.items()
            if not any(number.value in given[n] for n in others)
            and (number.value in said[at] or not any(number.value in said[n] for n in others))
        ]  # fmt: skip
        told.append(f"{words}{assumed_label(left, language)}")
    return told


def _behind(part: str, before: str) -> list[str]:
    numbers = [each.text for each in figures(part) if any(map(str.isdigit, each.text))]
    return numbers[: int(_has_sum(before))] if _has_sum(part) else numbers


def _has_sum(part: str) -> bool:
    return any(sign in part for sign in _OPERATORS)


def gives(own: Figure, said: Figure, statement: Statement) -> bool:
    """Return whether a text's figure may tell a result: in its unit, as less or as more.

    A cell's unit may stand in its row's head, or its column's.
    """
    is_bare = statement.kind == "cell" and _is_bare(said)
    return same(_unsigned(said), _unsigned(own)) or (is_bare and abs(own.value) == said.value)


def _unsigned(figure: Figure) -> Figure:
    return replace(figure, value=abs(figure.value))


class _Line(NamedTuple):
    given: list[Figure]
    said: list[Figure]
    """All figures of it, its terms, too."""


def with_line_citations(
    text: str, extent: Sequence[int], sources: Sequence[Source]
) -> tuple[str, Callable[[int], int]]:
    """Return a finished message whose citations lead to lines, and where its characters stand then.

    Only between the two places of `extent`: what code adds below cites no line. A citation whose
    figures no line alone gives stays as it is.
    """
    begin, end = extent
    found = _line_citations(text[begin:end], sources)
    ends, added, at, parts = list[int](), [0], begin, [text[:begin]]
    for start, stop, written in found:
        parts += [text[at : begin + start], written]
        at = begin + stop
        ends.append(at)
        added.append(added[-1] + len(written) - (stop - start))

    def moved(place: int) -> int:
        return place + added[bisect_right(ends, place)]

    return "".join([*parts, text[at:]]), moved


def _line_citations(text: str, sources: Sequence[Source]) -> list[tuple[int, int, str]]:
    """Return where a text cites a line of a calculation, and how it cites that then."""
    lines = {
        f"[{number}]": [_Line(results(line), figures(line)) for line in map(uncited, sums)]
        for source in sources
        if (number := source.get("number")) and (sums := source.get("sums"))
    }
    found = list[tuple[int, int, str]]()
    for one in statements(text, LINKED) if lines else ():
        for mark in lines.keys() & set(one.cited):
            found += _of_statement(text, one, mark, lines[mark])
    return sorted(found)


def _of_statement(
    text: str, one: Statement, mark: str, lines: Sequence[_Line]
) -> Iterator[tuple[int, int, str]]:
    for at, cited in enumerate(one.citations):
        if mark not in cited.ids:
            continue
        begin, end = _told_by(text, one, at)
        said = in_unit(figures(uncited(text[begin:end]).replace("*", "")), one)
        given = (_line_of(figure, one, lines) for figure in said if states(figure))
        letters = dict.fromkeys(line_letter(at) for at in given if at is not None)
        marks = [f"{mark[:-1]}{letter}]" for letter in letters]
        if 0 < len(marks) <= _MOST and all(map(CITATION.fullmatch, marks)):
            yield cited.start, cited.end, "".join(marks)


def in_unit(said: Sequence[Figure], one: Statement) -> list[Figure]:
    """Return figures of a cell in the unit that its row or column names: cost (万元), in minutes.

    What is behind a bracket or a comma of a head counts if a number before it makes one figure.
    """
    units = [
        part.strip(" )）") for head in (one.row, one.head) for part in split_at(head, "(（,，")
    ]
    return [_with_unit(figure, units) if _is_bare(figure) else figure for figure in said]


def _with_unit(figure: Figure, units: Iterable[str]) -> Figure:
    for text in (f"{figure.text} {unit}" for unit in units if unit):
        for form in figures(text)[:1]:
            if form.end - form.start == len(text) and not _is_bare(form):
                return form
    return figure


def _is_bare(figure: Figure) -> bool:
    return not figure.kind and figure.scale == 1


def _told_by(text: str, one: Statement, at: int) -> tuple[int, int]:
    """Return what a citation of a statement stands for: the words since one that is apart from it.

    What stands behind the last citation of a sentence has no other.
    """
    begin, start = one.start, one.citations[at].start
    for before in reversed(one.citations[:at]):
        if text[before.end : start].strip():
            begin = before.end
            break
        start = before.start
    is_last = at == len(one.citations) - 1
    return begin, one.end if is_last else one.citations[at].start


def _line_of(said: Figure, statement: Statement, lines: Sequence[_Line]) -> int | None:
    """Return which line alone gives a figure: as it is, else one that it rounds.

    Of several that give 99,144 the first will do: they are no other sums that happen to agree. A
    cell's few digits may not stand in any other line, be it as a term.
    """
    giving = [
        {abs(own.amount) == abs(said.amount) for own in line.given if gives(own, said, statement)}
        for line in lines
    ]
    exact = [at for at, found in enumerate(giving) if True in found]
    if exact and digits_of(said.value) >= _PARTICULAR:
        return exact[0]
    is_telling = said.kind or abs(said.value) >= _TELLING
    rounded = [at for at, found in enumerate(giving) if found and is_telling]
    at = next((places[0] for places in (exact, rounded) if len(places) == 1), None)
    if statement.kind == "cell" and _is_bare(said) and digits_of(said.value) < _BARE:
        return None
    others = (own for place, line in enumerate(lines) if place != at for own in line.said)
    is_elsewhere = any(
        abs(own.amount) == abs(said.amount) and gives(own, said, statement) for own in others
    )
    return None if is_elsewhere and statement.kind == "cell" else at


def inputs_of(used: Iterable[Source], text: str) -> str:
    """Return the citations of the sources of sums whose calculation a text cites, line by line."""
    cited = {match[1] for match in CITATION.finditer(text)}
    told = (one.get("inputs", ()) for one in used if str(one.get("number")) in cited)
    return "\n".join(line for lines in told for line in lines)


def with_inputs(used: Iterable[Source], inputs: str = "") -> list[Source]:
    """Return sources whose sums cite the sources of their numbers by these, line by line."""
    left, told = iter(inputs.split("\n")), list[Source]()
    for one in used:
        source = one.copy()
        lines = source.pop("inputs", [])
        marks = [CITATION.sub(r"[\1]", next(left, "")) for _ in lines] if inputs else []
        if marks:
            pairs = zip(source.get("sums", []), marks, strict=True)
            source["sums"] = [f"{line} {mark}".rstrip() for line, mark in pairs]
        told.append(source)
    return told
