"""Take a judge's ruling only as far as code can show it: prove quotes, figures and sums."""

import re
from calendar import day_name
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from agent.core.patterns import Linear
from agent.core.strings import letters_of, split_at
from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.citing import MOST_BEHIND, cite_of, sources_named
from agent.evidence.claims.judging import Ruling, without_citation_numbers
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome
from agent.evidence.claims.own_record import otherwise, plan_has
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.statements import NAMING, Statement, must_stand, states
from agent.evidence.claims.sums import (
    MOST_FIGURES,
    Lent,
    computed,
    rewritten,
    right_results,
    says,
    stands,
    worked_by,
    wrong_sums,
)
from agent.evidence.days import date_beside, days_without_year, real_day, weekdays_in
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import fold, without_marks

_MOST_SOUND, _LONG_SPAN = 400, 8


def proved(
    statements: Sequence[Statement],
    rulings: Mapping[int, Ruling],
    evidence: Evidence,
) -> list[Outcome]:
    """Return each statement's outcome by its ruling; sums may use what is borne out elsewhere."""
    outcomes = [Outcome("unchecked")] * len(statements)
    own = (statements[at] for at, ruling in rulings.items() if _letter(ruling) == "o")
    shown = (f for one in statements for f in right_results(one.plain))
    known = Lent(
        distinct(f for one in own for f in figures(one.said)[:MOST_FIGURES])[:_MOST_SOUND],
        worked_by((ruling.calc for ruling in rulings.values()), evidence),
        distinct(shown)[:_MOST_SOUND],
    )
    for _ in range(2):
        for place, statement in enumerate(statements):
            if outcomes[place].verdict != "unchecked" or place not in rulings:
                continue
            outcomes[place] = outcome = _proved(statement, rulings[place], evidence, known)
            if outcome.verdict in ("supported", "computed"):
                told = figures(statement.said)[:MOST_FIGURES]
                known.sound = distinct([*known.sound, *told])[:_MOST_SOUND]
    by_record = (
        _by_record(statement, evidence, _of_plan(statement, rulings.get(place))) or outcome
        if outcome.verdict == "unchecked"
        else _with_own_record(statement, outcome, evidence)
        for place, (statement, outcome) in enumerate(zip(statements, outcomes, strict=True))
    )
    outcomes = [
        _with_exact(statement, outcome, evidence, known)
        for statement, outcome in zip(statements, by_record, strict=True)
    ]
    return _with_sources(statements, outcomes, evidence)


def _of_plan(statement: Statement, ruling: Ruling | None) -> list[Figure]:
    """Return the times and days of a statement that its judge takes for a plan's own."""
    own = ruling.own if ruling else []
    words = [span for said in own if (span := span_in(said, statement.plain))]
    return [
        figure
        for figure in (figures(statement.plain) if words else ())
        if (figure.date or figure.clock is not None or figure.kind == "second")
        and any(figure.text in span for span in words)
    ]


def _by_record(statement: Statement, evidence: Evidence, own: Container[Figure]) -> Outcome | None:
    """Return a contradiction by the record of the one place that a statement cites."""
    if not (found := otherwise(statement, evidence, own)):
        return None
    passage = next(p for p in evidence.passages if p.source in statement.cited)
    spans = tuple(figure.text for figure, _, _ in found)
    right = tuple((figure.text, figure_there) for figure, _, figure_there in found if figure_there)
    return Outcome("contradicted", spans, (passage,), found[0][1], right=right)


def _with_exact(statement: Statement, outcome: Outcome, evidence: Evidence, lent: Lent) -> Outcome:
    """Return an outcome with what shown sums and weekdays should be that are told wrongly."""
    sums = wrong_sums(statement.plain, evidence, lent)
    pairs = [(told.text, better) for told, _, better in sums]
    pairs += _wrong_days(statement.plain, evidence)
    right = tuple(pair for pair in pairs if pair[1])
    if outcome.fails:
        accused = (pair for pair in right if any(pair[0] in span for span in outcome.spans)
                   and pair not in outcome.right)  # fmt: skip
        return replace(outcome, right=(*outcome.right, *accused))
    value, spans = str(sums[0][1]) if sums else "", tuple(one for one, _ in pairs)
    again = Outcome("missing", spans, outcome.passages, value=value, right=right)
    return again if pairs else outcome


