"""Add up a text's tables: a writer puts a sign where a total stands, code its sum.

That is of the row's own amounts, of the rows above since the last total, or of the whole column:
what gives the writer's own figure, else what the place of the sign says. So a total is right by
construction, the same wherever it is told, and stays so when what it adds up changes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from agent.core.strings import has_any, letters_of
from agent.evidence.figures import Figure, figures
from agent.evidence.formulas import worked
from agent.evidence.number_forms import NumberForm
from agent.evidence.references import behind_citations, uncited
from agent.evidence.shown_sums import EQUALS, shown_sums
from agent.evidence.tables import CellRow, Change, TableCell, changed, signs_in, tables_in
from agent.evidence.units import MONEY

TOTAL = "[=]"
"""Stands for the sum of its row's own amounts, or of what is above it in its column.

Elsewhere it stands for that of the only one. The writer's own figure in it, `[=57–71 €]`, is told
where no column has the sum, and where it is the sum its decimals are kept.
"""
_SIGN, _TWO, _BEFORE, _NEAR = TOTAL[:-1], 2, 24, Decimal("0.05")
_BESIDE, _NO_ENDS = 8, (Decimal(-1), Decimal(-1))
_LEAST = "≥ "
"""Before the sum of a column of which not each cell can be read for certain."""
_TIMES, _YEARS = "×✕x", range(1900, 2100)
_TELLING, _EQUAL, _SLIP = 4, Decimal("0.005"), Decimal("0.25")
"""Digits of a number that no other one has by chance; how far a rounded figure is from its sum, and
that of one who has added up a part wrong."""
By = Literal["row", "part", "all", "own"]
"""What a total adds up: its row's amounts, those since the last total, all, or nothing."""
_COUNTS = ("", "person")
_Sum = tuple[By, list["_Amount"]]
_Meaning = tuple[By, str, list["_Amount"]]


@dataclass(frozen=True)
class Total:
    """A total that was told: its row's label, its column's head, and its words."""

    label: str
    head: str
    told: str
    """Empty where nothing could be added up, and the writer told none."""
    own: str = ""
    """The writer's own figure."""
    ends: tuple[Decimal, Decimal] = _NO_ENDS
    """The sum, from its low end to its high one."""
    retold: Sequence[tuple[str, str]] = ()
    """Where sentences tell it: what stands before it there, and its words."""
    by: By = "all"
    is_agreed: bool = True
    """Whether it can be read for certain, and is no other than its writer's figure."""

    @property
    def place(self) -> tuple[str, str]:
        return self.label, self.head

    @property
    def is_summed(self) -> bool:
        """Return whether it is a sum, and no writer's own figure."""
        return bool(self.told) and self.ends != _NO_ENDS

    def is_told_in(self, text: str, *, is_cell: bool) -> bool:
        """Return whether a statement with its figure may tell it.

        Of a row's own total that are cells, and sentences that had its sign: a ticket for as much
        is none.
        """
        is_great = sum(map(str.isdigit, self.told)) >= _TELLING
        by_sign = any(before + words in text for before, words in self.retold)
        return self.by != "row" or is_cell or is_great or by_sign


@dataclass(frozen=True)
class _Sign:
    """A sign of a total: where it stands, and the writer's own words in it."""

    start: int
    end: int
    own: str
    closing: Sequence[Change] = ()
    """What takes its bracket away behind a citation that it has inside."""


def _signs(text: str, form: NumberForm, whole: str, at: int = 0) -> Iterator[_Sign]:
    """Yield the signs in a part of a whole text; of one with a sum in it its value is its own."""
    for start, end, inside in signs_in(text, _SIGN):
        if has_any(inside, EQUALS):
            # A sum that is declared, which does not hold.
            continue
        cite, closing = text.find("[", start + 1, end), list[Change]()
        if cite >= 0 and (close := behind_citations(text, cite)):
            closing.append((at + close, at + close + 1, ""))
            end = start + len(text[start:cite].rstrip(" ,"))
            inside = text[start + len(_SIGN) : end].strip()
        read, sum_ = figures(inside), worked(inside)
        if sum_ and sum_.is_sum and not _range(inside):
            value = sum_.value.normalize()
            places = max(0, *map(_places, (value, *(each.value for each in read))))
            inside = form.written(f"{value:.{places}f}", whole)
        yield _Sign(at + start, at + end, inside if read else "", closing)


