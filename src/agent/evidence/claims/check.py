"""Check claims by rules: every sentence of an answer against the records it cites.

A sentence is cited, code's own, or free of facts. Figures, dates, times and names must stand in
the cited records; what follows from them by arithmetic counts. What rules cannot decide is
doubtful and may go to a model (`doubts`).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from agent.evidence.claims.arithmetic import (
    calculated,
    formula_values,
    is_estimate,
    is_in_formula,
    reckoned,
    right_result,
)
from agent.evidence.claims.claim import (
    LEAST_OVERLAP,
    MAX_FIGURES,
    Claim,
    alike_in_kind,
    is_value_of,
    same_kind,
)
from agent.evidence.claims.doubt import doubt
from agent.evidence.claims.evidence import Evidence, without_origins
from agent.evidence.claims.facts import Passage, alike, amount, bounds, hedge, rounded, scripts
from agent.evidence.claims.places import with_right_places
from agent.evidence.claims.refutations import (
    against_hours,
    borne_spans,
    is_of_another_citation,
    is_swapped,
    refutation,
)
from agent.evidence.claims.sentences import (
    MARKED,
    Citation,
    Notation,
    Sentence,
    is_advice,
    is_assumption,
    is_excluded,
    is_label,
    provides,
    statements,
    supposed,
    thresholds,
    weighs_sources,
)
from agent.evidence.figures import Figure, figures
from agent.evidence.language import words
from agent.evidence.places import mentioned
from agent.evidence.types import Place

Verdict = Literal[
    "quoted", "computed", "own", "rematched", "attached", "repaired", "marked", "doubtful"
]


@dataclass(frozen=True)
class Finding:
    """Hold the verdict of the check on one sentence."""

    sentence: Sentence
    verdict: Verdict
    quote: Passage | None = None
    """The passage that bears it best."""
    missing: tuple[Figure, ...] = ()
    """The figures that nothing bears."""
    cite: tuple[tuple[Citation, str | None], ...] = ()
    """Citations to replace by another source's, or (None) to take away."""
    attach: tuple[str, ...] = ()
    """The sources to cite at its end."""
    doubt: int = 0
    """The weight of what rules could not decide; 0 for no doubt."""
    text: str | None = None
    """What the sentence was repaired to; a marked one has its sign to be added."""
    contradicted: bool = False
    """Its quote says otherwise; else, where it is marked, nothing says it."""


_MAX_SENTENCE = 1500
_MUCH_OVERLAP = 0.6
_SENTENCES_BEFORE = 2
_MAX_ATTACHED = 4
_MOST_PROVIDED = 8
"""How many times the need a machine or a budget may be."""


def check(text: str, evidence: Evidence, notation: Notation = MARKED) -> list[Finding]:
    """Return what rules find of each statement of a text, in order; an overlong one passes."""
    findings, rows = list[Finding](), list[list[Figure]]()
    listed, of_text = _listed(text, evidence), [*statements(text, notation)]
    results, table = [f for sentence in of_text for f in _assumed(sentence)], _Table()
    for sentence in of_text:
        if len(sentence.text) > _MAX_SENTENCE:
            findings.append(Finding(sentence, "quoted" if sentence.cited else "own"))
            continue
        claim = _Judge(sentence, evidence)
        claim.premises, claim.totals = [*results], table.totals(sentence)
        claim.earlier = [figure for figures in rows[-_SENTENCES_BEFORE:] for figure in figures]
        findings.append(claim.finding(listed))
        results += claim.results
        rows.append([f for f in claim.figures if claim.borne(f, evidence.passages)])
    return [_with_results(finding, results) for finding in findings]


_TOTALS = re.compile(
    r"\W*(?:合计|总计|共计|小计|总和|总成本|(?:sub)?total|sum|together|all in all|in all)\b", re.I
)


