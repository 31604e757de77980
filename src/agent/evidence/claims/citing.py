"""Decide which sources a statement is to cite."""

from collections.abc import Container, Iterable, Sequence

from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import figures, same

MOST_BEHIND = 2
"""Sources up to which code adds to those behind a statement: a judge names first what decides."""


def cite_of(
    statement: Statement, passages: Iterable[Passage], evidence: Evidence
) -> tuple[str, ...] | None:
    """Return what a statement is to cite where the judge names passages of other sources.

    What it cites is kept where that bears a part of it, and where a map's record or a calculation
    is named for a page that has what is told, or what is worked out.
    """
    named = sources_named(passages, evidence)
    if not statement.citations or not named or set(named) <= set(statement.cited):
        return None
    added = [name for name in named if name not in statement.cited][:MOST_BEHIND]
    keep = statement.cited
    is_borne = not set(named).isdisjoint(keep)
    if is_borne and len(named) > MOST_BEHIND:
        # What sums up many is told by each where it stands: any one of them would be a chance.
        return None
    if not is_borne:
        keep = tuple(name for name in keep if _lends(name, statement, added, evidence))
    # What nothing cited bears cites one that does.
    room = max(not is_borne, MOST_BEHIND - _behind(statement, keep))
    return (*keep, *added[:room]) if room else None


def _behind(statement: Statement, keep: Container[str]) -> int:
    """Return how many of the citations stand at the end of a statement, side by side."""
    count, begins = 0, None
    for citation in reversed(statement.citations):
        if begins not in (None, citation.end):
            break
        count += any(name in keep for name in citation.ids)
        begins = citation.start
    return count


def _lends(name: str, statement: Statement, others: Sequence[str], evidence: Evidence) -> bool:
    """Return whether a page has a figure that records tell, or any source one of a calculation."""
    is_worked_out = all(other.startswith(_CALCULATION) for other in others)
    is_record = all(other.startswith((_CALCULATION, _RECORD)) for other in others)
    if not is_worked_out and (not is_record or name.startswith(_RECORD)):
        return False
    told = " ".join(p.text for p in evidence.passages if is_worked_out and p.source in others)
    wanted = [f for f in figures(f"{statement.said} {told}") if f.telling]
    there = [f for p in evidence.passages if p.source == name for f in p.figures]
    return any(same(one, other) for one in wanted for other in there)


_CALCULATION, _RECORD = "c", "a"
"""What the ids begin with of what a program worked out, and of what a map has."""


def sources_named(passages: Iterable[Passage], evidence: Evidence) -> tuple[str, ...]:
    """Return the sources of passages, each once: what the reader said is none."""
    return tuple(dict.fromkeys(p.source for p in passages if p.source in evidence.records))
