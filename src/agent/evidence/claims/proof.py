"""Take a judge's ruling only as far as code can show it: prove quotes, figures and sums."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, pairwise, product

from agent.core.strings import latin_length, letters_of, split_at
from agent.evidence.citations import NOT_FOUND, ids_in
from agent.evidence.claims.judging import Ruling, with_markers, without_markers
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome, Verdict
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.statements import NAMING, Statement
from agent.evidence.claims.sums import MOST_FIGURES, computed, stands
from agent.evidence.days import weekdays_told
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import fold, without_marks
from agent.evidence.plan_days import PlanDays, plan_days, set_by_plan
from agent.evidence.quotes import drops_more, span_in
from agent.evidence.record_otherwise import record_otherwise
from agent.evidence.shown_sums import right_results, turned_differences
from agent.evidence.stated import (
    bounds,
    gives_all,
    hour_of,
    only_figures,
    quote_says,
    says,
    states,
    without_figures,
)
from agent.evidence.totals import Total

_MOST_LENT, _LONG_SPAN, _PART_OF_DAY, _MOST_BEHIND = 400, 8, 2, 2
"""Figures that statements lend to others; letters of a span that is no other's by chance, and
beside a time: at 1 pm; sources up to which code adds to those behind a statement."""


def proved(
    statements: Sequence[Statement],
    rulings: Mapping[int, Ruling],
    evidence: Evidence,
    totals: Sequence[Total] = (),
) -> list[Outcome]:
    """Return each statement's outcome by its ruling.

    Sums may use what is assumed or borne out elsewhere, what right sums give, and the `totals` that
    code has added up.
    """
    added = [figure for one in statements for figure in right_results(one.plain)]
    # What is assumed lends its figures before what rests on it is proved.
    ordered = sorted(rulings.items(), key=lambda item: item[1].v != "o")
    times = [
        f for row in {one.row for one in statements} for f in figures(row) if f.clock is not None
    ]
    times += chain.from_iterable(set_by_plan(statements[at], one.own) for at, one in ordered)
    times += chain.from_iterable(figures(total.told) for total in totals)
    plan = plan_days(statements, {at: one.own for at, one in ordered}, evidence.day)
    terms = distinct([*times, *plan.days])[:_MOST_LENT]
    proof = _Proof(evidence, added, totals, plan, [*added], terms)
    outcomes = [Outcome("unchecked")] * len(statements)
    for _ in range(2):
        for at, ruling in ordered:
            if outcomes[at].verdict == "unchecked":
                outcomes[at] = proof.of(statements[at], ruling)
                if outcomes[at].verdict in ("supported", "computed", "own"):
                    proof.lend(statements[at], outcomes[at].results)
        proof.lent = distinct(proof.lent)[:_MOST_LENT]
    outcomes = [
        outcome if outcome.fails else _by_code(one, outcome, rulings.get(at), evidence)
        for at, (one, outcome) in enumerate(zip(statements, outcomes, strict=True))
    ]
    return _with_sources(statements, outcomes, evidence)


def _by_code(
    one: Statement, outcome: Outcome, ruling: Ruling | None, evidence: Evidence
) -> Outcome:
    """Return what code shows to be wrong by itself: by a place's record, or the calendar."""
    own = set_by_plan(one, ruling.own if ruling else ())
    if outcome.verdict == "unchecked" and (found := record_otherwise(one, evidence, own)):
        passage = evidence.passages_of(one.cited)[0]
        spans = tuple(figure.text for figure, _ in found)
        return Outcome("contradicted", spans, (passage,), found[0][1])
    days = tuple(
        words
        for words, is_right in weekdays_told(one.plain, evidence.years, evidence.day)
        if not (is_right or any(words in passage.text for passage in evidence.passages))
    )
    return Outcome("missing", days, outcome.passages) if days else outcome


