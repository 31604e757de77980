"""Tell whether what a judge was not shown of a cited source may bear the words that it accuses."""

from collections.abc import Container, Iterable, Sequence

from agent.core.processor import breathe
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import figures, same
from agent.evidence.language import words
from agent.evidence.stated import states


def may_stand_unshown(
    spans: Iterable[str], statement: Statement, shown: Container[str], evidence: Evidence
) -> bool:
    """Return whether a passage that was not `shown` of what a statement cites may have some words.

    It has all their figures, or of words without figures most, and more than any that was shown.
    """
    cited = evidence.passages_of(statement.sources)
    seen = [passage for passage in cited if passage.name in shown]
    unseen = [passage for passage in cited if passage.name not in shown]
    return any(_shared(span, unseen) > max(_shared(span, seen), 0.5) for span in spans)


def _shared(span: str, passages: Sequence[Passage]) -> float:
    """Return how much of some words the best of the passages has: of figures all, or nothing."""
    told, own, best = [one for one in figures(span) if states(one)], words(span), 0.0
    for passage in passages:
        breathe()
        if told:
            has_all = all(any(same(one, other) for other in passage.figures) for one in told)
            best = max(best, float(has_all))
        elif own:
            best = max(best, len(own & passage.words) / len(own))
    return best
