"""Read Excel's workbooks, old ones too: a table a sheet, its cells as Excel shows them."""

import datetime
import io
import warnings
import zipfile
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any, BinaryIO

from agent.core.patterns import Linear
from agent.reading.office import open_package, pictures_note
from agent.reading.parts import MAX_CELLS, CannotRead, FilePart, table_parts

_WHOLE = 16 << 20
"""Bytes of sheets that are held in memory, which merged cells and comments need."""
_NO_VALUE = (b"</f></c>", b"</f><v></v>", b"</f><v/>", b"</f><v />")
_TOKEN = Linear(r'"[^"]*"|\[[^\]]*\]|\\.|[_*].|[0#?][0#?.,]*|.')


def read_xlsx(file: BinaryIO) -> Iterator[FilePart]:
    """Yield the sheets in order, hidden ones too; large ones without merged cells and comments."""
    import openpyxl  # type: ignore[import-untyped]

    package = open_package(file)
    if "xl/workbook.bin" in package.namelist():
        raise CannotRead("page_kind")
    sheets = [each for each in package.infolist() if each.filename.startswith("xl/worksheets/")]
    is_large = sum(each.file_size for each in sheets) > _WHOLE
    with warnings.catch_warnings():
        # It tells of what it does not write back: macros, validations.
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(file, read_only=is_large, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            yield FilePart(f"# {sheet.title}")
            if is_large:
                sheet.reset_dimensions()
                yield from table_parts([_shown(cell) for cell in row] for row in sheet.rows)
            else:
                yield from table_parts(_rows(sheet))
    yield from _notes(package, sheets, is_large=is_large)


def first_sheet(file: BinaryIO) -> tuple[list[list[str]], int]:
    """Return the rows of a workbook's first sheet, and how many sheets it has.

    Raises CannotRead.
    """
    import openpyxl

    open_package(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            sheets = book.worksheets
            sheets[0].reset_dimensions()
            return [[_shown(cell) for cell in row] for row in sheets[0].rows], len(sheets)
        except Exception as error:  # A broken workbook raises anything.
            raise CannotRead("page_unreadable") from error


_LOCKED = "EncryptedPackage"
_NO_SHEETS = ("WordDocument", "PowerPoint Document", "__substg1.0_")
"""Streams of old Word and PowerPoint, and of Outlook."""


def read_ole(file: BinaryIO) -> Iterator[FilePart]:
    """Yield the sheets of an old workbook (.xls); refuse other files of old Office.

    Office of today puts what has a password into such a file, too.
    """
    import xlrd  # type: ignore[import-untyped]

    body = file.read()
    if _LOCKED.encode("utf-16-le") in body:
        raise CannotRead("page_encrypted")
    if any(name.encode("utf-16-le") in body for name in _NO_SHEETS):
        raise CannotRead("page_old_office")
    try:
        book = xlrd.open_workbook(
            file_contents=body, formatting_info=True, ragged_rows=True, logfile=io.StringIO()
        )
    except xlrd.XLRDError as error:
        is_locked = "encrypted" in str(error)
        raise CannotRead("page_encrypted" if is_locked else "page_old_office") from None
    for sheet in book.sheets():
        yield FilePart(f"# {sheet.name}")
        yield from table_parts(_old_rows(book, sheet))


def _old_rows(book: Any, sheet: Any) -> Iterator[list[str]]:
    merged = {
        (row, left): (top, left)
        for top, bottom, left, _ in sheet.merged_cells
        if left < sheet.row_len(top)
        for row in range(top + 1, min(bottom, sheet.nrows))
    }
    for row in range(sheet.nrows):
        places = ((row, column) for column in range(min(sheet.row_len(row), MAX_CELLS)))
        yield [_old_shown(book, sheet.cell(*merged.get(place, place))) for place in places]


def _old_shown(book: Any, cell: Any) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
        return ""
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    form = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
    value = cell.value
    if cell.ctype == xlrd.XL_CELL_DATE:
        moment = xlrd.xldate_as_datetime(value, book.datemode)
        value = moment if value >= 1 else moment.time()
    elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
        value = bool(value)
    return shown_value(value, form)


def _notes(
    package: zipfile.ZipFile, sheets: list[zipfile.ZipInfo], *, is_large: bool
) -> Iterator[FilePart]:
    lost = sum(package.read(each).count(end) for each in sheets for end in _NO_VALUE)
    if lost:
        yield FilePart(note={"key": "formulas", "n": lost})
    if is_large:
        yield FilePart(note={"key": "large_sheet"})
    if charts := sum(name.startswith("xl/charts/chart") for name in package.namelist()):
        yield FilePart(note={"key": "charts", "n": charts})
    yield pictures_note(package)


def _rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows that have cells; a cell merged over several rows stands in each of them.

    The library would make up all cells up to the last one, which may be a stray colour in row
    1,048,576.
    """
    rows: dict[int, dict[int, Any]] = defaultdict(dict)
    for (row, column), cell in sheet._cells.items():
        if column <= MAX_CELLS:
            rows[row][column] = cell
    places = sorted(rows)
    for area in sheet.merged_cells.ranges:
        first = rows.get(area.min_row, {}).get(area.min_col)
        begin, end = bisect(places, area.min_row), bisect(places, area.max_row)
        for row in places[begin:end] if first is not None else ():
            rows[row][area.min_col] = first
    for row in places:
        yield [
            _shown(cell) if (cell := rows[row].get(column)) is not None else ""
            for column in range(1, max(rows[row]) + 1)
        ]


def _shown(cell: Any) -> str:
    text = shown_value(cell.value, cell.number_format or "") if cell.value is not None else ""
    comment = getattr(cell, "comment", None)
    return f"{text} [{comment.text.strip()}]".strip() if comment else text


def shown_value(value: Any, form: str) -> str:
    """Return a cell's value as Excel shows it: dates in ISO, numbers with decimals, % and unit.

    >>> shown_value(0.155, "0.0%"), shown_value(1234.5, '"¥"#,##0.00'), shown_value(3, "General")
    ('15.5%', '¥1,234.50', '3')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime):
        has_time = value.time() != datetime.time() and ("h" in form.lower() or not form)
        return value.isoformat(" ", "seconds") if has_time else value.date().isoformat()
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, int | float):
        return _number(value, form.partition(";")[0])
    return str(value)


