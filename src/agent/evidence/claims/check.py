"""Check claims by rules: every sentence of an answer against the records it cites.

A sentence is cited, code's own, or free of facts. Figures, dates, times and names must stand in
the cited records; what follows from them by arithmetic counts. What rules cannot decide is
doubtful and may go to a model (`doubts`).
"""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from agent.evidence.claims.arithmetic import (
    calculated,
    formula_before,
    formula_values,
    is_estimate,
    reckoned,
)
from agent.evidence.claims.claim import (
    LEAST_OVERLAP,
    MAX_FIGURES,
    Claim,
    alike_in_kind,
    among,
    figure_words,
    same_kind,
)
from agent.evidence.claims.evidence import Evidence, without_origins
from agent.evidence.claims.facts import (
    Passage,
    amount,
    bounds,
    clause_spans,
    han_names,
    hedge,
    names,
    rounded,
    scripts,
    telling_figures,
    words,
)
from agent.evidence.claims.places import with_right_places
from agent.evidence.claims.refutations import (
    against_hours,
    borne_spans,
    is_of_another_citation,
    is_swapped,
    refutation,
    without_borne_hours,
)
from agent.evidence.claims.sentences import (
    MARKED,
    Citation,
    Notation,
    Sentence,
    is_advice,
    is_assumption,
    is_label,
    sentences,
    weighs_sources,
)
from agent.evidence.figures import Figure, figures
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
    """What the sentence was repaired to."""
    contradicted: bool = False
    """Its quote says otherwise; else, where it is marked, nothing says it."""


_MAX_SENTENCE = 1500
_MUCH_OVERLAP = 0.6
_SENTENCES_BEFORE = 2
_MAX_ATTACHED = 4


def check(text: str, evidence: Evidence, notation: Notation = MARKED) -> list[Finding]:
    """Return what rules find of each sentence of a text, in order; an overlong one passes."""
    findings, rows, results = list[Finding](), list[list[Figure]](), list[Figure]()
    listed = _listed(text, evidence)
    for sentence in sentences(text, notation):
        if len(sentence.text) > _MAX_SENTENCE:
            findings.append(Finding(sentence, "quoted" if sentence.cited else "own"))
            continue
        claim = _Judge(sentence, evidence)
        claim.earlier = [figure for figures in rows[-_SENTENCES_BEFORE:] for figure in figures]
        findings.append(claim.finding(listed))
        results += claim.figures if is_assumption(sentence.text) else claim.results
        rows.append([f for f in claim.figures if claim.borne(f, evidence.passages)])
    return [_with_results(finding, results) for finding in findings]


