"""Take a judge's ruling only as far as code can show it: prove quotes, figures and sums."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product

from agent.core.strings import letters_of, split_at
from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.citing import MOST_BEHIND, cite_of, cite_of_its_place, sources_named
from agent.evidence.claims.formulas import (
    assumed_in,
    clocks_in,
    day_of,
    forms_of,
    gives,
    is_plain,
    is_sum,
    is_term,
    minutes_between,
    one_step,
    parts_of,
    rewritten,
    right_result,
    tells,
    terms_of,
    told_value,
    values_of,
)
from agent.evidence.claims.judging import Ruling, without_citation_numbers
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome, WrongFigure
from agent.evidence.claims.own_record import otherwise, plan_has, plan_times, right_figures
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.shown_sums import (
    Chain,
    KnownFigures,
    invented_term,
    is_certain,
    is_right_day,
    is_told,
    named_sums,
    results_in,
    right_results,
    shown_results,
    sums_set_right,
    told_as_results,
    values_of_rulings,
    wrong_days,
)
from agent.evidence.claims.statements import NAMING, Key, Statement, must_stand, states
from agent.evidence.claims.totals import outdated_totals, wrong_totals
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import fold
from agent.evidence.mentions import mentioned

_MOST_FIGURES, _MOST_SOUND, _LONG_SPAN = 40, 400, 8


def proved(
    statements: Sequence[Statement],
    rulings: Mapping[int, Ruling],
    evidence: Evidence,
    wrong: Sequence[WrongFigure] = (),
    *,
    among: Sequence[Statement] = (),
    sound: Sequence[Figure] = (),
) -> list[Outcome]:
    """Return each statement's outcome by its ruling; sums may use what is borne out elsewhere.

    The sums of `among` are known, too, and the figures of `sound`; `wrong` is so everywhere.
    """
    outcomes = [Outcome("unchecked")] * len(statements)
    own = (statements[at] for at, ruling in rulings.items() if _letter(ruling) == "o")
    known = KnownFigures(
        distinct(f for one in own for f in figures(one.said)[:_MOST_FIGURES])[:_MOST_SOUND],
        shown_results([*statements, *among]),
        values_of_rulings(rulings.values(), evidence),
        sound,
    )
    for _ in range(2):
        for place, statement in enumerate(statements):
            if outcomes[place].verdict != "unchecked" or place not in rulings:
                continue
            outcomes[place] = outcome = _proved(statement, rulings[place], evidence, known)
            if outcome.verdict in ("supported", "computed"):
                told = figures(statement.said)[:_MOST_FIGURES]
                known.sound = distinct([*known.sound, *told])[:_MOST_SOUND]
    by_record = (
        _by_record(statement, evidence) or outcome
        if outcome.verdict == "unchecked"
        else _with_own_record(statement, outcome, evidence)
        for statement, outcome in zip(statements, outcomes, strict=True)
    )
    chain = Chain(values_of(known.shown), totals=wrong_totals(among or statements))
    outcomes = [
        _with_shown_sums(statement, outcome, evidence, chain)
        for statement, outcome in zip(statements, by_record, strict=True)
    ]
    wrong = [*wrong, *wrong_figures(outcomes, evidence)]
    return _with_sources(statements, repeating(statements, outcomes, evidence, wrong), evidence)


_NOT_PROVED = ("own", "unchecked")
_LEAST_DIGITS = 3


def wrong_figures(outcomes: Iterable[Outcome], evidence: Evidence) -> list[WrongFigure]:
    """Return the figures that are no results of their sums, nor what a place's record has."""
    found = list[WrongFigure]()
    for one in outcomes:
        right = dict(one.right)
        if one.value and one.fails:
            stated = [figure for span in one.spans for figure in figures(span)]
            found += [
                WrongFigure(figure.text, right.get(figure.text, ""))
                for figure in stated
                if sum(map(str.isdigit, figure.text)) >= (2 if figure.is_money else _LEAST_DIGITS)
                and not evidence.has(figure)
            ]
        elif one.fails:
            sources = frozenset(passage.source for passage in one.passages)
            found += [WrongFigure(text, better, sources) for text, better in right.items()]
    return found


