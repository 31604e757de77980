"""The check of claims by rules: every sentence of an answer against the records it cites.

A sentence is cited, code's own, or free of facts. Figures, dates, times and names must stand in
the cited records; what follows from them by arithmetic counts. What rules cannot decide is
doubtful and may go to a model (`doubts`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from agent.evidence.claims.arithmetic import (
    follows_from_pair,
    formula_values,
    is_computed,
    is_estimate,
    is_share_of_each,
    reckoned,
)
from agent.evidence.claims.evidence import Evidence
from agent.evidence.claims.facts import (
    Passage,
    amount,
    han_names,
    hedge,
    names,
    rounded,
    scripts,
    split_clauses,
    telling_figures,
    words,
)
from agent.evidence.claims.sentences import (
    MARKED,
    Citation,
    Notation,
    Sentence,
    asserted,
    is_advice,
    is_label,
    sentences,
    weighs_sources,
)
from agent.evidence.figures import Figure, figures

Verdict = Literal[
    "quoted", "computed", "own", "rematched", "attached", "repaired", "marked", "doubtful"
]


@dataclass(frozen=True)
class Finding:
    """What the check found of one sentence."""

    sentence: Sentence
    verdict: Verdict
    quote: Passage | None = None
    """The passage that bears it best."""
    missing: tuple[Figure, ...] = ()
    """The figures that nothing bears."""
    cite: tuple[tuple[Citation, str | None], ...] = ()
    """Citations to replace by another source's, or (None) to take away."""
    attach: str | None = None
    """The source to cite at its end."""
    doubt: int = 0
    """The weight of what rules could not decide; 0 for no doubt."""
    text: str | None = None
    """What the sentence was repaired to."""


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
_WEEKDAY = re.compile(r"周[一二三四五六日]|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", re.I)
_WORDS_ONLY = re.compile(r"[\W_]+")
_ARITHMETIC = re.compile(
    r"[高低多少长短快慢贵占省增减降升差倍共]|合计|总计|平均"
    r"|\b(?:total|sum|together|differ\w*|more|less|fewer|sav\w+|share|times|twice|average"
    r"|(?:long|short|high|low|tall|cheap|fast|slow|larg|small|bigg|old|lat|earli)er)\b",
    re.I,
)
_NUMBERED_LINE = re.compile(r"\b(?:line|bus|route|exit|terminal) \d{1,3}\b", re.I)
_LIGHT = words("takes costs needs runs gives goes 需要 花费 时间 费用")
"""Words that say nothing about what a figure is of."""
_MAX_SENTENCE, _MAX_FIGURES, _MAX_OPERANDS, _NEAR_PASSAGES = 1500, 40, 12, 3
_LEAST_OVERLAP = 0.2
_MUCH_OVERLAP = 0.6


def check(text: str, evidence: Evidence, notation: Notation = MARKED) -> list[Finding]:
    """Return what rules find of each sentence of a text, in order; an overlong one passes."""
    return [
        _Judge(sentence, evidence).finding()
        if len(sentence.text) <= _MAX_SENTENCE
        else Finding(sentence, "quoted" if sentence.cited else "own")
        for sentence in sentences(text, notation)
    ]