def _with_results(finding: Finding, results: Sequence[Figure]) -> Finding:
    """Return a sentence marked for figures that the answer assumes, or its estimates come to."""
    if finding.verdict != "marked" or not finding.missing:
        return finding
    for figure in finding.missing:
        low, high = bounds(figure)
        if not any(low <= amount(f) <= high and alike_in_kind(f, figure) for f in results):
            return finding
    return replace(finding, verdict="computed", missing=(), contradicted=False)


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
        bare = not self.figures and not words(self.text)
        if bare or (not self.sentence.cited and self._states_nothing()):
            return self._finding("own")
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
        return Finding(self.sentence, verdict, quote or self.best(self.cited), doubt=doubt)

    def _estimate(self) -> Finding:
        """Return the verdict on the writer's own reckoning: its figures follow or are marked."""
        everything = self.evidence.passages
        operands = [
            figure
            for figure in figures(self.text)[:MAX_FIGURES]
            if self.evidence.knows(figure) or self.borne(figure, everything)
        ]
        shares = {100 - f.value for f in figures(self.text) if f.kind == "percent"}

        def given(number: Decimal) -> bool:
            return number in shares or self._is_given(number) or self._is_left_of_share(number)

        computed, rest = list[Figure](), list[Figure]()
        for figure in (f for f in self.facts if not self.borne(f, everything)):
            grounded = reckoned(figure, [*operands, *computed], self.text, given) or (
                figure.kind == "percent" and self._is_share(figure)
            )
            (computed if grounded else rest).append(figure)
        if rest:
            known = {figure.value for figure in (*operands, *computed)}
            corrected = self._calculated_again(rest[0], known) if len(rest) == 1 else None
            if corrected:
                self.results = [*computed, *figures(corrected)]
                return replace(self._finding("repaired"), text=corrected)
            return replace(self._finding("marked", self.best(everything)), missing=tuple(rest))
        if self._foreign_names():
            return self._finding("marked", self.best(everything))
        self.results = computed
        return self._finding("computed" if computed else "quoted" if self.sentence.cited else "own")

    def _is_given(self, number: Decimal) -> bool:
        """Return whether a record has a number."""
        return bool(self.evidence.index.with_number(number))

    def _is_left_of_share(self, number: Decimal) -> bool:
        """Return whether a record has the percentage that leaves this one of the whole."""
        passages = self.evidence.index.with_number(100 - number)
        shares = (f for passage in passages for f in passage.figures if f.kind == "percent")
        return any(share.value == 100 - number for share in shares)

    def _is_share(self, figure: Figure) -> bool:
        """Return whether a percentage is what another leaves, or whose rest is calculated with."""
        terms = (term for _, terms in formula_values(self.text) for term in terms)
        return self._is_left_of_share(figure.value) or 100 - figure.value in terms

    def _calculated_again(self, figure: Figure, known: Container[Decimal]) -> str | None:
        """Return the sentence with the right result of its formula, whose terms must be known."""
        formula = formula_before(self.text, figure)
        written = _DIGITS.search(figure.text)
        if formula is None or written is None or figure.scale != 1:
            return None
        if any(term not in known for term in formula[1]):
            return None
        result = f"{round(formula[0], len(written[0].partition('.')[2])):f}"
        whole, right = self.sentence.text, figure.text.replace(written[0], result, 1)
        return whole[: figure.start] + right + whole[figure.end :]

    def _judge_uncited(self) -> Finding:
        everything = self.evidence.passages
        computed, rest = self.rest(everything)
        if rest and not everything and self._is_calculated(rest):
            return self._finding("computed")
        if rest:
            return replace(self._finding("marked", self.best(everything)), missing=tuple(rest))
        if foreign := self._of_other_places(everything):
            return self._contrary_to_its_place(foreign)
        if not self.facts and not self.names:
            return self._finding("own")
        telling = self.facts or len(self.names) > 1
        if telling and not is_advice(self.text):
            if self.facts and (several := self._named_bearers()):
                quote = self.best(self.evidence.of(several))
                return replace(self._finding("attached", quote), attach=several)
            if source := self._only_bearer(everything):
                return replace(self._finding("attached", source), attach=(source.source,))
        if computed:
            return self._finding("computed")
        if self._foreign_names():
            return self._finding("marked", self.best(everything))
        return self._finding("doubtful", self.best(everything), doubt=2 if self.facts else 1)

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
        if not self.figures and (other := self._better()) is not None:
            return self._gives_way(other)
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
        _, nowhere = self.rest(self.evidence.passages)
        if nowhere:
            return replace(self._finding("marked"), missing=tuple(nowhere))
        other = self._only_bearer_of(rest)
        if other is not None and len(rest) == len(self.facts) and len(self.sentence.citations) == 1:
            return self._gives_way(other)
        if other is not None:
            return replace(self._finding("attached", other), attach=(other.source,))
        own = {(f.kind, amount(f)) for f in self.figures}
        unsaid = [f for p in self.cited for f in p.figures if (f.kind, amount(f)) not in own]
        if any(same_kind(figure, other) for figure in rest for other in unsaid):
            return replace(self._finding("marked"), missing=tuple(rest), contradicted=True)
        return replace(self._finding("doubtful", doubt=6), missing=tuple(rest))

    def _only_bearer_of(self, rest: Sequence[Figure]) -> Passage | None:
        """Return the passage of the one other source that gives these figures of the same thing."""
        bearers: dict[str, Passage] = {}
        have = [self.bearers(figure) for figure in rest]
        hedged = [hedge(self.text, figure) for figure in rest]
        for passage in self.others:
            if not all(passage in these for these in have):
                continue
            parts = [part for f, how in zip(rest, hedged, strict=True)
                     for part in passage.clauses if part.has(f, how)]  # fmt: skip
            common = frozenset[str]().union(*(part.words for part in parts)) & self.words
            if len(common) >= 2:
                bearers.setdefault(passage.source, passage)
        return next(iter(bearers.values())) if len(bearers) == 1 else None

    def _better(self) -> Passage | None:
        """Return the passage of another source that says clearly more of what is claimed."""
        best, other = self.best(self.cited), self.best(self.others)
        if len(self.sentence.citations) != 1 or best is None or other is None:
            return None
        mine, its = len(self.words & best.words), len(self.words & other.words)
        clearly = its >= 4 and its >= 2 * mine and its >= _MUCH_OVERLAP * len(self.words)
        return other if clearly and all(other.names(name) for name in self.names) else None

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
        own = self.evidence.of(self.evidence.subject(self.text, foreign[0].start))
        contrary = next(
            (p for p in own if any(alike_in_kind(foreign[0], f) for f in p.figures)), None
        )
        finding = self._finding("marked", contrary or self.best(self.evidence.passages))
        return replace(finding, missing=tuple(foreign), contradicted=contrary is not None)


