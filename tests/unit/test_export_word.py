"""An answer as a document of Word: read back by the library, and by our own reader."""

import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

import docx
import pytest

from agent.export.html import html_page
from agent.export.word import word_document
from agent.reading.office import read_docx
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.export_samples import HOSTILE, NOTICE, answer, place, source

REPORT = f"""> {NOTICE}

# 报告

**步行街**适合*带孩子*[1](https://example.com/a)，`code`。

1. 一
2. 二
   - 其中之一

间隔

1. 重新

| 项目 | 价格 |
|---|---|
| 门票 | 25元[2](https://example.com/b) |

> 引文

```
a  = 1
b  = 2
```

**没有查到的**
- 停车场价格

**来源**

1. [遛娃指南](https://example.com/a)
2. [儿童乐园](https://example.com/b)"""


def written(**changed: Any) -> Any:
    return docx.Document(io.BytesIO(word_document(answer(**changed))))


def body(**changed: Any) -> str:
    """The XML of the document's body."""
    with zipfile.ZipFile(io.BytesIO(word_document(answer(**changed)))) as package:
        return package.read("word/document.xml").decode()


def test_a_source_says_from_when_it_is() -> None:
    dated = {**source(), "published": "2026-03-28T08:00:00Z"}
    shown = [each.text for each in written(answer=REPORT, sources=[dated]).paragraphs]
    assert "[1] 遛娃指南\nexample.com · 2026-03-28 · https://example.com/a" in shown


def test_below_a_calculation_among_the_sources_stand_its_sums() -> None:
    calculation = {**source(1, "", "两次"), "kind": "document", "sums": ["两次：417 * 3 = 1251 元"]}
    shown = [each.text for each in written(answer=REPORT, sources=[calculation]).paragraphs]
    assert any("两次" in text and text.endswith("\n两次：417 * 3 = 1251 元") for text in shown)


def test_a_citation_of_a_line_leads_to_its_calculation() -> None:
    calculation = {**source(1, "", "两次"), "kind": "document", "sums": ["两次：417 * 3 = 1251 元"]}
    told = body(answer="两次一共 1251 元。[1a]", sources=[calculation])
    link = told.partition('w:anchor="source-1"')[2].partition("</w:hyperlink>")[0]
    assert "[1a]" in link


def test_a_report_has_its_headings_lists_tables_and_its_sources_once() -> None:
    document = written(answer=REPORT, sources=[source(), source(2, "https://example.com/b")])
    shown = [(each.style.name, each.text) for each in document.paragraphs if each.text]
    assert shown[:2] == [
        ("Title", "报告"),
        ("Caption", "王府井附近适合遛娃的好去处 · 2026-11-21 19:41（北京时间） · "
                    + say("page.notice.offline", "zh")),
    ]  # fmt: skip
    assert ("Normal", "步行街适合带孩子[1]，code。") in shown
    items = ("一", "二", "其中之一", "重新", "停车场价格")
    assert [name for name, text in shown if text in items] == [
        "List Number", "List Number", "List Bullet 2", "List Number", "List Bullet",
    ]  # fmt: skip
    assert ("Quote", "引文") in shown
    assert ("Caption", NOTICE) in shown
    assert ("Normal", "a  = 1\nb  = 2") in shown
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [
        ["项目", "价格"], ["门票", "25元[2]"],
    ]  # fmt: skip
    texts = [text for _, text in shown]
    assert texts.count(say("export.sources", "zh")) == 1
    assert "[1] 遛娃指南\nexample.com · https://example.com/a" in texts


def test_a_list_begins_with_its_own_number() -> None:
    numbers = [each._p.pPr.numPr.numId.val for each in written(answer=REPORT).paragraphs
               if each.style.name == "List Number"]  # fmt: skip
    assert len(set(numbers)) == 2
    assert 'w:startOverride w:val="4"' in numbering("4. d\n5. e")


def numbering(text: str) -> str:
    with zipfile.ZipFile(io.BytesIO(word_document(answer(answer=text)))) as package:
        return package.read("word/numbering.xml").decode()


def test_a_citation_is_a_link_and_one_of_an_own_document_leads_to_the_list_of_sources() -> None:
    own = {**source(2, ""), "kind": "document"}
    document = written(answer="a[1](https://example.com/a) b[2] c[7]", sources=[source(), own])
    (paragraph,) = [each for each in document.paragraphs if each.text.startswith("a")]
    links = {link.text: (link.address, link.fragment) for link in paragraph.hyperlinks}
    assert links == {"[1]": ("https://example.com/a", ""), "[2]": ("", "source-2")}
    assert 'w:name="source-1"' in body()