def filled(
    text: str, form: NumberForm, known: Iterable[Total] = (), *, leaves: bool = False
) -> tuple[list[Change], list[Total]]:
    """Return what stands in the place of each sign, and the totals of the tables.

    Where nothing can be added up that is the writer's own figure; without one, a dash, but in a
    sentence the sign if it `leaves` that to who can say it otherwise. `known` are totals that the
    text has told before.
    """
    if _SIGN not in text:
        return [], []
    changes, totals = list[Change](), list[Total]()
    before = {each.place: each for each in known}
    for rows in tables_in(text):
        for column in range(1, len(rows[0])):
            signs = _signs_of(rows, column, form, text)
            head, owns = rows[0][column].text, {at: sign.own for at, sign in signs.items()}
            places = {at: (rows[at][0].text, head) for at in signs}
            kept = {at: before[place].by for at, place in places.items() if place in before}
            for at, (by, amounts) in _summed(rows, column, owns, kept).items():
                cell, sign = rows[at][column], signs[at]
                if _adds_up(own := _figures_told(sign.own), amounts):
                    digits = max(0, *(_places(each.value) for each in own))
                    amounts = [replace(each, is_sure=True, places=digits) for each in amounts]
                holds = not sign.own or all(each.is_sure for each in amounts)
                sum_ = _put(text, sign, _written(amounts, form, text) if holds else "")
                told, rest = sum_ or sign.own, cell.text.replace(text[sign.start : sign.end], "")
                is_alone = not letters_of(uncited(rest))
                changes += [(sign.start, sign.end, told or "–" * is_alone), *sign.closing]
                ends = _ends(amounts) if sum_ else _NO_ENDS
                is_ours = places[at] in before and sign.own == before[places[at]].told
                is_agreed = _LEAST not in told and (is_ours or not own or _adds_up(own, amounts))
                totals.append(Total(*places[at], told, sign.own, ends, (), by, is_agreed))
    in_tables = {start for start, _, _ in changes}
    before = {place: each for place, each in before.items() if each.told and each.told in text}
    every = [*(before | {each.place: each for each in totals}).values()]
    for sign in _signs(text, form, text):
        if sign.start not in in_tables:
            at, sum_ = _meant(sign, every)
            told = _put(text, sign, sum_) or sign.own or (TOTAL if leaves else "–")
            changes += [(sign.start, sign.end, told), *sign.closing]
            if sum_:
                here = text[max(0, sign.start - _BEFORE) : sign.start].rpartition(_SIGN)
                retold = [*every[at].retold, (here[2].rpartition("]")[2], told)]
                every[at] = replace(every[at], retold=retold)
    now = {each.place for each in totals}
    return sorted(changes), [each for each in every if each.place in now or each.retold]