def repeating(
    statements: Sequence[Statement],
    outcomes: Sequence[Outcome],
    evidence: Evidence,
    wrong: Sequence[WrongFigure],
) -> list[Outcome]:
    """Return the outcomes; what nobody has borne out fails where it tells a wrong figure again."""
    return [
        _repeating(statement, evidence, wrong) or outcome
        if wrong and outcome.verdict in _NOT_PROVED
        else outcome
        for statement, outcome in zip(statements, outcomes, strict=True)
    ]


def _repeating(
    statement: Statement, evidence: Evidence, wrong: Iterable[WrongFigure]
) -> Outcome | None:
    stated = figures(statement.plain)
    for one in wrong:
        told = figures(one.text)
        again = [f for f in stated if f.text == one.text or (told and _is_again(f, told[0]))]
        if again and (not one.sources or _is_about(statement, again[0], one.sources, evidence)):
            [figure, *_], right = again, one.right
            if right and figure.text != one.text:
                right = rewritten(figure, figures(right)[0].value)
            # A term of a sum is not changed without what that gives.
            pairs = ((figure.text, right),) if right and "=" not in statement.plain else ()
            passages = tuple(p for p in evidence.passages if p.source in one.sources)
            return Outcome("missing", (figure.text,), passages[:1], right=pairs * len(again))
    return None


def _is_again(figure: Figure, other: Figure) -> bool:
    """Return whether a figure is another one in other words: 64.00 € and 64 euros."""
    is_number = not (figure.date or other.date) and figure.clock is None is other.clock
    return is_number and bool(figure.kind) and _meaning(figure) == _meaning(other)


def _meaning(figure: Figure) -> tuple[object, ...]:
    return figure.kind, figure.scale, figure.value


def _is_about(
    statement: Statement, figure: Figure, sources: frozenset[str], evidence: Evidence
) -> bool:
    """Return whether a statement tells a figure of what some sources are about, not by another."""
    places = [evidence.records[name].place for name in sources if name in evidence.records]
    names = mentioned([place for place in places if place], statement.said)
    told = (KNOWN, *statement.cited)
    others = [f for p in evidence.passages if p.source in told for f in p.figures]
    is_of_it = bool(names) or bool(sources & set(statement.cited))
    return is_of_it and not any(same(figure, other) for other in others)


def _by_record(statement: Statement, evidence: Evidence) -> Outcome | None:
    """Return a contradiction by the record of the one place that a statement cites."""
    if not (found := otherwise(statement, evidence)):
        return None
    passage = next(p for p in evidence.passages if p.source in statement.cited)
    spans = tuple(figure.text for figure, _, _ in found)
    right = tuple((figure.text, figure_there) for figure, _, figure_there in found if figure_there)
    return Outcome("contradicted", spans, (passage,), found[0][1], right=right)


def _with_shown_sums(
    statement: Statement, outcome: Outcome, evidence: Evidence, chain: Chain
) -> Outcome:
    """Return an outcome with what shown sums and weekdays should be that are told wrongly."""
    sums = sums_set_right(statement.plain, evidence, chain)
    total = None if outcome.verdict == "computed" else chain.totals.get(statement.start)
    if total and not evidence.has(total[0]) and (told := rewritten(*total)):
        sums.append((total[0].text, told, total[1]))
    pairs = [(wrong, better) for wrong, better, _ in sums]
    pairs += wrong_days(statement.plain, evidence)
    right = tuple(pair for pair in pairs if pair[1])
    if outcome.fails:
        accused = (pair for pair in right if any(pair[0] in span for span in outcome.spans)
                   and pair not in outcome.right)  # fmt: skip
        return replace(outcome, right=(*outcome.right, *accused))
    value, spans = f"{sums[0][2].normalize():,f}" if sums else "", tuple(one for one, _ in pairs)
    again = Outcome("missing", spans, outcome.passages, value=value, right=right)
    return again if pairs else outcome