def _with_own_record(statement: Statement, outcome: Outcome, evidence: Evidence) -> Outcome:
    """Return an outcome with what the record of a cited place has for the accused figures."""
    if not outcome.fails or outcome.right:
        return outcome
    right = {
        figure.text: better
        for figure, _, better in otherwise(statement, evidence)
        if better and any(figure.text in span for span in outcome.spans)
    }
    told, there = figures(statement.plain), figures(outcome.quote)
    if (
        statement.kind == "cell"
        and len(told) == len(there) == 1
        and not told[0].kind
        and (there[0].is_money or not there[0].kind)
    ):
        # A bare number of a cell is what the quote says.
        better = "" if says(there[0], told[0]) else rewritten(told[0], there[0].amount)
        right |= {told[0].text: better} if better else {}
    return replace(outcome, right=tuple(right.items()))


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
    known: Lent,
) -> Outcome:
    named = (evidence.by_name.get(name.strip("[] ")) for name in ruling.p)
    passages = tuple(passage for passage in named if passage)
    letter = _letter(ruling)
    if letter == "o":
        return Outcome("own")
    if letter == "c":
        return computed(statement, ruling.calc, passages, evidence, known)
    if letter == "s":
        return _supported(statement, ruling, passages, evidence, known.sound)
    spans = tuple(span for words in ruling.bad if (span := span_in(words, statement.plain)))
    if not spans and any(span_in(words, statement.row) for words in ruling.bad):
        # A row's head has no ruling of its own: a cell is wrong of it.
        spans = (statement.plain,)
    fix = ruling.fix if is_sound_fix(ruling.fix, statement, passages, spans) else ""
    if spans and letter in ("p", "n", "x") and all(plan_has(s, evidence, statement) for s in spans):
        # What else the statement says, the judge has found; the hours of a place are none of these.
        if letter == "x":
            return Outcome("unchecked", passages=passages)
        return _supported(statement, ruling, passages, evidence, known.sound)
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
            or _is_right_day(span, statement.plain, evidence)))  # fmt: skip
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
    ruling: Ruling,
    passages: tuple[Passage, ...],
    evidence: Evidence,
    sound: Sequence[Figure],
) -> Outcome:
    """Return a statement as supported where its figures stand, with the sources that bear it.

    Without a passage named, one that it cites and that has its words stands for that; what neither
    cites nor names any is its writer's own.
    """
    if not passages:
        held = evidence.holding(statement.plain)
        passages = tuple(p for p in held if p.source in (KNOWN, *statement.sources))[:1]
    known = [*(f for p in passages for f in p.figures), *evidence.question_figures, *sound]
    stated = distinct(figures(statement.plain))[:MOST_FIGURES]
    own = _of_plan(statement, ruling)
    unproved = tuple(
        figure.text
        for figure in stated
        if must_stand(figure, statement.plain)
        and not (figure in own or stands(figure, known, evidence))
    )
    if unproved:
        return Outcome("unchecked", passages=passages, unproved=unproved)
    if not passages:
        return Outcome("unchecked" if statement.cited else "own")
    return Outcome("supported", passages=passages, cite=cite_of(statement, passages, evidence))


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


_LONGER = 40


