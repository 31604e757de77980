"""Name the reader of each kind of file, for own files and for what web pages lead to."""

import io
import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import BinaryIO

from agent.reading import office, text_formats
from agent.reading.encoding import UnknownEncoding, encoding_of, page_text
from agent.reading.extractors import ExtractedPage, pdf_text, whole_html
from agent.reading.parts import OLE, CannotRead, FilePart
from agent.reading.sheets import read_ole, read_xlsx

KINDS: Mapping[str, str] = {
    ".pdf": "pdf",
    ".md": "markdown", ".markdown": "markdown", ".mkd": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".txt": "text", ".text": "text",
    ".csv": "csv", ".tsv": "csv",
    ".docx": "docx", ".docm": "docx", ".dotx": "docx",
    ".xlsx": "xlsx", ".xlsm": "xlsx", ".xltx": "xlsx",
    ".pptx": "pptx", ".pptm": "pptx", ".ppsx": "pptx",
    ".odt": "odf", ".ods": "odf", ".odp": "odf",
    ".epub": "epub", ".rtf": "rtf", ".eml": "mail", ".mht": "mail", ".mhtml": "mail",
    ".json": "json", ".geojson": "json", ".ipynb": "json",
    ".jsonl": "json_lines", ".ndjson": "json_lines",
    ".xml": "xml", ".kml": "xml", ".gpx": "xml",
    ".srt": "subtitles", ".vtt": "subtitles",
    ".rst": "rst", ".org": "org", ".tex": "tex",
}  # fmt: skip
"""Any other file that is text is read as lines."""
_OLD: Mapping[str, str] = {
    ".doc": "text", ".wps": "text", ".rtf": "text", ".xls": "csv", ".et": "csv",
    ".ppt": "text", ".dps": "text", ".msg": "text",
}  # fmt: skip
"""Endings of old Office; programs write web pages, RTF and tables of text under them, too."""
HEAD = 1024
"""Bytes that tell what a file is."""
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")

OF_FILES: Mapping[str, Callable[[BinaryIO], Iterable[FilePart]]] = {
    "docx": office.read_docx,
    "xlsx": read_xlsx,
    "pptx": office.read_pptx,
    "odf": office.read_odf,
    "epub": office.read_epub,
    "ole": read_ole,
}
OF_BYTES: Mapping[str, Callable[[bytes], Iterable[FilePart]]] = {
    "rtf": text_formats.read_rtf,
    "mail": lambda body: text_formats.read_mail(body, _attachment),
    "xml": text_formats.read_xml,
}
OF_TEXT: Mapping[str, Callable[[str], Iterable[FilePart]]] = {
    "json": text_formats.read_json,
    "json_lines": text_formats.read_json_lines,
    "subtitles": text_formats.read_subtitles,
    "rst": text_formats.read_rst,
    "org": text_formats.read_org,
    "tex": text_formats.read_tex,
    "lines": text_formats.read_lines,
}


def kind_of_file(file: BinaryIO, name: str) -> str | None:
    """Return the kind of an open file, by its content where that is plain, else by its name."""
    ending = PurePath(name).suffix.lower()
    named = KINDS.get(ending)
    head = file.read(HEAD)
    file.seek(0)
    if head.startswith(b"PK\x03\x04"):
        return office.package_kind(file) or (named if named in OF_FILES else None)
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(OLE):
        return "ole" if named in OF_FILES or ending in _OLD else None
    is_picture = (mimetypes.guess_type(name)[0] or "").startswith("image/")
    if named is None and not is_picture and _is_text(head):
        if is_web_page(head):
            return "html"
        return "xml" if _start(head).startswith(b"<?xml") else _OLD.get(ending, "lines")
    return named


def is_web_page(head: bytes) -> bool:
    """Tell whether a file that begins like this is HTML, or XHTML behind its declaration."""
    start = _start(head)
    return start.startswith(_HTML) or (start.startswith(b"<?xml") and b"<html" in start)


def _start(head: bytes) -> bytes:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()


def _is_text(head: bytes) -> bool:
    """Tell whether a file without an ending that is known may be text."""
    try:
        return bool(head) and (b"\x00" not in head or bool(encoding_of(head)))
    except UnknownEncoding:
        return False


def _attachment(name: str, body: bytes) -> Iterator[FilePart]:
    """Yield what a file has that came with a message; a message in it is not opened."""
    kind = kind_of_file(io.BytesIO(body), name)
    if kind == "pdf":
        yield FilePart(pdf_text(body, max_chars=_ATTACHED, seconds=_SECONDS).text)
    elif kind == "html":
        yield FilePart(whole_html(page_text(body, "text/html")).text)
    elif kind in ("markdown", "text", "csv"):
        yield FilePart(page_text(body, "text/plain"), lines=kind != "markdown")
    elif kind not in (None, "mail"):
        yield from _parts(str(kind), body)


_ATTACHED, _SECONDS = 2_000_000, 20
"""Characters and seconds of a PDF that came with a message."""


def document_text(kind: str, body: bytes, *, max_chars: int) -> ExtractedPage:
    """Return a document as one text; `package` is one of Office that is told by its content."""
    try:
        return _joined(_parts(kind, body), max_chars)
    except CannotRead as error:
        code = str(error)
        return ExtractedPage(failed="page_kind" if code == "page_old_office" else code)


def _parts(kind: str, body: bytes) -> Iterator[FilePart]:
    if kind == "package":
        kind = office.package_kind(io.BytesIO(body)) or ""
    if kind in OF_FILES:
        yield from OF_FILES[kind](io.BytesIO(body))
    elif kind in OF_BYTES:
        yield from OF_BYTES[kind](body)
    elif kind in OF_TEXT:
        yield from OF_TEXT[kind](page_text(body, "text/plain"))
    else:
        raise CannotRead("page_kind")


def _joined(parts: Iterable[FilePart], max_chars: int) -> ExtractedPage:
    texts, title, length = list[str](), "", 0
    for part in parts:
        title = title or part.title
        if part.text.strip():
            texts.append(part.text.strip("\n"))
            length += len(part.text)
        if length > max_chars:
            break
    return ExtractedPage(title[:300], "\n\n".join(texts), partial=length > max_chars)
