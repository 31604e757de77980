"""Extract the text of fetched bytes, with bounds on what a document can do to its reader.

HTML and PDF are read in processes that are killed when their time is up: both formats let a few
hundred kilobytes keep a parser busy for minutes.
"""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.core.errors import ProviderRefused, ProviderUnavailable
from agent.core.strings import valid_text
from agent.reading.encoding import page_text
from agent.reading.extractors import ExtractedPage
from agent.reading.parts import OLE
from agent.reading.workers import Workers

HTML = ("text/html", "application/xhtml+xml")
PDF = ("application/pdf", "application/x-pdf")
PLAIN = ("text/plain", "text/markdown", "text/x-markdown", "text/csv")
UNKNOWN = ("application/octet-stream", "binary/octet-stream")
_OPEN, _OFFICE = (
    "application/vnd.oasis.opendocument",
    "application/vnd.openxmlformats-officedocument",
)
DOCUMENTS: Mapping[str, str] = {
    f"{_OFFICE}.wordprocessingml.document": "package",
    f"{_OFFICE}.spreadsheetml.sheet": "package",
    f"{_OFFICE}.presentationml.presentation": "package",
    f"{_OPEN}.text": "package", f"{_OPEN}.spreadsheet": "package",
    f"{_OPEN}.presentation": "package",
    "application/epub+zip": "package",
    "application/msword": "ole", "application/vnd.ms-excel": "ole",
    "application/vnd.ms-powerpoint": "ole",
    "application/rtf": "rtf", "text/rtf": "rtf",
    "application/json": "json", "application/geo+json": "json", "application/ld+json": "json",
    "application/xml": "xml", "text/xml": "xml", "application/rss+xml": "xml",
    "application/atom+xml": "xml",
}  # fmt: skip
"""Content type → kind of the reader in `reading.formats`; sites mix up those of Office."""
KINDS = (*HTML, *PDF, *PLAIN, *UNKNOWN, *DOCUMENTS)
MAX_MARKUP = 1_000_000
"""Characters of HTML that are looked at; more of it takes its reader longer than it has."""

_MESSAGES = {
    "page_unreadable": "the document is broken",
    "page_encrypted": "the document needs a password",
    "page_too_complex": "the document needs more memory than it gets",
    "page_empty": "there is no text in it",
    "page_kind": "it is not a kind of file that is read",
    "timeout": "the document was not read in its time",
}


@dataclass(frozen=True)
class ExtractLimits:
    """Bound one document: characters kept, seconds (of a PDF) and megabytes of its reader."""

    max_chars: int = 200_000
    seconds: int = 20
    html_seconds: int = 8
    megabytes: int = 768


class Extractor:
    """Take the text out of pages."""

    def __init__(self, limits: ExtractLimits | None = None) -> None:
        self._limits = limits or ExtractLimits()
        bounds = (str(self._limits.max_chars), str(self._limits.megabytes))
        command = [sys.executable, "-P", "-m", "agent.reading.worker", *bounds]
        self._workers = Workers(command)

    async def extract(self, body: bytes, content_type: str) -> tuple[ExtractedPage, str]:
        """Return the text and the kind (html, pdf, text, or one of `reading.formats`) of a body.

        Raises ProviderRefused: page_kind, page_empty, page_unreadable, page_encrypted,
        page_too_complex; ProviderUnavailable timeout.
        """
        kind = body_kind(body, content_type)
        if kind == "text":
            extracted = ExtractedPage(text=await asyncio.to_thread(page_text, body, content_type))
        elif kind == "html":
            extracted = await self._html(body, content_type)
        else:
            extracted = await self._workers.read(kind, body, seconds=self._limits.seconds)
        return self._accept(extracted), kind

    async def _html(self, body: bytes, content_type: str) -> ExtractedPage:
        markup = await asyncio.to_thread(page_text, body, content_type)
        encoded = markup[:MAX_MARKUP].encode("utf-8", "replace")
        seconds = min(self._limits.seconds, self._limits.html_seconds)
        extracted = await self._workers.read("html", encoded, seconds=seconds)
        return replace(extracted, partial=extracted.partial or len(markup) > MAX_MARKUP)

    def _accept(self, extracted: ExtractedPage) -> ExtractedPage:
        if extracted.failed == "timeout":
            raise ProviderUnavailable("reader", _MESSAGES["timeout"], code="timeout")
        if extracted.failed in _MESSAGES:
            raise ProviderRefused("reader", _MESSAGES[extracted.failed], code=extracted.failed)
        text, limit = valid_text(extracted.text).strip(), self._limits.max_chars
        if not text:
            raise ProviderRefused("reader", _MESSAGES["page_empty"], code="page_empty")
        partial = extracted.partial or len(text) > limit
        return replace(
            extracted, title=valid_text(extracted.title).strip(), text=text[:limit], partial=partial
        )


def body_kind(body: bytes, content_type: str) -> str:
    """Return the kind of a body, by its first bytes where they are clear, else by its header."""
    media_type = content_type.partition(";")[0].strip().lower()
    head = body[:1024].lstrip()
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"{\\rtf")):
        return "package" if head.startswith(b"PK") else "rtf"
    if media_type in PDF:
        raise ProviderRefused("reader", _MESSAGES["page_unreadable"], code="page_unreadable")
    if media_type in HTML or (media_type in (*UNKNOWN, "") and head[:1] == b"<"):
        return "html"
    kind = DOCUMENTS.get(media_type)
    if kind == "ole" and not body.startswith(OLE):
        # Sites call tables of HTML or tabs Excel's.
        return "html" if head[:1] == b"<" else "text"
    if kind:
        return kind
    if media_type in PLAIN or (media_type == "" and b"\x00" not in head):
        return "text"
    raise ProviderRefused("reader", f"{media_type[:80]} is not read", code="page_kind")