def _meant(sign: _Sign, totals: Sequence[Total]) -> tuple[int, str]:
    """Return the total that a sentence means, by its place, and as the sentence tells it.

    It is that which is nearest to the writer's own figure, there or in the total's own cell; of a
    range the end that he has told. Without a figure it is the only one.
    """
    read, found = figures(sign.own), list[tuple[Decimal, int, str]]()
    summed = [at for at, each in enumerate(totals) if each.is_summed]
    if not read:
        # Of several columns a sentence may mean any.
        is_one = len({totals[at].head for at in summed}) == 1
        return (summed[-1], totals[summed[-1]].told) if is_one else (0, "")
    low, high = read[0].value, read[-1].value
    for at in summed:
        each, own = totals[at], figures(totals[at].own)
        for ends in (each.ends, *([(own[0].value, own[-1].value)] if own else [])):
            if low != high or ends[0] == ends[1]:
                found.append((_apart((low, high), ends), at, each.told))
                continue
            before, behind = _around_digits(each.told)
            numbers = each.told[len(before) : len(each.told) - len(behind)].split("–")
            for end, sum_ in zip(ends, numbers, strict=True):
                found.append((_apart((low, low), (end, end)), at, f"{before}{sum_}{behind}"))
    near = min(found, default=(_NEAR + 1, 0, ""))
    return near[1:] if near[0] <= _NEAR else (0, "")


def _apart(ones: tuple[Decimal, Decimal], others: tuple[Decimal, Decimal]) -> Decimal:
    """Return by which share of them numbers differ at most."""
    pairs = zip(ones, others, strict=True)
    return max(abs(one - other) / max(abs(other), Decimal(1)) for one, other in pairs)


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
            # A writer's own figure is an amount like others.
            labels = {total.label: total for total in own if total.by != "own"}
            kept = {n: labels[row[0].text] for n, row in enumerate(rows) if n and column < len(row)
                    and row[0].text in labels}  # fmt: skip
            by = {n: total.by for n, total in kept.items()}
            sums = _summed(rows, column, dict.fromkeys(kept, ""), by)
            signs = {n: found for n in kept for found in signs_in(rows[n][column].text, _SIGN)}
            if not signs and all(_is_right(rows[n][column], sums[n][1], kept[n]) for n in kept):
                continue
            anew = dict[str, str]()
            for n, total in kept.items():
                begin, end = _told_at(rows[n][column])
                is_sure = all(each.is_sure for each in sums[n][1])
                if n in signs:
                    # A writer's new figure is that of the sentences, too; a bare sign has theirs.
                    *ends, words = signs[n]
                    anew[total.told] = words = words or total.told.removeprefix(_LEAST)
                    start, close = (rows[n][column].start + at for at in ends)
                    changes[start] = (start, close, f"{_SIGN}{words}]")
                elif begin < end:
                    # A sum that no longer holds is no figure of its writer's; another one is.
                    words = text[begin:end].removeprefix(_LEAST).strip("–")
                    is_ours = total.is_summed and words == total.told.removeprefix(_LEAST)
                    words = "" if is_ours and not is_sure else words
                    changes[begin] = (begin, end, f"{_SIGN}{words}]")
            for at, words in _retold(text, own):
                sign = f"{_SIGN}{anew.get(words, words).removeprefix(_LEAST)}]"
                changes.setdefault(at, (at, at + len(words), sign))
    return sorted(changes.values())


def _retold(text: str, totals: Iterable[Total]) -> Iterator[tuple[int, str]]:
    """Yield where sentences tell totals, and their words: behind the words that stood before.

    Behind any others, too, where it has as many digits as no other number by chance.
    """
    told = dict.fromkeys(each for total in totals for each in (*total.retold, ("", total.told)))
    for before, words in told:
        at = text.find(before + words) if before.strip() else -1
        if at >= 0 and not text[at + len(before + words) :][:1].isdigit():
            yield at + len(before), words
        if sum(map(str.isdigit, words)) < _TELLING:
            continue
        at = text.find(words)
        while at >= 0:
            line = text[text.rfind("\n", 0, at) + 1 : at]
            beside = text[at - 2 * (at > 1) : at].strip(" (") + text[at + len(words) :][:1]
            if not line.lstrip().startswith("|") and not any(map(str.isdigit, beside)):
                yield at, words
            at = text.find(words, at + 1)