def is_sound_fix(
    fix: str, statement: Statement, passages: Sequence[Passage], spans: Sequence[str] = ()
) -> bool:
    """Return whether a new wording adds nothing: its figures and names stand in what is known.

    So does what a right sum gives that it shows itself; the words at fault are gone.
    """
    words = without_citation_numbers(fix)
    if fix.strip() == LEAVES_OUT:
        return statement.kind not in NAMING
    if not words or words == statement.plain:
        return False
    allowed = " ".join([statement.said, *(passage.text for passage in passages)])
    have = [*figures(allowed), *right_results(words)]
    stated = (figure for figure in figures(words) if states(figure, words))
    if any(not any(says(other, one) for other in have) for one in stated):
        return False
    bare = without_marks(fold(words))
    if any(without_marks(fold(span)) in bare for span in spans):
        return False
    folded = fold(allowed)
    strange = (name for name in names_in(words) if name not in folded)
    return len(words) <= 2 * len(statement.plain) + _LONGER and not any(strange)


_WORD = r"\p{Lu}[\p{Latin}\p{Cyrillic}\p{Greek}\d'’-]+"
_NAME = Linear(rf"{_WORD}(?: {_WORD})+")
"""Two words in capitals: one alone is any noun in German, or a day of the week."""
_QUOTED = Linear(r'"([^"\n]{2,40})"|《([^》\n]{2,40})》|「([^」\n]{2,40})」')
"""In folded text, where the marks of all languages are one."""


def names_in(text: str) -> list[str]:
    """Return the names in a text that can be told by their letters, folded; none that begins it."""
    named = (n for n in _NAME.finditer(text) if text[: n.start()].rstrip()[-1:] not in ("", *".!?"))
    quoted = (next(filter(None, each.groups())) for each in _QUOTED.finditer(fold(text)))
    return [*(fold(name[0]) for name in named), *quoted]


_EACH = ("每", "逢", "very ")
_HAN = "一二三四五六日"


def _wrong_days(text: str, evidence: Evidence) -> list[tuple[str, str]]:
    """Return the days that are told with a wrong weekday, and how they should read.

    Empty where no source has the day: then that may be the wrong one; or where several years may be
    meant.
    """
    return [
        (words, rights[0] if len(rights) == 1 and evidence.has(day) else "")
        for words, rights, day in _told_days(text, evidence)
        if words not in rights and ((day.date or (0,))[0] or not evidence.quotes(words))
    ]


def _is_right_day(span: str, text: str, evidence: Evidence) -> bool:
    """Return whether words of a text are of a day that sources have, with its right weekday."""
    return any(
        span in words and words in rights and evidence.has(day)
        for words, rights, day in _told_days(text, evidence)
    )


def _told_days(text: str, evidence: Evidence) -> Iterator[tuple[str, list[str], Figure]]:
    """Yield dates with the weekday beside them, as they are told and as they should be.

    One without a year is right if it is so in a year that may be meant.
    """
    dates = [figure for figure in figures(text) if figure.date and all(figure.date[1:])]
    for begin, end, number in weekdays_in(text) if dates else ():
        figure = date_beside(text, begin, end, dates)
        if figure and not text[:begin].endswith(_EACH):
            named, rights = text[begin:end], list[str]()
            first, last = min(begin, figure.start), max(end, figure.end)
            for right in _weekdays(figure, evidence):
                name = day_name[right - 1] if named.isascii() else named[:-1] + _HAN[right - 1]
                told = named if right == number else name
                rights.append(text[first:begin] + told + text[end:last])
            if rights:
                yield text[first:last], rights, figure


def _weekdays(figure: Figure, evidence: Evidence) -> list[int]:
    """Return the weekdays that a date may be: of its year, else of each that may be meant.

    These are the years that sources tell it with, which may be other ones, and that which is
    nearest to today, or two where that is far.
    """
    year, month, day = figure.date or (None, None, None)
    now, years = evidence.day, {year} if year else evidence.years.get((month, day), set[int]())
    found = [one for each in years if (one := real_day(each, month, day))]
    if now and not year:
        found += days_without_year(month or 0, day or 0, now)
    return list(dict.fromkeys(each.isoweekday() for each in sorted(found)))