def of_outdated_totals(
    before: Iterable[Statement], after: Iterable[Statement]
) -> dict[Key, Outcome]:
    """Return the outcomes of totals whose rows a revision has changed, but not them."""
    found = dict[Key, Outcome]()
    for key, (told, whole) in outdated_totals(before, after).items():
        right = tuple((told.text, better) for better in [rewritten(told, whole)] if better)
        value = f"{whole.normalize():,f}"
        found[key] = Outcome("missing", (told.text,), value=value, right=right)
    return found


def _with_own_record(statement: Statement, outcome: Outcome, evidence: Evidence) -> Outcome:
    """Return an outcome with what the record of a cited place has for the accused figures."""
    if not outcome.fails or outcome.right:
        return outcome
    named = [passage.source for passage in outcome.passages if passage.source in statement.cited]
    if (place := evidence.only_place(named or statement.cited)) is None:
        return outcome
    right = right_figures(outcome.spans, statement, place, outcome.quote, evidence.clock)
    return replace(outcome, right=tuple(dict(right).items()))


def _with_sources(
    statements: Sequence[Statement], outcomes: Sequence[Outcome], evidence: Evidence
) -> list[Outcome]:
    """Return the outcomes; what is borne out is to cite its sources where its block cites none.

    What rests on more than two that stand elsewhere sums them up, and needs no pile of marks; none
    says what was not found.
    """
    cited, found = {one.block for one in statements if one.citations}, list[Outcome]()
    shown = {name for one in statements for name in one.cited}
    for one, outcome in zip(statements, outcomes, strict=True):
        if one.kind == "heading":
            outcome = replace(outcome, cite=None)
        elif outcome.verdict == "supported" and one.kind != "cell" and one.block not in cited:
            names = sources_named(outcome.passages, evidence)
            sums_up = len(names) > MOST_BEHIND and shown.issuperset(names)
            if sums_up or NOT_FOUND in one.exact:
                names = ()
            outcome = replace(outcome, cite=names[:MOST_BEHIND] or None)
        found.append(outcome)
    return found


def _letter(ruling: Ruling) -> str:
    return ruling.v.strip().lower()[:1]


def _proved(
    statement: Statement,
    ruling: Ruling,
    evidence: Evidence,
    known: KnownFigures,
) -> Outcome:
    named = (evidence.by_name.get(name.strip("[] ")) for name in ruling.p)
    passages = tuple(passage for passage in named if passage)
    letter = _letter(ruling)
    if letter == "o":
        return Outcome("own")
    if letter == "c":
        summed = _computed(statement, ruling, passages, evidence, known)
        assumed = assumed_in(ruling.calc)
        if invented := invented_term(statement, passages, evidence, known, assumed):
            # What was shown to be no result is accused beside it, with what the sum gives.
            also = summed if summed.value else Outcome("missing", passages=passages)
            return replace(also, spans=tuple(dict.fromkeys((invented, *also.spans))))
        return summed
    if letter == "s":
        return _supported(statement, passages, evidence, known.sound)
    spans = tuple(span for words in ruling.bad if (span := span_in(words, statement.plain)))
    if not spans and any(span_in(words, statement.row) for words in ruling.bad):
        # A row's head has no ruling of its own: a cell is wrong of it.
        spans = (statement.plain,)
    fix = ruling.fix if is_sound_fix(ruling.fix, statement, passages) else ""
    if spans and letter in ("p", "n", "x") and all(plan_has(s, evidence, statement) for s in spans):
        # What else the statement says, the judge has found; the hours of a place are none of these.
        if letter == "x":
            return Outcome("unchecked", passages=passages)
        return _supported(statement, passages, evidence, known.sound)
    if letter == "x" and spans and (told := _contradicted(ruling, spans, passages, fix)):
        return told
    if letter == "n" and not spans:
        spans = (statement.plain,)
    if letter not in ("p", "n", "x") or not spans:
        return Outcome("unchecked")
    # Whose word it is may be wrong though the name stands on the page that is cited for it.
    is_anothers = bool(fix) and not {p.source for p in passages} <= {*statement.cited}
    # A hedge is dropped where the words stand and the passage's others do not.
    if not any(span_in(ruling.says, passage.text) for passage in passages):
        spans = tuple(span for span in spans if (is_anothers and not span_in(span, fix)) or not (
            _is_borne(span, statement, evidence) or known.gives(span)
            or is_right_day(span, statement.plain, evidence)))  # fmt: skip
    cite = cite_of(statement, passages, evidence) if letter == "p" else None
    return Outcome("missing" if spans else "unchecked", spans, passages, cite=cite, fix=fix)


