"""Files of Office, OpenDocument and EPUB as people have them, made for a test."""

import datetime
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

import docx
import openpyxl
from openpyxl.chart import BarChart
from openpyxl.comments import Comment
from openpyxl.styles import Font

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
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
    """What a part refers to, each by its kind, which is its id, too."""
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{R}/{id_}" Target="{target}"/>'
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


def _level(at: int, form: str, text: str, style: str = "") -> str:
    linked = f'<w:pStyle w:val="{style}"/>' if style else ""
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{linked}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def _paragraph(text: str, style: str = "", number: tuple[int, int] | None = None) -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    listed = (
        f'<w:numPr><w:ilvl w:val="{number[1]}"/><w:numId w:val="{number[0]}"/></w:numPr>'
        if number else ""
    )  # fmt: skip
    return f"<w:p><w:pPr>{named}{listed}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def contract() -> bytes:
    """Chapters by a style with an outline level, clauses whose numbers only Word shows."""
    styles = (
        '<w:style w:type="paragraph" w:styleId="c"><w:name w:val="章"/><w:pPr><w:numPr>'
        '<w:numId w:val="2"/></w:numPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    )
    legal = _level(1, "decimal", "%1.%2").replace("<w:lvlText", "<w:isLgl/><w:lvlText")
    first = _level(0, "chineseCountingThousand", "第%1条")
    clauses = first + legal + _level(2, "lowerLetter", "(%3)")
    numbering = (
        f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="0">{clauses}</w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="1">{_level(0, "chineseCounting", "第%1章", "c")}'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
    )
    body = "".join([
        _paragraph("总则", "c"), _paragraph("目的", number=(1, 0)),
        _paragraph("交货 wordclause", number=(1, 0)), _paragraph("时间", number=(1, 1)),
        _paragraph("地点", number=(1, 1)), _paragraph("仓库", number=(1, 2)),
        _paragraph("码头", number=(1, 2)), _paragraph("附则", "c"),
        _paragraph("wordlast", number=(1, 0)),
    ])  # fmt: skip
    return word_of(
        body,
        **{
            "word/_rels/document.xml.rels": relations(
                styles="styles.xml", numbering="numbering.xml"
            ),
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "word/numbering.xml": numbering,
        },
    )


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
    # A colour that somebody left behind makes no sheet of a million rows.
    sheet.cell(1_048_576, 1).font = sheet.cell(3, 16_384).font = Font(bold=True)
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


OldCell = str | tuple[float, int] | None
"""Words; a number and its format, of OLD_FORMATS; nothing."""


def old_workbook(rows: Sequence[Sequence[OldCell]], merged: tuple[int, int, int, int]) -> bytes:
    """A workbook of Excel 97 (.xls) with one sheet; formats: plain, date, percentage, money."""
    cells = b""
    for at, row in enumerate(rows):
        for column, value in enumerate(row):
            place = struct.pack("<HH", at, column)
            if isinstance(value, str):
                cells += _record(0x204, place + struct.pack("<H", 0) + _string(value, "<H"))
            elif value:
                cells += _record(0x203, place + struct.pack("<Hd", value[1], value[0]))
    sheet = _begin(0x10) + cells + _record(0xE5, struct.pack("<5H", 1, *merged)) + _record(0xA)
    font = _record(0x31, struct.pack("<HHHHH4xB", 200, 0, 0x7FFF, 400, 0, 0) + _string("Arial"))
    formats = _record(0x41E, struct.pack("<H", 164) + _string('"¥"#,##0.00', "<H"))
    shared = font * 4 + formats
    shared += b"".join(
        _record(0xE0, struct.pack("<HHH14x", 0, form, 0)) for form in (0, 14, 10, 164)
    )
    name = _string("旧表")
    begin = _begin(5)
    length = len(begin) + len(shared) + 4 + 6 + len(name) + 4
    bound = _record(0x85, struct.pack("<IH", length, 0) + name)
    return _compound("Workbook", begin + shared + bound + _record(0xA) + sheet)


def _record(code: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", code, len(data)) + data


def _begin(kind: int) -> bytes:
    return _record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 0, 0, 0x600))


def _string(text: str, length: str = "<B") -> bytes:
    return struct.pack(length, len(text)) + b"\1" + text.encode("utf-16-le")


def _compound(name: str, stream: bytes) -> bytes:
    """One stream in the container of old Office: a table of sectors, a folder, the stream."""
    body = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")
    sectors = len(body) // 512
    table = [-3, -2, *range(3, sectors + 2), -2]
    head = OLE + struct.pack(
        "<16x5H6x9I109i", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0,
        0, *[-1] * 108,
    )  # fmt: skip
    folder = _entry("Root Entry", 5, 1, -2, 0) + _entry(name, 2, -1, 2, len(body)) + bytes(256)
    return head + struct.pack("<128i", *table, *[-1] * (128 - len(table))) + folder + body


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le")
    return raw.ljust(64, b"\0") + struct.pack(
        "<HBBiii36xiII", len(raw) + 2, kind, 1, -1, -1, child, start, size, 0
    )


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
        "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
        "ppt/presentation.xml":
            f'<p:presentation {names}><p:sldIdLst><p:sldId id="1" r:id="r2"/>'
            '<p:sldId id="2" r:id="r1"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(r1="slides/a.xml", r2="slides/b.xml"),
        "ppt/slides/b.xml": first,
        "ppt/slides/_rels/b.xml.rels":
            relations(r1="../charts/chart1.xml", notesSlide="../notesSlides/n.xml",
                      diagramData="../diagrams/data1.xml"),
        "ppt/diagrams/data1.xml":
            f"<d {names}><a:p><a:r><a:t>wordart one</a:t></a:r></a:p><a:p><a:r><a:t>wordart two"
            "</a:t></a:r></a:p></d>",
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
