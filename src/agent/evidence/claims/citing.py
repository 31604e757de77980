"""Decide which sources a statement is to cite."""

from collections.abc import Container, Iterable, Sequence

from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, figures, same
from agent.evidence.mentions import mentioned

MOST_BEHIND = 2
"""Sources up to which code adds to those behind a statement: a judge names first what decides."""


def cite_of(
    statement: Statement, passages: Iterable[Passage], evidence: Evidence
) -> tuple[str, ...] | None:
    """Return what a statement that is borne out is to cite where its judge names other sources.

    What it cites is kept where that is named, too, or has what is told, or what is worked out of
    it; to that comes only what has a figure of it that is lacking. What nothing cited bears cites
    what does.
    """
    named = sources_named(passages, evidence)
    if NOT_FOUND in statement.exact:
        # Behind what was not found another source would seem to say so.
        named = tuple(name for name in named if name in statement.cited)
    if not statement.citations or not named:
        return None
    others = _of_other_places(statement, named, evidence)
    keep = tuple(name for name in statement.cited if name not in others)
    added = [name for name in named if name not in statement.cited][:MOST_BEHIND]
    if not set(named).isdisjoint(keep):
        # Advice that a page bears is no more so by the record of the place that it names.
        lacking = [name for name in added if _has_figure(name, keep, statement, evidence)]
        told = (*keep, *lacking[: max(0, MOST_BEHIND - len(keep))])
        return told if told != statement.cited else None
    own = [name for name in keep if _has_more(name, named, statement, evidence)]
    if own and not any(_has_more(at, statement.cited, statement, evidence) for at in added):
        return None
    keep = tuple(name for name in keep if name in own or _lends(name, statement, added, evidence))
    return (*keep, *added[: max(1, MOST_BEHIND - len(keep))]) if added or others else None


def _of_other_places(
    statement: Statement, named: Sequence[str], evidence: Evidence
) -> frozenset[str]:
    """Return the map's records that a statement about other places cites.

    Only those that a judge does not name, and which have no figure of it that the others lack.
    """
    places = [place for name in named if (place := evidence.records[name].place)]
    if not (places and mentioned(places, statement.said)):
        return frozenset()
    return frozenset(
        name
        for name in statement.cited
        if name.startswith(_RECORD)
        and name in evidence.records
        and name not in named
        and not _has_more(name, named, statement, evidence)
    )


def _telling(statement: Statement) -> list[Figure]:
    return [figure for figure in figures(statement.said) if figure.telling]


def _has(found: Iterable[Figure], figure: Figure) -> bool:
    return any(same(figure, other) for other in found)


def _figures_of(names: Container[str], evidence: Evidence) -> list[Figure]:
    return [figure for p in evidence.passages if p.source in names for figure in p.figures]


def _lends(name: str, statement: Statement, others: Sequence[str], evidence: Evidence) -> bool:
    """Return whether a page has a figure that records tell, or any source one of a calculation."""
    is_worked_out = all(other.startswith(_CALCULATION) for other in others)
    is_record = all(other.startswith((_CALCULATION, _RECORD)) for other in others)
    if not is_worked_out and (not is_record or name.startswith(_RECORD)):
        return False
    told = " ".join(p.text for p in evidence.passages if is_worked_out and p.source in others)
    wanted = [f for f in figures(f"{statement.said} {told}") if f.telling]
    there = _figures_of([name], evidence)
    return any(_has(there, one) for one in wanted)


def _has_more(name: str, others: Sequence[str], statement: Statement, evidence: Evidence) -> bool:
    """Return whether a statement is about a source's place, or has a figure the others lack.

    A judge that loses count names another source than the one it read.
    """
    record = evidence.records.get(name)
    if record and record.place and mentioned([record.place], statement.said):
        return True
    return _has_figure(name, others, statement, evidence)


def _has_figure(name: str, others: Sequence[str], statement: Statement, evidence: Evidence) -> bool:
    """Return whether a source has a figure of a statement that others lack."""
    theirs, given = _figures_of([name], evidence), _figures_of(others, evidence)
    return any(_has(theirs, one) and not _has(given, one) for one in _telling(statement))


_CALCULATION, _RECORD = "c", "a"
"""What the ids begin with of what a program worked out, and of what a map has."""


def sources_named(passages: Iterable[Passage], evidence: Evidence) -> tuple[str, ...]:
    """Return the sources of passages, each once: what the reader said is none."""
    return tuple(dict.fromkeys(p.source for p in passages if p.source in evidence.records))
