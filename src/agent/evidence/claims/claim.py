"""Compare a sentence with the evidence: its figures, names and words."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from decimal import Decimal

from agent.core.processor import lazy_property
from agent.evidence.claims.arithmetic import (
    follows_from_pair,
    formula_values,
    is_computed,
    is_share_of_each,
)
from agent.evidence.claims.evidence import Evidence
from agent.evidence.claims.facts import (
    Passage,
    alike,
    amount,
    hedge,
    in_words,
    kinds_agree,
    names,
    telling_figures,
)
from agent.evidence.claims.sentences import Sentence, asserted, hypotheses, plan_times
from agent.evidence.figures import Figure, figures
from agent.evidence.language import words

_ARITHMETIC = re.compile(
    r"[高低多少长短快慢贵占省增减降升差倍共]|合计|总计|平均"
    r"|\b(?:total|sum|together|differ\w*|more|less|fewer|sav\w+|share|times|twice|average"
    r"|premium|gap|dearer|moves?\b[^.;]{0,30}\bby"
    r"|(?:long|short|high|low|tall|cheap|fast|slow|larg|small|bigg|old|lat|earli)er)\b",
    re.I,
)
_TOTAL = re.compile(r"合计|总计|总共|一共|共计?|\b(?:total\w*|together|in all|altogether)\b", re.I)
_OF_A_WHOLE = re.compile(
    r"一整?[年周]|全年|每[年周]|\b(?:over|for|in|per) (?:an? |the )?(?:year|week)\b", re.I
)
MAX_FIGURES = 40
_NEAR_MINUTES = 180
LEAST_OVERLAP = 0.2
"""The least share of a sentence's words that a passage about the same thing has."""
_MAX_OPERANDS, _NEAR_PASSAGES = 12, 3
_COUNTED, _FEW_SOURCES = 13, 3