def test_a_place_of_the_text_is_a_card_there_and_not_in_the_table() -> None:
    named, other = place(2, name_en="Kids' Park", source="w0-2"), place(3, "书店", mentioned=False)
    named["number"], other["number"] = 1, 2
    text = f"- **Kids' Park** — 440 m, ★4.6, a park[2]({named['url']})"
    document = written(answer=text, places=[named, other], language="en", notice="")
    card, said = (p for p in document.paragraphs if p.style.name == "List Continue")
    assert card.text.splitlines() == [
        "1. Kids' Park 儿童乐园",
        "¥88 a head · 10:00–22:00 · 王府井大街138号",
    ]
    assert said.text == "440 m, ★4.6, a park[2]"
    assert [row.cells[0].text for row in document.tables[-1].rows] == ["", "2"]


def test_places_are_a_table_whose_names_lead_to_the_map() -> None:
    document = written(places=[place(1), place(2, "书店")])
    rows = document.tables[-1].rows
    assert [cell.text for cell in rows[1].cells][:2] == ["", "儿童乐园"]
    (link,) = rows[1].cells[1].paragraphs[0].hyperlinks
    assert link.url == place(1)["url"]
    assert "w:tblHeader" in rows[0]._tr.xml


@by_examples
def test_han_characters_have_the_forms_of_the_answer_s_language(
    language: str, text: str, font: str, tag: str
) -> None:
    with zipfile.ZipFile(
        io.BytesIO(word_document(answer(answer=text, language=language)))
    ) as package:
        styles = package.read("word/styles.xml").decode()
    assert f'w:eastAsia="{font}"' in styles
    assert f'w:eastAsia="{tag}"' in styles


def test_what_begins_at_the_right_is_written_from_there() -> None:
    xml = body(answer="مرحبا بالعالم[1](https://example.com/a)\n\nLatin", language="en", places=[])
    right, _, left = xml.partition("Latin")
    assert right.count("<w:bidi/>") == 1
    assert right.count("<w:rtl/>") == 2
    assert "<w:rtl/>" not in left


@pytest.mark.parametrize(
    "hostile", [HOSTILE, "]]>&<w:p/>", "a\x00b\x0b\ufffe\ud800", "![x](http://a/b)"]
)
def test_hostile_text_is_only_text(hostile: str) -> None:
    document = written(
        question=f"q {hostile}",
        answer=f"text {hostile}",
        notice="",
        places=[place(1, hostile)],
        sources=[source(1, "javascript:alert(1)", hostile)],
    )
    assert any(each.text.startswith("text ") for each in document.paragraphs)
    with zipfile.ZipFile(io.BytesIO(word_document(answer(answer=hostile)))) as package:
        media = [name for name in package.namelist() if "media" in name]
        assert media == ["word/media/image1.png", "word/media/map.svg"]


def test_our_own_reader_reads_it_again() -> None:
    parts = list(read_docx(io.BytesIO(word_document(answer(answer=REPORT)))))
    assert parts[0].title == "报告"
    assert "| 门票 | 25元[2] |" in parts[0].text
    assert "1. 一\n\n2. 二" in parts[0].text


def test_the_map_is_a_picture_that_every_version_of_word_shows() -> None:
    places = [place(number, f"Platz {number} <&>") for number in range(1, 13)]
    data = word_document(answer(places=places, language="en"))
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        svg = ElementTree.fromstring(package.read("word/media/map.svg"))
        png = package.read("word/media/image1.png")
        relations = package.read("word/_rels/document.xml.rels").decode()
    shown = ["".join(each.itertext()) for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1", "12", "Platz 12 <&>"} <= set(shown)
    assert not [each for each in svg.iter() if "class" in each.attrib]
    assert (png[:8], png[16:24]) == (b"\x89PNG\r\n\x1a\n", bytes.fromhex("000005a000000370"))
    (blip,) = re.findall("<a:blip .*?</a:blip>", body(places=places, language="en"), re.DOTALL)
    for relation in re.findall(r'r:embed="(\w+)"', blip):
        assert f'Id="{relation}"' in relations
    assert docx.Document(io.BytesIO(data)).inline_shapes[0].height


@by_examples
def test_one_point_alone_is_no_map(count: int, is_drawn: bool) -> None:
    places = [place(number) for number in range(1, count + 1)]
    assert ("<a:blip" in body(places=places)) is is_drawn
    assert ('class="map"' in html_page(answer(places=places))) is is_drawn


def test_a_note_is_small_print_and_han_characters_do_not_slant() -> None:
    document = written(answer="好的。\n\n*停留时间是估计的。*\n\n也*好*。", sources=[], places=[])
    styles = {each.text: each.style.name for each in document.paragraphs}
    assert styles["停留时间是估计的。"] == "Caption"
    assert styles["也好。"] == "Normal"
    assert not any(run.italic for each in document.paragraphs for run in each.runs)
    english = written(language="en", answer="it *is* so", sources=[], places=[])
    assert any(run.italic for each in english.paragraphs for run in each.runs)


def test_a_line_in_bold_alone_stays_with_what_follows() -> None:
    document = written(answer="**Plan: Tue**\n\n**A** thing.\n", places=[], sources=[])
    kept = {each.text: each.paragraph_format.keep_with_next for each in document.paragraphs}
    assert (kept["Plan: Tue"], kept["A thing."]) == (True, None)