def _is_right(cell: TableCell, amounts: Sequence["_Amount"], total: Total) -> bool:
    """Return whether a cell's total adds up, as far as it can; a dash does not."""
    told = _figures_told(uncited(cell.text).strip("* "))
    is_open = bool(told) or uncited(cell.text).strip("* ") == "–"
    if not (is_open and amounts) or _SIGN in cell.text:
        return True
    if len(_kinds(amounts) | _kinds(_amounts([cell.text]))) >= _TWO:
        # A writer's figure in another currency.
        return not total.is_summed
    is_least = _LEAST in cell.text
    if is_least or all(each.is_sure for each in amounts):
        is_sure = all(each.is_sure for each in amounts)
        return is_least != is_sure and _adds_up(told, amounts)
    return bool(told) and (_adds_up(told, amounts) or not total.is_summed)


def _told_at(cell: TableCell) -> tuple[int, int]:
    """Return where a cell tells its total, or the dash in its place."""
    read, dash = figures(uncited(cell.text)), cell.text.find("–")
    if not read:
        return (cell.start + dash, cell.start + dash + 1) if dash >= 0 else (0, 0)
    begin = read[0].start
    begin -= len(_LEAST) * cell.text[:begin].endswith(_LEAST)
    return cell.start + begin, cell.start + read[-1].end


def _signs_of(
    rows: Sequence[CellRow], column: int, form: NumberForm, text: str
) -> dict[int, _Sign]:
    """Return the first sign of each row of a column that has one."""
    cells = [(n, row[column]) for n, row in enumerate(rows) if n and len(row) > column]
    found = ((n, next(_signs(cell.text, form, text, cell.start), None)) for n, cell in cells)
    return {n: sign for n, sign in found if sign}


def _summed(
    rows: Sequence[CellRow], column: int, owns: Mapping[int, str], kept: Mapping[int, By]
) -> dict[int, _Sum]:
    """Return what each total of a column adds up, from its writer's figures, or as it was `kept`.

    Where only so the last total is its writer's figure, one without amounts of its own adds up
    none: it is an amount itself.
    """
    found = _read(rows, column, owns, kept)
    last = max(owns, default=0)
    if last and owns[last] and not kept and not _is_near(owns[last], found[last][1], _EQUAL):
        others = _read(rows, column, owns, {n: "own" for n in owns if n != last})
        found = others if _is_near(owns[last], others[last][1], _EQUAL) else found
    return found


def _read(
    rows: Sequence[CellRow], column: int, owns: Mapping[int, str], kept: Mapping[int, By]
) -> dict[int, _Sum]:
    """Return what each total of a column adds up: rows first, then what is above them."""
    found, since, every = dict[int, _Sum](), list[str](), list[str]()
    for n, row in enumerate(rows):
        if not n or len(row) <= column:
            continue
        by, term = "own", row[column].text
        if n in owns:
            below = (each[column].text for each in rows[n + 1 :] if len(each) > column)
            is_last = n == max(owns) and not _amounts(below)
            place = _Place(owns[n], _amounts(since), _amounts(every), is_last)
            operands = [*_operands(row, column)]
            by, term, amounts = place.meaning(operands, kept.get(n))
            found[n] = by, amounts
        since = [*since, term] if by in ("row", "own") else []
        every += [term] if by in ("row", "own") else []
    return found