class Claim:
    """Compare one sentence with the evidence."""

    def __init__(self, sentence: Sentence, evidence: Evidence) -> None:
        self.evidence = evidence
        self.sentence = sentence
        self.text = asserted(self.sentence.plain.replace("\0", " "))
        """The text without clauses that say what was not found."""
        self.figures = telling_figures(self.text)[:MAX_FIGURES]
        self.names = names(self.text)
        self.words = words(self.text) - figure_words(self.text)
        self.cited = evidence.of(self.sentence.cited)
        own = plan_times(self.text, sentence.head)
        self.facts = [
            figure
            for figure in self.figures
            if not evidence.knows(figure) and not any(figure.start in span for span in own)
        ]
        """The figures that the question and today's date do not have, and that are no plan's."""
        self.premises: Sequence[Figure] = ()
        """What the answer assumes, and what its calculations before this sentence come to."""
        self.earlier: Sequence[Figure] = ()
        """The figures that evidence bears of the sentences before it."""
        self.totals: Sequence[Decimal] = ()
        """The sums of the cells above, where a row says that it has them."""
        self.unsure = False
        """Set where a figure may be computed from what is cited, but nothing says that it is."""
        self._bearing: dict[Figure, frozenset[Passage]] = {}

    @lazy_property
    def others(self) -> list[Passage]:
        """Return the passages of the sources that the sentence does not cite."""
        cited = self.sentence.cited
        return [p for p in self.evidence.passages if p.source not in cited]

    def narrowed(self, text: str) -> "Claim":
        """Return the claim with only a part of its text, the rest blanked."""
        if text == self.text:
            return self
        part = copy(self)
        part.__dict__.pop("nearest", None)
        part.text, part.names = text, names(text)
        part.words = words(text) - figure_words(text)
        return part

    @lazy_property
    def nearest(self) -> Passage | None:
        """Return the cited passage with most of the sentence's figures and words."""
        return self.best(self.cited)

    def best(self, passages: Sequence[Passage]) -> Passage | None:
        """Return the passage with most of the sentence's figures and words."""
        borne = Counter(p for figure in self.figures for p in self.bearers(figure))
        own = self.words
        return max(passages, key=lambda p: (borne.get(p, 0), len(own & p.words)), default=None)

    def bearers(self, figure: Figure) -> frozenset[Passage]:
        """Return the passages of all sources that have a figure."""
        if figure not in self._bearing:
            hedged = hedge(self.text, figure)
            bearing = self.evidence.index.bearing(figure, hedged)
            if not bearing and (written := in_words(figure)):
                passages = self.evidence.passages
                bearing = frozenset(p for p in passages if any(w in p.folded for w in written))
            self._bearing[figure] = bearing
        return self._bearing[figure]

    def borne(self, figure: Figure, passages: Sequence[Passage]) -> bool:
        return not self.bearers(figure).isdisjoint(passages)

    def rest(self, passages: Sequence[Passage]) -> tuple[list[Figure], list[Figure]]:
        """Return the figures that follow from the passages' by arithmetic, and the unfounded."""
        with_number = self.evidence.index.with_number
        terms = [term for _, terms in formula_values(self.text) for term in terms]

        def has_number(number: Decimal) -> bool:
            has = not with_number(number).isdisjoint(passages)
            return has or self.assumes(number) or self.evidence.asks(number) or self.derives(number)

        operands = [
            figure
            for figure in figures(self.text)[:MAX_FIGURES]
            if self.borne(figure, passages)
            or self.evidence.knows(figure)
            or figure in self.hypotheses
        ]
        computed, unfounded = list[Figure](), list[Figure]()
        strange = [figure for figure in self.facts if not self.borne(figure, passages)]
        for figure in sorted(strange, key=lambda f: f.kind == "percent"):
            if (
                (figure.value in terms and (self.is_premise(figure) or self.derives(figure.value)))
                or self.follows_from_premises(figure, computed)
                or any(alike(total, figure, hedge(self.text, figure)) for total in self.totals)
                or is_computed(figure, operands, self.text, has_number)
                or (passages is self.cited and self._follows_from_passage(figure, operands))
                or self._follows_from_earlier(figure, has_number)
            ):
                computed.append(figure)
                operands.append(figure)
            else:
                unfounded.append(figure)
        return computed, sorted(unfounded, key=lambda figure: figure.start)

    def assumes(self, number: Decimal) -> bool:
        """Return whether a number is among the premises, or what the sentence supposes."""
        return is_value_of(number, (*self.premises, *self.hypotheses))

    @lazy_property
    def hypotheses(self) -> list[Figure]:
        """Return the figures that the sentence says it calculates with, as cases of its own."""
        spans = hypotheses(self.text)
        return [f for f in figures(self.text) if any(f.start in span for span in spans)]

    @lazy_property
    def _own_numbers(self) -> set[Decimal]:
        """Return what is asked, assumed or supposed, as numbers."""
        asked_figures = (f for passage in self.evidence.known[:1] for f in passage.figures)
        own = [*self.premises, *self.hypotheses, *asked_figures]
        return {amount(f) for f in own if not f.date and f.clock is None and amount(f)}

    def derives(self, number: Decimal) -> bool:
        """Return whether one step leads to a number from what is asked, assumed or supposed.

        The other number may be a figure of a source that has another term of the same formula.
        """
        own = self._own_numbers
        if not own or not self.premises:
            return False
        others = own | {f.value for f in figures(self.text) if 1 < f.value < _COUNTED}
        return any(number in _results(one, other) for one in own for other in others) or any(
            number in (one + other, one - other) for one in own for other in self._beside(number)
        )

    def _beside(self, number: Decimal) -> set[Decimal]:
        """Return the numbers of the sources that have another term of the number's formula."""
        terms = {t for _, terms in formula_values(self.text) if number in terms for t in terms}
        of_terms = (self.evidence.index.with_number(t) for t in terms - {number} if t % 10)
        names = {passage.source for passages in of_terms for passage in passages}
        if len(names) > _FEW_SOURCES:
            return set()
        return {amount(f) for passage in self.evidence.of(names) for f in passage.numbers}

    def follows_from_premises(self, figure: Figure, computed: Sequence[Figure]) -> bool:
        """Return whether it is a total, a difference or a product of what the answer rests on."""
        if not figure.kind or figure.date or figure.clock is not None:
            return False
        hedged, value = hedge(self.text, figure), self._total_before(figure, computed)
        if value is not None and alike(value, figure, hedged):
            return True
        of_kind = [p for p in self.premises if p.kind in (figure.kind, "", None)]
        if _TOTAL.search(self.text) and any(
            alike(amount(one) + amount(other), figure, hedged)
            for one in computed
            for other in of_kind
        ):
            return True
        with_unit = [amount(f) for f in (*of_kind, *computed) if f.kind == figure.kind]
        if _ARITHMETIC.search(self.text) and any(
            alike(one - other, figure) for one in with_unit for other in with_unit if one != other
        ):
            return True
        counts = [f.value for f in figures(self.text) if 1 < f.value < _COUNTED]
        shares = [f.value / 100 for f in self.hypotheses if f.kind == "percent"]
        cases = [amount(f) for f in self.hypotheses if f.kind == figure.kind]
        return any(alike(a * b, figure, hedged) for a in with_unit for b in shares) or any(
            alike(a * b, figure, hedged) for a in cases for b in counts
        )

    def _total_before(self, figure: Figure, computed: Sequence[Figure]) -> Decimal | None:
        """Return the sum of the figures before one that a text calls their total, if all hold."""
        if not _TOTAL.search(self.text[: figure.start].rpartition("，")[2][-24:]):
            return None
        terms = {term for _, terms in formula_values(self.text) for term in terms}
        parts = [
            f
            for f in figures(self.text)
            if f.end <= figure.start and f.kind == figure.kind and f not in self.hypotheses
        ]
        parts = [part for part in parts if part.value not in terms]
        everything = self.evidence.passages
        all_hold = all(
            part in computed or self.is_premise(part) or self.borne(part, everything)
            for part in parts
        )
        return (
            sum((amount(part) for part in parts), Decimal(0))
            if len(parts) > 1 and all_hold
            else None
        )

    def is_premise(self, figure: Figure) -> bool:
        """Return whether a figure is among the premises; one of the two may have no unit."""
        return any(
            alike(amount(premise), figure)
            and (premise.kind in (figure.kind, "") or not figure.kind)
            for premise in (*self.premises, *self.hypotheses)
            if not premise.date and premise.clock is None and figure.clock is None
        )

    def _follows_from_passage(self, figure: Figure, operands: Sequence[Figure]) -> bool:
        """Return whether a cited passage gives what the figure is computed from, unsaid here."""
        near = sorted(self.cited, key=lambda p: -len(self.words & p.words))[:_NEAR_PASSAGES]
        if any(is_share_of_each(figure, passage.numbers, self.text) for passage in near):
            return True
        kinds = Counter(f.kind for f in operands if f.kind and not f.date and f is not figure)
        if max(kinds.values(), default=0) > 1 or any(formula_values(self.text)):
            return False
        for passage in near:
            own = [f for f in operands if f.kind and passage.has(f)]
            if len(passage.numbers) <= _MAX_OPERANDS and follows_from_pair(
                figure, own or passage.numbers, passage.numbers, self.text
            ):
                self.unsure = self.unsure or not _ARITHMETIC.search(self.text)
                return True
        return False

    def _follows_from_earlier(self, figure: Figure, has_number: Callable[[Decimal], bool]) -> bool:
        """Return whether it is computed, as the sentence says, from figures before it."""
        operands = [f for f in self.earlier if f.kind == figure.kind or not figure.kind]
        says_so = _ARITHMETIC.search(self.text) or _OF_A_WHOLE.search(self.text)
        return bool(says_so) and is_computed(figure, operands, self.text, has_number)

    def all_names(self) -> list[str]:
        """Return its names, also one that begins it, where some evidence has it as a name."""
        first = re.match(r"\W*([A-Z][\w-]{3,})", self.text)
        is_name = first and any(
            first[1] in p.text and re.search(rf"\b{first[1]}\b", p.text)
            for p in self.evidence.passages
        )
        return [*self.names, first[1]] if first and is_name else self.names