def _is_borne(span: str, statement: Statement, evidence: Evidence) -> bool:
    """Return whether some words stand as they are in what their statement cites, or was told."""
    long = sum(3 if char >= "\u3000" else 1 for char in span) >= _LONG_SPAN
    held = evidence.holding(span) if long else []
    told = (KNOWN, *statement.cited)
    if any(p.source in told and span_in(span, p.text) for p in held):
        return True
    return plan_has(span, evidence)


def _supported(
    statement: Statement,
    passages: tuple[Passage, ...],
    evidence: Evidence,
    sound: Sequence[Figure],
) -> Outcome:
    """Return a statement as supported where its figures stand, with the sources that bear it."""
    known = [*(f for p in passages for f in p.figures), *evidence.question_figures, *sound]
    stated = distinct(figures(statement.plain))[:_MOST_FIGURES]
    own = plan_times(statement, evidence)
    unproved = tuple(
        figure.text
        for figure in stated
        if must_stand(figure, statement.plain)
        and not (figure in own or _stands(figure, known, evidence))
    )
    if unproved:
        cite = cite_of_its_place(statement, passages, evidence)
        return Outcome("unchecked", passages=passages, cite=cite, unproved=unproved)
    return Outcome("supported", passages=passages, cite=cite_of(statement, passages, evidence))


def _stands(figure: Figure, known: Iterable[Figure], evidence: Evidence) -> bool:
    """Return whether a figure is known or stands in any passage."""
    return any(_says(other, figure) for other in known) or evidence.has(figure)


_HOURS, _HOUR = 24, 60


def _says(other: Figure, figure: Figure) -> bool:
    """Return whether one figure says another.

    A word may tell the sign of a share or of money, and that a number is an hour.
    """
    if figure.kind == other.kind and (figure.kind == "percent" or figure.is_money):
        return same(figure, other) or abs(figure.amount) == abs(other.amount)
    is_hour = not figure.kind and figure.clock is None and figure.value <= _HOURS
    return same(figure, other) or (is_hour and figure.value % _HOURS * _HOUR in other.clocks)


def _contradicted(
    ruling: Ruling, spans: tuple[str, ...], passages: tuple[Passage, ...], fix: str
) -> Outcome | None:
    """Return ‡ where a passage has the words that say otherwise; none where none has."""
    # A judge puts together what a passage says in two places.
    told = [
        ruling.says,
        *filter(None, map(str.strip, split_at(ruling.says.replace("...", "…"), ";；…"))),
    ]
    for words, passage in product(told, passages):
        if quote := span_in(words, passage.text):
            if all(_agrees(span, quote) for span in spans):
                return Outcome("unchecked", passages=passages)
            return Outcome("contradicted", spans, (passage,), quote, fix=fix)
    return None


def span_in(words: str, text: str) -> str:
    """Return the words as they stand in a text, whatever their width, case and script; or none."""
    words = words.strip().strip("….。 ")
    if not words:
        return ""
    folded, wanted = fold(text), fold(words)
    at = folded.find(wanted)
    if at >= 0 and len(folded) == len(text):
        return text[at : at + len(wanted)]
    return words if _bare(words) and _bare(words) in _bare(text) else ""


def _bare(text: str) -> str:
    return _NO_WORD.sub("", fold(text))


_NO_WORD = re.compile(r"[^\w.%-]|(?<!\d)\.|\.(?!\d)")