_STRONG = re.compile(
    r"所有|全部|一律|从来|从不|永远|必须|只有|唯一|最好|一定|绝对|证实|都必须|任何"
    r"|\b(?:all|always|never|every|only|any|must|best|guarantee\w*|entire\w*|proven?|everyone)\b",
    re.I,
)
_NEGATION = re.compile(
    r"[不没无未非别]|取消|禁止|停业|暂停|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|isn't|"
    r"doesn't|don't|didn't|wasn't|won't|can't|against|unlimited|disagrees?|fails?)\b",
    re.I,
)
_LIMIT = re.compile(r"只能|只有|至少|最多|必须|不能|\b(?:only|at most|at least|none|up to)\b", re.I)
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WEEKDAY = re.compile(r"周[一二三四五六日]|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", re.I)
_PICKS = re.compile(
    r"首选|优选|推荐|可以?[去选到]|建议去|不妨|优先|值得"
    r"|\b(?:picks?|choose|try|start with|(?:go|head) (?:to|for)|best (?:choice|bet|pick)"
    r"|recommend\w*)\b",
    re.I,
)
_WORDS_ONLY = re.compile(r"[\W_]+")


def doubt(claim: Claim) -> int:
    """Return how doubtful a sentence is whose figures all stand in what it cites."""
    all_words = frozenset[str]().union(*(p.words for p in claim.cited))
    foreign = len(claim.words & all_words) < LEAST_OVERLAP * len(claim.words)
    if _recommends(claim):
        return 0
    claim = claim.narrowed(without_borne_hours(claim))
    best = claim.best(claim.cited)
    if best is None or not claim.words:
        return 0
    if not scripts(claim.text) & best.scripts:
        return 3 if _NEGATION.search(claim.text) else 2
    if _is_quoted(claim, best):
        return 0
    negations = len(_NEGATION.findall(claim.text))
    return sum(
        weight
        for weight, doubtful in (
            (4, negations != len(_NEGATION.findall(best.text))),
            (1, negations > 0),
            (5, any(w.lower() not in best.folded for w in _STRONG.findall(claim.text))),
            (2, any(w.lower() not in claim.text.lower() for w in _LIMIT.findall(best.text))),
            (3, any(not any(p.names(n) for p in claim.cited) for n in claim.all_names())),
            (3, any(not any(day in p.folded for p in claim.cited) for day in _weekdays(claim))),
            (2, foreign),
            (3, _is_turned(claim, best)),
            (1, _is_one_of_several(claim)),
        )
        if doubtful
    )