@dataclass
class _Proof:
    """Prove one ruling after the other: what is borne out lends its figures to later ones."""

    evidence: Evidence
    added: Sequence[Figure]
    """What right sums of the text give."""
    totals: Sequence[Total]
    """Those of its tables: where their terms are right no source tells them otherwise."""
    plan: PlanDays
    lent: list[Figure]
    terms: list[Figure]
    """A plan's times, totals, what proved sums give on their way: sums may use them, and nothing is
    borne out by them."""

    def lend(self, statement: Statement, results: Iterable[Decimal] = ()) -> None:
        """Let other statements use a statement's figures, and their sums what its sums give."""
        self.lent += figures(statement.said)[:MOST_FIGURES]
        self.terms += [Figure(str(each), 0, 0, value=each) for each in results][:MOST_FIGURES]

    def of(self, statement: Statement, ruling: Ruling) -> Outcome:
        """Return a statement's outcome by its ruling."""
        named = (self.evidence.by_name.get(name.strip("[] ")) for name in ruling.p)
        passages = tuple(passage for passage in named if passage)
        letter = ruling.v
        if letter == "o":
            return Outcome("own")
        if letter == "c":
            lent = [*self.lent, *self.terms[: 2 * _MOST_LENT]]
            if done := computed(statement, ruling.calc, passages, self.evidence, lent):
                return done
        if letter in ("s", "c"):
            return self._supported(statement, ruling, passages)
        return self._accused(statement, ruling, passages)

    def _accused(
        self, statement: Statement, ruling: Ruling, passages: tuple[Passage, ...]
    ) -> Outcome:
        """Return a statement as missing, or contradicted where a passage has the words against it.

        Only where the words at fault stand in it, and are not those of what it cites, or was told,
        nor figures that right sums of the text have added up.
        """
        letter, plain, evidence = ruling.v, statement.plain, self.evidence
        # One that code has put in the place of its writer's figure a judge may contradict.
        totals = self._totals_of(statement, is_agreed=letter == "x")
        spans = tuple(span for words in ruling.bad if (span := span_in(words, plain)))
        of_row = any(span_in(words, statement.row) for words in ruling.bad)
        if not spans and (letter == "n" or of_row):
            # A row's head has no ruling of its own: a cell is wrong of it.
            spans = (plain,)
        # What stands nowhere names no passage: its wording rests on what it, or the text, cites.
        fix = with_markers(ruling.fix, evidence)
        told = [*passages, *evidence.passages_of((*statement.cited, *ids_in(fix), KNOWN))]
        said = figures(without_markers(fix))
        keeps_totals = all(any(says(one, total) for one in said) for total in totals)
        fix = fix if keeps_totals and is_sound_fix(fix, statement, told, spans) else ""
        # A judge puts together what a passage says in two places, or names the one beside it.
        parts = [ruling.says, *split_at(ruling.says.replace("...", "…"), ";；…")]
        held = [*passages, *evidence.passages_of(evidence.sources_of(passages))]
        pairs = ((span_in(words, one.text), one) for words, one in product(parts, held))
        quote, passage = next((pair for pair in pairs if pair[0]), ("", None))
        passages = tuple(dict.fromkeys([*passages, passage])) if passage else passages
        # A hedge is dropped where the words stand and the passage's others do not.
        spans = tuple(
            span
            for span in spans
            if not gives_all([*totals, *self.added], span)
            and (passage or not self._is_borne(span, statement))
        )
        if letter == "x" and passage:
            if all(quote_says(span, quote) for span in spans):
                return Outcome("unchecked", passages=passages)
            return Outcome("contradicted", spans, (passage,), quote, fix=fix)
        verdict: Verdict = "missing" if spans and letter in ("p", "n", "x") else "unchecked"
        cite = _cite_of(statement, passages, evidence) if letter == "p" else None
        if letter == "n" and any(letters_of(span) == letters_of(plain) for span in spans):
            cite = ()  # Nothing that it cites bears any of it.
        return Outcome(verdict, spans, passages, cite=cite, fix=fix, is_open=ruling.unshown)

    def _totals_of(self, statement: Statement, *, is_agreed: bool = False) -> list[Figure]:
        """Return the figures of the totals that a statement may tell, or of those agreed alone."""
        text, is_cell = statement.text, statement.kind == "cell"
        own = (total for total in self.totals if total.is_agreed or not is_agreed)
        told = (total.told for total in own if total.is_told_in(text, is_cell=is_cell))
        return [figure for words in told for figure in figures(words)]

    def _is_borne(self, span: str, statement: Statement) -> bool:
        """Return whether some words stand as they are in what their statement cites, or was told.

        So do times alone of a planned day, and a day with its right weekday.
        """
        evidence = self.evidence
        held = (p.text for p in evidence.passages_of([KNOWN, *statement.cited]))
        if latin_length(span) >= _LONG_SPAN and any(span_in(span, text) for text in held):
            return True
        times, planned = figures(span), {figure.clock for figure in evidence.told} - {None}
        is_bare = times and len(letters_of(without_figures(span, times))) <= _PART_OF_DAY
        if is_bare and all(figure.clock in planned for figure in times):
            return True
        days = weekdays_told(statement.plain, evidence.years, evidence.day)
        return any(is_right and span in words for words, is_right in days)

    def _supported(
        self, statement: Statement, ruling: Ruling, passages: tuple[Passage, ...]
    ) -> Outcome:
        """Return a statement as supported where its figures stand, with the sources that bear it.

        Without a passage named, one that it cites and that has its words stands for that; what
        neither cites nor names any is its writer's own, and what only programs gave is computed.
        """
        evidence = self.evidence
        if not passages:
            passages = evidence.nearest(statement)
        lent = [*self._totals_of(statement), *self.lent]
        known = [*(f for p in passages for f in p.figures), *evidence.told, *lent]
        known += chain.from_iterable(turned_differences(p.text) for p in passages)
        # Who asked for 8 pm may hear of 8, and of 20:00 who asked for 8.
        hours = ((one, hour_of(one)) for one in evidence.told)
        known += [replace(one, clock=int(at), ambiguous=True) for one, at in hours if at]
        own = set_by_plan(statement, ruling.own)
        own += self.plan.own(statement, ruling.own, (f for p in passages for f in p.figures))
        unproved = tuple(
            figure.text
            for figure in distinct(figures(statement.plain))[:MOST_FIGURES]
            if states(figure)
            and not (figure in own or bounds(figure, known))
            and not any(stands(one, known, evidence) for one in _as_headed(figure, statement))
        )
        if unproved:
            return Outcome("unchecked", passages=passages, unproved=unproved)
        if not passages:
            return Outcome("unchecked" if statement.cited else "own")
        is_worked = all(evidence.is_worked(passage) for passage in passages)
        verdict: Verdict = "computed" if is_worked else "supported"
        return Outcome(verdict, passages=passages, cite=_cite_of(statement, passages, evidence))


