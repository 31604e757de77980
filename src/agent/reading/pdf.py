"""Open PDFs, also those whose end is missing, as far as they go."""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pypdf import PdfReader

BROKEN = (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError)
"""Errors besides PyPdfError that a broken PDF makes the parser raise."""
_MOST = 256 << 20
"""Bytes of a file that is mended: it is held in memory whole."""
_TYPE = re.compile(rb"/Type\s{0,9}/(Page|Catalog)(?![A-Za-z])")
_ENCRYPTION = (b"/Encrypt", b"/Filter/Standard", b"/Filter /Standard")
_OBJECT = re.compile(rb"(?<!\d)(\d{1,7})\s{1,9}(\d{1,5})\s{1,9}obj(?![a-z])")


def open_pdf(file: BinaryIO) -> "tuple[PdfReader, bool]":
    """Return the reader of an open PDF, and whether its end had to be made up.

    Raises PyPdfError and BROKEN where there is nothing to be read.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(file)
        if not reader.is_encrypted:
            len(reader.pages)
        return reader, False
    except (PyPdfError, *BROKEN):
        file.seek(0)
        body = file.read(_MOST + 1)
        if len(body) > _MOST or not _OBJECT.search(body):
            raise
        reader = PdfReader(io.BytesIO(body + _ending(body)))
        # What says how it is encrypted stands at the end, too.
        lost = any(mark in body for mark in _ENCRYPTION) and not reader.is_encrypted
        if lost or not (reader.is_encrypted or len(reader.pages)):
            raise
        return reader, True


def _ending(body: bytes) -> bytes:
    """Return an end that makes the parser look for the objects itself, and names its pages.

    The file's own list of pages is used where its catalog is there and was not cut off.
    """
    objects = [(number, set(_TYPE.findall(text))) for number, text in _objects(body)]
    root = next((number for number, types in reversed(objects) if b"Catalog" in types), None)
    if root is None:
        free = max((number for number, _ in objects), default=0) + 1
        pages = [number for number, types in objects if b"Page" in types]
        kids = b" ".join(b"%d 0 R" % number for number in dict.fromkeys(pages))
        tree = b"\nendobj\n%d 0 obj\n<</Type /Catalog /Pages %d 0 R>>\nendobj\n%d 0 obj\n" % (
            free, free + 1, free + 1,
        )  # fmt: skip
        tree += b"<</Type /Pages /Count %d /Kids [%s]>>\nendobj" % (len(pages), kids)
        root = free
    else:
        tree = b"\nendobj"
    return tree + b"\ntrailer\n<</Root %d 0 R /Size 9999999>>\nstartxref\n0\n%%%%EOF\n" % root


def _objects(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the first bytes of each object that is whole."""
    starts = [(int(match[1]), match.end()) for match in _OBJECT.finditer(body)]
    ends = [at for _, at in starts[1:]] + [len(body)]
    for (number, at), end in zip(starts, ends, strict=True):
        text = body[at : min(end, at + 4096)]
        if b"endobj" in text or b"stream" in text:
            yield number, text
