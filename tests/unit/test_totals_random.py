"""Totals of made-up trips: right, in one currency, no more than what can be read, no word lost."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent.evidence.number_forms import ENGLISH_NUMBERS
from agent.evidence.tables import changed, tables_in
from agent.evidence.totals import Total, filled, opened

pytestmark = pytest.mark.slow

CURRENCIES: dict[str, tuple[str, ...]] = {
    "euro": ("{} €", "€{}", "{} EUR", "{} euros"),
    "yuan": ("{} 元", "¥{}", "{}元"),
    "dollar": ("${}", "{} USD"),
    "": ("{}",),
}
SIGNS = {"euro": ("€", "EUR", "euros"), "yuan": ("元", "¥"), "dollar": ("$", "USD"), "": ()}
FREE = ("free", "免费", "–", "", "included", "not found")
UNREAD = ("ca. 30", "2 tickets", "CHF 20", "see page 7", "free under 18", "50 (deposit 20)")
CITATIONS = ("", "", " [3]", " [12](https://a.example/7)", "[^w101-2]")


@dataclass(frozen=True)
class Cell:
    """What a cell says, and what it comes to."""

    text: str
    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)
    kind: str | None = None
    """None where nothing can be read."""
    is_sure: bool = True


def number(value: Decimal) -> str:
    return f"{value:,}"


VALUES = st.one_of(
    st.integers(1, 1850).map(Decimal),
    st.integers(2, 40_000).map(lambda cents: Decimal(cents * 5) / 100).map(
        lambda value: value.quantize(Decimal("0.01"))
    ),
)  # fmt: skip


def price(style: str, *values: Decimal) -> str:
    return style.format("–".join(map(number, values)))


@st.composite
def amounts(draw: st.DrawFn, kind: str) -> Cell:
    """An amount that can be read for certain, however it is written."""
    style, value = draw(st.sampled_from(CURRENCIES[kind])), draw(VALUES)
    high, people = value + draw(VALUES), draw(st.integers(2, 9))
    one, more = price(style, value), price(style, value, high)
    told, low_, high_ = draw(st.sampled_from([
        (one, value, value),
        (f"**{one}**", value, value),
        (more, value, high),
        (more.replace("–", " to "), value, high),
        (f"{people} × {one}", value * people, value * people),
        (f"{one} × {people}", value * people, value * people),
        (f"{one} × {people} (adults)", value * people, value * people),
        (f"{people} × {more}", value * people, high * people),
        (f"{one} × {people} = {price(style, value * people)}", value * people, value * people),
        (f"{people} × {more} = {price(style, value * people, high * people)}",
         value * people, high * people),
        (f"{price(style, value * people)} ({people} × {one})", value * people, value * people),
        (f"{one} + {price(style, high)}", value + high, value + high),
        *([(f"{one} per person × {people}", value * people, value * people),
           (f"{one}/person × {people}", value * people, value * people)] if kind else []),
    ]))  # fmt: skip
    return Cell(told, low_, high_, kind)


@st.composite
def unsure(draw: st.DrawFn, kind: str) -> Cell:
    """An amount that may be more than what is read of it."""
    style, value = draw(st.sampled_from(CURRENCIES[kind])), draw(VALUES)
    other = value + draw(VALUES)
    told = draw(st.sampled_from([
        f"adults {price(style, other)}, children {price(style, value)}",
        f"{price(style, value)} (2 nights)",
        f"3 courses {price(style, value)}",
    ]))  # fmt: skip
    return Cell(told, value, value, kind, is_sure=False)


def cells(kind: str) -> st.SearchStrategy[Cell]:
    words = st.sampled_from(FREE).map(Cell)
    unread = st.sampled_from(UNREAD).map(lambda text: Cell(text, is_sure=False))
    sure = amounts(kind)
    return st.one_of(sure, sure, sure, words, *([unsure(kind), unread] if kind else [words]))


@dataclass(frozen=True)
class Column:
    """A column of a trip's costs, and what its writer says of its total."""

    cells: list[Cell]
    own: str
    sign: str

    @property
    def read(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.kind is not None]

    @property
    def kinds(self) -> set[str]:
        return {cell.kind for cell in self.read if cell.kind}

    def told(self) -> tuple[str, Decimal, Decimal] | None:
        """What code may say: exactly or at least, and the ends; None where it may say no sum."""
        in_all = self.kinds | ({"euro"} if "€" in self.own else set())
        if not self.read or len(in_all) > 1:
            return None
        low = sum((cell.low for cell in self.read), Decimal(0))
        high = sum((cell.high for cell in self.read), Decimal(0))
        if all(cell.is_sure for cell in self.cells):
            return "", low, high
        return ("≥ ", low, low) if not self.own else None


@st.composite
def columns(draw: st.DrawFn, rows: int) -> Column:
    kind, other = (
        draw(st.sampled_from(sorted(CURRENCIES))),
        draw(st.sampled_from(["euro", "dollar"])),
    )
    own = draw(
        st.sampled_from(["", "", "999999", "999999 €" if kind in ("euro", "") else "999999"])
    )
    mixed = draw(st.integers(0, 5)) == 0
    drawn = [draw(cells(other if mixed and draw(st.booleans()) else kind)) for _ in range(rows)]
    cited = [
        Cell(f"{each.text}{draw(st.sampled_from(CITATIONS))}", each.low, each.high, each.kind,
             each.is_sure)
        for each in drawn
    ]  # fmt: skip
    return Column(cited, own, draw(st.sampled_from(["[={}]", "**[={}]**", "[={}] [4]"])))