def _agrees(span: str, quote: str) -> bool:
    """Return whether a quote says what the span says: the same words, or its figures alone."""
    if _bare(span) == _bare(quote):
        return True
    own, others = figures(span), figures(quote)
    rest = span
    for figure in own:
        rest = rest.replace(figure.text, "")
    only_figures = bool(own) and not letters_of(rest)
    # Behind 9.2 mmHg stands a word that is no unit: 9.2 % is something else.
    return only_figures and all(
        any(same(one, other) and not (one.kind and other.kind is None) for other in others)
        for one in own
    )


_WORD = r"[A-Z](?:(?![\u3000-\uffff])[\w'’-])+"
_NAME = re.compile(rf"(?<![.!?]\s)(?<!^)\b{_WORD}(?:\ {_WORD})+|[“\"《「][^”\"》」]{{2,40}}")
"""Two words in capitals: one alone is any noun in German, or a day of the week."""
_LONGER = 40


def names_in(text: str) -> list[str]:
    """Return the names in a text that can be told by their letters, folded."""
    return [fold(name).strip('“"《「') for name in _NAME.findall(text)]


def is_sound_fix(
    fix: str, statement: Statement, passages: Sequence[Passage], worked_out: str = ""
) -> bool:
    """Return whether a new wording adds nothing: its figures and names stand in what is known.

    So does the value that a sum gives, one that it shows itself, too.
    """
    words = without_citation_numbers(fix)
    if fix.strip() == LEAVES_OUT:
        return statement.kind not in NAMING
    if not words or words == statement.plain:
        return False
    allowed = " ".join([statement.said, *(passage.text for passage in passages)])
    have = [*figures(f"{allowed} {worked_out}"), *right_results(words)]
    stated = (figure for figure in figures(words) if states(figure, words))
    if any(not any(_says(other, one) for other in have) for one in stated):
        return False
    folded = fold(allowed)
    strange = (name for name in names_in(words) if name not in folded)
    return len(words) <= 2 * len(statement.plain) + _LONGER and not any(strange)


def _computed(
    statement: Statement,
    ruling: Ruling,
    passages: tuple[Passage, ...],
    evidence: Evidence,
    known: KnownFigures,
) -> Outcome:
    """Return a sum as computed where its terms are known and its value is told.

    It is missing only where one figure alone, neither a term nor known, could be the result.
    """
    stand = [*(f for p in passages for f in p.figures), *evidence.question_figures, *known.sound]
    own = distinct(figures(statement.plain))[:_MOST_FIGURES]
    sums = named_sums(ruling.calc, stand, [*own, *figures(statement.said)], evidence)
    if not any(map(is_sum, sums.results)):
        return Outcome("unchecked", passages=passages)
    results, formulas = sums.results, [*sums.results]
    terms = [term for formula in formulas for term in terms_of(formula)]
    rest = told_as_results(own, formulas, statement.plain)
    tellers = told_as_results(own, formulas, statement.plain, small=True)
    unshown = [f for f in rest if any(tells(f, v, statement.plain) for v in sums.unshown)]
    rest = [figure for figure in rest if figure not in unshown]
    untold = {
        f"{formula} = {told_value(formula, result)}": result
        for formula, result in results.items()
        if not is_told(result, tellers, statement.plain)
        # What a sum gives may be told as a term of the next one.
        and not (result in terms and result in values_of(own))
        and not any(f.clock == result and is_term(f, [*results]) for f in own)
    }
    # Of a range, one end may be right; so may what a chain goes through.
    parts = [part for formula in formulas for part in parts_of(formula)]
    is_right = not rest or not untold
    rest = [f for f in rest if not any(tells(f, part, statement.plain) for part in parts)]
    others = [f for f in rest if not _stands(f, [*stand, *known.shown], evidence)]
    if is_right and not unshown and (sums.is_whole or not others):
        values = {*terms, *parts, *values_of(f for f in own if f not in others)}
        return _beside_a_right_sum(others, values, statement, passages, formulas)
    if is_right or not sums.is_whole:
        # A figure may be what a sum gives that cannot be read.
        return Outcome("unchecked", passages=passages)
    strange = _in_place_of_a_result(rest, statement, passages, evidence, known)
    if not strange:
        # The end of a chain stands behind its last "=", not at once.
        sums_end = max(map(statement.plain.rfind, "=＝≈"))
        strange = [figure for figure in others if figure.start > sums_end]
    if not strange and all(is_plain(n) or {*forms_of(n)} & values_of(own) for n in terms):
        # Whoever tells each term tells the result, too.
        strange = rest
    return _not_the_result(strange, untold, statement, [*stand, *own], passages)


