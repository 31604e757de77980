"""Add up the columns of a text's tables: a writer puts a sign where a total stands, code its sum.

So a total is right by construction, the same wherever it is told, and stays so when what it adds up
changes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from agent.evidence.figures import Figure, figures
from agent.evidence.number_forms import NumberForm
from agent.evidence.shown_sums import as_it_stands, shown_sums
from agent.evidence.tables import CellRow, Change, tables_in
from agent.evidence.units import MONEY

TOTAL = "[=]"
"""Stands for the sum of what is above it in its column; elsewhere for that of the last column."""
_DASHES, _TWO = "-–—~～", 2


@dataclass(frozen=True)
class Total:
    """A total that was told: its row's label, its column's head, and its words."""

    label: str
    head: str
    told: str


def filled(text: str, form: NumberForm) -> tuple[list[Change], list[Total]]:
    """Return what stands in the place of each sign, and the totals of the tables.

    A sign that nothing can be added up for goes, in a table for a dash.
    """
    if TOTAL not in text:
        return [], []
    changes, totals = list[Change](), list[Total]()
    for rows in tables_in(text):
        for column in range(1, len(rows[0])):
            for at, amounts in _summed(rows, column):
                told = _written(amounts, form, text)
                cell = rows[at][column]
                begin = cell.start + cell.text.index(TOTAL)
                changes.append(_without_twice(text, begin, told or "–"))
                if told:
                    totals.append(Total(rows[at][0].text, rows[0][column].text, told))
    done, last = {start for start, _, _ in changes}, totals[-1].told if totals else ""
    at = text.find(TOTAL)
    while at >= 0:
        if not any(start <= at < end for start, end, _ in changes) and at not in done:
            changes.append(_without_twice(text, at, last))
        at = text.find(TOTAL, at + 1)
    return sorted(changes), totals


def opened(text: str, totals: Iterable[Total]) -> list[Change]:
    """Return what makes signs of the totals again that a revised text no longer adds up to.

    And of their values wherever the text tells them.
    """
    changes = dict[int, Change]()
    for total in totals:
        for rows in tables_in(text):
            heads = [cell.text for cell in rows[0]]
            column = heads.index(total.head) if total.head in heads else 0
            at = next((n for n, row in enumerate(rows) if row[0].text == total.label), 0)
            if not (column and at) or column >= len(rows[at]):
                continue
            cell, sums = rows[at][column], _amounts(rows[1:at], column)
            told = figures(cell.text)
            if not (told and sums) or TOTAL in cell.text or _adds_up(told, sums):
                continue
            begin, end = cell.start + told[0].start, cell.start + told[-1].end
            changes[begin] = (begin, end, TOTAL)
            for match in as_it_stands(total.told).finditer(text):
                changes.setdefault(match.start(), (*match.span(), TOTAL))
    return sorted(changes.values())


def _summed(rows: Sequence[CellRow], column: int) -> Iterator[tuple[int, list["_Amount"]]]:
    """Yield the rows of a column's totals with what each adds up: since the last one, else all."""
    signs = [n for n, row in enumerate(rows) if len(row) > column and TOTAL in row[column].text]
    for before, at in pairwise([0, *signs]):
        begin = 0 if at == signs[-1] else before
        yield at, _amounts(rows[begin + 1 : at], column)


def _amounts(rows: Iterable[CellRow], column: int) -> list["_Amount"]:
    """Return the amounts of a column; none where they are not all in one unit."""
    cells = (row[column].text for row in rows if len(row) > column)
    found = [amount for cell in cells if TOTAL not in cell and (amount := _amount(cell))]
    return found if len({amount.kind for amount in found} - {("", Decimal(1))}) < _TWO else []


@dataclass(frozen=True)
class _Amount:
    low: Decimal
    high: Decimal
    kind: tuple[str, Decimal]
    text: str

    @property
    def places(self) -> int:
        return max(0, -int(max(self.low, self.high, key=_places).as_tuple().exponent))


def _amount(cell: str) -> _Amount | None:
    """Return what a cell comes to: its result, its product, its range, its one number."""
    text = cell.rpartition("=")[2].replace("*", "")
    read = figures(text)
    sums = [each for each in read if each.is_money and not each.per] or read[: len(read) == 1]
    if not sums or sums[0].kind is None or sums[0].date or sums[0].clock is not None:
        return None
    low = high = sums[0]
    if len(sums) > 1 and text[low.end : sums[1].start].strip() in tuple(_DASHES):
        high = sums[1]
    kind = (high.kind or "", high.scale)
    if product := next(shown_sums(f"{text} = 1"), None):
        return _Amount(product.sum.value, product.sum.value, kind, high.text)
    return _Amount(low.value, high.value, kind, high.text)


def _places(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


def _adds_up(told: Sequence[Figure], amounts: Sequence[_Amount]) -> bool:
    low, high = (sum(getattr(each, end) for each in amounts) for end in ("low", "high"))
    return (told[0].value, told[-1].value) == (low, high)


def _written(amounts: Sequence[_Amount], form: NumberForm, text: str) -> str:
    """Return the sum as its terms are written; empty without any."""
    if not amounts:
        return ""
    places = max(amount.places for amount in amounts)
    places += places == 1 and any(amount.kind[0] in MONEY for amount in amounts)
    ends = (sum(getattr(each, end) for each in amounts) for end in ("low", "high"))
    told = dict.fromkeys(form.written(f"{end:.{places}f}", text) for end in ends)
    unit = next((each.text for each in amounts if each.kind[0]), amounts[0].text)
    digits = [at for at, char in enumerate(unit) if char.isdigit()]
    before, behind = (unit[: digits[0]], unit[digits[-1] + 1 :]) if digits else ("", "")
    return f"{before}{'–'.join(told)}{behind}"


def _without_twice(text: str, at: int, told: str) -> Change:
    """Return what stands in a sign's place, without a unit that the writer has put beside it."""
    digits = [n for n, char in enumerate(told) if char.isdigit()]
    end = at + len(TOTAL)
    before, behind = (told[: digits[0]], told[digits[-1] + 1 :]) if digits else ("", "")
    beside = text[end : end + len(behind) + 1].lstrip()
    if behind.strip() and beside.startswith(behind.strip()):
        told = told.removesuffix(behind)
    if before.strip() and text[:at].rstrip().endswith(before.strip()):
        told = told.removeprefix(before)
    return at, end, told
