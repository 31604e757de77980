"""Files of Office, OpenDocument and EPUB: as people have them, and made for a test."""

import functools
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


@functools.cache
def kept(name: str) -> bytes:
    """One of those as people have them; tests/fixtures/README.md tells what is in it."""
    return (Path(__file__).parents[1] / "fixtures" / "office" / name).read_bytes()


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in parts.items():
            file.writestr(name, body)
    return buffer.getvalue()


def relations(**targets: str) -> str:
    """What a part refers to, each by its kind, which is its id, too."""
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{R}/{id_}" Target="{target}"/>'
        for id_, target in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def word_of(body: str, *, doctype: str = "", **parts: str) -> bytes:
    """A document of Word with this XML in its body, and these other parts."""
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
    )
    return package({
        "[Content_Types].xml": types,
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/document.xml":
            f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{W}"><w:body>{body}'
            "</w:body></w:document>",
        **parts,
    })  # fmt: skip


def sheet_of(rows: list[list[object]]) -> bytes:
    """A workbook of one sheet with these rows."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def open_document(kind: str, body: str, manifest: str = "") -> bytes:
    """A text, spreadsheet or presentation of OpenDocument."""
    names = " ".join(f'xmlns:{n}="{_ODF}:{long}:1.0"' for n, long in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
    ))  # fmt: skip
    return package({
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "META-INF/manifest.xml":
            f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">{manifest}'
            "</manifest:manifest>",
        "content.xml":
            f"<office:document-content {names}><office:body><office:{kind}>{body}"
            f"</office:{kind}></office:body></office:document-content>",
    })  # fmt: skip


def book(*chapters: str, **parts: str) -> bytes:
    """An EPUB of these chapters' XHTML."""
    items = "".join(f'<item id="c{n}" href="{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in reversed(range(len(chapters))))
    return package({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml":
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="O/c.opf"/></rootfiles></container>',
        "O/c.opf":
            '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The wordbook</dc:title>'
            f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"O/{n}.xhtml": chapter for n, chapter in enumerate(chapters)},
        **parts,
    })  # fmt: skip
