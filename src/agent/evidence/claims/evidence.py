"""Hold the evidence of an answer: the text of its sources, in comparable passages."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import islice

from agent.core.processor import lazy_property
from agent.evidence.citations import MARKER
from agent.evidence.claims.facts import (
    Passage,
    amount,
    as_share,
    bounds,
    is_same_share,
    kinds_agree,
    year_of,
)
from agent.evidence.claims.sentences import Sentence, is_table_rule
from agent.evidence.figures import Date, Figure
from agent.evidence.language import words
from agent.evidence.places import mentioned
from agent.evidence.types import Place

_LINES = re.compile(r"\n+")
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_FLAT_TABLE = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+")
_ROW_END = re.compile(r"(?<=\|)[ \t]+(?=\|)")
_LONG = 400
_NEAR_DAYS = 7


@dataclass(frozen=True)
class Record:
    """Hold the texts of one source; `place` is set for the record of a place."""

    id: str
    passages: tuple[Passage, ...]
    place: Place | None = None

    @property
    def text(self) -> str:
        return "\n".join(passage.text for passage in self.passages)


def record(name: str, texts: Iterable[str], place: Place | None = None) -> Record:
    """Return the record of a source, its texts cut into passages, without markers."""
    pieces = dict(piece for text in texts for piece in with_heads(MARKER.sub("", text)))
    return Record(name, tuple(Passage(name, piece, head) for piece, head in pieces.items()), place)


def passages(text: str) -> list[str]:
    """Return the lines of a text, a long one in runs of sentences."""
    return [piece for piece, _ in with_heads(text)]


def with_heads(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text, a long one in runs of sentences, and the head of each row."""
    head, lines = "", _LINES.split(_with_rows(text))
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        row = line.lstrip().startswith("|")
        if row and is_table_rule(line):
            continue
        head = head if row else ""
        for piece in _pieces(line):
            yield piece, head
        if row and is_table_rule(following):
            head = line.strip()


def _with_rows(text: str) -> str:
    """Return a text with the rows of a table on lines of their own where it has them in one."""
    rule = _FLAT_TABLE.search(text)
    begin = rule.start() if rule else -1
    for _ in range(rule[0].count("|") if rule else 0):
        begin = text.rfind("|", 0, max(begin, 0))
    if rule is None or begin < 0 or "\n" in text[begin : rule.end()]:
        return text
    return f"{text[:begin].rstrip()}\n{_ROW_END.sub(chr(10), text[begin:])}"


def _pieces(line: str) -> Iterator[str]:
    if len(line) <= _LONG:
        if line.strip():
            yield line.strip()
        return
    pending = ""
    for sentence in _SENTENCE.split(line):
        if pending and len(pending) + len(sentence) > _LONG:
            yield pending.strip()
            pending = ""
        pending += f"{sentence} " if sentence[-1:].isascii() else sentence
    if pending.strip():
        yield pending.strip()


class PassageIndex:
    """Index passages by the figures that stand in them."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._numbers = list[tuple[Decimal, Figure, Passage]]()
        self._clocks = defaultdict[int, set[Passage]](set)
        self._years = defaultdict[int | None, set[Passage]](set)
        self._days = defaultdict[tuple[int | None, int | None], set[Passage]](set)
        self._values = defaultdict[Decimal, set[Passage]](set)
        self._kinds = defaultdict[str, dict[Passage, list[Figure]]](dict)
        for passage in passages:
            for figure in passage.figures:
                self._add(figure, passage)
        self._numbers.sort(key=_first)

    def _add(self, figure: Figure, passage: Passage) -> None:
        if figure.date:
            _, month, day = figure.date
            for part in ((month, day), (month, None), (None, day)):
                self._days[part].add(passage)
        elif figure.clock is not None:
            for time in figure.clocks:
                self._clocks[time].add(passage)
        else:
            self._numbers.append((amount(figure), figure, passage))
            self._values[figure.value].add(passage)
            self._values[amount(figure)].add(passage)
            if figure.kind:
                self._kinds[figure.kind].setdefault(passage, []).append(figure)
        for year in passage.years:
            self._years[year].add(passage)

    def bearing(self, figure: Figure, hedged: str = "") -> frozenset[Passage]:
        """Return the passages that have the figure, as `Passage.has` tells it."""
        if figure.date:
            return self._of_date(figure.date)
        if figure.clock is not None:
            return frozenset(self._clocks.get(figure.clock, ()))
        passages = {p for other, p in self._near(figure, hedged) if kinds_agree(figure, other)}
        if share := as_share(figure):
            near = self._near(share, hedged)
            passages |= {passage for other, passage in near if is_same_share(share, other)}
        year = year_of(figure)
        return frozenset(passages | self._of_date((year, None, None)) if year else passages)

    def _near(self, figure: Figure, hedged: str) -> Iterator[tuple[Figure, Passage]]:
        """Yield the numbers with a figure's value, as it is rounded or hedged."""
        low, high = bounds(figure, hedged)
        begin = bisect_left(self._numbers, low, key=_first)
        for value, other, passage in islice(self._numbers, begin, None):
            if value > high:
                break
            yield other, passage

    def _of_date(self, date: Date) -> frozenset[Passage]:
        year, month, day = date
        near = self._years.get(year, ()) if year else self._days.get((month, day), ())
        return frozenset(passage for passage in near if passage.has_date(date))

    def with_number(self, number: Decimal) -> set[Passage]:
        """Return the passages that have a number, with its scale or without."""
        return self._values.get(number, set())

    def of_kind(self, figure: Figure) -> Mapping[Passage, Sequence[Figure]]:
        """Return the passages with figures of the same kind of unit, and these figures."""
        alike = {
            passage: [other for other in others if kinds_agree(figure, other)]
            for passage, others in self._kinds.get(figure.kind or "", {}).items()
        }
        return {passage: others for passage, others in alike.items() if others}


