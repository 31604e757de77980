"""Cut what an answer rests on into passages, and find those that may decide a statement."""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from heapq import nlargest
from operator import itemgetter

from agent.core.processor import breathe, lazy_property
from agent.core.strings import estimated_tokens, is_table_rule
from agent.evidence.citations import MARKER
from agent.evidence.claims.formulas import forms_of, is_plain, values_of
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import sentence_spans, without_marks, words
from agent.evidence.types import Place

_FLAT_TABLE = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+")
_ROW_END = re.compile(r"(?<=\|)[ \t]+(?=\|)")
_LONG, _HAN_WEIGHT, _WEIGHT, _LIGHT = 300, 3, 300, 100
"""Characters of a piece; what a Han character weighs against a letter; letters of a passage, at
most and, where more follows, at least."""
_MOST_READ = 400_000
"""Characters of one source."""
_MANY, _NEARLY_ALL = 20, 0.6
KNOWN = "known"
"""The source of what needs none: the question, the user's words, what was already told."""
_OF_CITED = 3.0
"""What equal figures add in a passage of what a statement cites."""
_FOR_FIGURE, _FOR_CONTEXT, _MOST_TERMS, _MOST_FIGURES = 1.5, 0.25, 40, 20
_MOST_SHOWN, _MOST_NAMED = 40, 6
"""Passages of sources that a statement does not cite, and of those that its writer named."""
_SHORT_SOURCE, _SHORT_SOURCES = 700, 1400
"""Tokens of a source that is shown whole to whoever judges what cites it, and of all that one
statement cites: shared words do not tell which passage decides, of another language least."""
_SMALL_OWN = 1500
"""Tokens of own documents that are shown whole to whoever judges: each bears on the others."""
_MOST_WORKED = 3
"""Passages of calculations that a judge is shown for one statement, whatever it cites."""
_MOST_OF_A_SPAN, _MOST_WORDS, _MOST_HELD, _NEXT_DAYS = 0.6, 12, 20, 9


def passages(text: str) -> list[str]:
    """Return the lines of a text, a long one in runs of sentences."""
    return [piece for piece, _ in with_heads(text)]


