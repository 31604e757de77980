"""What a text extractor gives, and the two that need an extra; they run here or in the worker."""

import io
import logging
import re
import time
from dataclasses import dataclass

MAX_PAGES = 200
_TITLE = 300
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")


@dataclass(frozen=True)
class Extracted:
    """Title and text; `partial` if something was left out; `failed` is a code instead of both."""

    title: str = ""
    text: str = ""
    partial: bool = False
    failed: str | None = None


def html_text(markup: str) -> Extracted:
    """The main text of a page as Markdown, without menus and comments; needs trafilatura."""
    import trafilatura
    from lxml.etree import ParserError  # type: ignore[import-untyped]
    from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        # Its own loader refuses documents that browsers show.
        tree = document_fromstring(markup.replace("\0", "").encode("utf-8", "replace"), parser)
    except ParserError:
        return Extracted(failed="page_empty")
    title = _html_title(tree)
    text = trafilatura.extract(
        tree,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_links=False,
        include_images=False,
    )
    return Extracted(title, _ESCAPED.sub(r"\1", text or trafilatura.html2txt(tree)))


def pdf_text(body: bytes, *, max_chars: int, seconds: float) -> Extracted:
    """The text of a PDF's first MAX_PAGES pages, as far as it comes in time; needs pypdf."""
    from pypdf import PdfReader
    from pypdf.errors import PdfReadError

    until = time.monotonic() + seconds
    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        return Extracted(failed="page_encrypted")
    total, texts, length = len(reader.pages), [], 0
    for number in range(min(total, MAX_PAGES)):
        if length > max_chars or time.monotonic() > until:
            break
        try:
            texts.append(reader.pages[number].extract_text().strip())
        except (PdfReadError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            texts.append("")  # one broken page; the others may be whole
        length += len(texts[-1]) + 2
    title = str((reader.metadata.title if reader.metadata else "") or "")
    whole = "\n\n".join(text for text in texts if text)
    return Extracted(title[:_TITLE].strip(), whole, partial=len(texts) < total)


def _html_title(tree: object) -> str:
    """The title as shared, as shown in the tab, or the first heading."""
    for path in (
        "//meta[@property='og:title']/@content",
        "//title//text()",
        "//h1//text()",
    ):
        found = tree.xpath(path)  # type: ignore[attr-defined]
        words = " ".join(" ".join(str(part) for part in found[:20]).split())
        if words:
            return words[:_TITLE]
    return ""
