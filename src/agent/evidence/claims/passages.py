"""Find the passages of what an answer rests on that may decide a statement."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from heapq import nlargest
from itertools import accumulate, chain
from operator import itemgetter
from typing import NamedTuple

from agent.core.processor import breathe, lazy_property
from agent.core.strings import estimated_tokens, letters_of
from agent.evidence.addends import adding_up
from agent.evidence.citations import MARKER
from agent.evidence.claims.statements import Statement
from agent.evidence.figure_index import FigureIndex
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.findings import QuotedFacts, where_quoted
from agent.evidence.formulas import forms_of, is_plain
from agent.evidence.language import words
from agent.evidence.pieces import packed, untold_in
from agent.evidence.stated import states
from agent.evidence.types import Place
from agent.evidence.worth import Worth

KNOWN = "known"
"""The source of what needs none: the question, the user's words, what was already told."""
_OF_CITED, _OF_NEAR, _OF_DRAFT, _FOR_FIGURE, _FOR_CONTEXT = 5.0, 2.0, 1.2, 1.5, 0.25
"""What the words of a cited passage weigh, of one that is cited beside what cites nothing, and of
what the text cites elsewhere; an equal figure; a word of the context."""
_LEAST = 0.1
"""What a passage is worth at least of the best, below which none decided any labelled statement."""
_MOST_TERMS, _MOST_FIGURES, _MOST_QUOTED, _FEW_HOLDERS = 40, 20, 2, 2
"""Of one statement; passages that findings quote of one source, and those of a figure of which
none is left out."""
_SHORT_SOURCE, _SHORT_SOURCES = 700, 1400
"""Tokens of a source that is shown whole to whoever judges what cites it, and of all that one
statement cites: shared words do not tell which passage decides, of another language least."""
_FEW_WORDS = 0.25
"""The share of a statement's words below which those of a page tell none of its passages apart."""
_NEXT_DAYS, _END, _HEAD = 9, 40, 24
"""How far today reaches; characters by which a passage is known, and a table's head."""


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
    """Whether it is what a program gave."""