def _cite_of(
    statement: Statement, passages: Iterable[Passage], evidence: Evidence
) -> tuple[str, ...] | None:
    """Return what a statement that is borne out is to cite where its judge names other sources.

    What it cites is kept where any of it is named, too: to that comes only what has a figure of it
    that is lacking. What nothing cited bears cites what does; a source that says the same as the
    named one bears it.
    """
    cited, named = statement.cited, evidence.sources_of(passages)
    if not statement.citations or NOT_FOUND in statement.exact:
        # Behind what was not found another source would seem to say so.
        return None
    added = [name for name in named if name not in cited][:_MOST_BEHIND]
    lacking = [name for name in added if _has_more(name, cited, statement, evidence)]
    is_borne = not {*cited}.isdisjoint(named)
    # A calculation is added to no other source, and bears nothing that the question says itself.
    sums = {name for name in added if evidence.records[name].is_worked}
    lacking = [name for name in lacking if not (is_borne and name in sums)]
    added = [name for name in added if name not in sums or name in lacking]
    if is_borne:
        # Advice that a page bears is no more so by the record of the place that it names.
        told = (*cited, *lacking[: max(0, _MOST_BEHIND - len(cited))])
        return told if told != cited else None
    # A judge that loses count names another source than the one it read.
    own = tuple(name for name in cited if _has_more(name, named, statement, evidence))
    if not added or (own and not lacking) or evidence.bears_as(statement, passages):
        return None
    return (*own, *added[: max(1, _MOST_BEHIND - len(own))])


