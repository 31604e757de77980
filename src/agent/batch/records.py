"""Read the rows of a file: JSON lines, one JSON array, CSV or the first sheet of a workbook."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

from agent.core.errors import InputError

MAX_LINE = 1_000_000
"""Bytes of one JSON line. A CSV cell may have 131,072 characters, the csv module's own limit."""
_DELIMITERS = (",", ";", "\t")
_NEXT_ELEMENT = re.compile(r"[\s,]*(?=[^\s,\]])")
_NOT_UTF8 = "not UTF-8 (a file in GBK or the like must be saved as UTF-8)"


class Record(NamedTuple):
    line: int
    """Its first line, from 1."""
    fields: dict[str, Any]
    """By column name in lower case with single underscores; empty where there is a problem."""
    problem: str | None = None


def records(raw: bytes, suffix: str, columns: frozenset[str]) -> Iterator[Record]:
    """Yield every row of the file; a CSV header must have one of `columns`."""
    if suffix == ".xlsx" or raw.startswith(b"PK\x03\x04"):
        return _sheet_records(raw)
    if suffix == ".parquet" or raw.startswith(b"PAR1"):
        raise InputError("QUESTIONS", "the file is Parquet; save it as JSON lines or CSV")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("QUESTIONS", "the file is UTF-16; save it as UTF-8")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if _is_csv(raw, suffix):
        return _csv_records(raw, columns)
    return _array_records(raw) if _is_one_array(raw) else _json_records(raw)


def plain_name(column: str) -> str:
    """Normalise a column: `Final answer`, ` final-answer` and `final_answer` are one."""
    return re.sub(r"[\s_-]+", "_", column.strip().casefold())


def _is_csv(raw: bytes, suffix: str) -> bool:
    if suffix in (".csv", ".tsv"):
        return True
    if suffix in (".jsonl", ".ndjson", ".json"):
        return False
    return not raw.lstrip().startswith((b"{", b"["))


def _is_one_array(raw: bytes) -> bool:
    try:
        return raw.lstrip().startswith(b"[") and isinstance(json.loads(raw), list)
    except (ValueError, RecursionError):
        return False


def _array_records(raw: bytes) -> Iterator[Record]:
    """Yield the elements of one JSON array, each with the line where it begins."""
    text, decoder = raw.decode(), json.JSONDecoder()
    at, line, counted = text.index("[") + 1, 1, 0
    while (match := _NEXT_ELEMENT.match(text, at)) is not None:
        begin = match.end()
        line, counted = line + text.count("\n", counted, begin), begin
        value, at = decoder.raw_decode(text, begin)
        if len(text[begin:at]) > MAX_LINE:
            yield Record(line, {}, f"longer than {MAX_LINE:,} characters")
        else:
            yield _record_of(line, value)


def _json_records(raw: bytes) -> Iterator[Record]:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            yield _json_record(number, line)


def _json_record(number: int, line: bytes) -> Record:
    if len(line) > MAX_LINE:
        return Record(number, {}, f"longer than {MAX_LINE:,} bytes")
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError:
        return Record(number, {}, _NOT_UTF8)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return Record(number, {}, f"not valid JSON ({reason})")
    return _record_of(number, value)


def _record_of(line: int, value: object) -> Record:
    if not isinstance(value, dict):
        return Record(line, {}, f"not a JSON object but {_kind(value)}")
    return Record(line, _by_name(value.items()))


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    return "a text" if isinstance(value, str) else "a bare value"


def _by_name(pairs: Any) -> dict[str, Any]:
    """Key fields by normalised name; of two with one name the first that is not empty counts."""
    fields: dict[str, Any] = {}
    for column, value in pairs:
        name = plain_name(column)
        if name not in fields or fields[name] in (None, ""):
            fields[name] = value
    return fields


def _csv_records(raw: bytes, columns: frozenset[str]) -> Iterator[Record]:
    lines = raw.decode(errors="surrogateescape").split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    delimiter = _delimiter(lines, columns)
    rows = _cells(lines, delimiter)
    header = next(([plain_name(cell) for cell in cells] for _, cells, _ in rows if cells), [])
    for line, cells, problem in rows:
        if problem is not None:
            yield Record(line, {}, problem)
        elif any(cell.strip() for cell in cells):
            yield _csv_record(line, header, cells)