TRIPS = st.integers(1, 7).flatmap(lambda rows: st.lists(columns(rows), min_size=1, max_size=3))


def table(trip: list[Column]) -> str:
    heads = "".join(f" Plan {n} |" for n, _ in enumerate(trip))
    lines = [f"| What |{heads}", "|---|" + "---|" * len(trip)]
    for n, row in enumerate(zip(*(column.cells for column in trip), strict=True)):
        lines.append(f"| Thing {chr(65 + n)} |" + "".join(f" {cell.text} |" for cell in row))
    signs = "".join(f" {column.sign.format(column.own)} |" for column in trip)
    return "\n".join(["A trip.", "", *lines, f"| All |{signs}", "", "The end.\n"])


def shown(text: str) -> list[str]:
    """The totals of a text's table."""
    [rows] = tables_in(text)
    return [cell.text.removesuffix(" [4]").strip("*") for cell in rows[-1][1:]]


def ends(told: str) -> tuple[Decimal, Decimal]:
    digits = "".join(char for char in told if char.isdigit() or char in ".–").strip(".–")
    low, _, high = digits.partition("–")
    return Decimal(low), Decimal(high or low)


def check(trip: list[Column], totals: list[str], said: Callable[[Column], str]) -> None:
    for column, told in zip(trip, totals, strict=True):
        expected = column.told()
        if expected is None:
            assert told == (said(column) or "–")
            continue
        least, low, high = expected
        assert told.startswith("≥ ") == bool(least)
        assert ends(told.removeprefix("≥ ")) == (low, high)
        strangers = [sign for kind, signs in SIGNS.items() if kind not in column.kinds
                     for sign in signs]  # fmt: skip
        if column.kinds:
            assert not any(sign in told for sign in strangers)


def fill(text: str) -> tuple[str, list[Total]]:
    changes, totals = filled(text, ENGLISH_NUMBERS)
    return changed(text, changes), totals


@settings(max_examples=100, deadline=None)
@given(TRIPS)
def test_a_sum_is_right_in_one_currency_or_is_not_told(trip: list[Column]) -> None:
    text = table(trip)
    done, totals = fill(text)
    check(trip, shown(done), lambda column: column.own)
    assert done.splitlines()[:-3] == text.splitlines()[:-3], "no word of a cell is lost"
    assert done.endswith("\n\nThe end.\n")
    assert "[=" not in done
    assert opened(done, totals) == []


@settings(max_examples=100, deadline=None)
@given(TRIPS, st.data())
def test_a_sum_is_right_after_any_cell_has_changed(trip: list[Column], data: st.DataObject) -> None:
    done, totals = fill(table(trip))
    at = data.draw(st.integers(0, len(trip) - 1))
    row = data.draw(st.integers(0, len(trip[at].cells) - 1))
    kind = next(iter(trip[at].kinds), "euro")
    old = Column([*trip[at].cells], trip[at].own, trip[at].sign)
    new = data.draw(amounts(kind))
    later = [*trip]
    later[at] = Column([*old.cells[:row], new, *old.cells[row + 1 :]], old.own, old.sign)
    assume(later[at].told() is not None)
    lines, changed_lines = table(later).splitlines(), done.splitlines()
    changed_lines[4 + row] = lines[4 + row]
    revised = "\n".join([*changed_lines, ""])
    again = changed(revised, opened(revised, totals))
    again = changed(again, filled(again, ENGLISH_NUMBERS, totals)[0])
    check([later[at]], [shown(again)[at]], lambda column: column.own)


@dataclass(frozen=True)
class Row:
    """A row that costs something: its operands, its total or the sign of it, and what it is."""

    operands: str
    total: str
    low: int
    high: int


def euros(low: int, high: int) -> str:
    return f"{low}–{high} €" if low < high else f"{low} €"


@st.composite
def costs(draw: st.DrawFn) -> Row:
    count, low, more = (draw(st.integers(1, most)) for most in (5, 60, 6))
    high = low + draw(st.sampled_from([0, 0, more]))
    right, off = (
        euros(count * low, count * high),
        euros(10 * low * count // 9, 10 * high * count // 9),
    )
    # Without operands a sign has its writer's right figure.
    words, totals = draw(st.sampled_from([
        (f"{count} × {euros(low, high)}", [right, f"[={right}]", f"[={off}]", "[=]"]),
        (draw(st.sampled_from(["", "24/7", "day ticket"])), [right, f"[={right}]"]),
    ]))  # fmt: skip
    return Row(words, draw(st.sampled_from(totals)), count * low, count * high)


@settings(max_examples=100, deadline=None)
@given(st.lists(costs(), min_size=2, max_size=7))
def test_a_row_s_sign_is_its_own_total_and_the_last_that_of_them_all(trip: list[Row]) -> None:
    in_all = euros(sum(row.low for row in trip), sum(row.high for row in trip))
    lines = [f"| Thing {n} | {row.operands} | {row.total} |" for n, row in enumerate(trip)]
    text = "\n".join(
        ["| What | How many | € |", "|---|---|---|", *lines, f"| All | | [={in_all}] |\n"]
    )
    done, totals = fill(text)
    [rows] = tables_in(done)
    told = [cells[-1].text for cells in rows[1:]]
    assert told == [*(euros(row.low, row.high) for row in trip), in_all]
    assert opened(done, totals) == []