@dataclass
class _Table:
    """Hold the figures of a table's rows so far, by column."""

    head: str = ""
    columns: dict[int, list[Decimal]] = field(default_factory=dict)

    def totals(self, sentence: Sentence) -> list[Decimal]:
        """Return the sums of the columns above a row that is their total; add any other row."""
        if not sentence.row or sentence.head != self.head:
            self.head, self.columns = sentence.head, {}
        if not sentence.row:
            return []
        cells = sentence.plain.split("|")[1:]
        if cells and _TOTALS.match(cells[0]):
            return [sum(amounts, Decimal(0)) for amounts in self.columns.values()]
        for column, cell in enumerate(cells[1:]):
            if numbers := [f for f in figures(cell) if not f.date and f.clock is None]:
                self.columns.setdefault(column, []).append(amount(numbers[0]))
        return []


def _with_results(finding: Finding, results: Sequence[Figure]) -> Finding:
    """Return a sentence marked for figures that the answer assumes, or its estimates come to."""
    if finding.verdict != "marked" or not finding.missing:
        return finding
    for figure in finding.missing:
        low, high = bounds(figure, hedge(finding.sentence.plain, figure))
        if not any(low <= amount(f) <= high and alike_in_kind(f, figure) for f in results):
            return finding
    verdict: Verdict = "repaired" if finding.text else "computed"
    return replace(finding, verdict=verdict, missing=(), contradicted=False)


def _assumed(sentence: Sentence) -> list[Figure]:
    """Return the figures that a sentence says the writer assumes."""
    said = supposed(sentence.plain)
    return [figure for figure in figures(sentence.plain) if figure.start in said]


def _listed(text: str, evidence: Evidence) -> list[Place]:
    """Return the places that an answer names."""
    named = evidence.places_in(text)
    return [place for place in evidence.places if place["source"] in named]


