"""Add up the columns of a text's tables: a writer puts a sign where a total stands, code its sum.

So a total is right by construction, the same wherever it is told, and stays so when what it adds up
changes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from agent.evidence.citations import MARKER
from agent.evidence.figures import Figure, figures
from agent.evidence.formulas import worked
from agent.evidence.number_forms import NumberForm
from agent.evidence.references import CITATION
from agent.evidence.shown_sums import shown_sums
from agent.evidence.tables import CellRow, Change, signs_in, tables_in
from agent.evidence.units import MONEY

TOTAL = "[=]"
"""Stands for the sum of what is above it in its column; elsewhere for that of the only one."""
_DASHES, _TWO, _BEFORE = "-–—~～", 2, 24


@dataclass(frozen=True)
class Total:
    """A total that was told: its row's label, its column's head, and its words."""

    label: str
    head: str
    told: str
    retold: Sequence[tuple[str, str]] = ()
    """Where sentences tell it: what stands before it there, and its words."""


def plain_signs(text: str, form: NumberForm) -> list[Change]:
    """Return what makes every sign `[=]`; one with a sum in it, `[=3*40]`, gives its value."""
    changes = list[Change]()
    for start, end, inside in signs_in(text, TOTAL[:-1]):
        sum_ = worked(inside) if inside else None
        told = form.written(f"{sum_.value.normalize():f}", text) if sum_ else TOTAL
        if told != text[start:end]:
            changes.append((start, end, told))
    return changes


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
    # Of several columns a sentence may mean any.
    last = totals[-1].told if len({total.head for total in totals}) == 1 else ""
    in_tables, retold = {start for start, _, _ in changes}, list[tuple[str, str]]()
    at = text.find(TOTAL)
    while at >= 0:
        if at not in in_tables:
            changes.append(_without_twice(text, at, last))
            if told := changes[-1][2]:
                retold.append((text[max(0, at - _BEFORE) : at].rpartition(TOTAL)[2], told))
        at = text.find(TOTAL, at + 1)
    if totals:
        totals[-1] = replace(totals[-1], retold=retold)
    return sorted(changes), totals


def opened(text: str, totals: Iterable[Total]) -> list[Change]:
    """Return what makes signs of the totals again that a revised text no longer adds up to.

    And of their values where sentences told them by the sign, and still do in the same words.
    """
    changes, by_head = dict[int, Change](), dict[str, list[Total]]()
    for total in totals:
        by_head.setdefault(total.head, []).append(total)
    for rows in tables_in(text):
        for column, head in enumerate(rows[0]):
            own = by_head.get(head.text, []) if column else []
            labels = {total.label for total in own}
            signs = [n for n, row in enumerate(rows) if n and column < len(row)
                     and row[0].text in labels]  # fmt: skip
            if not signs or _are_right(rows, column, signs):
                continue
            for cell in (rows[at][column] for at in signs):
                if told := figures(_uncited(cell.text)):
                    begin, end = cell.start + told[0].start, cell.start + told[-1].end
                    changes[begin] = (begin, end, TOTAL)
            for before, words in (each for total in own for each in total.retold):
                at = text.find(before + words) + len(before) if before.strip() else -1
                if at >= len(before) and not text[at + len(words) :][:1].isdigit():
                    changes.setdefault(at, (at, at + len(words), TOTAL))
    return sorted(changes.values())


def _are_right(rows: Sequence[CellRow], column: int, signs: Sequence[int]) -> bool:
    """Return whether the totals in these rows add up; one without a figure is left as it is."""
    for at, sums in _parts(rows, column, signs):
        cell = rows[at][column].text
        told = figures(_uncited(cell))
        if told and sums and TOTAL not in cell and not _adds_up(told, sums):
            return False
    return True


def _summed(rows: Sequence[CellRow], column: int) -> Iterator[tuple[int, list["_Amount"]]]:
    """Yield the rows of a column's signs with what each adds up."""
    signs = [n for n, row in enumerate(rows) if len(row) > column and TOTAL in row[column].text]
    return _parts(rows, column, signs)


def _parts(
    rows: Sequence[CellRow], column: int, signs: Sequence[int]
) -> Iterator[tuple[int, list["_Amount"]]]:
    """Yield the rows of totals with what each adds up: since the last one, the last of them all."""
    for before, at in pairwise([0, *signs]):
        begin = 0 if at == signs[-1] else before
        between = (rows[n] for n in range(begin + 1, at) if n not in signs)
        yield at, _amounts(between, column)


def _amounts(rows: Iterable[CellRow], column: int) -> list["_Amount"]:
    """Return the amounts of a column; none where one of them cannot be read.

    Nor where they are not all in one unit.
    """
    cells = (_uncited(row[column].text).strip("* ") for row in rows if len(row) > column)
    read = [(cell, _amount(cell)) for cell in cells if TOTAL not in cell]
    if any(amount is None and cell[:1].isdigit() for cell, amount in read):
        return []
    found = [amount for _, amount in read if amount]
    return found if len({amount.kind for amount in found} - {("", Decimal(1))}) < _TWO else []


def _uncited(cell: str) -> str:
    """Return a cell with blanks for its citations."""
    for pattern in (CITATION, MARKER):
        cell = pattern.sub(lambda match: " " * len(match[0]), cell)
    return cell


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
    """Return what a cell comes to: its result, its product, its range, its one number.

    A number in no unit behind words is none: free under 18.
    """
    text = cell.rpartition("=")[2].replace("*", "")
    read, product = figures(text), next(shown_sums(f"{text} = 1"), None)
    sums = [each for each in read if each.is_money and not each.per]
    if not sums and not any(map(str.isalpha, text[: read[0].start if read else 0])):
        sums = read[: len(read) == 1 or product is not None]
    if not sums or sums[0].kind is None or sums[0].date or sums[0].clock is not None:
        return None
    low = high = sums[0]
    if len(sums) > 1 and text[low.end : sums[1].start].strip() in tuple(_DASHES):
        high = sums[1]
    kind = (high.kind or "", high.scale)
    if product:
        # With the decimals of its terms: 2 × 3.30 is 6.60.
        value = sum((each.value * 0 for each in read), product.sum.value)
        return _Amount(value, value, kind, high.text)
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
