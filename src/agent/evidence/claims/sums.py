"""Prove the sums that a judge names."""

from collections.abc import Iterable, Sequence

from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, distinct, figures
from agent.evidence.formulas import (
    Worked,
    assumed_in,
    formulas_of,
    values_of,
    worked,
)
from agent.evidence.shown_sums import is_term, may_be_result, only_compares, shown_sums, tells
from agent.evidence.stated import says, states

MOST_FIGURES = 40
"""Of one statement."""


def stands(figure: Figure, known: Iterable[Figure], evidence: Evidence) -> bool:
    """Return whether a figure is known or stands in any passage."""
    # What passages say is indexed, and mostly looked up already to show them.
    return evidence.has(figure) or any(says(other, figure) for other in known)


def computed(
    statement: Statement,
    calc: str,
    passages: tuple[Passage, ...],
    evidence: Evidence,
    lent: Sequence[Figure],
) -> Outcome | None:
    """Return a statement as computed where the terms of its sums are known and it tells what they
    give.

    It is missing only where as many figures as the sums' results, or one alone, that are neither
    terms nor known stand in their place. None where the sums only compare what it tells: then its
    passages decide.
    """
    text, own = statement.plain, distinct(figures(statement.plain))[:MOST_FIGURES]
    given = [*(f for p in passages for f in p.figures), *evidence.told, *lent]
    have = values_of(given) | assumed_in(calc)
    # A horizon is the writer's own: over 15 years.
    have |= {figure.value for figure in own if figure.kind in ("year", "month")}
    have |= {value / 2 for value in have}
    unchecked, sums = Outcome("unchecked", passages=passages), list[Worked]()
    named, shown = [worked(formula) for formula in formulas_of(calc)], [*shown_sums(text)]
    for one in (*named, *(each.sum for each in shown if each.is_right)):
        if one and all(evidence.has_term(term, have) for term in one.terms):
            sums.append(one)
            have.add(one.value)
    if not any(one.is_sum for one in sums if one in named):
        return unchecked
    numbers = {number for one in sums for number in one.terms}
    untold = [
        one for one in sums if one.value not in numbers & values_of(own) and not _tells(own, one)
    ]
    wrong = [each.told.text for each in shown if not each.is_right]
    explained = {part for one in sums for part in (*one.parts, one.value)}
    strange = [
        figure
        for figure in own
        if not is_term(figure, sums)
        and states(figure)
        and not any(tells(figure, value) for value in explained)
        and (figure.text in wrong or not stands(figure, given, evidence))
    ]
    is_told = any(one.is_sum and one not in untold for one in sums if one in named)
    if not (untold and (strange or not is_told)):
        # A sum more than the text tells takes nothing from those that it does.
        done = Outcome("computed", passages=passages, results=tuple(explained))
        return unchecked if strange else done
    like = [figure for figure in own if bool(figure.date) == bool(untold[0].day)
            and (figure.clock is None or untold[0].clocks)]  # fmt: skip
    strays = any(states(figure) and not is_term(figure, sums) for figure in like)
    if passages and not strays and all(only_compares(one, own) for one in untold):
        return None
    fitting = [figure for figure in strange if figure in like]
    if None in named or len(fitting) not in (1, len(untold)):
        return unchecked
    spans, value = tuple(figure.text for figure in fitting), "; ".join(map(str, untold))
    return Outcome("missing", spans, passages=passages, value=value)


def _tells(own: Sequence[Figure], one: Worked) -> bool:
    value, may_be = one.value, (figure for figure in own if may_be_result(figure, one))
    return any(tells(f, value) and (f.value == value or states(f)) for f in may_be)