def _csv_record(line: int, header: list[str], cells: list[str]) -> Record:
    if any("\ud800" <= sign <= "\udfff" for sign in "".join(cells)):
        return Record(line, {}, _NOT_UTF8)
    if any(cell.strip() for cell in cells[len(header) :]):
        return Record(line, {}, f"{len(cells)} cells under {len(header)} columns")
    return Record(line, _by_name(zip(header, cells, strict=False)))


def _delimiter(lines: list[str], columns: frozenset[str]) -> str:
    """Return the delimiter under which the header names a question; most columns win."""
    best, most = "", 0
    for delimiter in _DELIMITERS:
        header: list[str] = next((cells for _, cells, _ in _cells(lines, delimiter) if cells), [])
        if len(header) > most and columns.intersection(plain_name(cell) for cell in header):
            best, most = delimiter, len(header)
    if lines and not best:
        raise InputError(
            "QUESTIONS", f"the first line names no column {', '.join(sorted(columns))}"
        )
    return best or ","


class _Lines:
    """Iterate over lines from a position, which shows how far the reader has come."""

    def __init__(self, lines: list[str], at: int) -> None:
        self.lines, self.at = lines, at

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= len(self.lines):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1]


def _cells(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str], str | None]]:
    """Yield row by row; after an unreadable row start again on that row's second line."""
    at = 0
    while at < len(lines):
        feed = _Lines(lines, at)
        try:
            for cells in csv.reader(feed, delimiter=delimiter, strict=True):
                yield at + 1, cells, None
                at = feed.at
        except csv.Error as error:
            yield at + 1, [], _reason(error)
            at += 1


def _reason(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return "not valid CSV (a quotation mark is not closed)"
    return f"not valid CSV ({error})"


_MAX_SHEET = 200_000_000
"""Bytes of a sheet or of its texts, unpacked."""
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_COLUMN = re.compile(r"[A-Z]+")


def _sheet_records(raw: bytes) -> Iterator[Record]:
    """Yield the rows of a workbook's first sheet under the names in its first row."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as book:
            rows = list(_sheet_rows(book))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, ValueError) as error:
        raise InputError("QUESTIONS", f"the workbook cannot be read ({error})") from None
    names = {column: plain_name(name) for column, name in rows[0][1].items()} if rows else {}
    for line, cells in rows[1:]:
        if any(cell.strip() for cell in cells.values()):
            pairs = [(names[column], cell) for column, cell in cells.items() if column in names]
            yield Record(line, _by_name(pairs))


def _sheet_rows(book: zipfile.ZipFile) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row's number and its cells by the letters of their columns."""
    sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/")]
    if not sheets:
        raise ValueError("it has no sheet")
    first = min(sheets, key=lambda name: (len(name), name))
    texts = [_text_in(entry) for entry in _part(book, "xl/sharedStrings.xml")]
    for line, row in enumerate(_part(book, first).iter(f"{_SPACE}row"), start=1):
        cells = {}
        for cell in row.iter(f"{_SPACE}c"):
            column = _COLUMN.match(cell.get("r", ""))
            if column is not None:
                cells[column[0]] = _cell(cell, texts)
        yield int(row.get("r", line)), cells


def _part(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if name not in book.namelist():
        return ElementTree.Element("empty")
    if book.getinfo(name).file_size > _MAX_SHEET:
        raise ValueError(f"more than {_MAX_SHEET:,} bytes unpacked")
    # A file of the user's own; expat limits what its entities grow to.
    return ElementTree.fromstring(book.read(name))  # noqa: S314


def _cell(cell: ElementTree.Element, texts: list[str]) -> str:
    inline = cell.find(f"{_SPACE}is")
    if inline is not None:
        return _text_in(inline)
    value = cell.findtext(f"{_SPACE}v") or ""
    return texts[int(value)] if cell.get("t") == "s" else value


def _text_in(element: ElementTree.Element) -> str:
    """Return a text, of one piece or of several in different type; how it is read aloud is none."""
    pieces = element.findall(f"{_SPACE}t") + element.findall(f"{_SPACE}r/{_SPACE}t")
    return "".join(piece.text or "" for piece in pieces)