class Telling(NamedTuple):
    """The passages that tell of a statement: first as many as are sure, and all that it needs."""

    passages: list[Passage]
    sure: int
    needed: int


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
    worked: Sequence[str] = ()
    """Of these what programs gave."""
    own: Sequence[str] = ()
    """What code says in the text itself: it is not judged."""
    demanded: Sequence[str] = ()
    """The hours that places were held against: "at noon" was asked, and 12:00 is told."""
    seen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What of sources their writer is shown, that first which is nearest to what was searched for:
    known once it writes."""
    findings: QuotedFacts = field(default_factory=dict)
    """What its finders have told of sources: their facts find the passages that they quote."""
    numbers: dict[str, int] = field(init=False)
    passages: list[Passage] = field(init=False)
    by_name: dict[str, Passage] = field(init=False)
    _orders: dict[tuple[int, int], Sequence[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Cut all texts into passages."""
        keys = dict.fromkeys(record.page or name for name, record in self.records.items())
        order = {key: number for number, key in enumerate(keys, 1)}
        numbers = {name: order[record.page or name] for name, record in self.records.items()}
        self.numbers = {KNOWN: 0, **dict(sorted(numbers.items(), key=itemgetter(1)))}
        self.passages, counts = [], Counter[int]()
        told = defaultdict[int, set[str]](set)
        for name, number in self.numbers.items():
            record = self.records.get(name, Record(self.known, page=KNOWN))
            # What else is known of a place, its ways to others above all, stands apart.
            apart = 1 if record.place else 0
            is_page = record.page and not (record.place or record.is_worked)
            texts = [untold_in(text, told[number]) if is_page else text for text in record.texts]
            for piece in filter(str.strip, [*texts[:apart], *packed(texts[apart:])]):
                counts[number] += 1
                text = " ".join(MARKER.sub("", piece).split())
                self.passages.append(Passage(f"{number}.{counts[number]}", name, text))
        self.by_name = {passage.name: passage for passage in self.passages}

    @lazy_property
    def told(self) -> Sequence[Figure]:
        """Return the figures that need no source: those of the question, its demands and its time.

        And those of what the reader said before, or was told.
        """
        return distinct([*self._asked, *self.figures_of([KNOWN])])

    @lazy_property
    def _asked(self) -> Sequence[Figure]:
        asked = chain.from_iterable(map(figures, [self.question, *self.demanded, self.today]))
        return distinct([*asked, *(f for f in figures(self.now) if f.clock is not None)])

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
    def _next_days(self) -> Sequence[Figure]:
        days = [self.day + timedelta(days=n) for n in range(_NEXT_DAYS)] if self.day else []
        return figures(" ".join(map(str, days)))

    @lazy_property
    def tokens(self) -> int:
        return sum(passage.tokens for passage in self.passages)

    @lazy_property
    def _figures(self) -> FigureIndex:
        return FigureIndex(passage.figures for passage in self.passages)

    def has_term(self, term: Decimal, values: Container[Decimal] = ()) -> bool:
        """Return whether a sum's term is plain, or stands among values or in any passage."""
        there = self._figures.values
        return is_plain(term) or any(n in values or n in there for n in forms_of(term))

    @lazy_property
    def sayers(self) -> Mapping[Decimal, Collection[str]]:
        """Return the sources that say each number as it is written; what was worked out is none."""
        found = defaultdict[Decimal, dict[str, None]](dict)
        for passage in self.passages:
            breathe()
            if passage.source != KNOWN and not self.is_worked(passage):
                for number in (n for f in passage.figures for n in (f.value, f.bare)):
                    found[number][passage.source] = None
        return found

    def has(self, figure: Figure) -> bool:
        """Return whether any passage says a figure, or it is one of the next days."""
        is_near = figure.date and any(same(figure, day) for day in self._next_days)
        return bool(is_near or self._figures.holders(figure))

    def stands(self, figure: Figure, names: Iterable[str]) -> bool:
        """Return whether a figure is one of those told, or of some sources."""
        numbers = {self.numbers.get(name) for name in (KNOWN, *names)}
        holders = (self.passages[place].source for place in self._figures.holders(figure))
        return any(self.numbers[name] in numbers for name in holders) or any(
            same(figure, other) for other in self._asked
        )

    @lazy_property
    def _holders(self) -> dict[str, list[int]]:
        holders: dict[str, list[int]] = {}
        for place, passage in enumerate(self.passages):
            breathe()
            for word in passage.words | self._told_of.get(place, frozenset()):
                holders.setdefault(word, []).append(place)
        return holders

    @lazy_property
    def _told_of(self) -> Mapping[int, frozenset[str]]:
        """Return the words that findings tell of the passages which they quote, by their places."""
        told = dict[int, frozenset[str]]()
        for name, findings in self.findings.items():
            places = self._places.get(self.numbers.get(name, -1), ())
            texts = [self.passages[place].text for place in places]
            for finding, held in where_quoted(findings, texts):
                for place in (places[at] for at in held):
                    told[place] = told.get(place, frozenset()) | words(finding.fact)
        return told

    def only_place(self, names: Iterable[str]) -> Place | None:
        """Return the place that some sources are all about; none where any is of something else."""
        of_each = [self.records[name].place if name in self.records else None for name in names]
        places = {place["id"]: place for place in of_each if place}
        return places.popitem()[1] if len(places) == 1 and all(of_each) else None

    @lazy_property
    def _places(self) -> Mapping[int, Sequence[int]]:
        """Return where the passages of each number stand: a page's may be under two ids."""
        places = defaultdict[int, list[int]](list)
        for place, passage in enumerate(self.passages):
            places[self.numbers[passage.source]].append(place)
        return places

    def _rarity(self, holders: int) -> float:
        return math.log(1 + (len(self.passages) - holders + 0.5) / (holders + 0.5))

    def read(self) -> None:
        """Index all passages now, not when the first statement asks for them."""
        _ = self._holders, self.tokens, self._figures, self._places

    def sources_of(self, passages: Iterable[Passage]) -> tuple[str, ...]:
        """Return the sources of passages, each once: what the reader said is none."""
        return tuple(dict.fromkeys(p.source for p in passages if p.source in self.records))

    def is_worked(self, passage: Passage) -> bool:
        """Return whether a passage is what a program gave: no source says so."""
        if passage.source != KNOWN:
            return self.records[passage.source].is_worked
        return any(passage.text in " ".join(text.split()) for text in self.worked)

    def passages_of(self, names: Iterable[str]) -> list[Passage]:
        """Return the passages of some sources: of all ids that have their numbers."""
        numbers = {self.numbers.get(name) for name in names}
        return [passage for passage in self.passages if self.numbers[passage.source] in numbers]

    def figures_of(self, names: Iterable[str]) -> list[Figure]:
        """Return the figures of some sources."""
        return [figure for passage in self.passages_of(names) for figure in passage.figures]

    def says(self, plain: str) -> bool:
        """Return whether code itself says these words in the text."""
        return any(plain in text for text in self.own)

    def nearest(self, statement: Statement) -> tuple[Passage, ...]:
        """Return the passage of what a statement cites, or was told, that has most of its words."""
        own, of_it = words(statement.plain), self.passages_of([KNOWN, *statement.sources])
        best = max(of_it, key=lambda passage: len(own & passage.words), default=None)
        return (best,) if best and 2 * len(own & best.words) > len(own) else ()

    def bears_as(self, statement: Statement, named: Iterable[Passage]) -> bool:
        """Return whether what a statement cites has of it all that each of these passages has.

        So has a tram stop's other platform, or a page with the same text. Where a passage has few
        of its words, these may be said of something else there: all of the passage's are needed.
        """
        own, told = words(statement.said), figures(statement.said)
        cited = self.passages_of(statement.cited)

        def has_all_of(passage: Passage, other: Passage) -> bool:
            shared = own & passage.words
            wanted = shared if 2 * len(shared) > len(own) else passage.words
            return wanted <= other.words and all(
                any(same(one, figure) for figure in other.figures)
                for one in told
                if any(same(one, figure) for figure in passage.figures)
            )

        return all(any(has_all_of(one, other) for other in cited) for one in named)

    def telling(self, statement: Statement, budget: int, *, least: float = _LEAST) -> Telling:
        """Return the passages to show for a statement.

        Sure are the best of each source that it cites, what findings quote of it, and the best for
        each figure. Needed is a short source whole, and of a long one that has few of its words
        what its writer was shown first. As far as the budget has room, those come that share rare
        words and equal figures with it, `least` of the best one: first of what it, or else those
        beside it, cite, then of what its text cites elsewhere. Where it cites nothing, what has
        most of it is there, whoever says so.
        """
        names = sorted(statement.sources, key=lambda name: name not in statement.exact)
        near = chain.from_iterable(one.cited for one in statement.lent)
        favour = self._each(statement.drafted, _OF_DRAFT) | self._each(near, _OF_NEAR)
        favour |= self._each(names, _OF_CITED)
        cited = [self._places[number] for number in self._each(names) if number in self._places]
        worth = self._worth(statement, favour)
        held = self._bring_figures(statement, worth)
        sure = dict.fromkeys(chain.from_iterable(self._deciding(each, worth) for each in cited))
        for holders in sorted(held, key=lambda holders: min(map(worth.rank, holders))):
            of_cited = [place for place in holders if worth.of(place) >= _OF_NEAR]
            if of_cited and (len(of_cited) <= _FEW_HOLDERS or sure.keys().isdisjoint(of_cited)):
                best = [min(of_cited, key=worth.rank)]
                sure |= dict.fromkeys(of_cited if len(of_cited) <= _FEW_HOLDERS else best)
        sure |= dict.fromkeys(self._adding_up(statement, worth))
        needed, room = dict(sure), _SHORT_SOURCES
        for places in cited:
            most = min(room, _SHORT_SOURCE)
            if self._tokens(places) > most:
                most -= self._tokens(sure.keys() & {*places})
                places = self._first_seen(places, statement, most)
            room -= self._tokens(places)
            needed |= dict.fromkeys(places)
        beside = [*self._beside(sure if names else ())]
        needed |= dict.fromkeys(place for place, is_row in beside if is_row)
        needed |= dict.fromkeys([] if names else worth.most([*needed]))
        picked, budget = [*needed], max(budget - self._tokens(sure), budget // 3)
        for place in chain(map(itemgetter(0), beside), worth.best_first(picked, least)):
            size = self.passages[place].tokens
            if (size <= budget or not picked) and place not in picked:
                budget -= size
                picked.append(place)
                worth.take(place)
        return Telling([self.passages[place] for place in picked], len(sure), len(needed))

    def _deciding(self, places: Sequence[int], worth: Worth) -> list[int]:
        """Return the best of a source's passages for a statement, and what findings quote of it."""
        quoted = sorted((place for place in places if place in self._told_of), key=worth.rank)
        return [min(places, key=worth.rank), *quoted[:_MOST_QUOTED]]

    def _adding_up(self, statement: Statement, worth: Worth) -> Iterator[int]:
        """Yield the lines of cited calculations that give a figure together, where none has it."""
        names = [name for name in statement.sources if name in self.records]
        lines = [place for number in self._each(n for n in names if self.records[n].is_worked)
                 for place in self._places.get(number, ())]  # fmt: skip
        said = distinct(figures(statement.plain))[:_MOST_FIGURES] if lines else []
        for figure in said:
            if states(figure) and not self.stands(figure, names):
                read = [figures(self.passages[place].text) for place in lines]
                every = ([lines[at] for at in each] for each in adding_up(figure, read))
                yield from min(
                    every, key=lambda each: sum(worth.rank(p)[0] for p in each), default=()
                )

    def _beside(self, places: Iterable[int]) -> Iterator[tuple[int, bool]]:
        """Yield what stands behind and before passages, and whether it is of the same table."""
        for place in places:
            this = self.passages[place]
            for step in (1, -1, 2, -2):
                at = (place + step) % len(self.passages)
                beside = self.passages[at]
                is_row = "|" in this.text and beside.text[:_HEAD] == this.text[:_HEAD]
                if beside.source == this.source and (is_row or abs(step) == 1):
                    yield at, is_row

    def _bring_figures(self, statement: Statement, worth: Worth) -> list[Sequence[int]]:
        """Let the figures of a statement count, too; return which passages have each of them."""
        # The terms of a difference stand in the cells above it.
        lent = statement.lent if figures(statement.plain) else ()
        terms = distinct(chain.from_iterable(figures(it.said) for it in lent))[:_MOST_FIGURES]
        own = distinct(figures(statement.said))[:_MOST_FIGURES]
        for n, figure in enumerate([*terms, *own]):
            breathe()
            holders = self._figures.holders(figure)
            weight = _FOR_FIGURE * (_FOR_CONTEXT if n < len(terms) else 1)
            worth.bring(weight * self._rarity(len(holders)), holders)
        return [*filter(None, (self._figures.holders(one) for one in own if states(one)))]

    def _first_seen(
        self, places: Sequence[int], statement: Statement, tokens: int
    ) -> Sequence[int]:
        """Return what its writer was shown first of a long source that has few of its words."""
        said = words(statement.said)
        found = {word for place in places for word in said & self.passages[place].words}
        if len(found) >= _FEW_WORDS * len(said):
            return ()
        seen = self._in_order(places)
        used = accumulate(self.passages[place].tokens for place in seen)
        return [place for place, size in zip(seen, used, strict=True) if size <= tokens]

    def _in_order(self, places: Sequence[int]) -> Sequence[int]:
        """Return the places of a source in the order in which its writer was shown them."""
        texts = self.seen.get(self.passages[places[0]].source, ())
        key = places[0], len(texts)
        if key not in self._orders:
            # Its sentences are parted anew here.
            ends = {letters_of(self.passages[place].text)[-_END:]: place for place in places}
            shown = (end for text in map(letters_of, texts) for end in ends if end in text)
            self._orders[key] = [*dict.fromkeys(ends[end] for end in shown)]
        return self._orders[key]

    def _tokens(self, places: Iterable[int]) -> int:
        return sum(self.passages[place].tokens for place in places)

    def _each(self, names: Iterable[str], weight: float = 1) -> dict[int, float]:
        return dict.fromkeys((self.numbers.get(name, -1) for name in names), weight)

    def _worth(self, statement: Statement, favour: Mapping[int, float]) -> Worth:
        """Return what passages are worth by the words that they share with a statement."""
        own = words(statement.said)
        weights = {
            word: (1 if word in own else _FOR_CONTEXT)
            * self._rarity(len(self._holders.get(word, ())))
            for word in own.union(
                *map(words, (statement.context, *(it.said for it in statement.lent)))
            )
        }
        worth = Worth(lambda at: favour.get(self.numbers[self.passages[at].source], 1.0))
        for word in nlargest(_MOST_TERMS, weights, key=lambda word: (weights[word], word)):
            worth.bring(weights[word], self._holders.get(word, ()))
        return worth
