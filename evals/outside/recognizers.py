"""What numbers, percents, money, lengths, temperatures, dates and times mean, by Recognizers-Text.

The specs are torture tests; `SHOWN_IN_PAGES` names the files whose rows occur in real pages, and
`chosen` the rows in words that do: a rule over the row's text, written before any was run.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from agent.evidence.figures import Figure, figures
from agent.evidence.units import UNITS

SHOWN_IN_PAGES = ("Percent", "Currency", "Dimension", "Temperature", "DateParser")
_DIGIT = re.compile(r"[0-9０-９]")
_TIMEX_DATE = re.compile(r"(\d{4}|XXXX)-(\d\d)-(\d\d)")
_TIMEX_TIME = re.compile(r"T(\d\d)(?::(\d\d))?(?::\d\d)?")
_WRITTEN_NUMBER = re.compile(
    r"\d|[一二三四五六七八九十]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|first|second"
    r"|third|t[a-z]+th|twent|thirt)",
    re.IGNORECASE,
)
_SAYS_MONTH_OR_YEAR = re.compile(r"[a-z]{3}|[年月日号]|\d{4}", re.IGNORECASE)
"""What a date has that can be read without a day of reference: nobody can tell 3-7-07 or 4.22."""
_ALONE = re.compile(r"[\u3400-\u9fff]")
"""A Han numeral of one character alone counts nothing."""
_SPACED_HAN = re.compile(r"[\u3400-\u9fff]\s+[\u3400-\u9fff]")
_RARE_NUMBER = re.compile(
    r"兆|打|零几|几零|又|万万|萬萬|幾|几|over |out of|trillion|hundredth|dozens|firsts"
    r"|[a-z]+ty-? ?\w* fifths|hundred (?:thirty|fifth)|naught|nought|twenty.fifth|thirtieth"
    r"|percents of|per cent of"
)
_RARE_DATE = re.compile(r"正月|大年|雍正|神龙|本月|the (?:second|thirty)\b|twenty second")
_RARE_TIME = re.compile(r"noonish|mid|five thirty|seven pm|seven afternoon")


@dataclass(frozen=True)
class Row:
    """One expected figure: its file, the text it stands in, its own words, and what it means."""

    file: str
    text: str
    words: str
    meaning: Decimal | tuple[int | None, int, int] | int

    @property
    def in_digits(self) -> bool:
        return bool(_DIGIT.search(self.words))

    @property
    def in_pages(self) -> bool:
        """Return whether it is of a kind that occurs in real pages."""
        is_plain = "DateParser" not in self.file or _SAYS_MONTH_OR_YEAR.search(self.words)
        return any(part in self.file for part in SHOWN_IN_PAGES) and bool(is_plain)

    @property
    def chosen(self) -> bool:
        """Return whether it is in words as real pages have them."""
        rare = _RARE_DATE if "DateParser" in self.file else _RARE_TIME
        rare = _RARE_NUMBER if isinstance(self.meaning, Decimal) else rare
        unlike = _SPACED_HAN.search(self.words) or _ALONE.fullmatch(self.words)
        return not (self.in_digits or unlike or rare.search(self.words.lower()))

    def is_read(self) -> bool:
        """Return whether the reader of figures finds what the row means."""
        return any(_means(figure, self.meaning) for figure in figures(self.text))


def rows(folder: Path, half: str) -> Iterator[Row]:
    """Yield the rows of every spec in a folder; `half` is odd, even or all of each file."""
    for path in sorted(folder.glob("*.json")):
        for number, case in enumerate(json.loads(path.read_text("utf-8-sig")), 1):
            if half == "all" or (number % 2 == 1) == (half == "odd"):
                yield from _rows_of(path.stem, case)


def _rows_of(file: str, case: dict) -> Iterator[Row]:
    for expected in case["Results"]:
        meaning = _meaning(file, expected)
        if meaning is not None:
            yield Row(file, case["Input"], expected["Text"], meaning)


def _meaning(file: str, expected: dict) -> Decimal | tuple[int | None, int, int] | int | None:
    """Return the value, date or minute of a result; None for what has none, or needs a today."""
    if file.startswith("Number"):
        try:
            return Decimal((expected.get("Resolution") or {}).get("value", "").rstrip("%"))
        except (InvalidOperation, AttributeError):
            return None
    value = expected.get("Value")
    timex = value.get("Timex", "") if isinstance(value, dict) else ""
    written = _WRITTEN_NUMBER.search(expected["Text"])
    if file.endswith("DateParser") and written and (match := _TIMEX_DATE.fullmatch(timex)):
        year = None if match[1] == "XXXX" else int(match[1])
        month, day = int(match[2]), int(match[3])
        text = expected["Text"].lower()
        relative = re.search(r"day|ago|from|week|本|下|上|后|前|next|last|this|month", text)
        return None if relative and not re.search(r"\d\s*[年月/.-]", text) else (year, month, day)
    if file.endswith("TimeParser") and (match := _TIMEX_TIME.fullmatch(timex)):
        return (int(match[1]) * 60 + int(match[2] or 0)) % 1440
    return None


def _means(figure: Figure, meaning: Decimal | tuple[int | None, int, int] | int) -> bool:
    if isinstance(meaning, tuple):
        year, month, day = meaning
        date = figure.date
        return bool(date) and date[1:] == (month, day) and year in (None, date[0])
    if isinstance(meaning, int):
        return meaning in figure.clocks
    if figure.date or figure.clock is not None:
        return False
    factors = {factor for kind, factor in UNITS.values() if kind == figure.kind} | {Decimal(1)}
    values = [figure.value, figure.value * 100, *(figure.amount / factor for factor in factors)]
    return any(abs(v - meaning) <= max(1, abs(meaning)) * Decimal("1e-6") for v in values)


def report(folder: Path, half: str, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a table: what is read of each file, and the three figures that count."""
    read, asked = Counter[str](), Counter[str]()
    for row in rows(folder, half):
        form = "digits" if row.in_digits else "words"
        groups = [f"{row.file} {form}"]
        groups += ["of pages, digits"] if row.in_pages and row.in_digits else []
        groups += ["chosen, words"] if row.chosen else []
        hit = row.is_read()
        for group in groups:
            asked[group] += 1
            read[group] += hit
        if verbose and not hit and len(groups) > 1:
            yield f"  {row.file}: {row.words!r} = {row.meaning} in {row.text[:70]!r}"
    for group in sorted(asked, key=lambda name: (" " in name and "," in name, name)):
        yield f"{group:<52}{read[group]:>5} of {asked[group]:<5}{read[group] / asked[group]:>7.1%}"
