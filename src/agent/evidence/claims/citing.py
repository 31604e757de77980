"""Decide which sources a statement is to cite."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import NAMING, Statement
from agent.evidence.figures import figures, same

MOST_BEHIND = 2
"""Sources up to which code adds to those behind a statement: a judge names first what decides."""


def cite_of(
    statement: Statement, passages: Iterable[Passage], evidence: Evidence
) -> tuple[str, ...] | None:
    """Return what a statement that is borne out is to cite where its judge names other sources.

    What it cites is kept where any of it is named, too: to that comes only what has a figure of it
    that is lacking. What nothing cited bears cites what does.
    """
    cited, named = statement.cited, sources_named(passages, evidence)
    if not statement.citations or NOT_FOUND in statement.exact:
        # Behind what was not found another source would seem to say so.
        return None
    added = [name for name in named if name not in cited][:MOST_BEHIND]
    lacking = [name for name in added if _has_more(name, cited, statement, evidence)]
    if not {*cited}.isdisjoint(named):
        # Advice that a page bears is no more so by the record of the place that it names.
        told = (*cited, *lacking[: max(0, MOST_BEHIND - len(cited))])
        return told if told != cited else None
    # A judge that loses count names another source than the one it read.
    own = tuple(name for name in cited if _has_more(name, named, statement, evidence))
    if not added or (own and not lacking):
        return None
    return (*own, *added[: max(1, MOST_BEHIND - len(own))])


def _has_more(name: str, others: Sequence[str], statement: Statement, evidence: Evidence) -> bool:
    """Return whether a source has a figure of a statement that the others lack."""
    theirs = [f for p in evidence.passages if p.source == name for f in p.figures]
    given = [f for p in evidence.passages if p.source in others for f in p.figures]
    return any(
        figure.telling
        and any(same(figure, other) for other in theirs)
        and not any(same(figure, other) for other in given)
        for figure in figures(statement.said)
    )


def with_sources(
    statements: Sequence[Statement], outcomes: Sequence[Outcome], evidence: Evidence
) -> list[Outcome]:
    """Return the outcomes; what is borne out is to cite its sources where its block cites none.

    What rests on more than two that stand elsewhere sums them up, and needs no pile of marks; none
    says what was not found.
    """
    blocks, found = {one.block for one in statements if one.citations}, list[Outcome]()
    shown = {name for one in statements for name in one.cited}
    for one, outcome in zip(statements, outcomes, strict=True):
        names = sources_named(outcome.passages, evidence)
        sums_up = len(names) > MOST_BEHIND and shown.issuperset(names)
        is_bare = one.block not in blocks and one.kind not in NAMING and NOT_FOUND not in one.exact
        if outcome.verdict == "supported" and is_bare and not sums_up:
            outcome = replace(outcome, cite=names[:MOST_BEHIND] or None)
        found.append(outcome)
    return found


def sources_named(passages: Iterable[Passage], evidence: Evidence) -> tuple[str, ...]:
    """Return the sources of passages, each once: what the reader said is none."""
    return tuple(dict.fromkeys(p.source for p in passages if p.source in evidence.records))