def _number(value: float, form: str) -> str:
    tokens = _tokens(form)
    digits = next((at for at, token in enumerate(tokens) if token[0] in "0#?"), None)
    plain = f"{value:.15g}" if abs(value) < 1e15 else f"{value:.0f}"
    is_other = {"E", "e", "/"} & set(tokens) or sum(token[0] in "0#?" for token in tokens) != 1
    if digits is None or is_other or tokens[digits].endswith(",") or not abs(value) < 1e15:
        return plain
    before, after = ("".join(map(_literal, t)) for t in (tokens[:digits], tokens[digits + 1 :]))
    whole, _, fraction = tokens[digits].partition(".")
    # Halves are rounded up, as Excel does with the digits that it shows.
    share = abs(Decimal(repr(value))) * (100 if "%" in tokens else 1)
    rounded = share.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)
    text = f"{rounded:{',' if ',' in whole else ''}f}"
    if "," not in whole:
        text = text.zfill(whole.count("0") + len(fraction) + bool(fraction))
    if "#" in fraction:
        least = len(fraction.rstrip("#?"))
        kept = text.rstrip("0")
        at = text.index(".") + 1 + least
        text = kept if len(kept) > at else text[:at]
    return f"{'-' if value < 0 else ''}{before}{text.rstrip('.')}{after}".strip()


@lru_cache(maxsize=500)
def _tokens(form: str) -> list[str]:
    return [match[0] for match in _TOKEN.finditer(form)]


def _literal(token: str) -> str:
    """Return what a part of a number's format shows besides digits."""
    if token.startswith("[$"):
        return token[2:-1].partition("-")[0]
    if token[0] in "[_*":
        return ""
    return token[1:] if token[0] == "\\" else token.strip('"')
