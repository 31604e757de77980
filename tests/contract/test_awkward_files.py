"""Files as people really have them: encodings, halves, wrong names; each read or named."""

import io
import json
from pathlib import Path

import pytest
from openpyxl import Workbook
from pypdf import PdfWriter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from agent.assistants.common.own_documents import passage_source
from agent.batch.questions import read_questions
from agent.core.errors import InputError
from agent.texts import say
from tests.support.knowledge_bench import Bench, bench_fixture, codes  # noqa: F401

pytestmark = pytest.mark.slow

ZHT = "鈉離子電池的正極材料有層狀氧化物，成本低於磷酸鐵鋰。編號為 {word}。\n"
ZHS = "钠离子电池的正极材料有层状氧化物，成本低于磷酸铁锂。编号为 {word}。\n"


def pdf(pages: list[str | None]) -> bytes:
    """A page of words each; None is a page that is only a picture."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pageCompression=0)
    for words in pages:
        if words is None:
            picture = io.BytesIO(b"P6 2 2 255\n" + bytes(range(12)))
            canvas.drawImage(ImageReader(picture), 60, 700, 40, 40)
        else:
            canvas.drawString(60, 780, words)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def locked(words: str, password: str) -> bytes:
    """A page that needs a password to be read, or (empty) only one to be changed."""
    writer, buffer = PdfWriter(io.BytesIO(pdf([words]))), io.BytesIO()
    writer.encrypt(password, "the owner's", algorithm="RC4-128")
    writer.write(buffer)
    return buffer.getvalue()


WHOLE = pdf(["First page with wordone.", "Second page with wordtwo.", "Third one with wordthree."])
TRAILER = WHOLE.rindex(b"trailer")
SECOND = WHOLE.index(b"Second page")

# name, bytes, words that are found, part of the note ("" none)
READ: list[tuple[str, bytes, tuple[str, ...], str]] = [
    ("big5.txt", ZHT.format(word="wordone").encode("big5"), ("wordone", "正極"), "Big5"),
    ("gbk.txt", ZHS.format(word="wordone").encode("gbk"), ("wordone", "正极"), "GBK"),
    ("rare.txt", (ZHS + "㐂𠀀").format(word="wordone").encode("gb18030"), ("正极",), "GBK"),
    ("sjis.md", "# 電池\n\n正極の材料は wordone です。\n".encode("shift_jis"),
     ("正極",), "Shift_JIS"),
    ("euckr.txt", "양극 재료의 이름은 wordone 이다. 비용이 낮다.\n".encode("euc_kr"),
     ("양극",), "EUC-KR"),
    ("cp1251.txt", "Материал катода называется wordone, он дешевле.\n".encode("cp1251"),
     ("катода",), "Windows-1251"),
    ("utf16le.txt", ZHS.format(word="wordone").encode("utf-16"), ("正极",), ""),
    ("utf16le_nomark.txt", ZHS.format(word="wordone").encode("utf-16-le") * 3, ("正极",), "UTF-16"),
    ("utf16be.csv", "电芯,数值\n正极 wordone,160\n".encode("utf-16"), ("wordone",), ""),
    ("big5.csv", "名稱,說明\n鈉離子電池,正極材料的成本低於磷酸鐵鋰\n".encode("big5"),
     ("正極",), "Big5"),
    ("gbk.csv", "名称,说明\n钠离子电池,正极材料的成本低于磷酸铁锂\n".encode("gbk"),
     ("正极",), "GBK"),
    ("latin.txt", "Café à Orléans, where wordone was made.".encode("cp1252"), ("orléans",),
     "Windows-1252"),
    ("cr_only.txt", b"first line\rsecond line with wordone\r", ("wordone",), ""),
    ("nul.txt", b"words before \0\0 and wordone after it", ("wordone",), ""),
    ("UPPER.TXT", b"wordone", ("wordone",), ""),
    ("name （括号）#1 & 100%？.txt", b"another wordone", ("wordone",), ""),
    ("no_eof.pdf", WHOLE.rstrip().removesuffix(b"%%EOF"), ("wordone", "wordthree"),
     "its end is missing; 3 pages"),
    ("no_trailer.pdf", WHOLE[:TRAILER], ("wordone", "wordthree"), "its end is missing; 3 pages"),
    ("cut_in_page_2.pdf", WHOLE[:SECOND], ("wordone",),
     "page 2 could not be read; page 3 has no text"),
    ("eof_glued.pdf", WHOLE.rstrip().replace(b"\n%%EOF", b"%%EOF"), ("wordthree",), ""),
    ("paper.txt", pdf(["wordnamed"]), ("wordnamed",), "read as pdf"),
    ("junk_before.pdf", b"junk\r\n\r\n" + WHOLE, ("wordthree",), ""),
    ("half_scan.pdf", pdf(["wordone", "wordtwo", None]), ("wordtwo",), "page 3 has no text"),
    ("scans.pdf", pdf([None, "wordtwo", None, None, None]), ("wordtwo",),
     "pages 1, 3–5 have no text"),
    ("owner.pdf", locked("wordowner", ""), ("wordowner",), ""),
    ("tabs.tsv", b"cell\tvalue\ncathode\twordtabs\n", ("wordtabs",), ""),
    ("marked.csv", "电芯,数值\n正极,wordmarked\n".encode("utf-8-sig"), ("wordmarked",), ""),
    ("crlf.md", b"# Cells\r\n\r\nwordcrlf is cheaper.\r\n", ("wordcrlf",), ""),
    ("front.md", "---\ntitle: 电池\ntags: [a, b]\n---\n\nwordfront 是正极。\n".encode(),
     ("wordfront",), ""),
    ("one/report.md", b"wordnorth of the report", ("wordnorth",), ""),
    ("two/report.md", b"wordsouth of the report", ("wordsouth",), ""),
    ("page.html", b"<html><head><meta charset='gb2312'></head><body><p>"
     + "电池 wordpage".encode("gb2312") + b"</p></body></html>", ("wordpage",), ""),
    ("table.html", b"<table><tr><th>cell</th></tr>" + b"<tr><td>wordcell</td></tr>" * 200
     + b"</table>", ("wordcell",), ""),
]  # fmt: skip

# name, bytes, code
NAMED: list[tuple[str, bytes, str]] = [
    ("web.pdf", b"\n<!DOCTYPE html><html><body>words</body></html>", "page_is_html"),
    ("picture.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "page_encoding"),
    ("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "page_encoding"),
    ("zero.pdf", b"", "page_empty"),
    ("zero.txt", b"", "page_empty"),
    ("spaces.txt", b" \n\t ", "page_empty"),
    ("scan.pdf", pdf([None]), "page_empty"),
    ("cut_in_head.pdf", WHOLE[:300], "page_unreadable"),
    ("user.pdf", locked("words", "a word"), "page_encrypted"),
]  # fmt: skip


async def test_files_are_read_and_what_was_guessed_or_missed_is_told(
    bench: Bench,
) -> None:
    for name, body, _, _ in READ:
        bench.write(name, body)
    report = await bench.ingest()
    notes = {result.path.removeprefix("docs/"): result.note for result in report.of("read")}
    assert notes.keys() == {name for name, *_ in READ}
    for name, _, words, note in READ:
        assert note in notes[name], name
        assert note or not notes[name], name
        for word in words:
            assert f"docs/{name}" in await bench.paths(word), (name, word)


async def test_where_a_document_is_cited_its_unread_pages_are_named(
    bench: Bench,
) -> None:
    bench.write("scans.pdf", pdf([None, "wordtwo", None, None]))
    bench.write("whole.pdf", pdf(["wordtwo too"]))
    await bench.ingest()
    titles = {
        hit.document["path"]: passage_source("d0-0", hit, "zh")["title"]
        for hit in await bench.found("wordtwo")
    }
    assert titles["docs/scans.pdf"].endswith(say("documents.unread", "zh", pages="1, 3–4"))
    assert titles["docs/whole.pdf"].endswith("(docs/whole.pdf)")


async def test_a_file_that_cannot_be_read_is_named_with_its_reason(
    bench: Bench,
) -> None:
    for name, body, _ in NAMED:
        bench.write(name, body)
    report = await bench.ingest()
    assert codes(report.failed) == {name: code for name, _, code in NAMED}


async def test_what_a_page_runs_or_hides_in_its_head_is_not_indexed(bench: Bench) -> None:
    page = "<html><head><style>.wordstyle{}</style></head><body><p>wordshown</p>"
    bench.write("run.html", f"{page}<script>var wordscript = 1</script></body></html>")
    await bench.ingest()
    assert await bench.paths("wordshown") == ["docs/run.html"]
    assert not await bench.paths("wordscript")
    assert not await bench.paths("wordstyle")


def workbook(sheets: int) -> bytes:
    """A header `id`, `question` and a row, in each of so many sheets."""
    book, buffer = Workbook(write_only=True), io.BytesIO()
    for _ in range(sheets):
        sheet = book.create_sheet()
        sheet.append(["编号", "问题"])
        sheet.append(["a", "你好"])
    book.save(buffer)
    return buffer.getvalue()


def rows(*questions: str) -> str:
    return "".join(
        json.dumps({"id": name, "question": text}, ensure_ascii=False) + "\n"
        for name, text in zip("abcdef", questions, strict=False)
    )


TWO = rows("王府井附近的咖啡馆", "你好")
CSV = "{id},{question}\na,王府井附近的咖啡馆\nb,你好\n"
# name, bytes, ids, part of what is told ("" nothing)
QUESTIONS: list[tuple[str, bytes, list[str], str]] = [
    ("crlf.jsonl", TWO.replace("\n", "\r\n").encode(), ["a", "b"], ""),
    ("bom.jsonl", TWO.encode("utf-8-sig"), ["a", "b"], ""),
    ("blank.jsonl", b"\n\n" + TWO.encode() + b"   \n\t\n", ["a", "b"], ""),
    ("utf16.jsonl", TWO.encode("utf-16"), ["a", "b"], ""),
    ("gbk.jsonl", TWO.encode("gbk"), ["a", "b"], "read as GBK"),
    ("array.json", b"[" + ",".join(TWO.splitlines()).encode() + b"]", ["a", "b"], ""),
    ("array_gbk.json", b"[" + ",".join(TWO.splitlines()).encode("gbk") + b"]", ["a", "b"], "GBK"),
    ("gbk.csv", CSV.format(id="编号", question="问题").encode("gbk"), ["a", "b"], "GBK"),
    ("big5.csv", "編號,問題\na,請問西湖附近的咖啡館\n".encode("big5"), ["a"], "Big5"),
    ("utf16.csv", CSV.format(id="id", question="question").encode("utf-16"), ["a", "b"], ""),
    ("english.csv", CSV.format(id="id", question="question").encode("gbk"), ["a", "b"], "GBK"),
    ("utf8.csv", CSV.format(id="编号", question="问题").encode(), ["a", "b"], ""),
    ("hant.csv", CSV.format(id="編號", question="題目").encode(), ["a", "b"], ""),
    ("both.csv", CSV.format(id="id/编号", question="问题（Question）").encode(), ["a", "b"], ""),
    ("wide.csv", CSV.format(id="ＩＤ", question=" Question ").encode(), ["a", "b"], ""),
    ("sjis.csv", "番号,質問\na,東京タワーの営業時間は何時までですか\n".encode("shift_jis"), ["a"],
     "Shift_JIS"),
    ("semicolon.csv", CSV.format(id="id", question="question").replace(",", ";").encode(),
     ["a", "b"], ""),
    ("tab.tsv", CSV.format(id="编号", question="问题").replace(",", "\t").encode(), ["a", "b"], ""),
    ("chinese.jsonl", '{"编号": "a", "问题": "你好"}\n'.encode(), ["a"], ""),
    ("book.xlsx", workbook(1), ["a"], ""),
    ("books.xlsx", workbook(3), ["a"], "only the first of 3 sheets"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body", "ids", "told"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_a_file_of_questions_is_read_as_it_is(
    tmp_path: Path, name: str, body: bytes, ids: list[str], told: str
) -> None:
    (tmp_path / name).write_bytes(body)
    notes: list[str] = []
    questions, bad = read_questions(tmp_path / name, tell=notes.append)
    assert ([question.id for question in questions], bad) == (ids, [])
    assert questions[-1].text in (
        "你好",
        "請問西湖附近的咖啡館",
        "東京タワーの営業時間は何時までですか",
    )
    assert told in "".join(notes)
    assert bool(told) == bool(notes)


BAD_ROWS: list[tuple[bytes, list[str], list[int]]] = [
    ((rows("你好") + "{bad\n").encode() + b'{"id":"b","question":"c"}', ["a", "b"], [2]),
    ((rows("你好") + rows("谢谢")).encode(), ["a"], [2]),
    (b'{"id":"a","question":null}\n{"id":"b","question":""}\n{"id":"c","question":5}',
     ["c"], [1, 2]),
    (b'{"id":1,"question":"a"}\n{"id":"1","question":"b"}\n{"id":2,"question":"c"}',
     ["1", "2"], [2]),
    (b'{"id":"../../x/y","question":"a"}\n{"id":"a\\nb","question":"b"}',
     ["../../x/y", "a\nb"], []),
    (b'["a","b"]', [], [1, 1]),
    (b'{"id":"a","question":"who \\u0000is?"}\n{"id":"b","question":["who?"]}', ["a", "b"], []),
    (b'{"id":"' + b"long" * 80 + b'","question":"a"}\n{"question":"b","id":"c"}', ["c"], [1]),
    (b'{\n "questions": [\n  {"id":"a","question":"b"}\n]\n}', ["a"], [1, 2, 4, 5]),
    (b'{"prompt":"a","id":1}\n{"query":"b","id":2}\n{"Question":"c","id":3}', ["1", "2", "3"], []),
]  # fmt: skip


@pytest.mark.parametrize(("body", "ids", "lines"), BAD_ROWS)
def test_a_row_that_is_no_question_is_told_by_its_line(
    tmp_path: Path, body: bytes, ids: list[str], lines: list[int]
) -> None:
    (tmp_path / "q.jsonl").write_bytes(body)
    questions, bad = read_questions(tmp_path / "q.jsonl")
    assert [question.id for question in questions] == ids
    assert [row.line for row in bad] == lines


@pytest.mark.parametrize("body", [b"", b"\n \n", b"a,b\nc,d\n", "你好\n谢谢\n".encode()])
def test_a_file_without_a_question_is_refused_in_words(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "q.csv").write_bytes(body)
    with pytest.raises(InputError, match=r"no question|names no column"):
        read_questions(tmp_path / "q.csv")
