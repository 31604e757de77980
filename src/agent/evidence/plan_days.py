"""Which times and days of a text are those of its own plan: no source needs to have them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from agent.core.strings import latin_length, letters_of
from agent.evidence.claims.statements import Statement
from agent.evidence.days import nearest_days
from agent.evidence.figures import Figure, figures, same
from agent.evidence.quotes import span_in
from agent.evidence.stated import says

_LEAD = 12
"""Letters before the day that a step begins with: its weekday, "on", "Day 3", "Cut over on"."""


def set_by_plan(statement: Statement, copied: Iterable[str]) -> list[Figure]:
    """Return the times and days of a statement that its judge `copied` as a plan's own."""
    words = [span for said in copied if (span := span_in(said, statement.plain))]
    return [
        figure
        for figure in figures(statement.plain)
        if (figure.date or figure.clock is not None or figure.kind == "second")
        and any(figure.text in span for span in words)
    ]


@dataclass(frozen=True)
class PlanDays:
    """The days that a text plans with, from `today` on, and the lines of its steps."""

    today: date | None
    days: Sequence[Figure]
    lines: frozenset[int]

    def own(
        self, statement: Statement, copied: Sequence[str], given: Iterable[Figure]
    ) -> list[Figure]:
        """Return the days of a statement that are its plan's.

        Those are all that lie ahead in a step, and where its judge `copied` any; elsewhere those of
        the plan. None is where what bears the statement out has `given` a day ahead that it does
        not tell: that may be the one that is meant.
        """
        ahead = [figure for figure in figures(statement.plain) if _is_ahead(figure, self.today)]
        if not ahead or any(
            _is_ahead(other, self.today) and not any(same(one, other) for one in ahead)
            for other in given
        ):
            return []
        if copied or statement.line in self.lines:
            return ahead
        return [one for one in ahead if any(says(day, one) for day in self.days)]


def plan_days(
    statements: Sequence[Statement], copied: Mapping[int, Sequence[str]], today: date | None
) -> PlanDays:
    """Return the days of a text's plan: those that steps begin with, and that its judge copied.

    A step is an item, a row or what begins in bold letters, and begins with a day.
    """
    first = [(one.line, day) for one in statements for day in _first_day(one, today)]
    told = (f for at, own in copied.items() for f in set_by_plan(statements[at], own))
    days = [*(day for _, day in first), *(f for f in told if _is_ahead(f, today))]
    return PlanDays(today, days, frozenset(line for line, _ in first))


def _first_day(statement: Statement, today: date | None) -> list[Figure]:
    is_step = statement.kind in ("item", "cell") or statement.text.startswith("**")
    text = (statement.row or statement.plain) if is_step else ""
    day = next((figure for figure in figures(text) if figure.date), None)
    is_first = day and latin_length(letters_of(text[: day.start])) <= _LEAD
    return [day] if day and is_first and _is_ahead(day, today) else []


def _is_ahead(figure: Figure, today: date | None) -> bool:
    """Return whether a figure is a day from today on; without a year the nearest one counts."""
    if not (today and figure.date and all(figure.date[1:])):
        return False
    return any(day >= today for day in nearest_days(figure.date, today))