def _has_more(name: str, others: Sequence[str], statement: Statement, evidence: Evidence) -> bool:
    """Return whether a source has a figure of a statement that the others lack."""
    theirs, given = evidence.figures_of([name]), evidence.figures_of(others)
    if name in evidence.records and evidence.records[name].is_worked:
        given = [*given, *evidence.told]
    return any(
        any(same(figure, other) for other in theirs)
        and not any(same(figure, other) for other in given)
        for figure in figures(statement.said)
        if figure.telling
    )


def _with_sources(
    statements: Sequence[Statement], outcomes: Sequence[Outcome], evidence: Evidence
) -> list[Outcome]:
    """Return the outcomes; what is borne out is to cite its sources where its block cites none.

    What rests on more than two that stand elsewhere sums them up, and needs no pile of marks; none
    says what was not found.
    """
    blocks, found = {one.block for one in statements if one.citations}, list[Outcome]()
    shown = {name for one in statements for name in one.cited}
    for one, outcome in zip(statements, outcomes, strict=True):
        names = _bearing(one, outcome, evidence)
        sums_up = len(names) > _MOST_BEHIND and shown.issuperset(names)
        is_bare = one.block not in blocks and one.kind not in NAMING and NOT_FOUND not in one.exact
        if outcome.verdict == "supported" and is_bare and not sums_up:
            outcome = replace(outcome, cite=names[:_MOST_BEHIND] or None)
        found.append(outcome)
    return found


def _bearing(one: Statement, outcome: Outcome, evidence: Evidence) -> tuple[str, ...]:
    """Return the sources that bear a statement; a calculation only of what no other one says."""
    names = evidence.sources_of(outcome.passages)
    others = [name for name in names if not evidence.records[name].is_worked]
    return tuple(n for n in names if n in others or _has_more(n, others, one, evidence))


def _as_headed(figure: Figure, cell: Statement) -> list[Figure]:
    """Return a figure; a bare number of a cell in the units, too, that its column or row tells."""
    number, found = figure.text, [figure]
    heads = split_at(f"{cell.head}/{cell.row}", _AROUND_UNITS)
    for head in (told for one in heads if 0 < len(told := one.strip()) <= _LONGEST_UNIT):
        sign, _, scale = head.partition(" ")
        for text in (f"{number}{head}", f"{number} {head}", f"{sign}{number} {scale}".strip()):
            read = figures(text)
            found += [one for one in read if one.text == text and (one.kind or one.scale != 1)]
    return found


_LONGEST_UNIT, _BESIDE = 24, 2
_AROUND_UNITS = "/()（）[]［］,，、:："


def is_sound_fix(
    fix: str, statement: Statement, passages: Sequence[Passage], spans: Sequence[str] = ()
) -> bool:
    """Return whether a new wording adds no figure: all stand in what is known.

    So does what a right sum gives that it shows itself. The words at fault are gone, or stand
    among others where passages have them: "10,000", which are "more than 10,000".
    """
    words = without_markers(fix)
    if fix.strip() == LEAVES_OUT:
        return statement.kind not in NAMING
    if not words or words == statement.plain or drops_more(words, statement.plain, spans):
        return False
    known = chain.from_iterable(passage.figures for passage in passages)
    have = [*figures(statement.said), *known, *right_results(words)]
    stated = (figure for figure in figures(words) if states(figure))
    if any(not any(says(other, one) for other in have) for one in stated):
        return False
    return not any(
        not _sides(span, words).isdisjoint(_sides(span, statement.plain))
        if _has_words(span, passages)
        else without_marks(fold(span)) in without_marks(fold(words))
        for span in spans
    )


def _has_words(span: str, passages: Sequence[Passage]) -> bool:
    """Return whether passages have some words, or their figures where they are nothing else."""
    if own := only_figures(span):
        return all(any(says(it, one) for p in passages for it in p.figures) for one in own)
    return any(span_in(span, passage.text) for passage in passages)


def _sides(span: str, text: str) -> set[tuple[str, str]]:
    """Return by which letters some words stand each time: two are not the same by chance."""
    parts = without_marks(fold(text)).split(without_marks(fold(span)) or span)
    return {(before[-_BESIDE:], behind[:_BESIDE]) for before, behind in pairwise(parts)}