def _recommends(claim: Claim) -> bool:
    """Return whether a sentence only picks places that have records, for what was asked."""
    if claim.figures or not claim.evidence.places_in(claim.text):
        return False
    common = claim.evidence.question_words.union(*(p.words for p in claim.cited))
    for _, clause in clause_spans(claim.text):
        own = words(clause)
        if claim.evidence.places_in(clause):
            picked = _PICKS.search(clause) and not _NEGATION.search(clause)
        else:
            picked = 2 * len(own & common) >= len(own)
        if not picked:
            return False
    return True


def bears_figures(sentence: Sentence, evidence: Evidence) -> bool:
    """Return whether a cited sentence has its figures and names from its sources.

    What it says besides is a remark.
    """
    cited, has_figures = evidence.of(sentence.cited), False
    for _, clause in clause_spans(sentence.plain.replace("\0", " ")):
        stated = telling_figures(clause)
        own = words(clause) - figure_words(clause)
        bearing = [
            p
            for p in cited
            if all(p.has(f, hedge(clause, f)) for f in stated)
            and all(p.names(name) for name in names(clause))
        ]
        if stated:
            has_figures = True
            bearing = [
                p
                for p in bearing
                if 2 * len(own & p.words) >= len(own)
                and len(_NEGATION.findall(clause)) <= len(_NEGATION.findall(p.text))
            ]
        if not bearing:
            return False
    return has_figures


def agrees(sentence: Sentence, quote: Passage, whole: Passage, evidence: Evidence) -> bool:
    """Return whether a quote gives a sentence's figures and nothing in it speaks against them.

    `whole` is the passage the quote stands in.
    """
    claim = Claim(sentence, evidence)
    stated, own = claim.figures, Passage("", claim.text)
    theirs = [figure for figure in quote.figures if figure.telling]
    sources = claim.cited or evidence.passages
    if not stated or not theirs or not all(claim.borne(f, sources) for f in claim.facts):
        return False
    same = all(quote.has(f, hedge(claim.text, f)) for f in stated) or all(map(own.has, theirs))
    denials = {_denials_of_figures(text) for text in (claim.text, quote.text)}
    stronger = any(word.lower() not in whole.folded for word in _STRONG.findall(claim.text))
    return (
        same
        and len(denials) == 1
        and not stronger
        and all(any(p.names(name) for p in (whole, *evidence.known)) for name in claim.names)
        and not _is_turned(claim, whole)
    )


def _denials_of_figures(text: str) -> int:
    """Return how many negations stand in clauses with figures."""
    clauses = (clause for _, clause in clause_spans(text) if telling_figures(clause))
    return sum(len(_NEGATION.findall(clause)) for clause in clauses)


def _is_one_of_several(claim: Claim) -> bool:
    """Return whether the cited words give more figures of a kind than the sentence does."""
    own = figures(claim.text)
    return any(
        not among(rival, own)
        for index in claim.evidence.clauses(claim.sentence.cited)
        for figure in claim.facts
        for part in index.bearing(figure)
        for rival in index.of_kind(figure.kind or "").get(part, ())
    )


def _is_quoted(claim: Claim, best: Passage) -> bool:
    """Return whether the sentence is the passage's own words, in their order."""
    plain = _WORDS_ONLY.sub("", claim.text).casefold()
    return bool(plain) and plain in _WORDS_ONLY.sub("", best.folded)


def _weekdays(claim: Claim) -> list[str]:
    return [day.casefold() for day in _WEEKDAY.findall(claim.text)]


def _is_turned(claim: Claim, best: Passage) -> bool:
    """Return whether the sentence tells two things in another order than its passage."""
    named = list(dict.fromkeys([*claim.all_names(), *_weekdays(claim), *han_names(claim.text)]))
    here = Passage("", claim.text)
    places = [(here.at(name), best.at(name)) for name in named]
    order = sorted(pair for pair in places if min(pair) >= 0)
    return [there for _, there in order] != sorted(there for _, there in order)