@dataclass(frozen=True)
class _Place:
    """Where a total stands: its writer's figure, and the amounts above it."""

    own: str
    since: list["_Amount"]
    """Since the last total."""
    every: list["_Amount"]
    is_last: bool

    def meaning(self, operands: Iterable[tuple[str, bool]], kept: By | None) -> _Meaning:
        """Return what a total adds up, the words of its row's amounts, and the amounts."""
        part: _Meaning = ("part", "", self.since)
        whole: _Meaning = ("all", "", self.every)
        own: _Meaning = ("own", self.own, [])
        kinds = _kinds(self.every) | _kinds(_amounts([self.own]))
        written, beside = list[_Meaning](), list[_Meaning]()
        for words, is_written in operands:
            sums = _amounts([words])
            # A rating of 4.5/5 adds up nothing.
            is_priced = _kinds(sums) or not (self.own or kinds) or _is_near(self.own, sums)
            is_sure = bool(sums) and all(each.is_sure for each in sums)
            if is_sure and is_priced and len(_kinds(sums) | kinds) < _TWO:
                (written if is_written else beside).append(("row", words, sums))
        column = (whole, part) if self.is_last else (part, whole)
        ways = [*written, *beside, *column]
        chosen = [way for way in ways if _is_near(self.own, way[2], _EQUAL)]
        if kept == "own":
            chosen = written or [own]
        chosen += [way for way in ways if way[0] == kept and way[2]]
        chosen += written
        if self.is_last:
            most = max((amount.high for amount in self.every), default=Decimal(0))
            is_less = self.own and figures(self.own)[-1].value < most
            # What follows the total at once may be a head's share of it.
            is_below = bool(self.every) and not self.since
            is_share = is_below and self.own and not _is_near(self.own, self.every)
            return [*chosen, own if is_less or is_share else whole][0]
        chosen += [way for way in (*beside, part) if not self.own or _is_near(self.own, way[2])]
        return [*chosen, own][0]


def _is_near(own: str, amounts: Sequence["_Amount"], share: Decimal = _SLIP) -> bool:
    """Return whether a writer's figure is a sum, or off by less than a share of it."""
    read = _figures_told(own)
    if not (read and amounts):
        return False
    return _apart((read[0].value, read[-1].value), _ends(amounts, is_whole=True)) <= share


def _operands(row: CellRow, column: int) -> Iterator[tuple[str, bool]]:
    """Yield what a row may add up, and whether it is written as a sum.

    It is in one cell, beside the total or in it, or a count and a price in cells before it, or
    amounts there.
    """
    cell, others = row[column].text, [each.text for n, each in enumerate(row) if n != column]
    inside = [words for _, _, words in signs_in(cell, _SIGN)]
    for words in (*inside, cell.partition(_SIGN)[0].rstrip("* ").rpartition("=")[0], *others):
        text = uncited(words)
        low = (_range(text) or (text,))[0]
        if _SIGN not in text and next(shown_sums(f"{low} = 1"), None):
            yield text.strip("* "), True
    before = [uncited(each.text) for each in row[1:column] if _SIGN not in each.text]
    amounts = [(each, amount) for each in before if (amount := _amount(each)) and amount.is_sure]
    priced = [each for each, amount in amounts if amount.kind[0] in MONEY]
    counts = [amount.low for _, amount in amounts if amount.kind[0] in _COUNTS]
    if len(priced) == 1 and len(counts) == 1:
        yield f"{counts[0]:f} × {priced[0]}", False
    if len(priced) > 1 and column == len(row) - 1:
        yield " + ".join(priced), False


def _amounts(column: Iterable[str]) -> list["_Amount"]:
    """Return the amounts of cells; none where they are not all in one unit.

    A cell with a number that cannot be read is one of at least nothing.
    """
    cells = (uncited(cell).strip("* ") for cell in column)
    read = [(cell, _amount(cell)) for cell in cells if _SIGN not in cell]
    found = [amount for _, amount in read if amount]
    if any(amount is None and any(map(str.isdigit, cell)) for cell, amount in read):
        found += [_UNREAD] if found else []
    return found if len(_kinds(found)) < _TWO else []


def _kinds(amounts: Iterable["_Amount"]) -> set[tuple[str, Decimal, bool]]:
    return {amount.kind for amount in amounts} - {_NO_UNIT}


_NO_UNIT = "", Decimal(1), False


@dataclass(frozen=True)
class _Amount:
    low: Decimal
    high: Decimal
    kind: tuple[str, Decimal, bool]
    """Its unit, how many of the base that is, and whether it is one of a person, of a night."""
    text: str
    places: int
    is_sure: bool = True
    """Whether the cell can come to nothing else: 80 € (2 nights) may be twice that."""