class _Judge:
    """One sentence before the evidence."""

    def __init__(self, sentence: Sentence, evidence: Evidence) -> None:
        self.evidence = evidence
        self.sentence, self.moved = _with_right_places(sentence, evidence)
        self.claims = asserted(self.sentence.plain.replace("\0", " "))
        """The text without clauses that say what was not found."""
        self.figures = telling_figures(self.claims)[:_MAX_FIGURES]
        self.names = names(self.claims)
        self.words = words(self.claims) - _figure_words(self.claims)
        self.cited = evidence.of(self.sentence.cited)
        self.others = [p for p in evidence.passages if p.source not in self.sentence.cited]
        self.facts = [figure for figure in self.figures if not evidence.knows(figure)]
        """The figures that the question and today's date do not have."""
        self.unsure = False
        """Set where a figure may be computed from what is cited, but nothing says that it is."""
        self._bearing: dict[Figure, frozenset[Passage]] = {}

    def finding(self) -> Finding:
        """Return the verdict of the rules."""
        bare = not self.figures and not words(self.claims)
        if bare or (not self.sentence.cited and self._states_nothing()):
            return self._found("own")
        if is_estimate(self.claims):
            finding = self._estimate()
        else:
            finding = self._cited() if self.sentence.cited else self._uncited()
        if self.moved and finding.verdict in ("quoted", "computed", "own"):
            finding = replace(finding, verdict="rematched", doubt=0)
        return replace(finding, cite=(*self.moved, *finding.cite))

    def _states_nothing(self) -> bool:
        """Return whether it is a label, or advice without figures of its own."""
        return not self.facts and (is_label(self.sentence.text) or is_advice(self.claims))

    def _found(self, verdict: Verdict, quote: Passage | None = None, *, doubt: int = 0) -> Finding:
        return Finding(self.sentence, verdict, quote or self._best(self.cited), doubt=doubt)

    def _best(self, passages: Sequence[Passage]) -> Passage | None:
        """Return the passage with most of the sentence's figures and words."""
        bearers = [self._bearers(figure) for figure in self.figures]
        return max(
            passages,
            key=lambda p: (sum(p in these for these in bearers), len(self.words & p.words)),
            default=None,
        )

    def _bearers(self, figure: Figure) -> frozenset[Passage]:
        """Return the passages of all sources that have a figure."""
        if figure not in self._bearing:
            hedged = hedge(self.claims, figure)
            self._bearing[figure] = self.evidence.index.bearing(figure, hedged)
        return self._bearing[figure]

    def _borne(self, figure: Figure, passages: Sequence[Passage]) -> bool:
        return not self._bearers(figure).isdisjoint(passages)

    def _rest(self, passages: Sequence[Passage]) -> tuple[list[Figure], list[Figure]]:
        """Return the figures that follow from the passages' by arithmetic, and the unfounded."""
        with_number = self.evidence.index.with_number

        def has_number(number: Decimal) -> bool:
            return not with_number(number).isdisjoint(passages)

        operands = [
            figure
            for figure in figures(self.claims)[:_MAX_FIGURES]
            if self._borne(figure, passages) or self.evidence.knows(figure)
        ]
        computed, rest = list[Figure](), list[Figure]()
        strange = [figure for figure in self.facts if not self._borne(figure, passages)]
        for figure in sorted(strange, key=lambda f: f.kind == "percent"):
            if is_computed(figure, operands, self.claims, has_number) or (
                passages is self.cited and self._follows_from_passage(figure, operands)
            ):
                computed.append(figure)
                operands.append(figure)
            else:
                rest.append(figure)
        return computed, sorted(rest, key=lambda figure: figure.start)

    def _follows_from_passage(self, figure: Figure, operands: Sequence[Figure]) -> bool:
        """Return whether a cited passage gives what the figure is computed from, unsaid here."""
        near = sorted(self.cited, key=lambda p: -len(self.words & p.words))[:_NEAR_PASSAGES]
        if any(is_share_of_each(figure, passage.numbers, self.claims) for passage in near):
            return True
        kinds = Counter(f.kind for f in operands if f.kind and not f.date and f is not figure)
        if max(kinds.values(), default=0) > 1 or any(formula_values(self.claims)):
            return False
        for passage in near:
            own = [f for f in operands if f.kind and passage.has(f)]
            if len(passage.numbers) <= _MAX_OPERANDS and follows_from_pair(
                figure, own or passage.numbers, passage.numbers, self.claims
            ):
                self.unsure = self.unsure or not _ARITHMETIC.search(self.claims)
                return True
        return False

    def _estimate(self) -> Finding:
        """Return the verdict on the writer's own reckoning: its figures follow or are marked."""
        everything = self.evidence.passages
        operands = [
            figure
            for figure in figures(self.claims)[:_MAX_FIGURES]
            if self.evidence.knows(figure) or self._borne(figure, everything)
        ]
        computed, rest = list[Figure](), list[Figure]()
        for figure in (f for f in self.facts if not self._borne(f, everything)):
            grounded = reckoned(
                figure,
                [*operands, *computed],
                self.claims,
                lambda number: bool(self.evidence.index.with_number(number)),
            )
            (computed if grounded else rest).append(figure)
        if rest:
            return replace(self._found("marked", self._best(everything)), missing=tuple(rest))
        if self._foreign_names():
            return self._found("marked", self._best(everything))
        return self._found("computed" if computed else "quoted" if self.sentence.cited else "own")

    def _uncited(self) -> Finding:
        everything = self.evidence.passages
        computed, rest = self._rest(everything)
        rest = rest or self._of_other_places(everything)
        if rest:
            return replace(self._found("marked", self._best(everything)), missing=tuple(rest))
        if not self.facts and not self.names:
            return self._found("own")
        if not is_advice(self.claims) and (source := self._only_bearer(everything)):
            return replace(self._found("attached", source), attach=source.source)
        if computed:
            return self._found("computed")
        if self._foreign_names():
            return self._found("marked", self._best(everything))
        return self._found("doubtful", self._best(everything), doubt=2 if self.facts else 1)

    def _foreign_names(self) -> bool:
        """Return whether a name of several words stands in no evidence of its script."""
        latin = [p for p in self.evidence.passages if "latin" in p.scripts]
        known = (*latin, *self.evidence.known)
        long_names = [n for n in self.names if " " in n and n.isascii()]
        return bool(latin) and any(
            not any(p.names(part) for p in known for part in name.split()) for name in long_names
        )

    def _only_bearer(self, passages: Iterable[Passage]) -> Passage | None:
        """Return the passage that bears all facts, where only one source has such a one."""
        bearers: dict[str, Passage] = {}
        have = [self._bearers(figure) for figure in self.facts]
        for passage in passages:
            bears = all(passage in these for these in have)
            bears = bears and all(passage.names(name) for name in self.names)
            if bears and len(self.words & passage.words) >= _LEAST_OVERLAP * len(self.words):
                bearers.setdefault(passage.source, passage)
        return next(iter(bearers.values())) if len(bearers) == 1 else None

    def _cited(self) -> Finding:
        computed, rest = self._rest(self.cited)
        if foreign := self._of_other_places(self.cited):
            return replace(self._found("marked"), missing=tuple(foreign))
        if rest and all(self._is_rounding(figure) for figure in rest):
            return replace(self._found("doubtful", doubt=4), missing=tuple(rest))
        if rest and weighs_sources(self.claims) and not self._rest(self.evidence.passages)[1]:
            return self._found("quoted")
        if rest:
            return self._lacking(rest)
        borne = [f for f in self.facts if self._borne(f, self.cited)]
        swapped = [f for f in borne if self._is_swapped(f) or self._is_of_another_citation(f)]
        if swapped:
            return replace(self._found("marked"), missing=tuple(swapped))
        if not self.figures and (other := self._better()) is not None:
            return self._gives_way(other)
        if doubt := self._doubt() or 4 * self.unsure:
            return self._found("doubtful", doubt=doubt)
        return self._found("computed" if computed else "quoted")

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
        return replace(self._found("rematched", other), cite=moved)

    def _lacking(self, rest: Sequence[Figure]) -> Finding:
        """Return the verdict on figures that the cited records lack."""
        _, nowhere = self._rest(self.evidence.passages)
        if nowhere:
            return replace(self._found("marked"), missing=tuple(nowhere))
        other = self._only_bearer_of(rest)
        if other is not None and len(rest) == len(self.facts) and len(self.sentence.citations) == 1:
            return self._gives_way(other)
        if other is not None:
            return replace(self._found("attached", other), attach=other.source)
        own = {(f.kind, amount(f)) for f in self.figures}
        unsaid = [f for p in self.cited for f in p.figures if (f.kind, amount(f)) not in own]
        if any(_same_kind(figure, known) for figure in rest for known in unsaid):
            return replace(self._found("marked"), missing=tuple(rest))
        return replace(self._found("doubtful", doubt=6), missing=tuple(rest))

    def _only_bearer_of(self, rest: Sequence[Figure]) -> Passage | None:
        """Return the passage of the one other source that gives these figures of the same thing."""
        bearers: dict[str, Passage] = {}
        have = [self._bearers(figure) for figure in rest]
        hedged = [hedge(self.claims, figure) for figure in rest]
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
        best, other = self._best(self.cited), self._best(self.others)
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
            if (own := self.evidence.subject(self.claims, figure.start))
            and not self._borne(figure, [*self.evidence.of(own), *pages])
            and self._borne(figure, self.evidence.passages)
        ]

    def _clause_of(self, figure: Figure) -> str:
        """Return the clause a figure stands in; in a table also the row's first cell."""
        clauses, at = split_clauses(self.claims), 0
        for clause in clauses:
            start = self.claims.find(clause, at)
            at = start + len(clause)
            if start <= figure.start < at:
                first = clauses[0] if self.sentence.row and clause != clauses[0] else ""
                return f"{first} {clause}".strip()
        return self.claims

    def _is_swapped(self, figure: Figure) -> bool:
        """Return whether the cited words give the clause's subject another figure of its kind."""
        clause = self._clause_of(figure)
        own = words(clause) - _figure_words(clause) - _LIGHT
        own_figures = figures(clause)
        own_names = [*names(clause), *_NUMBERED_LINE.findall(clause)]
        hedged = hedge(self.claims, figure)
        bearing, differing = set[Passage](), set[Passage]()
        for index in self.evidence.clauses(self.sentence.cited):
            these = index.bearing(figure, hedged)
            bearing |= these
            for part, rivals in index.of_kind(figure.kind or "").items():
                if part not in these and not all(_among(f, own_figures) for f in rivals):
                    differing.add(part)
        most = max((len(own & part.words) for part in bearing), default=0)
        other = max((len(own & part.words) for part in differing), default=0)
        if other >= 2 and (most == 0 or other >= most + 2):
            return True
        return self._of_another_day(figure) or any(
            any(part.names(name) for part in differing)
            and not any(part.names(name) for part in bearing)
            for name in own_names
        )

    def _is_of_another_citation(self, figure: Figure) -> bool:
        """Return whether the citation behind the figure gives another of the sentence's figures."""
        if (heading := self._heading(figure)) and self._borne(
            figure, self.evidence.of(heading.ids)
        ):
            return False
        group = self._group_behind(figure)
        cited = self.evidence.of(name for citation in group for name in citation.ids)
        if len(group) == len(self.sentence.citations) or self._borne(figure, cited):
            return False
        rivals = [f for f in self.facts if f is not figure and _same_kind(f, figure)]
        return any(self._group_behind(f) != group and self._borne(f, cited) for f in rivals)

    def _heading(self, figure: Figure) -> Citation | None:
        """Return the last citation before a figure, where no figure of its clause precedes it."""
        start = self.sentence.start
        before = [c for c in self.sentence.citations if c.end - start <= figure.start]
        if not before:
            return None
        clause = re.split(r"[，,；;、：:]", self.claims[: before[-1].start - start])[-1]
        return None if figures(clause) else before[-1]

    def _group_behind(self, figure: Figure) -> list[Citation]:
        """Return the citations that follow a figure with nothing but each other in between."""
        group: list[Citation] = []
        for citation in self.sentence.citations:
            at = citation.start - self.sentence.start
            if at >= figure.end and (not group or citation.start <= group[-1].end + 1):
                group.append(citation)
        return group

    def _of_another_day(self, figure: Figure) -> bool:
        """Return whether the figure stands only where another day than the sentence's is told."""
        days = [f for f in self.figures if f.date]
        if len(days) != 1 or figure.date:
            return False
        that_day = self._bearers(days[0])
        bearing = self._bearers(figure).intersection(self.cited)
        return not that_day.isdisjoint(self.cited) and all(
            passage not in that_day and passage.dates for passage in bearing
        )

    def _doubt(self) -> int:
        """Return how doubtful a sentence is whose figures all stand in what it cites."""
        best = self._best(self.cited)
        if best is None:
            return 0
        if not scripts(self.claims) & best.scripts:
            return 3 if _NEGATION.search(self.claims) else 2
        if self._is_quoted(best):
            return 0
        all_words = frozenset[str]().union(*(p.words for p in self.cited))
        negations = len(_NEGATION.findall(self.claims))
        return sum(
            weight
            for weight, doubtful in (
                (4, negations != len(_NEGATION.findall(best.text))),
                (1, negations > 0),
                (5, any(w.lower() not in best.folded for w in _STRONG.findall(self.claims))),
                (2, any(w.lower() not in self.claims.lower() for w in _LIMIT.findall(best.text))),
                (3, any(not any(p.names(n) for p in self.cited) for n in self._all_names())),
                (3, any(not any(day in p.folded for p in self.cited) for day in self._weekdays())),
                (2, len(self.words & all_words) < _LEAST_OVERLAP * len(self.words)),
                (3, self._is_turned(best)),
                (1, self._is_one_of_several()),
            )
            if doubtful
        )

    def _is_one_of_several(self) -> bool:
        """Return whether the cited words give more figures of a kind than the sentence does."""
        own = figures(self.claims)
        return any(
            not _among(rival, own)
            for index in self.evidence.clauses(self.sentence.cited)
            for figure in self.facts
            for part in index.bearing(figure)
            for rival in index.of_kind(figure.kind or "").get(part, ())
        )

    def _is_quoted(self, best: Passage) -> bool:
        """Return whether the sentence is the passage's own words, in their order."""
        plain = _WORDS_ONLY.sub("", self.claims).casefold()
        return bool(plain) and plain in _WORDS_ONLY.sub("", best.folded)

    def _all_names(self) -> list[str]:
        """Return its names, also one that begins it, where some evidence has it as a name."""
        first = re.match(r"\W*([A-Z][\w-]{3,})", self.claims)
        known = first and any(
            first[1] in p.text and re.search(rf"\b{first[1]}\b", p.text)
            for p in self.evidence.passages
        )
        return [*self.names, first[1]] if first and known else self.names

    def _weekdays(self) -> list[str]:
        return [day.casefold() for day in _WEEKDAY.findall(self.claims)]

    def _is_turned(self, best: Passage) -> bool:
        """Return whether the sentence tells two things in another order than its passage."""
        named = list(
            dict.fromkeys([*self._all_names(), *self._weekdays(), *han_names(self.claims)])
        )
        here = Passage("", self.claims)
        places = [(here.at(name), best.at(name)) for name in named]
        order = sorted(pair for pair in places if min(pair) >= 0)
        return [there for _, there in order] != sorted(there for _, there in order)


