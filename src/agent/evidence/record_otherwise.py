"""What the record of a place says otherwise than a statement about it: code knows it by itself."""

from collections.abc import Container, Iterator
from decimal import Decimal

from agent.core.strings import latin_length, letters_of, word_set
from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, figures, same
from agent.evidence.hours import yearly_hours
from agent.evidence.language import fold
from agent.evidence.mentions import mentioned, without_origins
from agent.evidence.stated import without_figures
from agent.evidence.types import Place

_BEST, _MOST_PEOPLE, _MOST_WORDS = 5, 20, 24
_TO, _A_HEAD = word_set("- – — ~ 至 到 to"), ("person", Decimal(1))


def record_otherwise(
    statement: Statement, evidence: Evidence, own: Container[Figure] = ()
) -> list[tuple[Figure, str]]:
    """Return the figures that the record of the one place that a statement cites has otherwise.

    Each comes with what the record's field says. This is the one thing that code knows without a
    judge. Which figure is meant is read from its unit alone, in few words about this place alone,
    beside what is a plan's `own`, so that only what can be nothing else is accused.
    """
    place = evidence.only_place(statement.cited)
    stated = [figure for figure in figures(statement.plain) if figure not in own]
    places = [record.place for record in evidence.records.values() if record.place]
    if place is None or mentioned(places, statement.said).keys() - {place["id"]}:
        return []
    rest = fold(without_figures(statement.said, stated)).replace(fold(place["name"]), " ")
    if latin_length(letters_of(rest)) > _MOST_WORDS:
        return []
    known = [*evidence.told, *evidence.figures_of(statement.cited)]
    return [
        each
        for each in _fields(stated, statement.plain, place)
        if any(map(str.isdigit, each[0].text))
        and not any(same(each[0], other) for other in (*figures(each[1]), *known))
    ]


def _fields(stated: list[Figure], text: str, place: Place) -> Iterator[tuple[Figure, str]]:
    """Yield the figures that a field of the record decides, and what it says."""
    cost, rating, metres = place["cost"], place["rating"], place["distance_m"]
    sums = [figure for figure in stated if figure.is_money]
    lengths = [figure for figure in stated if figure.kind == "metre"]
    hours = [figure for figure in stated if figure.clock is not None]
    counts = [figure for figure in stated if figure.kind in ("person", "second")]
    is_own = without_origins(text) == text
    for figure in stated:
        if [figure] == sums and cost and not counts and figure.per in (None, _A_HEAD):
            # Of several people it is as many times the price.
            times = figure.amount / Decimal(f"{cost:g}")
            if not (2 <= times <= _MOST_PEOPLE and times == int(times)):
                yield figure, f"¥{cost:g}"
        elif rating and not figure.kind and figure.value <= _BEST and figure.has_decimals:
            yield figure, f"{rating:g}"
        elif [figure] == lengths and figure.amount < (metres or 0) and not counts and is_own:
            # A way may be longer than the straight line, but not shorter.
            yield figure, f"{metres} m"
    if (
        len(hours) == 2
        and place["open_time"]
        and fold(text[hours[0].end : hours[1].start]).strip() in _TO
    ):
        begins, ends = (figure.clock or 0 for figure in hours)
        # A stretch of time within a place's hours may be that of a visit.
        opened = yearly_hours(place) or ()
        if not any(each.start <= begins < ends <= each.end for each in opened):
            yield from ((figure, place["open_time"]) for figure in hours)