_UNREAD = _Amount(Decimal(0), Decimal(0), _NO_UNIT, "", 0, is_sure=False)


def _amount(cell: str) -> _Amount | None:
    """Return what a cell comes to: its result, its product, its range, its one number.

    Of a range whatever is reckoned with it is reckoned with both ends.
    """
    text, sums = cell.rpartition("=")[2].replace("*", ""), [*shown_sums(cell)]
    if len(sums) > 1:
        # 3 × 200 = 600 to 3 × 500 = 1,500 is 600 to 1,500; what else several sums mean is unsure.
        low, high = sums[0].told, sums[-1].told
        joined = cell[low.end :][: figures(cell[low.end :])[0].start]
        text = f"{low.text}{joined}{cell[high.start :]}".replace("*", "")
        if len(sums) > _TWO or not _range(text):
            return None
    ends = [_one_amount(each) for each in _range(text) or (text, text)]
    first, last = ends
    if first is None or last is None:
        return None
    places = max(first.places, last.places)
    return replace(last, low=first.low, places=places, is_sure=first.is_sure and last.is_sure)


def _range(text: str) -> tuple[str, str] | None:
    """Return a text with the low end alone of each range in it, and with the high one."""
    pairs = [(left, right) for left, right in pairwise(figures(text))
             if _are_joined(text[left.end : right.start])]  # fmt: skip
    lows, highs = list[Change](), list[Change]()
    for left, right in pairs:
        begin, end = (_digits_of(each, text) for each in (left, right))
        lows.append((begin[1], end[1], ""))
        highs.append((begin[0], end[0], ""))
    low, high = changed(text, lows), changed(text, highs)
    rises = [_one_amount(each) for each in (low, high)]
    is_one = pairs and rises[0] and rises[1] and rises[0].low < rises[1].low
    return (low, high) if is_one else None


def _are_joined(between: str) -> bool:
    """Return whether words make two numbers a range: they share a unit then."""
    return len(between) <= _BESIDE and figures(f"1{between}2 €")[0].is_money


def _digits_of(figure: Figure, text: str) -> tuple[int, int]:
    """Return where the first digit of a figure stands, and where its last one ends."""
    before, behind = _around_digits(text[figure.start : figure.end])
    return figure.start + len(before), figure.end - len(behind)


def _one_amount(text: str) -> _Amount | None:
    """Return what a text without ranges comes to.

    A number in no unit behind words is none: free under 18. Where it tells more than one amount
    that is the least of them, for want of better.
    """
    read = [each for each in figures(text) if not each.date and each.clock is None]
    money = [each for each in read if each.is_money]
    read = [each for each in read if each in money or not money or each.value not in _YEARS]
    begins = bool(read) and not any(map(str.isalpha, text[: read[0].start]))
    if not read or not (money or begins):
        return None
    times, sum_ = _product(text, read), next(shown_sums(f"{text} = 1"), None)
    one = money[0] if money else read[0]
    if times is not None:
        return _amount_of(one, times, read, is_per=False)
    if sum_ and len(sum_.sum.terms) == len(read):
        return _amount_of(one, sum_.sum.value, read, is_per=False)
    # 36 € (2 × 18 €) says so itself.
    is_sure = len(read) == 1 or bool(sum_ and sum_.sum.value == read[0].value)
    # Amounts in two currencies are no more and no less than one another.
    money = [each for each in money if each.kind == one.kind]
    least = one if is_sure else min(money, key=lambda each: each.value, default=None)
    if least is None or least.kind is None:
        return None
    return replace(_amount_of(least, least.value, [least]), is_sure=is_sure)


def _amount_of(
    one: Figure, value: Decimal, terms: Sequence[Figure], *, is_per: bool = True
) -> _Amount:
    """Return an amount in the unit of one of its terms, with their decimals: 2 × 3.30 is 6.60."""
    value = sum((each.value * 0 for each in terms), value)
    kind = one.kind or "", one.scale, is_per and one.per is not None
    return _Amount(value, value, kind, one.text, max(0, _places(value)))