def with_heads(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text, a long one in runs of sentences, and the head of each row."""
    head, lines = "", [line for line in _with_rows(text).split("\n") if line]
    for line, following in zip(lines, [*lines, ""][1:], strict=True):
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
    for start, end in sentence_spans(line):
        sentence = line[start:end]
        if pending and len(pending) + len(sentence) > _LONG:
            yield pending.strip()
            pending = ""
        pending += f"{sentence} " if sentence[-1:].isascii() else sentence
    if pending.strip():
        yield pending.strip()


@dataclass(frozen=True)
class Passage:
    """One passage of a source; a judge is shown it by its name, 2.3: the third of source 2."""

    name: str
    source: str
    text: str

    @lazy_property
    def figures(self) -> Sequence[Figure]:
        return distinct(figures(self.text))

    @lazy_property
    def words(self) -> frozenset[str]:
        return words(self.text)

    @lazy_property
    def tokens(self) -> int:
        return estimated_tokens(self.text) + 4


class _FigureIndex:
    """Find the passages that have a figure without comparing it with each of theirs."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._numbers = list[tuple[Decimal, int, Figure]]()
        self._others: dict[object, list[tuple[int, Figure]]] = {}
        self.values = set[Decimal]()
        for place, passage in enumerate(passages):
            breathe()
            for figure in passage.figures:
                for key in _keys(figure):
                    self._others.setdefault(key, []).append((place, figure))
                if figure.date is None and figure.clock is None:
                    values = {v for one in figure.readings for v in (one.amount, one.bare)}
                    self._numbers += [(value, place, figure) for value in values]
            self.values |= values_of(passage.figures)
        self._numbers.sort(key=itemgetter(0))

    def holders(self, figure: Figure) -> list[int]:
        """Return the places of the passages that say the figure."""
        near = [pair for key in _keys(figure) for pair in self._others.get(key, ())]
        if figure.date is None and figure.clock is None:
            said = {v for one in figure.readings for v in (one.amount, one.bare)}
            for value in {v * share for v in said for share in _SHARES}:
                low, high = sorted((value * _LOW, value * _HIGH))
                begin = bisect_left(self._numbers, low, key=itemgetter(0))
                end = bisect_right(self._numbers, high, key=itemgetter(0))
                near += [(place, other) for _, place, other in self._numbers[begin:end]]
        return sorted({place for place, other in near if same(figure, other)})


_LOW, _HIGH = Decimal("0.9"), Decimal("1.1")
_SHARES = (1, 100, Decimal("0.01"))


def _keys(figure: Figure) -> list[object]:
    """Return what a date or a time of day is found by; a year is also a number."""
    if figure.date is not None:
        year, month, day = figure.date
        return [key for key in (("year", year), ("day", month, day), ("month", month)) if key[-1]]
    if figure.clock is not None:
        return [("time", minute) for minute in figure.clocks]
    return [("year", int(figure.value))] if 1000 <= figure.value < 3000 else []


@dataclass(frozen=True)
class Record:
    """What one source says, in texts; `place` is set for the record of a place, which is one.

    Sources of one `page`, which two searches found, share a number.
    """

    texts: Sequence[str]
    place: Place | None = None
    page: str = ""
    is_own: bool = False
    """Whether it is a document of the user's."""
    is_worked: bool = False
    """Whether it is what a program of ours has given."""
    title: str = ""
    """With what its texts begin, if they do, and what needs to be read once a page."""


@dataclass
class Evidence:
    """All that an answer may rest on: what its sources say by their ids, and what is known.

    A source without texts says what the first of its page does: one place that two searches found.
    `known` are words that need no source: the user's, and what was told or calculated before.
    """

    records: Mapping[str, Record]
    question: str = ""
    today: str = ""
    now: str = ""
    """The moment of asking as the writer is told it: a day and a clock there."""
    known: Sequence[str] = ()
    own: Sequence[str] = ()
    """What code says in the text itself: it is not judged."""
    numbers: dict[str, int] = field(init=False)
    passages: list[Passage] = field(init=False)
    by_name: dict[str, Passage] = field(init=False)

    def __post_init__(self) -> None:
        """Cut all texts into passages."""
        keys = dict.fromkeys(record.page or name for name, record in self.records.items())
        order = {key: number for number, key in enumerate(keys, 1)}
        numbers = {name: order[record.page or name] for name, record in self.records.items()}
        self.numbers = {KNOWN: 0, **dict(sorted(numbers.items(), key=itemgetter(1)))}
        self.passages, counts = [], Counter[int]()
        told = dict[str, set[str]]()
        for name, number in self.numbers.items():
            texts = self.records[name].texts if name in self.records else self.known
            whole = name in self.records and self.records[name].place is not None
            page = self.records[name].page if name in self.records else KNOWN
            if page and not whole:
                texts = [_untold(text, told.setdefault(page, {""})) for text in texts]
            # What else is known of a place, its ways to others above all, stands apart.
            pieces = [*texts[:1], *packed(texts[1:])] if whole else packed(texts)
            for piece in filter(str.strip, pieces):
                counts[number] += 1
                text = " ".join(MARKER.sub("", piece).split())
                self.passages.append(Passage(f"{number}.{counts[number]}", name, text))
        self.by_name = {passage.name: passage for passage in self.passages}

    @lazy_property
    def question_figures(self) -> Sequence[Figure]:
        """Return the figures of the question, of today's date and of the clock told."""
        return [*figures(self.question), *figures(self.today), *self.clock]

    @lazy_property
    def day(self) -> date | None:
        """Return today, where it is known."""
        with suppress(ValueError):
            return date.fromisoformat(self.today)
        return None

    @lazy_property
    def years(self) -> Mapping[tuple[int | None, ...], set[int]]:
        """Return the years with which passages name days, by month and day."""
        found: dict[tuple[int | None, ...], set[int]] = {}
        for year, *day in (f.date for p in self.passages for f in p.figures if f.date):
            if year and all(day):
                found.setdefault(tuple(day), set()).add(year)
        return found

    @lazy_property
    def clock(self) -> Sequence[Figure]:
        """Return the time of asking: it is no opening hour of any place."""
        return [figure for figure in figures(self.now) if figure.clock is not None]

    @lazy_property
    def _next_days(self) -> Sequence[Figure]:
        days = [self.day + timedelta(days=n) for n in range(_NEXT_DAYS)] if self.day else []
        return figures(" ".join(map(str, days)))

    @lazy_property
    def tokens(self) -> int:
        return sum(passage.tokens for passage in self.passages)

    @lazy_property
    def small_own(self) -> frozenset[str]:
        """Return the names of all passages of own documents where these are short as a whole."""
        own = [p for p in self.passages if p.source != KNOWN and self.records[p.source].is_own]
        is_small = sum(passage.tokens for passage in own) <= _SMALL_OWN
        return frozenset(passage.name for passage in own if is_small)

    def worked_out(self, statement: Statement) -> list[str]:
        """Return the names of passages in which a program gives a figure that a statement tells."""
        told = [f for f in distinct(figures(statement.said))[:_MOST_FIGURES] if f.telling]
        held = (self.passages[place] for f in told for place in self._figures.holders(f))
        worked = (p.name for p in held if p.source != KNOWN and self.records[p.source].is_worked)
        return [*dict.fromkeys(worked)][:_MOST_WORKED]

    @lazy_property
    def _figures(self) -> _FigureIndex:
        return _FigureIndex(self.passages)

    def has_number(self, number: Decimal) -> bool:
        """Return whether any passage has a number, in whatever unit."""
        return number in self._figures.values

    def has_term(self, term: Decimal, values: Container[Decimal] = ()) -> bool:
        """Return whether a sum's term is plain, or stands among values or in any passage."""
        return is_plain(term) or any(n in values or self.has_number(n) for n in forms_of(term))

    def has(self, figure: Figure) -> bool:
        """Return whether any passage says a figure, or it is one of the next days."""
        if figure.date and any(same(figure, day) for day in self._next_days):
            return True
        return bool(self._figures.holders(figure))

    @lazy_property
    def _holders(self) -> dict[str, list[int]]:
        holders: dict[str, list[int]] = {}
        for place, passage in enumerate(self.passages):
            breathe()
            for word in passage.words:
                holders.setdefault(word, []).append(place)
        return holders

    def only_place(self, names: Iterable[str]) -> Place | None:
        """Return the place that some sources are all about; none where any is of something else."""
        of_each = [self.records[name].place if name in self.records else None for name in names]
        places = {place["id"]: place for place in of_each if place}
        return places.popitem()[1] if len(places) == 1 and all(of_each) else None

    @lazy_property
    def of_places(self) -> dict[str, str]:
        """Return the name of the first passage of each place's record, by its source."""
        names = {passage.source: passage.name for passage in reversed(self.passages)}
        return {
            name: names[name] for name, one in self.records.items() if one.place and name in names
        }

    @lazy_property
    def _places(self) -> dict[str, list[int]]:
        """Return where the passages of each source stand."""
        places: dict[str, list[int]] = {}
        for place, passage in enumerate(self.passages):
            places.setdefault(passage.source, []).append(place)
        return places

    @lazy_property
    def _tellers(self) -> dict[int, list[str]]:
        """Return the sources that have the words of each number: a page's may be under two ids."""
        tellers: dict[int, list[str]] = {}
        for name in self._places:
            tellers.setdefault(self.numbers[name], []).append(name)
        return tellers

    def _telling(self, names: Iterable[str]) -> list[str]:
        """Return the sources that have the words of some, each once; a file's passages stand alone.

        But an id of a file that has no words of its own stands for all of them.
        """
        told = dict[str, None]()
        for name in names:
            own = [name] if name in self._places else []
            is_passage = bool(own) and name in self.records and self.records[name].is_own
            others = () if is_passage else self._tellers.get(self.numbers.get(name, -1), ())
            told |= dict.fromkeys([*own, *others])
        return [*told]

    @lazy_property
    def _tokens_of(self) -> dict[str, int]:
        """Return how long each source is, in tokens."""
        tokens: dict[str, int] = {}
        for passage in self.passages:
            tokens[passage.source] = tokens.get(passage.source, 0) + passage.tokens
        return tokens

    @lazy_property
    def _shares(self) -> list[float]:
        """Return what a word weighs in each passage: less in one of many words."""
        mean = sum(len(p.words) for p in self.passages) / max(1, len(self.passages)) or 1.0
        return [1 / (1 + len(passage.words) / mean / 2) for passage in self.passages]

    def _rarity_of(self, word: str) -> float:
        return self._rarity(len(self._holders.get(word, ())))

    def read(self) -> None:
        """Index all passages now, not when the first statement asks for them."""
        _ = self._holders, self._shares, self.tokens, self._figures, self._tokens_of

    def says(self, plain: str) -> bool:
        """Return whether code itself says these words in the text."""
        return any(plain in text for text in self.own)

    def _scores(self, statement: Statement, of_figures: Mapping[int, float]) -> list[float]:
        """Return how well each passage fits a statement: by rare words, and by equal figures."""
        scores, shares = [0.0] * len(self.passages), self._shares
        own, context = words(statement.said), words(statement.context)
        weights = [(self._rarity_of(word), word, 1.0) for word in own]
        weights += [(self._rarity_of(word), word, _FOR_CONTEXT) for word in context - own]
        for rarity, word, weight in nlargest(_MOST_TERMS, weights):
            breathe()
            holders = self._holders.get(word, ())
            # What nearly all passages say tells none of many apart.
            if len(holders) > max(_MANY, len(self.passages) * _NEARLY_ALL):
                continue
            worth = weight * rarity
            for place in holders:
                scores[place] += worth * shares[place]
        for place, worth in of_figures.items():
            scores[place] += _FOR_FIGURE * worth
        return scores

    def _of_figures(self, statement: Statement) -> dict[int, float]:
        """Return what the passages that say figures of a statement are worth, by their places."""
        found: dict[int, float] = {}
        for figure in distinct(figures(statement.said))[:_MOST_FIGURES]:
            equal = self._figures.holders(figure)
            for place in equal:
                found[place] = found.get(place, 0.0) + self._rarity(len(equal))
        return found

    def quotes(self, span: str) -> bool:
        """Return whether a passage has a span as it is."""
        return any(span in passage.text for passage in self.passages)

    def holding(
        self, span: str, but: Container[str] = (), first: Container[str] = ()
    ) -> list[Passage]:
        """Return the best passages that have most of the rarest words of a span, but some.

        Those of the sources `first` come first.
        """
        rarest = sorted(((self._rarity_of(word), word) for word in words(span)), reverse=True)
        held: dict[int, float] = {}
        for weight, word in rarest[:_MOST_WORDS]:
            breathe()
            for place in self._holders.get(word, ()):
                held[place] = held.get(place, 0.0) + weight
        enough = _MOST_OF_A_SPAN * sum(weight for weight, _ in rarest[:_MOST_WORDS])
        passages = self.passages
        fits = (i for i in held if held[i] >= enough and passages[i].name not in but)
        best = nlargest(_MOST_HELD, fits, key=lambda i: (passages[i].source in first, held[i], -i))
        return [passages[place] for place in best]

    def _rarity(self, holders: int) -> float:
        return math.log(1 + (len(self.passages) - holders + 0.5) / (holders + 0.5))

    def best(self, statement: Statement, budget: int, new: float = 0.0) -> list[Passage]:
        """Return the passages to show for a statement: of what it cites, then the best others.

        A short source that it cites is shown whole. Of the others only those that bring a share of
        its words that these before it lack.
        """
        weights = {word: self._rarity_of(word) for word in words(statement.said)} if new else {}
        least = new * sum(weights.values())
        picked = self._whole_sources(statement)
        used, shown = 0, {passage.name for passage in picked}
        cited = self._telling(statement.sources)
        for passage in picked:
            weights |= dict.fromkeys(weights.keys() & passage.words, 0.0)
        for place in self._ranked_for(statement):
            passage = self.passages[place]
            if passage.name in shown:
                continue
            brought = weights.keys() & passage.words if new else ()
            is_new = sum(map(weights.__getitem__, brought)) >= least
            is_needed = not picked or passage.source in cited or is_new
            if not picked or (is_needed and used + passage.tokens <= budget):
                picked.append(passage)
                used += passage.tokens
                weights |= dict.fromkeys(brought, 0.0)
        return picked

    def _whole_sources(self, statement: Statement) -> list[Passage]:
        """Return all passages of the short sources that a statement's writer named."""
        found, room = list[Passage](), _SHORT_SOURCES
        for name in self._telling(_named(statement)):
            if (size := self._tokens_of.get(name, 0)) <= min(room, _SHORT_SOURCE):
                room -= size
                found += [self.passages[place] for place in self._places.get(name, ())]
        return found

    def not_shown(self, statement: Statement, seen: Container[str]) -> list[Passage]:
        """Return what else the sources say that a statement's writer named, the best first."""
        named = self._telling(_named(statement))
        ranked = map(self.passages.__getitem__, self._ranked_for(statement))
        return [each for each in ranked if each.source in named and each.name not in seen]

    def _covering(self, ranked: Sequence[int], statement: Statement) -> list[int]:
        """Return ranked places so that each of the first brings most that those before it lack.

        A sentence with three facts would have the passages of one of them alone.
        """
        first, *rest = ranked or [-1]
        picked, left = [first], words(statement.said)
        while rest and (left := left - self.passages[picked[-1]].words):
            breathe()
            near = rest[:_MOST_SHOWN]
            brought = [
                sum(map(self._rarity_of, left & self.passages[place].words)) for place in near
            ]
            if not (most := max(brought)):
                break
            picked.append(rest.pop(brought.index(most)))
        return [*picked, *rest] if ranked else []

    def _ranked_for(self, statement: Statement) -> list[int]:
        """Return the places of the passages that may decide a statement, the best first."""
        of_figures, cited = self._of_figures(statement), self._telling(statement.sources)
        scores = self._scores(statement, of_figures)
        places = [place for name in cited for place in self._places.get(name, ())]
        # Of a long table that is cited, the rows with these figures decide.
        fits = {p: scores[p] + _OF_CITED * of_figures.get(p, 0.0) for p in places}
        own = self._covering(
            _ranked(((fit, -p) for p, fit in fits.items()), len(places)), statement
        )
        named = [p for name in self._telling(statement.exact) for p in self._places.get(name, ())]
        named = sorted(named, key=lambda place: -fits.get(place, 0.0))
        named = self._covering(named, statement)[:_MOST_NAMED]
        own = [*named, *(place for place in own if place not in named)]
        among = frozenset(places)
        others = ((score, -place) for place, score in enumerate(scores) if place not in among)
        # The budget has room for no more, unless they are the shortest of all.
        rest = _ranked(others, _MOST_SHOWN)
        order = own[:3] + rest[:1] + own[3:4] + rest[1:3] + own[4:] if cited else rest
        # Of a cited source that shares no word (another script) its beginning, all the same.
        ranked = frozenset(order)
        return [*order, *(place for place in places if place not in ranked)]


def _named(statement: Statement) -> Sequence[str]:
    """Return the sources that a statement's writer named; without any, all that it cites."""
    return [name for name in statement.sources if name in statement.exact] or statement.sources


def _ranked(scored: Iterable[tuple[float, int]], most: int) -> list[int]:
    """Return the places of the best scores above nothing, of equal ones the first."""
    return [-place for score, place in nlargest(most, scored) if score > 0]


def _untold(text: str, told: set[str]) -> str:
    """Return the sentences of a text that were not told yet, and take them for told.

    Two searches find one page, and a plan has its sums in two places. The rows of a table stand
    together, if any of them is new.
    """
    lines, is_new = list[str](), False
    for line in text[:_MOST_READ].split("\n"):
        breathe()
        is_row = line.lstrip().startswith("|")
        parts = [line] if is_row else [line[begin:end] for begin, end in sentence_spans(line)]
        bare = [without_marks(part) for part in parts]
        new = [part for part, letters in zip(parts, bare, strict=True) if letters not in told]
        is_new |= bool(new)
        told.update(bare)
        lines += [line] if is_row or len(new) == len(parts) else [" ".join(new)]
    return "\n".join(lines) if is_new else ""


def packed(texts: Iterable[str]) -> Iterator[str]:
    """Yield passages of whole lines and sentences up to a weight; rows come with their head."""
    for text in texts:
        pending, weight, head = list[str](), 0, ""
        for piece, its_head in with_heads(text[:_MOST_READ]):
            breathe()
            size = len(piece) + (_HAN_WEIGHT - 1) * sum(char >= "\u3000" for char in piece)
            is_full = weight + size > _WEIGHT or its_head != head
            # A title alone says nothing of what stands under it.
            if pending and is_full and weight >= _LIGHT:
                yield "\n".join(pending)
                pending, weight = [], 0
            if its_head and (not pending or its_head != head):
                pending, weight = [*pending, its_head], weight + len(its_head)
            pending.append(piece)
            weight, head = weight + size, its_head
        if pending:
            yield "\n".join(pending)