def _first(row: tuple[Decimal, Figure, Passage]) -> Decimal:
    return row[0]


class Evidence:
    """Hold all that an answer may rest on: the records by id, and the question."""

    def __init__(
        self,
        records: Mapping[str, Record],
        *,
        question: str = "",
        today: str = "",
        known: Iterable[str] = (),
        own: Iterable[str] = (),
    ) -> None:
        """Take `known`, words that need no source, and `own`, what code says in the text itself."""
        self.records, self.today = records, today
        self._own = [*own]
        self.question_words = words(question)
        texts = [question, *known, *_near_days(today)]
        self.known = [Passage("", text) for text in texts]
        self._clauses: dict[str, PassageIndex] = {}
        self._named: dict[str, set[str]] = {}

    @lazy_property
    def passages(self) -> list[Passage]:
        return [passage for record in self.records.values() for passage in record.passages]

    @lazy_property
    def places(self) -> list[Place]:
        return [record.place for record in self.records.values() if record.place]

    @lazy_property
    def index(self) -> PassageIndex:
        """Return the index of all passages."""
        return PassageIndex(self.passages)

    @lazy_property
    def _known_index(self) -> PassageIndex:
        return PassageIndex(self.known)

    def read(self) -> None:
        """Find the figures of all passages now, not when a sentence asks for them."""
        _ = self.index, self._known_index

    def clauses(self, ids: Iterable[str]) -> list[PassageIndex]:
        """Return the index of the clauses of each of some records."""
        for name in ids:
            if name in self.records and name not in self._clauses:
                parts = (part for p in self.records[name].passages for part in p.clauses)
                self._clauses[name] = PassageIndex(parts)
        return [self._clauses[name] for name in ids if name in self.records]

    def of(self, ids: Iterable[str]) -> list[Passage]:
        """Return the passages of some records."""
        return [p for name in ids if name in self.records for p in self.records[name].passages]

    def knows(self, figure: Figure) -> bool:
        """Return whether the question, today's date or a calculation's result has the figure.

        A result without a unit is taken in the figure's: 6.0696 km is what 6.06955 was rounded to.
        """
        if self._known_index.bearing(figure):
            return True
        if figure.scale == 1:
            return False
        low, high = (end / figure.scale for end in bounds(figure))
        results = (other for p in self.known for other in p.figures if other.kind == "")
        return any(low <= other.value <= high for other in results if other.scale == 1)

    def says(self, sentence: Sentence) -> bool:
        """Return whether a sentence that cites nothing is code's own."""
        plain = sentence.text.strip("*_ ")
        return not sentence.citations and any(plain in text for text in self._own)

    def has_calculated(self, text: str) -> bool:
        """Return whether a text refers to a calculation that is shown below the answer."""
        return any(reference in text for reference in self._own)

    def asks(self, number: Decimal) -> bool:
        """Return whether the question, or what else is known, has a number."""
        return bool(self._known_index.with_number(number))

    def places_in(self, text: str) -> set[str]:
        """Return the ids of the records of the places that a text is about.

        A place that only says from where something is far is not what it is about.
        """
        if not self.places:
            return set()
        if text not in self._named:
            named = mentioned(self.places, without_origins(text))
            self._named[text] = {p["source"] for p in self.places if p["id"] in named}
        return set(self._named[text])

    def subject(self, text: str, at: int) -> set[str]:
        """Return the places that a figure at a position is about: those named last before it.

        Places in one list are named together.
        """
        before = without_origins(text)[:at]
        named = self.places_in(before)
        if len(named) < 2:
            return named or (self.places_in(text) if len(self.places_in(text)) == 1 else set())
        spans = {name: self._span(self.records[name].place, before) for name in named}
        last = max(spans.values())
        subject = {name for name, span in spans.items() if span == last}
        for name, (start, end) in sorted(spans.items(), key=lambda row: row[1], reverse=True):
            if end <= last[0] and _JOINED.fullmatch(before, end, last[0]):
                subject.add(name)
                last = start, end
        return subject

    def _span(self, place: Place | None, text: str) -> tuple[int, int]:
        """Return where a place is named last, with its branch or without."""
        name = place["name"] if place else ""
        parts = (part for part in (name, _BRANCH.sub("", name)) if part)
        return max(((at := text.rfind(part)), at + len(part)) for part in parts)


_JOINED = re.compile(r"[\s*]*(?:[、和与及]|以及|and)[\s*]*", re.I)


def without_origins(text: str) -> str:
    """Return a text with what follows "far from" blanked, of the same length."""
    return _FROM.sub(lambda match: " " * len(match[0]), text)


_BRANCH = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_FROM = re.compile(
    r"(?:距离?|离)[^\d，。；,;|]{1,30}?(?=约|\d)|[·|]\s*[^\d·|]{1,30}?\s(?=\d[\d.]*\s?k?m\b)"
    r"|\b(?:from|near)\s+(?:the\s+)?[^\d,.;|]{1,40}"
)


def _near_days(today: str) -> Sequence[str]:
    try:
        day = date.fromisoformat(today[:10])
    except ValueError:
        return []
    return [(day + timedelta(days=n)).isoformat() for n in range(-_NEAR_DAYS, _NEAR_DAYS + 1)]