def _product(text: str, read: Sequence[Figure]) -> Decimal | None:
    """Return what figures come to that signs of multiplication join, whatever they count."""
    value, money = read[0].value, sum(each.is_money for each in read)
    for one, other in pairwise(read):
        signs = [each for each in text[one.end : other.start].split() or [""]
                 if each in _TIMES or any(sign in each for sign in _TIMES[:_TWO])]  # fmt: skip
        if len(signs) != 1:
            return None
        value *= other.value
    return value if len(read) > 1 >= money else None


def _places(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


def _ends(amounts: Sequence[_Amount], *, is_whole: bool = False) -> tuple[Decimal, Decimal]:
    """Return the sum of the low ends, and that of the high ones; of the least there is no other."""
    if not amounts:
        return _NO_ENDS
    is_whole = is_whole or all(each.is_sure for each in amounts)
    low = sum((each.low for each in amounts), Decimal(0))
    return low, sum((each.high for each in amounts), Decimal(0)) if is_whole else low


def _figures_told(total: str) -> list[Figure]:
    """Return the figures of a total, which is no time: 12.00–15.00 is one by itself."""
    read = figures(total)
    return figures(f"{total} €") if any(each.clock is not None for each in read) else read


def _adds_up(told: Sequence[Figure], amounts: Sequence[_Amount]) -> bool:
    """Return whether figures are the sum, as far as it can be read."""
    ends = [_ends(amounts), _ends(amounts, is_whole=True)]
    return bool(told) and (told[0].value, told[-1].value) in ends


def _written(amounts: Sequence[_Amount], form: NumberForm, text: str) -> str:
    """Return the sum as its terms are written; empty without any."""
    if not amounts:
        return ""
    places = max(amount.places for amount in amounts)
    places += places == 1 and any(amount.kind[0] in MONEY for amount in amounts)
    told = dict.fromkeys(form.written(f"{end:.{places}f}", text) for end in _ends(amounts))
    unit = next((each.text for each in amounts if each.kind[0]), amounts[0].text)
    before, behind = _around_digits(unit)
    least = "" if all(each.is_sure for each in amounts) else _LEAST
    return f"{least}{before}{'–'.join(told)}{behind}"


def _put(text: str, sign: _Sign, told: str) -> str:
    """Return a sum as it stands in a sign's place: in the unit that the writer has put there.

    That is in the sign, or beside it; else it is that of the column. Empty where they are two
    currencies.
    """
    if told.startswith(_LEAST):
        return _LEAST + _put(text, sign, told.removeprefix(_LEAST))
    around, own = _around_digits(told), _around_digits(sign.own)
    digits = told[len(around[0]) : len(told) - len(around[1])]
    number = digits.rpartition("–")[2]
    before = text[max(0, sign.start - _BESIDE) : sign.start].rpartition("|")[2]
    behind = text[sign.end :][:_BESIDE].partition("|")[0]
    has_own = bool("".join(own).strip())
    before = own[0] if has_own else before.rpartition("|")[2].rpartition("\n")[2]
    behind = own[1] if has_own else behind.partition("|")[0].partition("\n")[0]
    around_it = figures(f"{before}{number}{behind}")
    beside = [each for each in around_it if each.start <= len(before) < each.end]
    moneys = {each.kind for each in [*beside, *figures(told)] if each.is_money}
    if not told or len(moneys) > 1:
        return ""
    if has_own:
        return f"{own[0]}{digits}{own[1]}"
    return digits if any(each.kind for each in beside) else told


def _around_digits(told: str) -> tuple[str, str]:
    """Return what stands before the first digit and behind the last one."""
    digits = [at for at, char in enumerate(told) if char.isdigit()]
    return (told[: digits[0]], told[digits[-1] + 1 :]) if digits else ("", "")
