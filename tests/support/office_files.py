"""Files of Office, OpenDocument and EPUB as people have them, made for a test."""

import datetime
import io
import zipfile
from collections.abc import Mapping

import docx
import openpyxl
from openpyxl.chart import BarChart
from openpyxl.comments import Comment

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in parts.items():
            file.writestr(name, body)
    return buffer.getvalue()


def relations(**targets: str) -> str:
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{R}/any" Target="{target}"/>'
        for id_, target in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def word() -> bytes:
    """A title, headings, a list, a table with merged cells, a footer, a comment."""
    document = docx.Document()
    document.add_heading("Lease wordtitle", 0)
    document.add_heading("第一章 总则", 1)
    paragraph = document.add_paragraph("The pressure is <5 MPa and >3 MPa wordbody.")
    document.add_comment(paragraph.runs, "wordcomment", "Anna", "A")
    for text in ("first step", "second step wordstep"):
        document.add_paragraph(text, style="List Number")
    table = document.add_table(3, 2)
    for row, cells in enumerate(
        [("部门", "预算"), ("研发部 worddept", "101"), ("", "102 wordrow")]
    ):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    document.sections[0].footer.paragraphs[0].text = "Contract No. wordfooter"
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def word_of(body: str, *, doctype: str = "") -> bytes:
    """A document of Word with this XML in its body."""
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
    )
    return package({
        "[Content_Types].xml": types,
        "_rels/.rels": relations(r1="word/document.xml").replace("/any", "/officeDocument"),
        "word/document.xml":
            f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{W}"><w:body>{body}'
            "</w:body></w:document>",
    })  # fmt: skip


def workbook() -> bytes:
    """Two sheets: a caption, merged cells, a date, a percentage, money, a comment; a formula."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "预算表"
    rows = [
        ("2026 年预算 wordcaption",), ("部门", "金额", "日期", "比例"),
        ("研发部 worddept", 1234.5, datetime.date(2026, 5, 17), 0.155),
        (None, 102, datetime.datetime(2026, 6, 1, 13, 30), 0.2),
    ]  # fmt: skip
    for row in rows:
        sheet.append(row)
    sheet.merge_cells("A3:A4")
    sheet["B3"].number_format = '"¥"#,##0.00'
    sheet["C3"].number_format = "yyyy/m/d"
    sheet["D3"].number_format = sheet["D4"].number_format = "0.0%"
    sheet["B4"].comment = Comment("wordcomment", "Anna")
    sheet.add_chart(BarChart(), "H2")
    other = book.create_sheet("wordsheet")
    other.sheet_state = "hidden"
    other.append(["wordhidden", 110101199003070000])
    other["C1"] = "=SUM(B1:B1)"
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def sheet_of(rows: list[list[object]]) -> bytes:
    """A workbook of one sheet with these rows."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _shape(text: str, kind: str = "") -> str:
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    return f"<p:sp>{holder}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def _row(*cells: str) -> str:
    inner = "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>"
                    for c in cells)  # fmt: skip
    return f"<a:tr>{inner}</a:tr>"


def slides() -> bytes:
    """Two slides, the second file the first in order: a title, a table, a chart, notes."""
    names = f'xmlns:a="{A}" xmlns:p="{P}" xmlns:c="{C}" xmlns:r="{R}"'
    points = "".join(
        f'<c:{tag}><c:pt idx="0"><c:v>{value}</c:v></c:pt></c:{tag}>'
        for tag, value in (("tx", "Sales"), ("cat", "2026"), ("val", "4.3"))
    )
    first = (
        f"<p:sld {names}>{_shape('wordfirst', 'title')}"
        f"<a:tbl>{_row('cell', 'value')}{_row('cathode', 'wordcell')}</a:tbl>"
        '<p:graphicFrame><c:chart r:id="r1"/></p:graphicFrame></p:sld>'
    )
    return package({
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml":
            f'<p:presentation {names}><p:sldIdLst><p:sldId id="1" r:id="r2"/>'
            '<p:sldId id="2" r:id="r1"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(r1="slides/a.xml", r2="slides/b.xml"),
        "ppt/slides/b.xml": first,
        "ppt/slides/_rels/b.xml.rels":
            relations(r1="../charts/chart1.xml", r2="../notesSlides/n.xml"),
        "ppt/charts/chart1.xml": f"<c:chartSpace {names}><c:ser>{points}</c:ser></c:chartSpace>",
        "ppt/notesSlides/n.xml": f"<p:notes {names}>{_shape('wordnotes', 'body')}</p:notes>",
        "ppt/slides/a.xml": f"<p:sld {names}>{_shape('wordsecond')}</p:sld>",
        "ppt/media/picture.png": b"\x89PNG",
    })  # fmt: skip


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