def _not_the_result(
    strange: Sequence[Figure],
    untold: Mapping[str, Decimal],
    statement: Statement,
    told: Iterable[Figure],
    passages: tuple[Passage, ...],
) -> Outcome:
    """Return a sum as missing where one figure alone stands in its result's place.

    Of several sums as many may. What is right is told only where that is certain: `told` tells
    what the terms of a sum are.
    """
    is_day, known = all(day_of(one, result) for one, result in untold.items()), [*told]
    given = {gives(one, known) if clocks_in(one) else "length" for one in untold}
    strange = [f for f in strange if given == {"length" if f.clock is None else "time"}]
    if len(strange) not in (1, len(untold)) or any(
        is_day != bool(figure.date) for figure in strange
    ):
        return Outcome("unchecked", passages=passages)
    figure = strange[0]
    result, written = next(iter(untold.values())), "; ".join(untold)
    is_sure = len(untold) == 1 and is_certain(figure, result, statement.plain, written, known)
    right = right_result(figure, result, is_length=bool(clocks_in(written))) if is_sure else ""
    return Outcome("missing", tuple(one.text for one in strange), passages, value=written,
                   right=((figure.text, right),) if right else ())  # fmt: skip


def _beside_a_right_sum(
    own: Sequence[Figure],
    known: Iterable[Decimal],
    statement: Statement,
    passages: tuple[Passage, ...],
    formulas: Iterable[str],
) -> Outcome:
    """Return a sum as computed unless a figure that stands nowhere is no term and no part of it.

    `own` are those that are neither; one more step with the `known` numbers may give it. Beside a
    sum of times, a length is a reserve of the writer's: nothing is said of it.
    """
    shown = results_in(statement.plain)
    steps = one_step(known) | minutes_between(figures(statement.plain))
    strange = [
        figure
        for figure in own
        if figure.text not in shown
        and not (figure.date or figure.clock is not None)
        and must_stand(figure, statement.plain)
        and steps.isdisjoint(values_of([figure]))
    ]
    if not strange:
        return Outcome("computed", passages=passages)
    if any(map(clocks_in, formulas)) and all(figure.kind == "second" for figure in strange):
        return Outcome("unchecked", passages=passages)
    return Outcome("missing", tuple(figure.text for figure in strange), passages)


def _in_place_of_a_result(
    rest: Sequence[Figure],
    statement: Statement,
    passages: Iterable[Passage],
    evidence: Evidence,
    known: KnownFigures,
) -> list[Figure]:
    """Return the figures that can only be results: of those behind "=", where one is, else of all.

    What a source that decides has of the same thing is its own figure: 36 CPU there, not 36 GB.
    Elsewhere the number may stand for anything.
    """
    sources = {KNOWN, *statement.cited, *(passage.source for passage in passages)}
    near = [passage for passage in evidence.passages if passage.source in sources]
    lent = [*evidence.question_figures, *known.sound, *known.shown]
    results = results_in(statement.plain)
    return [
        figure
        for figure in rest
        if (figure.text in results or not results)
        and not any(_says(other, figure) for other in lent)
        and not any(_has_as_it_is(passage, figure, statement.plain) for passage in near)
    ]


_WORD_BEHIND = re.compile(r"\s?([^\W\d_]+)")


def _has_as_it_is(passage: Passage, figure: Figure, text: str) -> bool:
    """Return whether a passage has a figure in its unit, or before the same word."""
    word = _WORD_BEHIND.match(text, figure.end)
    for other in figures(passage.text):
        if _says(other, figure) and figure.kind in (other.kind, None, ""):
            behind = _WORD_BEHIND.match(passage.text, other.end)
            if figure.kind or not (word and behind) or fold(word[1]) == fold(behind[1]):
                return True
    return False