class _Judge(Claim):
    """Judge one sentence by rules."""

    def __init__(self, sentence: Sentence, evidence: Evidence) -> None:
        sentence, self.moved = with_right_places(sentence, evidence)
        super().__init__(sentence, evidence)
        self.results: list[Figure] = []
        """What an estimate of known terms comes to."""

    def finding(self, listed: Sequence[Place] = ()) -> Finding:
        """Return the verdict of the rules; `listed` are the places that the answer names."""
        if again := self._calculated_again():
            finding = again.finding(listed)
            self.results = again.results
            verdict: Verdict = "marked" if finding.verdict == "marked" else "repaired"
            text = finding.text or again.sentence.text
            return replace(
                finding, sentence=self.sentence, verdict=verdict, text=text, cite=(), doubt=0
            )
        own = supposed(self.text)
        self.facts = [f for f in self.facts if f.start not in own and f not in self.hypotheses]
        if self.sentence.demanded:
            borne = [f for f in self.facts if self.borne(f, self.evidence.passages)]
            self.facts = borne if self.sentence.cited else []
        if not self.sentence.cited:
            at = thresholds(self.text)
            self.facts = [f for f in self.facts if not any(f.start in span for span in at)]
        bare = self.evidence.says(self.sentence) or not (self.figures or words(self.text))
        if bare or (not self.sentence.cited and self._states_nothing()):
            return self._finding("computed" if bare and self._tells_result() else "own")
        self._leave_out_borne_times()
        if refuted := refutation(self, listed):
            finding = replace(
                self._finding("marked", refuted.quote),
                missing=refuted.missing,
                contradicted=refuted.contradicted,
            )
        elif contrary := against_hours(self):
            finding = replace(self._finding("marked", contrary), contradicted=True)
        elif is_estimate(self.text):
            finding = self._estimate()
        else:
            finding = self._judge_cited() if self.sentence.cited else self._judge_uncited()
        if self.moved and finding.verdict in ("quoted", "computed", "own"):
            finding = replace(finding, verdict="rematched", doubt=0)
        return replace(finding, cite=(*self.moved, *finding.cite))

    def _tells_result(self) -> bool:
        """Return whether it has a figure that was looked up or calculated, not asked with."""
        terms = {figure.value for passage in self.evidence.known[:1] for figure in passage.figures}
        return any(self.evidence.knows(f) and f.value not in terms for f in self.figures)

    def _leave_out_borne_times(self) -> None:
        """Take the times out of the facts at which places are open, or not, as the text says."""
        if any(figure.clock is not None for figure in self.facts):
            spans = borne_spans(self)
            self.facts = [
                f
                for f in self.facts
                if f.clock is None or not any(start <= f.start < end for start, end in spans)
            ]

    def _states_nothing(self) -> bool:
        """Return whether it is an assumption, a label, or advice without figures of its own."""
        if is_assumption(self.sentence.text):
            return True
        return not self.facts and (is_label(self.sentence.text) or is_advice(self.text))

    def _finding(
        self, verdict: Verdict, quote: Passage | None = None, *, doubt: int = 0
    ) -> Finding:
        return Finding(self.sentence, verdict, quote or self.nearest, doubt=doubt)

    def _estimate(self) -> Finding:
        """Return the verdict on the writer's own reckoning: its figures follow or are marked."""
        everything = self.evidence.passages
        operands = [
            figure
            for figure in figures(self.text)[:MAX_FIGURES]
            if self.evidence.knows(figure)
            or self.borne(figure, everything)
            or self._is_given_term(figure)
            or self.is_premise(figure)
        ]
        shares = {100 - f.value for f in figures(self.text) if f.kind == "percent"}

        def given(number: Decimal) -> bool:
            own = number in shares or self.assumes(number) or self.derives(number)
            own = own or is_value_of(number, computed)
            return own or self._is_given(number) or self._is_left_of_share(number)

        computed, rest = list[Figure](), list[Figure]()
        terms = [t for _, terms in formula_values(self.text) for t in terms]
        for figure in self.facts:
            if self.borne(figure, everything) or self._is_given_term(figure):
                continue
            grounded = (
                self.is_premise(figure)
                or (figure.value in terms and self.derives(figure.value))
                or reckoned(figure, [*operands, *computed], self.text, given)
                or self.follows_from_premises(figure, computed)
                or (figure.kind == "percent" and self._is_share(figure))
                or self._builds_on(computed, figure, operands)
            )
            (computed if grounded else rest).append(figure)
        if rest:
            self.results = computed
            return replace(self._finding("marked", self.best(everything)), missing=tuple(rest))
        if self._foreign_names():
            return self._finding("marked", self.best(everything))
        # What is added to a result later may be a term of this calculation.
        self.results = [*computed, *(f for f in operands if computed and f.value in terms)]
        return self._finding("computed" if computed else "quoted" if self.sentence.cited else "own")

    def _is_given(self, number: Decimal) -> bool:
        """Return whether a record has a number."""
        return bool(self.evidence.index.with_number(number))

    def _is_given_term(self, figure: Figure) -> bool:
        """Return whether it is a bare term of a formula: 540 for a record's 540 MWh."""
        bare = not figure.kind and figure.scale == 1 and not figure.date and figure.clock is None
        terms = (term for _, terms in formula_values(self.text) for term in terms)
        return bare and figure.value in terms and self._is_given(figure.value)

    def _is_left_of_share(self, number: Decimal) -> bool:
        """Return whether a record has the percentage that leaves this one of the whole."""
        passages = self.evidence.index.with_number(100 - number)
        shares = (f for passage in passages for f in passage.figures if f.kind == "percent")
        return any(share.value == 100 - number for share in shares)

    def _is_share(self, figure: Figure) -> bool:
        """Return whether a percentage is what another leaves, or whose rest is calculated with."""
        terms = (term for _, terms in formula_values(self.text) for term in terms)
        return self._is_left_of_share(figure.value) or 100 - figure.value in terms

    def _calculated_again(self) -> "_Judge | None":
        """Return the claim with the right result of a formula, whatever its terms rest on."""
        everything = self.evidence.passages
        for figure in self.facts:
            right = right_result(self.text, figure)
            if right is None or self.borne(figure, everything) or self.is_premise(figure):
                continue
            again = _Judge(self.sentence.with_text(figure.start, figure.end, right), self.evidence)
            again.premises, again.earlier = self.premises, self.earlier
            return again
        return None

    def _judge_uncited(self) -> Finding:
        everything = self.evidence.passages
        computed, rest = self.rest(everything)
        rest = [figure for figure in rest if not self._is_provision(figure)]
        if rest and not everything and self._is_calculated(rest):
            return self._finding("computed")
        if rest:
            return replace(self._finding("marked", self.best(everything)), missing=tuple(rest))
        if foreign := self._of_other_places(everything):
            return self._contrary_to_its_place(foreign)
        if self.evidence.has_calculated(self.text):
            return self._finding("computed")
        if not self.facts and not self.names:
            return self._finding("own")
        if self.facts and not is_advice(self.text):
            if several := self._named_bearers():
                quote = self.best(self.evidence.of(several))
                return replace(self._finding("attached", quote), attach=several)
            if source := self._only_bearer(everything):
                return replace(self._finding("attached", source), attach=(source.source,))
        if computed:
            self.results = computed
            return self._finding("computed")
        if self._foreign_names():
            return self._finding("marked", self.best(everything))
        return self._finding("doubtful", self.best(everything), doubt=2 if self.facts else 1)

    def _is_provision(self, figure: Figure, computed: Sequence[Figure] = ()) -> bool:
        """Return whether it is the size that advice takes for a need calculated before."""
        needs = [f for f in (*self.premises, *computed) if f.kind and f.kind == figure.kind]
        return provides(self.text) and any(
            amount(need) <= amount(figure) <= _MOST_PROVIDED * amount(need) for need in needs
        )

    def _builds_on(
        self, computed: Sequence[Figure], figure: Figure, operands: Sequence[Figure]
    ) -> bool:
        """Return whether it is a result again, one for each of so many, or what to take for it."""
        if not figure.kind:
            return is_value_of(figure.value, computed)
        hedged = hedge(self.text, figure)
        return self._is_provision(figure, computed) or any(
            alike(amount(one) * amount(count), figure, hedged)
            for one in computed
            for count in operands
            if one.kind == figure.kind != count.kind
        )

    def _is_calculated(self, rest: Sequence[Figure]) -> bool:
        """Return whether figures follow from the question's, where nothing was looked up."""
        asked_figures = [
            figure for passage in self.evidence.known[:1] for figure in passage.figures
        ]
        return all(calculated(figure, asked_figures) for figure in rest)

    def _foreign_names(self) -> bool:
        """Return whether a name of several words stands in no evidence of its script."""
        latin = [p for p in self.evidence.passages if "latin" in p.scripts]
        passages = (*latin, *self.evidence.known)
        long_names = [n for n in self.names if " " in n and n.isascii()]
        return bool(latin) and any(
            not any(p.names(part) for p in passages for part in name.split()) for name in long_names
        )

    def _may_cite(self, name: str) -> bool:
        """Return whether a record is no place's, or its place's sentence names no other one."""
        place = self.evidence.records[name].place
        named = mentioned(self.evidence.places, self.text) if place else set[str]()
        return not place or not named or place["id"] in named

    def _named_bearers(self) -> tuple[str, ...]:
        """Return the places that a sentence names, in order, where several bear all its facts."""
        at = mentioned(self.evidence.places, without_origins(self.text))
        by_place = {place["id"]: place["source"] for place in reversed(self.evidence.places)}
        sources = tuple(by_place[name] for name in sorted(at, key=lambda name: at[name]))
        own = self.evidence.of(sources)
        borne = all(self.borne(figure, own) for figure in self.facts)
        borne = borne and all(any(passage.names(name) for passage in own) for name in self.names)
        return sources if borne and 1 < len(sources) <= _MAX_ATTACHED else ()

    def _only_bearer(self, passages: Iterable[Passage]) -> Passage | None:
        """Return the passage that bears all facts, where only one source has such a one."""
        bearers: dict[str, Passage] = {}
        have = [self.bearers(figure) for figure in self.facts]
        for passage in passages:
            bears = all(passage in these for these in have)
            bears = bears and all(passage.names(name) for name in self.names)
            bears = bears and self._may_cite(passage.source)
            if bears and len(self.words & passage.words) >= LEAST_OVERLAP * len(self.words):
                bearers.setdefault(passage.source, passage)
        return next(iter(bearers.values())) if len(bearers) == 1 else None

    def _judge_cited(self) -> Finding:
        computed, rest = self.rest(self.cited)
        if foreign := self._of_other_places(self.cited):
            return self._contrary_to_its_place(foreign)
        if rest and all(self._is_rounding(figure) for figure in rest):
            return replace(self._finding("doubtful", doubt=4), missing=tuple(rest))
        if rest and weighs_sources(self.text) and not self.rest(self.evidence.passages)[1]:
            return self._finding("quoted")
        if rest:
            return self._lacking(rest)
        borne = [f for f in self.facts if self.borne(f, self.cited)]
        swapped = [f for f in borne if is_swapped(self, f) or is_of_another_citation(self, f)]
        if swapped and self.sentence.row:
            # A cell says less than a sentence: its subject may stand in the head, or nowhere.
            return self._finding("doubtful", doubt=6)
        if swapped:
            return replace(self._finding("marked"), missing=tuple(swapped), contradicted=True)
        if not self.figures and (other := self._better() or self._only_namer()) is not None:
            return self._gives_way(other)
        if self.evidence.has_calculated(self.text):
            return self._finding("computed")
        if weight := doubt(self) or 4 * self.unsure:
            return self._finding("doubtful", doubt=weight)
        return self._finding("computed" if computed else "quoted")

    def _is_rounding(self, figure: Figure) -> bool:
        """Return whether a round number is that of what is cited, although no word says "about"."""
        coarse = rounded(figure)
        return coarse is not None and any(
            low <= amount(f) <= high and f.kind == figure.kind
            for low, high in [coarse]
            for passage in self.cited
            for f in passage.numbers
        )

    def _gives_way(self, other: Passage) -> Finding:
        """Return that the one citation has to be another source's."""
        moved = ((self.sentence.citations[0], other.source),)
        return replace(self._finding("rematched", other), cite=moved)

    def _lacking(self, rest: Sequence[Figure]) -> Finding:
        """Return the verdict on figures that the cited records lack."""
        rest = [figure for figure in rest if not self._is_beyond_limit(figure)]
        if not rest:
            return self._finding("quoted")
        _, nowhere = self.rest(self.evidence.passages)
        if nowhere:
            return replace(self._finding("marked"), missing=tuple(nowhere))
        if self._is_behind_citations(rest):
            return self._uncited_part(rest)
        other = self._only_bearer_of(rest)
        if other is not None and len(rest) == len(self.facts) and len(self.sentence.citations) == 1:
            return self._gives_way(other)
        if other is not None:
            return replace(self._finding("attached", other), attach=(other.source,))
        if all(is_in_formula(self.text, figure) for figure in rest):
            return self._finding("computed")
        own = {(f.kind, amount(f)) for f in self.figures}
        unsaid = [f for p in self.cited for f in p.figures if (f.kind, amount(f)) not in own]
        if any(same_kind(figure, other) for figure in rest for other in unsaid):
            return replace(self._finding("marked"), missing=tuple(rest), contradicted=True)
        return replace(self._finding("doubtful", doubt=6), missing=tuple(rest))

    def _is_beyond_limit(self, figure: Figure) -> bool:
        """Return whether it is an example of what a limit excludes, which is cited before it."""
        limits = (f for f in self.figures if f.end <= figure.start and self.borne(f, self.cited))
        return any(
            limit.value < figure.value
            and limit.kind == figure.kind
            and is_excluded(self.text, limit.start, figure.end)
            for limit in limits
        )

    def _is_behind_citations(self, rest: Sequence[Figure]) -> bool:
        """Return whether figures stand in a last part of the sentence that cites nothing."""
        cited_up_to = max(c.end for c in self.sentence.citations) - self.sentence.start
        begins = self.text.replace("；", ";").find(";", cited_up_to)
        apart = begins >= 0 and not self.sentence.row
        return apart and all(figure.start > begins for figure in rest)

    def _uncited_part(self, rest: Sequence[Figure]) -> Finding:
        """Return the verdict on figures that cite nothing: their own sources, or that none is."""
        bearers = [other for f in rest if (other := self._only_bearer_of([f]))]
        if not bearers:
            return replace(self._finding("marked"), missing=tuple(rest))
        attach = tuple(dict.fromkeys(other.source for other in bearers))
        return replace(self._finding("attached", bearers[0]), attach=attach)

    def _only_bearer_of(self, rest: Sequence[Figure]) -> Passage | None:
        """Return the passage of the one other source that gives these figures of the same thing."""
        bearers, of_kind = dict[str, Passage](), dict[str, Passage]()
        have, kinds = [self.bearers(figure) for figure in rest], {f.kind for f in rest}
        hedged = [hedge(self.text, figure) for figure in rest]
        for passage in self.others:
            if not all(passage in these for these in have):
                continue
            parts = [part for f, how in zip(rest, hedged, strict=True)
                     for part in passage.clauses if part.has(f, how)]  # fmt: skip
            common = frozenset[str]().union(*(part.words for part in parts)) & self.words
            if len(common) >= 2:
                bearers.setdefault(passage.source, passage)
                if kinds <= {f.kind for part in parts for f in part.figures}:
                    of_kind.setdefault(passage.source, passage)
        bearers = of_kind or bearers
        return next(iter(bearers.values())) if len(bearers) == 1 else None

    def _better(self) -> Passage | None:
        """Return the passage of another source that says clearly more of what is claimed."""
        if len(self.sentence.citations) != 1:
            return None
        best, other = self.nearest, self.best(self.others)
        if best is None or other is None:
            return None
        mine, its = len(self.words & best.words), len(self.words & other.words)
        clearly = its >= 4 and its >= 2 * mine and its >= _MUCH_OVERLAP * len(self.words)
        return other if clearly and all(other.names(name) for name in self.names) else None

    def _only_namer(self) -> Passage | None:
        """Return the passage of the one other source that has the names, if those cited have none.

        It has to say more of the sentence than they do, whose script is that of the names.
        """
        best, own = self.nearest, self.names
        if not own or best is None or len(self.sentence.citations) != 1:
            return None
        if any(p.names(part) for name in own for part in name.split() for p in self.cited):
            return None
        other = self._only_bearer(self.others)
        if other is None or not all(scripts(name) & best.scripts for name in own):
            return None
        mine, its = len(self.words & best.words), len(self.words & other.words)
        return other if its > mine and 2 * its >= len(self.words) else None

    def _of_other_places(self, passages: Sequence[Passage]) -> list[Figure]:
        """Return the figures of places that only other places' records have."""
        pages = [p for p in passages if self.evidence.records[p.source].place is None]
        return [
            figure
            for figure in self.facts
            if (own := self.evidence.subject(self.text, figure.start))
            and not self.borne(figure, [*self.evidence.of(own), *pages])
            and self.borne(figure, self.evidence.passages)
        ]

    def _contrary_to_its_place(self, foreign: Sequence[Figure]) -> Finding:
        """Return the verdict on figures of places that are only other places'."""
        own = self.evidence.of(sorted(self.evidence.subject(self.text, foreign[0].start)))
        contrary = next(
            (p for p in own if any(alike_in_kind(foreign[0], f) for f in p.figures)), None
        )
        finding = self._finding("marked", contrary or self.best(self.evidence.passages))
        return replace(finding, missing=tuple(foreign), contradicted=contrary is not None)
