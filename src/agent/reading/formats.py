"""Name the reader of each kind of file, for own files and for what web pages lead to."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO

from agent.reading import office, text_formats
from agent.reading.extract import page_text
from agent.reading.extractors import ExtractedPage
from agent.reading.parts import CannotRead, FilePart
from agent.reading.sheets import read_ole, read_xlsx

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
    "mail": text_formats.read_mail,
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
