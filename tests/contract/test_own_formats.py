"""Own files of every common kind are read; what is left out of them, and hostile ones, named."""

from datetime import datetime, time, timedelta
from email.message import EmailMessage
from io import BytesIO
from zipfile import ZipFile

import pytest

from agent.knowledge.types import Scope
from agent.reading.office import read_epub, read_odf
from agent.reading.parts import MAX_CELLS, note_text, table_parts
from agent.reading.sheets import shown_value
from agent.texts import detect_language
from tests.support import office_files as files
from tests.support.knowledge_bench import Bench, bench_fixture, codes  # noqa: F401

pytestmark = pytest.mark.slow

ZIP = files.package({"a.txt": "words"})
ENCRYPTED = files.OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600)
LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


CELL = (
    '<table:table-cell table:number-columns-repeated="16384"><text:p>w</text:p></table:table-cell>'
)


def mail() -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "anna@example.org", "ben@example.org"
    message["Subject"], message["Date"] = "报价 wordsubject", "Tue, 17 Nov 2026 09:00:00 +0800"
    message.set_content("Dear Ben,\n\nthe price is 12.5 万元 wordletter.\n")
    message.add_alternative("<p>only wordhtml</p>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="报价单.pdf")
    for name, body in (("预算.xlsx", files.sheet_of([["wordattached", 3]])), ("a.zip", ZIP)):
        message.add_attachment(body, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


LEASE, BUDGET, DECK = map(files.kept, ("lease.docx", "budget.xlsx", "deck.pptx"))
MAIL = mail()
ODT = files.open_document(
    "text",
    "<text:tracked-changes><text:p>worddeleted</text:p></text:tracked-changes>"
    '<text:h text:outline-level="1">Chapter wordchapter</text:h>'
    "<text:p>Text<text:s/>wordtext<text:note><text:note-body><text:p>wordnote</text:p>"
    "</text:note-body></text:note></text:p>"
    "<text:list><text:list-item><text:p>wordlisted</text:p></text:list-item></text:list>",
)
ODS = files.open_document(
    "spreadsheet",
    '<table:table table:name="wordtab"><table:table-row><table:table-cell><text:p>cell</text:p>'
    "</table:table-cell><table:table-cell><text:p>value</text:p></table:table-cell>"
    '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
    '<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>cathode</text:p>'
    "</table:table-cell><table:table-cell><text:p>15,5 %</text:p></table:table-cell>"
    "</table:table-row>"
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    "</table:table>",
)

# name, bytes, text that one passage has, its page, its last heading, part of the note
READ = [
    ("lease.docx", LEASE, "The pressure is <5 MPa and >3 MPa wordbody.", None,
     "第一章 总则", ""),
    ("lease.docx", LEASE,
     "| 部门 | 预算 |\n|---|---|\n| 研发部 worddept | 101 |\n| 研发部 worddept | 102 wordrow |",
     None, "第一章 总则", ""),
    ("lease.docx", LEASE, "1. first step\n\n2. second step wordstep", None, "第一章 总则", ""),
    ("lease.docx", LEASE, "Contract No. wordfooter", None, "第一章 总则", ""),
    ("lease.docx", LEASE, "wordcomment", None, "第一章 总则", ""),
    ("contract.docx", files.kept("contract.docx"),
     "第二条 交货 wordclause\n\n2.1 时间\n\n2.2 地点\n\n(a) 仓库\n\n(b) 码头", None,
     "第一章 总则", ""),
    ("contract.docx", files.kept("contract.docx"), "第三条 wordlast", None, "第二章 附则", ""),
    ("formula.docx", files.word_of(
        f'<w:p xmlns:m="{files.M}"><w:r><w:t>wordmath </w:t></w:r><m:oMathPara><m:oMath><m:r>'
        "<m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e>"
        "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></m:oMathPara>"
        "<w:r><w:t> end</w:t></w:r></w:p>"),
     "wordmath E=mc^2(a)/(b) end", None, "formula", ""),
    ("exported.docx", files.word_of("<w:p/>", **{
        "word/_rels/document.xml.rels": files.relations(aFChunk="chunk.mht"),
        "word/chunk.mht": "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n"
        "Content-Type: text/html; charset=utf-8\n\n<h1>导出</h1><p>wordexported</p>\n--b--\n"}),
     "wordexported", None, "导出", ""),
    ("budget.xlsx", BUDGET,
     "2026 年预算 wordcaption\n\n| 部门 | 金额 | 日期 | 比例 |\n|---|---|---|---|\n"
     "| 研发部 worddept | ¥1,234.50 | 2026-05-17 | 15.5% |\n"
     "| 研发部 worddept | 102 [wordcomment] | 2026-06-01 13:30:00 | 20.0% |", None, "预算表",
     "1 formula without a value"),
    ("budget.xlsx", BUDGET, "wordhidden", None, "wordsheet", "1 chart in it not read"),
    ("budget.xlsx", BUDGET, "| wordhidden | 110101199003070000 |", None, "wordsheet",
     "open it in Excel and save it"),
    ("old.xls", files.kept("old.xls"),
     "| 研发部 | ¥1,234.50 | 2026-05-17 | 15.50% |\n| 研发部 | 3 |", None, "旧表", ""),
    ("report.xls", b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
     b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
     b'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="wordxmlsheet">'
     b'<Table><Row><Cell><Data>a</Data></Cell><Cell><Data>b</Data></Cell><Cell><Data>c</Data></Cell>'
     b'</Row><Row><Cell><Data>1</Data></Cell><Cell ss:Index="3"><Data>3</Data></Cell></Row></Table>'
     b"</Worksheet></Workbook>", "| a | b | c |\n|---|---|---|\n| 1 |  | 3 |", None,
     "wordxmlsheet", ""),
    ("deck.pptx", DECK, "wordart one\nwordart two", 1, "wordfirst", ""),
    ("deck.pptx", DECK, "| cell | value |\n|---|---|\n| cathode | wordcell |", 1,
     "wordfirst", "1 picture in it not read"),
    ("deck.pptx", DECK, "| · | Sales |\n|---|---|\n| 2026 | 4.3 |", 1, "wordfirst", ""),
    ("deck.pptx", DECK, "wordnotes", 1, "wordfirst", ""),
    ("deck.pptx", DECK, "wordsecond", 2, "2", ""),
    ("text.odt", ODT, "Text wordtext\n\nwordnote\n\n- wordlisted", None, "Chapter wordchapter", ""),
    ("sheet.ods", ODS, "| cell | value |\n|---|---|\n| cathode | 15,5 % |\n| cathode | 15,5 % |",
     None, "wordtab", ""),
    ("slides.odp", files.open_document(
        "presentation", "<draw:page/><draw:page><draw:frame><draw:text-box><text:p>wordframe"
        "</text:p></draw:text-box></draw:frame></draw:page>"), "wordframe", 2, "2", ""),
    ("book.epub", files.book("<html><body><h1>Two</h1><p>wordlast</p></body></html>",
                             "<html><body><h1>One</h1><p>wordearly</p></body></html>"),
     "wordearly", None, "One", ""),
    ("letter.rtf", b"{\\rtf1\\ansi\\ansicpg936 wordrtf \\u32534?\\u21495?\\par "
     b"\\'d5\\fd cell\\cell value\\cell\\row}", "wordrtf 编号", None, "letter", ""),
    ("table.rtf", b"{\\rtf1\\ansi\\ansicpg936 a\\cell b\\cell\\row c\\cell wordcell\\cell\\row"
     b"\\pard "
     + "编号".encode("gbk") + b" end{\\footnote wordfoot}}",
     "| a | b |\n|---|---|\n| c | wordcell |\n\n编号 end wordfoot", None, "table", ""),
    ("mail.eml", MAIL, "Subject: 报价 wordsubject", None, "报价 wordsubject",
     "what is attached was not read: 报价单.pdf, a.zip"),
    ("mail.eml", MAIL, "the price is 12.5 万元 wordletter.", None, "报价 wordsubject", ""),
    ("mail.eml", MAIL, "Attachments: 报价单.pdf, 预算.xlsx, a.zip", None, "报价 wordsubject", ""),
    ("mail.eml", MAIL, "| wordattached | 3 |", None, "Sheet", ""),
    ("only.eml", b"From: a@example.org\nSubject: s\nContent-Type: text/html; charset=gb2312\n\n"
     + "<p>只有网页 wordhtml</p>".encode("gb2312"), "只有网页 wordhtml", None, "s", ""),
    ("data.json", '{"项目":{"编号":"wordjson","预算":[1,2]},"行":[{"a":1,"b":null}]}'.encode(),
     "项目.编号: wordjson\n项目.预算: 1, 2\n行[1] a: 1; b: null", None, "data", ""),
    ("broken.json", b'{"a": wordbroken', '{"a": wordbroken', None, "broken", "no whole JSON"),
    ("book.ipynb", b'{"cells": [{"cell_type": "markdown", "source": ["# Head\\n", "words"]},'
     b' {"cell_type": "code", "source": "def f():\\n    wordcode()"}]}',
     "words\n\ndef f():\n    wordcode()", None, "Head", ""),
    ("rows.jsonl", b'{"a":"wordline","b":1}\nnot json\n{"a":"c"}',
     "a: wordline; b: 1\nnot json\na: c", None, "rows", "1 line is no JSON"),
    ("part.xml", '<?xml version="1.0" encoding="GBK"?><r><n 号="7">编号 wordxml</n><n>二</n></r>'
     .encode("gbk"), "r: n: 号=7; n: 编号 wordxml; n: 二", None, "part", ""),
    ("deep.xml", b"<r><i><p>1</p><q>wordfirst</q></i><i><p>2</p><q>b</q></i><t>a <b>bold</b> c</t>"
     b"</r>", "i: p: 1; q: wordfirst\ni: p: 2; q: b\na bold c", None, "deep", ""),
    ("film.srt", "1\r\n00:00:01,000 --> 00:00:02,000\r\n第一句\r\nwordsaid\r\n\r\n2\r\n"
     "00:01:03,500 --> 00:01:04,000\r\nlast\r\n".encode(),
     "00:00:01.000 第一句 wordsaid\n00:01:03.500 last", None, "film", ""),
    ("film.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nwordvtt\n", "00:01.000 wordvtt", None,
     "film", ""),
    ("text.rst", "标题\n====\n\nwords\n\nPart\n----\n\nwordrst here\n".encode(), "wordrst here",
     None, "Part", ""),
    ("text.org", "#+TITLE: 笔记\n* 标题\n** Part\n| a | b |\n|---+---|\n| 1 | wordorg |\n".encode(),
     "| a | b |\n|---|---|\n| 1 | wordorg |", None, "Part", ""),
    ("text.tex", b"\\title{Paper}\n\\begin{document}\n\\section{Method}\n50\\% wordtex % remark\n"
     b"\\end{document}", "50% wordtex", None, "Method", ""),
    ("set.yaml", "编号: wordyaml\nlist:\n  - a\n".encode(), "编号: wordyaml\nlist:\n  - a", None,
     "set", ""),
    ("code.py", b'def f():\n    """Say."""\n    return "wordpy"\n',
     'def f():\n    """Say."""\n    return "wordpy"', None, "code", ""),
    ("Makefile", b"all:\n\tmake wordmake\n", "all:\n\tmake wordmake", None, "Makefile", ""),
    ("no_ending", "编号 wordplain".encode(), "编号 wordplain", None, "no ending", ""),
    ("no_ending_docx", files.word_of("<w:p><w:r><w:t>wordnameless</w:t></w:r></w:p>"),
     "wordnameless", None, "no ending docx", ""),
    ("page.doc", b"<html><body><p>wordpage</p></body></html>", "wordpage", None, "page", ""),
    ("table.xls", "编号\t预算\n甲\twordtabs\n".encode("gbk"), "编号: 甲; 预算: wordtabs", None,
     "table", "read as GBK"),
    ("letter.doc", b"{\\rtf1 wordletter}", "wordletter", None, "letter", ""),
    ("sheet.docx", files.sheet_of([["wordnamed", 3]]), "| wordnamed | 3 |", None, "Sheet",
     "read as xlsx"),
]  # fmt: skip

HALF = LEASE[: len(LEASE) // 2]


def locked_zip() -> bytes:
    """A document of Word in a zip whose parts have a password."""
    body = bytearray(LEASE)
    at = -1
    while (at := body.find(b"PK\x01\x02", at + 1)) >= 0:
        body[at + 8] |= 1
    return bytes(body)


# name, bytes, code
NAMED = [
    ("half.docx", HALF, "page_unreadable"),
    ("text.docx", b"PK not a zip", "page_unreadable"),
    ("zip.xlsx", ZIP, "page_unreadable"),
    ("password.docx", ENCRYPTED, "page_encrypted"),
    ("password.xlsx", ENCRYPTED, "page_encrypted"),
    ("locked.docx", locked_zip(), "page_encrypted"),
    ("locked.odt", files.open_document("text", "", "<manifest:encryption-data/>"),
     "page_encrypted"),
    ("rights.epub", files.book("<p>words</p>", **{"META-INF/encryption.xml":
     '<e xmlns:c="http://www.w3.org/2001/04/xmlenc#"><c:CipherReference URI="O/0.xhtml"/></e>'}),
     "page_encrypted"),
    ("old.doc", files.OLE + bytes(600) + "WordDocument".encode("utf-16-le"), "page_old_office"),
    ("broken.xls", files.OLE + bytes(600), "page_unreadable"),
    ("laughs.docx", files.word_of("<w:p><w:r><w:t>&i;</w:t></w:r></w:p>", doctype=LAUGHS),
     "page_unreadable"),
    ("deep.docx", files.word_of("<w:sdt><w:sdtContent>" * 3000 + "</w:sdtContent></w:sdt>" * 3000),
     "page_unreadable"),
    ("binary.xlsb", files.package({"[Content_Types].xml": "<Types/>", "xl/workbook.bin": b"\0"}),
     "page_kind"),
    ("empty.docx", files.word_of("<w:p/>"), "page_empty"),
    ("zero.xlsx", b"", "page_empty"),
    ("nothing.eml", b"\n\n", "page_empty"),
    ("no_mail.eml", b"words and no head", "page_unreadable"),
    ("no.rtf", b"words", "page_unreadable"),
]  # fmt: skip


async def test_files_are_read_in_their_order_with_headings_tables_and_places(
    bench: Bench,
) -> None:
    for name, body, *_ in READ:
        bench.write(name, body)
    report = await bench.ingest()
    notes = {result.path.removeprefix("docs/"): result.note for result in report.of("read")}
    said = [note_text(each.notes, "zh") for each in report.of("read") if each.notes]
    assert [text for text in said if detect_language(text) != "zh"] == []
    assert notes.keys() == {name for name, *_ in READ}
    hits = await bench.base.texts(Scope(), most=1_000_000)
    assert ["报价 wordsubject", "预算.xlsx", "Sheet"] in [hit.chunk["headings"] for hit in hits]
    for name, _, text, page, heading, note in READ:
        passages = [hit.chunk for hit in hits if hit.document["path"] == f"docs/{name}"]
        found = [passage for passage in passages if text in passage["text"]]
        assert found, (name, [passage["text"] for passage in passages])
        assert (found[0]["page"], found[0]["headings"][-1]) == (page, heading), name
        assert note in notes[name], name
    assert not any("worddeleted" in hit.chunk["text"] for hit in hits)


async def test_a_file_that_is_hostile_locked_or_old_is_named_with_its_reason(
    bench: Bench,
) -> None:
    # Made here: to pack so many bytes takes longer than to collect all other tests of this folder.
    bomb = {"[Content_Types].xml": "<Types/>", "word/document.xml": bytes(300 << 20)}
    named = [("bomb.docx", files.package(bomb), "page_too_complex"), *NAMED]
    for name, body, _ in named:
        bench.write(name, body)
    report = await bench.ingest()
    assert codes(report.failed) == {name: code for name, _, code in named}
    assert list(report.of("read")) == []


@pytest.mark.parametrize("name", ["entity.xml", "entity.docx", "laughs.xml"])
async def test_what_xml_would_fetch_or_unfold_stays_out(bench: Bench, name: str) -> None:
    secret = bench.write("aside/secret.txt", "wordsecret")
    fetched = f'<!DOCTYPE r [<!ENTITY x SYSTEM "file://{secret}">]>'
    doctype = LAUGHS if name.startswith("laughs") else fetched
    body: str | bytes = f"{doctype}<r><a>wordbefore &x;{'&i;' if doctype is LAUGHS else ''}</a></r>"
    if name.endswith(".docx"):
        words = "<w:p><w:r><w:t>wordbefore &x;</w:t></w:r></w:p>"
        body = files.word_of(words, doctype=fetched.replace("r [", "w:document ["))
    path = bench.write(name, body)
    await bench.ingest(path)
    texts = [hit.chunk["text"] for hit in await bench.base.texts(Scope(), most=1_000_000)]
    assert not any("wordsecret" in text or len(text) > 10_000 for text in texts)


def test_a_table_is_as_wide_as_a_row_may_be_whatever_its_file_says() -> None:
    rows = f"<table:table-row>{CELL * 50}</table:table-row>" * 3
    sheet = files.open_document("spreadsheet", f"<table:table>{rows}</table:table>")
    for parts in (read_odf(BytesIO(sheet)), table_parts([["w"] * 5_000] * 3)):
        lines = [line for part in parts for line in part.text.splitlines() if line[:1] == "|"]
        assert {line.count("|") for line in lines} == {MAX_CELLS + 1}


def test_a_chapter_that_a_book_names_again_and_again_is_read_once() -> None:
    chapters = ["<html><body><p>wordonce</p></body></html>"]
    whole = files.book(*chapters)
    with ZipFile(BytesIO(whole)) as package:
        named = package.read("O/c.opf").decode()
    again = named.replace("<spine>", "<spine>" + '<itemref idref="c0"/>' * 1_000)
    parts = read_epub(BytesIO(files.book(*chapters, **{"O/c.opf": again})))
    assert [part.text for part in parts].count("wordonce") == 1


async def test_a_small_package_unfolds_to_no_more_than_a_large_text_has(bench: Bench) -> None:
    page = "<html><body>" + f"<p>{'wordagain ' * 500}</p>" * 300 + "</body></html>"
    body = files.book(*[page] * 5)
    assert len(body) < 100_000
    bench.write("again.epub", body)
    (result,) = (await bench.ingest()).of("read")
    assert "only the first 2 million of its characters" in result.note


async def test_pictures_sounds_and_archives_are_left_out_of_folders(bench: Bench) -> None:
    bodies = {
        "photo.png": b"\x89PNG\r\n\x1a\n\0\0",
        "photo.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF",
        "all.zip": ZIP,
        "thumbs.db": files.OLE + bytes(600),
        "program": b"\x7fELF\x02\x01\x01\0\0",
    }
    for name, body in bodies.items():
        bench.write(name, body)
    left = (await bench.ingest()).of("left_out")
    assert codes(left) == dict.fromkeys(bodies, "page_kind")


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.155, "0.0%", "15.5%"),
        (0.145, "0%", "15%"),
        (2.675, "0.00", "2.68"),
        (timedelta(hours=26, minutes=5), "[h]:mm", "26:05:00"),
        (datetime(2026, 5, 17, 13, 30), "yyyy-mm-dd", "2026-05-17"),
        (datetime(2026, 5, 17, 13, 30), "yyyy-mm-dd hh:mm", "2026-05-17 13:30:00"),
        (time(13, 30), "h:mm", "13:30:00"),
        (-0.5, "0%", "-50%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-1234.5, '_ ¥* #,##0.00_ ;_ ¥* -#,##0.00_ ;_ ¥* "-"??_ ;_ @_ ', "-¥1,234.50"),
        (12, '0.0"万元"', "12.0万元"),
        (3, "[$¥-804]#,##0", "¥3"),
        (3, "[Red]0", "3"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (2.25, "0.0#", "2.25"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "General", "100000000000000000000"),
        (1234567, '#,##0,"k"', "1234567"),
        (0.00012, "0.0E+00", "0.00012"),
        (0.5, "# ?/?", "0.5"),
        (True, "General", "TRUE"),
        ("as it is", "@", "as it is"),
        (7, "", "7"),
        (5, "000", "005"),
    ],
)
def test_a_number_is_shown_as_its_cell_shows_it(value: object, form: str, text: str) -> None:
    assert shown_value(value, form) == text
