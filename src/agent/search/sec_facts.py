"""Read figures of a company from its filings: an XBRL concept, newest year and quarter.

A filing repeats the values of earlier years under its own fiscal year. So a value's year is that
of the filing which was the first to state it, and its value that of the last.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

from agent.search.documents import FiledFigure
from agent.search.hits import fields, object_rows, plain_line

US_GAAP: Mapping[str, str] = {
    "Revenues": "Revenues",
    "RevenueFromContractWithCustomerExcludingAssessedTax": "Revenues from customers",
    "NetIncomeLoss": "Net income (loss)",
    "ResearchAndDevelopmentExpense": "Research and development expense",
    "NetCashProvidedByUsedInOperatingActivities": "Net cash from operating activities",
    "Assets": "Total assets",
    "StockholdersEquity": "Stockholders' equity",
}
IFRS: Mapping[str, str] = {
    "Revenue": "Revenue",
    "ProfitLoss": "Profit (loss)",
    "Assets": "Total assets",
    "Equity": "Equity",
}
"""What companies report that file 20-F by the international standards."""
_ANNUAL = ("10-K", "20-F", "40-F")
_QUARTERLY = ("10-Q",)
_YEAR = range(350, 381)
_QUARTER = range(80, 101)
_YEARS_SHOWN = 2
_OUTDATED = 400


class _Value(NamedTuple):
    """Hold one value of a filing; `start` is None for a value at a date."""

    end: str
    start: str | None
    val: int | float
    unit: str
    year: int
    part: str
    form: str
    filed: str
    adsh: str

    @property
    def span(self) -> tuple[str, str | None, str]:
        return self.end, self.start, self.unit


def read_figures(name: str, reply: Mapping[str, Any], cik: int) -> list[FiledFigure]:
    """Return the last two reported years and the latest quarter after them."""
    values = [value for value in _values(reply) if _is_reported_span(value)]
    reported: dict[str, str] = {}
    for value in values:
        reported[value.adsh] = max(value.end, reported.get(value.adsh, ""))
    annual = _latest(v for v in values if v.form.removesuffix("/A") in _ANNUAL)[:_YEARS_SHOWN]
    quarters = _latest(v for v in values if v.form.removesuffix("/A") in _QUARTERLY)[:1]
    newest = annual[0][1].end if annual else ""
    pairs = [*(pair for pair in quarters if pair[1].end > newest), *annual]
    return [
        # A year that only a later filing tells is not named by that filing's year.
        _figure(name, first, last, cik, own=first.end == reported[first.adsh])
        for first, last in pairs
    ]


def still_reported(concepts: Iterable[list[FiledFigure]]) -> list[FiledFigure]:
    """Return the figures of the concepts that a company still reports.

    Those whose newest figure is over a year older than the newest of all are left out.
    """
    reported = [figures for figures in concepts if figures]
    newest = max((_end(figures[0]) for figures in reported), default=date.min)
    return [
        figure
        for figures in reported
        if (newest - _end(figures[0])).days <= _OUTDATED
        for figure in figures
    ]


def as_text(figures: Iterable[FiledFigure]) -> str:
    """Format figures as lines: `Revenues: 1000000 USD (FY2025 to 2025-12-31, 10-K)`."""
    return "\n".join(f"{f['name']}: {f['value']} {f['unit']} ({f['period']})" for f in figures)


def filing_url(cik: int, adsh: str, document: str = "") -> str:
    """Return the address of a filing, or of a document of it."""
    folder = f"https://www.sec.gov/Archives/edgar/data/{cik}/{adsh.replace('-', '')}"
    return f"{folder}/{document or adsh + '-index.htm'}"


def _values(reply: Mapping[str, Any]) -> list[_Value]:
    values = []
    for unit, listed in fields(reply.get("units")).items():
        for row in object_rows(listed):
            value, year = row.get("val"), row.get("fy")
            texts = [row.get(name) for name in ("end", "form", "filed", "accn")]
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not isinstance(year, int) or not all(map(_is_text, texts)):
                continue
            end, form, filed, adsh = map(str, texts)
            start = row.get("start") if _is_text(row.get("start")) else None
            part = plain_line(row.get("fp"), 4)
            values.append(
                _Value(end, start, value, plain_line(unit, 20), year, part, form, filed, adsh)
            )
    return values


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 30


def _is_reported_span(value: _Value) -> bool:
    """Return whether the span is the year or quarter of the form, not months since January."""
    try:
        end = date.fromisoformat(value.end)
        days = (end - date.fromisoformat(value.start)).days + 1 if value.start else None
    except ValueError:
        return False
    allowed = _QUARTER if value.form.removesuffix("/A") in _QUARTERLY else _YEAR
    return bool(value.unit) and (days is None or days in allowed)


def _latest(values: Iterable[_Value]) -> list[tuple[_Value, _Value]]:
    """Return by span, newest first, the value first filed and the one last filed."""
    spans: dict[tuple[str, str | None, str], list[_Value]] = {}
    for value in values:
        spans.setdefault(value.span, []).append(value)
    pairs = []
    for listed in spans.values():
        listed.sort(key=lambda value: value.filed)
        pairs.append((listed[0], listed[-1]))
    return sorted(pairs, key=lambda pair: pair[0].end, reverse=True)


def _end(figure: FiledFigure) -> date:
    return date.fromisoformat(figure["period"].partition(" to ")[2][:10])


def _figure(name: str, first: _Value, last: _Value, cik: int, *, own: bool) -> FiledFigure:
    quarterly = first.part.startswith("Q")
    period = f"{first.year}{first.part}" if quarterly else f"FY{first.year}"
    if not own:
        period = "quarter" if quarterly else "year"
    return FiledFigure(
        name=name,
        value=str(last.val),
        unit=last.unit,
        period=f"{period} to {first.end}, {last.form}",
        url=filing_url(cik, last.adsh),
    )