def _among(figure: Figure, others: Iterable[Figure]) -> bool:
    return any(_same_kind(figure, other) and amount(figure) == amount(other) for other in others)


def _same_kind(one: Figure, other: Figure) -> bool:
    if one.date or other.date or one.clock is not None or other.clock is not None:
        return False
    return bool(one.kind) and one.kind == other.kind


def _figure_words(text: str) -> frozenset[str]:
    return frozenset[str]().union(*(words(figure.text) for figure in telling_figures(text)))


def _with_right_places(
    sentence: Sentence, evidence: Evidence
) -> tuple[Sentence, tuple[tuple[Citation, str | None], ...]]:
    """Return the sentence with each place's citation that place's, and what was changed."""
    moved: list[tuple[Citation, str | None]] = []
    citations: list[Citation] = []
    at = 0
    for citation in sentence.citations:
        begin = citation.start - sentence.start
        segment, at = sentence.plain[at:begin], citation.end - sentence.start
        right = _right_place(citation, segment.replace("\0", " "), sentence, evidence)
        if right is None:
            citations.append(citation)
            continue
        held = {name for other in sentence.citations if other is not citation for name in other.ids}
        moved.append((citation, None if right in held else right))
        citations.append(replace(citation, ids=(right,)))
    return replace(sentence, citations=tuple(citations)), tuple(moved)


