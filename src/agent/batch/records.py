"""Read the rows of a file: JSON lines, one JSON array, CSV or the first sheet of a workbook.

A file in GBK, Big5, Shift_JIS, UTF-16 … is read as such, and that is told: it may be a wrong guess.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agent.core.errors import InputError
from agent.core.outside import parse_json
from agent.core.strings import split_at
from agent.reading.encoding import Encoding, UnknownEncoding, encoding_of
from agent.reading.parts import CannotRead

MAX_LINE = 1_000_000
"""Characters of one JSON line. A CSV cell may have 131,072, the csv module's own limit."""
_DELIMITERS = (",", ";", "\t")
_NEXT_ELEMENT = re.compile(r"[\s,]*(?=[^\s,\]])")
_UNDECODED = re.compile("[\udc80-\udcff]")
_NOT_DECODED = "not in the encoding of the other lines ({name}); save the file as UTF-8"
_NAMES = {
    name: column
    for column, names in {
        "id": "id 编号 編號 序号 序號 题号 題號 番号 번호",
        "question": "question 问题 問題 题目 題目 提问 提問 質問 질문",
        "answer": "answer 答案 标准答案 標準答案 参考答案 參考答案 正确答案 回答 答え 정답",
        "level": "level 难度 難度",
        "answer_format": "answer_format 答案格式",
        "file": "file 附件 文件",
    }.items()
    for name in names.split()
}
"""Other names of columns, and the names that headers in two languages have beside them."""
_BETWEEN_NAMES = "/|()[]、,:"


class FileRecord(NamedTuple):
    line: int
    """Its first line, from 1."""
    fields: dict[str, Any]
    """By column name in lower case with single underscores; empty where there is a problem."""
    problem: str | None = None


def file_records(
    raw: bytes, suffix: str, columns: frozenset[str], tell: Callable[[str], object]
) -> Iterator[FileRecord]:
    """Yield every row of the file; a CSV header must have one of `columns`.

    `tell` is given what a reader of the result should know of the file.
    """
    if suffix == ".xlsx" or raw.startswith(b"PK\x03\x04"):
        return _sheet_records(raw, tell)
    if suffix == ".parquet" or raw.startswith(b"PAR1"):
        raise InputError("QUESTIONS", "The file is Parquet; save it as JSON lines or CSV")
    text, encoding = _decoded(raw)
    if encoding.name:
        tell(f"read as {encoding.name}; if that is wrong, save the file as UTF-8")
    problem = _NOT_DECODED.format(name=encoding.name or encoding.codec.removesuffix("-sig").upper())
    if _is_csv(text, suffix):
        return _csv_records(text, columns, problem)
    return _array_records(text, problem) if _is_one_array(text) else _json_records(text, problem)


def _decoded(raw: bytes) -> tuple[str, Encoding]:
    """Return the text; what cannot be decoded stays in it as halves of characters."""
    try:
        encoding = encoding_of(raw)
    except UnknownEncoding:
        encoding = Encoding("utf-8")  # line by line what is not is told
    wide = encoding.codec.startswith("utf-16") or encoding.codec.startswith("utf-32")
    text = raw.decode(encoding.codec, "replace" if wide else "surrogateescape")
    return text.removeprefix("\ufeff"), encoding


def plain_column(column: str) -> str:
    """Normalise a column: `Final answer`, ` final-answer` and `final_answer` are one.

    `编号`, `ID / 编号` and `编号（id）` are `id`.
    """
    plain = unicodedata.normalize("NFKC", column).casefold()
    name = "_".join(" ".join(split_at(plain, "-_")).split())
    if name in _NAMES:
        return _NAMES[name]
    parts = [part.strip("_") for part in split_at(name, _BETWEEN_NAMES)]
    meant = {_NAMES.get(part, "") for part in parts if part}
    return meant.pop() or name if len(meant) == 1 else name


def _is_csv(text: str, suffix: str) -> bool:
    if suffix in (".csv", ".tsv"):
        return True
    if suffix in (".jsonl", ".ndjson", ".json"):
        return False
    return not text.lstrip().startswith(("{", "["))