def _results(one: Decimal, other: Decimal) -> tuple[Decimal, ...]:
    quotient = (one / other,) if other else ()
    return (one + other, one - other, one * other, *quotient)


def is_value_of(number: Decimal, others: Iterable[Figure]) -> bool:
    """Return whether a figure has the number, as it is written or in its base unit."""
    return any(number in (amount(figure), figure.value) for figure in others)


def among(figure: Figure, others: Iterable[Figure]) -> bool:
    return any(same_kind(figure, other) and amount(figure) == amount(other) for other in others)


def same_kind(one: Figure, other: Figure) -> bool:
    if one.date or other.date or one.clock is not None or other.clock is not None:
        return False
    return bool(one.kind) and one.kind == other.kind and kinds_agree(one, other)


def alike_in_kind(one: Figure, other: Figure) -> bool:
    """Return whether one figure can stand for the other: dates, numbers of one unit, times.

    Times are near each other: places open at one and close at the other.
    """
    if one.date or other.date:
        return bool(one.date and other.date)
    if one.clock is not None and other.clock is not None:
        return abs(one.clock - other.clock) <= _NEAR_MINUTES
    if one.clock is not None or other.clock is not None:
        return False
    return one.kind == other.kind and kinds_agree(one, other)


_BEFORE_END = re.compile(
    r"(?:\b(?:until|till|to|closes?(?: at)?|shuts?(?: at)?)|[到至]|[-–—~～])\s*(?:about |around )?"
    r"(?:次日|凌晨|晚上|夜里|傍晚|下午)?\s*$",
    re.I,
)
_AFTER_END = re.compile(r"\s*(?:就|才)?(?:关门|打烊|闭馆|闭园|关闭)")


def ends_at(text: str, figure: Figure) -> bool:
    """Return whether a time in a text is one at which something ends."""
    return bool(_BEFORE_END.search(text[: figure.start]) or _AFTER_END.match(text, figure.end))


def figure_words(text: str) -> frozenset[str]:
    return frozenset[str]().union(*(words(figure.text) for figure in telling_figures(text)))