def _right_place(
    citation: Citation, segment: str, sentence: Sentence, evidence: Evidence
) -> str | None:
    """Return the place that a citation of a place ought to name; None where it is right."""
    ids = [i for i in citation.ids if i in evidence.records]
    if not ids or any(evidence.records[i].place is None for i in ids):
        return None
    whole = sentence.plain.replace("\0", " ")
    named = evidence.places_in(segment) or evidence.places_in(whole)
    if len(named) != 1 or named & set(citation.ids) or evidence.places_in(whole) & set(ids):
        return None
    right = next(iter(named))
    stated = figures(whole)
    cited_has = sum(any(p.has(f) for p in evidence.of(ids)) for f in stated)
    other_has = sum(any(p.has(f) for p in evidence.of([right])) for f in stated)
    return right if other_has > cited_has or not cited_has else None


def borne_out(text: str, evidence: Evidence) -> str:
    """Return a marked text without what no record bears.

    Clauses with such figures go, and sentences about a body that no record names.
    """
    out, at = list[str](), 0
    for found in check(text, evidence):
        sentence = found.sentence
        out += [text[at : sentence.start], _borne_part(found, evidence)]
        at = sentence.end
    return re.sub(r"[ \t]+\n", "\n", "".join([*out, text[at:]])).strip()


def _borne_part(found: Finding, evidence: Evidence) -> str:
    sentence = found.sentence
    everything = [*evidence.passages, *evidence.known]
    strange = [
        name
        for name in han_names(asserted(sentence.plain))
        if not any(
            name in p.text or len(words(name) & p.words) >= len(words(name)) for p in everything
        )
    ]
    if strange and not sentence.citations:
        return ""
    if found.verdict != "marked" or not found.missing:
        return sentence.text
    pieces = re.split(r"(?<=[，；;])", sentence.text)
    kept = [p for p in pieces if not any(f.text in p for f in found.missing)]
    if not kept or kept[0] is not pieces[0]:
        return ""
    whole = "".join(kept)
    return (
        whole
        if kept[-1] is pieces[-1]
        else whole.rstrip("，；;") + ("。" if "。" in sentence.text else "")
    )