def _is_one_array(text: str) -> bool:
    try:
        return text.lstrip().startswith("[") and isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _array_records(text: str, not_decoded: str) -> Iterator[FileRecord]:
    """Yield the elements of one JSON array, each with the line where it begins."""
    decoder = json.JSONDecoder()
    at, line, counted = text.index("[") + 1, 1, 0
    while (match := _NEXT_ELEMENT.match(text, at)) is not None:
        begin = match.end()
        line, counted = line + text.count("\n", counted, begin), begin
        _, at = decoder.raw_decode(text, begin)
        yield _json_record(line, text[begin:at], not_decoded)


def _json_records(text: str, not_decoded: str) -> Iterator[FileRecord]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _json_record(number, line, not_decoded)


def _is_decoded(text: str) -> bool:
    """Return whether a text has no bytes that its encoding does not know."""
    return _UNDECODED.search(text) is None


def _json_record(number: int, line: str, not_decoded: str) -> FileRecord:
    if len(line) > MAX_LINE:
        return FileRecord(number, {}, f"longer than {MAX_LINE:,} characters")
    if not _is_decoded(line):
        return FileRecord(number, {}, not_decoded)
    try:
        value = parse_json(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return FileRecord(number, {}, f"not valid JSON ({reason})")
    return _record_of(number, value)


def _record_of(line: int, value: object) -> FileRecord:
    if not isinstance(value, dict):
        return FileRecord(line, {}, f"not a JSON object but {_kind(value)}")
    return FileRecord(line, _by_name(value.items()))


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    return "a text" if isinstance(value, str) else "a bare value"


def _by_name(pairs: Any) -> dict[str, Any]:
    """Key fields by normalised name; of two with one name the first that is not empty counts."""
    fields: dict[str, Any] = {}
    for column, value in pairs:
        name = plain_column(column)
        if name not in fields or fields[name] in (None, ""):
            fields[name] = value
    return fields


def _csv_records(text: str, columns: frozenset[str], not_decoded: str) -> Iterator[FileRecord]:
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    delimiter = _delimiter(lines, columns)
    rows = _cells(lines, delimiter)
    header = next(([plain_column(cell) for cell in cells] for _, cells, _ in rows if cells), [])
    for line, cells, problem in rows:
        if problem is not None:
            yield FileRecord(line, {}, problem)
        elif any(cell.strip() for cell in cells):
            yield _csv_record(line, header, cells, not_decoded)


def _csv_record(line: int, header: list[str], cells: list[str], not_decoded: str) -> FileRecord:
    if not _is_decoded("".join(cells)):
        return FileRecord(line, {}, not_decoded)
    if any(cell.strip() for cell in cells[len(header) :]):
        return FileRecord(line, {}, f"{len(cells)} cells under {len(header)} columns")
    return FileRecord(line, _by_name(zip(header, cells, strict=False)))


def _delimiter(lines: list[str], columns: frozenset[str]) -> str:
    """Return the delimiter under which the header names a question; most columns win."""
    best, most = "", 0
    for delimiter in _DELIMITERS:
        header: list[str] = next((cells for _, cells, _ in _cells(lines, delimiter) if cells), [])
        if len(header) > most and columns.intersection(plain_column(cell) for cell in header):
            best, most = delimiter, len(header)
    if lines and not best:
        names = ", ".join(sorted(columns))
        raise InputError("QUESTIONS", f"The first line names no column {names} or 问题")
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


def _sheet_records(raw: bytes, tell: Callable[[str], object]) -> Iterator[FileRecord]:
    """Yield the rows of a workbook's first sheet under the names in its first row."""
    from agent.reading.sheets import first_sheet

    try:
        rows, sheets = first_sheet(io.BytesIO(raw))
    except CannotRead:
        raise InputError("QUESTIONS", "The workbook cannot be read") from None
    if sheets > 1:
        tell(f"only the first of {sheets} sheets is read")
    names = [plain_column(name) for name in rows[0]] if rows else []
    for line, cells in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in cells):
            yield FileRecord(line, _by_name(zip(names, cells, strict=False)))
