"""A PDF of an answer: its text can be read in both languages, and nothing in it can act."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pypdf import PdfReader

from agent.core.errors import AgentError
from agent.evidence.ordering import judged
from agent.evidence.types import Source
from agent.export.finished import column_widths
from agent.export.pdf import pdf_document
from agent.export.pdf_text import (
    MixedParagraph,
    inline_markup,
    paragraph_style,
    register_fonts,
    text_markup,
)
from agent.texts import Language, say
from tests.support.rows import by_examples
from tests.unit.export_samples import NOTICE, answer, place, source

REPORT = f"""> {NOTICE}

# 报告

## 摘要

**步行街两侧**适合带孩子[1](https://example.com/a)，雨天去室内 indoors[2](https://example.com/b)。

- 第一点
  - 其中之一
- 第二点

| 项目 | 价格 |
|---|---|
| 门票 | 25元[1](https://example.com/a) |

**来源**

1. [遛娃指南](https://example.com/a)
2. [儿童乐园](https://example.com/b)"""


def read(**changed: Any) -> PdfReader:
    return PdfReader(io.BytesIO(pdf_document(answer(**changed))))


def text_of(reader: PdfReader) -> str:
    return "\n".join(page.extract_text() for page in reader.pages)


def addresses(reader: PdfReader) -> set[str]:
    found = set()
    for page in reader.pages:
        for reference in page.get("/Annots") or []:
            if action := reference.get_object().get("/A"):
                found.add(str(action["/URI"]))
    return found


def test_a_page_that_leads_nowhere_is_no_link() -> None:
    url = "https://sample.tanlu.invalid/a"
    reader = read(answer=f"适合带孩子[1]({url})", sources=[source(1, url)], places=[])
    assert "适合带孩子[1]" in text_of(reader)
    assert addresses(reader) == set()
    [inside] = [each.get_object() for each in reader.pages[0]["/Annots"]]
    assert inside["/Dest"][1] == "/XYZ", "it leads to a place in the file, the list of sources"


def test_a_chinese_report_is_readable_with_headings_bullets_tables_and_sources() -> None:
    reader = read(answer=REPORT)
    text = text_of(reader)
    for words in ("王府井附近适合遛娃", "摘要", "步行街两侧适合带孩子[1]", "indoors[2]", "第一点",
                  "其中之一", "门票", "25元[1]", "来源", "1. 遛娃指南", NOTICE):  # fmt: skip
        assert words in text
    assert text.count("遛娃指南") == 1
    assert addresses(reader) >= {"https://example.com/a", "https://example.com/b"}
    assert reader.metadata is not None
    assert reader.metadata.title == "报告"


def test_an_english_report_is_readable_and_keeps_words_whole() -> None:
    told = "## Costs\n\nThey fell to $40/kWh — “much” lower in 西湖 than café prices.\n\n"
    long = " ".join(["sodium-ion"] * 300)
    text = text_of(read(question="What do they cost?", language="en", notice="",
                        answer=told + long, places=[]))  # fmt: skip
    assert "They fell to $40/kWh — “much” lower in 西湖 than café prices." in text
    assert "Sources" in text
    assert text.replace("\n", " ").count("sodium-ion") == 300


def fonts_of(reader: PdfReader) -> set[str]:
    found: set[str] = set()
    for page in reader.pages:
        fonts: Any = page["/Resources"]["/Font"]  # type: ignore[index]
        found |= {str(font.get_object()["/BaseFont"]) for font in fonts.values()}
    return found


def test_emphasis_and_headings_have_fonts_of_their_own() -> None:
    told = "## Costs\n\nplain **bold** *slanted* ***both*** `code`"
    fonts = fonts_of(read(question="Q", language="en", notice="", answer=told, places=[]))
    for name in ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique",
                 "Courier"):  # fmt: skip
        assert f"/{name}" in fonts


def test_han_characters_of_headings_and_emphasis_are_bold_and_none_is_slanted() -> None:
    fonts = fonts_of(read(answer="## 费用\n\n**都免费**，*15:50 之后*没有安排", notice=""))
    assert "/STSong-Light,Bold" in fonts
    assert not any("Oblique" in name for name in fonts)


def test_no_line_begins_with_a_sign_that_ends_a_clause() -> None:
    told = "".join(f"{'地' * at}，{'铁' * (at % 3 + 1)}！" for at in range(1, 40))
    for text in (told, told + "**都**" + told):
        lines = text_of(read(answer=text, notice="", places=[])).splitlines()
        assert not [line for line in lines if line[:1] in ("，", "！")]


def test_a_heading_stands_on_the_page_of_what_follows_it() -> None:
    for count in range(36, 48):
        told = "\n\n".join(["一行。"] * count + ["## 费用", "都免费。"])
        pages = read(answer=told, notice="", places=[]).pages
        (page,) = (text for each in pages if "费用" in (text := each.extract_text()))
        assert "都免费" in page, count


def test_a_place_of_the_text_is_a_card_there_and_the_map_has_all_places() -> None:
    named, other = place(2, verdicts=[MEETS], source="w0-2"), place(3, "书店", mentioned=False)
    named["number"], other["number"] = 1, 2
    text = f"- **儿童乐园** — ★4.6，雨天也能去[2]({named['url']})"
    whole = text_of(read(answer=text, places=[named, other], notice=""))
    card = whole.split("地点")[0].splitlines()
    at = card.index("1. 儿童乐园")
    facts = ["距王府井 440 m · ¥88/人 · 10:00-22:00 · 王府井大街138号", "✓ 适合孩子"]
    assert card[at + 1 : at + 4] == [*facts, "★4.6，雨天也能去[2]"]
    assert whole.count("440 m") == 1, "a card is not told again in the table"
    assert whole.split("来源")[0].count("书店") == 2, "on the map and in the table"


MEETS = {"constraint": "audience", "verdict": "satisfied", "text": "适合孩子", "field": "category"}


def test_places_are_a_table_with_their_attribution() -> None:
    text = text_of(read())
    assert "儿童乐园" in text
    assert "220 m" in text
    assert "高德" in text


@pytest.mark.parametrize(("question", "heading"), [("西湖 怎么玩", "西湖 怎么玩"), ("How?", "How")])
def test_a_title_that_repeats_the_question_is_printed_once(question: str, heading: str) -> None:
    text = text_of(read(question=question, notice="", answer=f"# {heading}\n\n正文", places=[]))
    assert text.count(heading) == 1
    assert "正文" in text


def test_pages_are_numbered() -> None:
    reader = read(answer="\n\n".join(["一段文字。" * 60] * 40))
    assert len(reader.pages) > 3
    assert "3" in reader.pages[2].extract_text().splitlines()


@by_examples
def test_hostile_text_is_only_text(hostile: str) -> None:
    reader = read(
        question=hostile, answer=f"{hostile}\n\n| a |\n|---|\n| {hostile} |\n\n- {hostile}",
        notice=hostile, sources=[source(1, "javascript:alert(1)", hostile)],
        places=[place(1, hostile)],
    )  # fmt: skip
    # What was to be an image is a link; nothing is loaded.
    assert addresses(reader) <= {"http://evil.example/z.png", place(1)["url"]}
    assert not any(page.images for page in reader.pages)
    assert not {"/JavaScript", "/Launch", "/GoToR"} & set(str(reader.trailer).split("'"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        "x" * 8_000,
        "字" * 6_000,
        "| a | b |\n|---|---|\n| " + "word " * 1500 + " | " + "字" * 1500 + " |",
        "|" + "a|" * 60 + "\n|" + "-|" * 60 + "\n|" + "b|" * 60,
        ">" * 300 + " deep",
        "\n".join("  " * depth + "- item" for depth in range(60)),
        "```\n" + "code 中文\n" * 120 + "```",
        "| a |\n|---|",
        "",
        "999999999. x\n\n* * *\n\n#\n\n-",
    ],
)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_any_shape_of_text_finds_room(shape: str, language: str) -> None:
    assert len(read(answer=shape, language=language).pages) >= 1


MANY = range(1_000, 2_600)


def _rows_of_eight(words: list[str]) -> Iterator[str]:
    for at in range(0, len(words), 8):
        yield f"| {' '.join(words[at : at + 8])} | c |\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "written",
    [
        lambda words: " ".join(words),
        lambda words: f"# {' '.join(words)}",
        lambda words: f"- {' '.join(words)}",
        lambda words: f"[{' '.join(words)}](https://example.com/a)",
        lambda words: f"    {' '.join(words)}",
        lambda words: f"| a | b |\n|---|---|\n| {' '.join(words)} | c |",
        lambda words: "| a | b |\n|---|---|\n" + "".join(_rows_of_eight(words)),
    ],
    ids=["paragraph", "heading", "item", "link", "code", "cell", "rows"],
)
def test_a_block_of_many_pages_loses_no_word(written: Any) -> None:
    text = text_of(read(answer=written([f"w{number}" for number in MANY]), sources=[], places=[]))
    assert [word for number in MANY if (word := f"w{number}") not in text] == []


def test_a_long_link_leads_there_on_each_of_its_pages() -> None:
    words = " ".join(f"w{number}" for number in MANY)
    reader = read(answer=f"[{words}](https://example.com/a)", sources=[], places=[])
    assert len(reader.pages) > 2
    linked = [page for page in reader.pages if page.get("/Annots")]
    assert len(linked) >= len(reader.pages) - 1


def test_a_source_of_endless_words_takes_a_few_lines_and_its_link_leads_there() -> None:
    endless = {**source(1, f"https://example.com/{'a' * 7_000}"), "title": "题目 " * 20_000}
    reader = read(answer="甲[1](https://example.com/a)", sources=[endless], places=[])
    assert len(reader.pages) == 1
    assert addresses(reader) >= {endless["url"]}


def test_a_source_says_from_when_it_is() -> None:
    dated = {**source(), "published": "2026-03-28T08:00:00Z"}
    assert "2026-03-28 · https://example.com/a" in text_of(read(answer=REPORT, sources=[dated]))


def test_below_a_calculation_among_the_sources_stand_its_sums() -> None:
    calculation = {**source(1, "", "两次"), "kind": "document", "sums": ["两次：417 * 3 = 1251 元"]}
    told = text_of(read(answer="两次一共 1251 元。[1a]", sources=[calculation], places=[]))
    assert "[1a]" in told
    assert "两次：417 * 3 = 1251 元" in told


def test_korean_is_printed_in_its_own_font() -> None:
    reader = read(
        answer="부산에서 가장 오래된 시장은 국제시장입니다.", language="en", notice="", places=[]
    )
    assert "국제시장" in text_of(reader)
    assert "/HYSMyeongJo-Medium" in fonts_of(reader)


@pytest.mark.parametrize("text", ["السوق القديم في دبي", "ตลาดเก่าในกรุงเทพ"])
def test_an_answer_in_letters_that_no_font_has_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(AgentError) as caught:
        read(answer=text, language="en", notice="", places=[])
    assert caught.value.code == "no_letters"
    assert ".docx" in str(caught.value)


def test_a_character_that_no_font_has_is_a_box() -> None:
    assert "□" in text_of(read(answer="温度😀"))


def test_the_table_of_places_says_which_demand_a_place_breaks() -> None:
    text = text_of(read(places=judged([place(1)], {"max_cost": 50}, "zh")))
    assert "✗ 超过" in text
    assert "¥50" in text


HALL = place(
    1, "和平菓局", name_en="Heping Guoju (old Beijing theme street)",
    address="王府井大街255号北京市百货大楼地下2层", open_time="周二至周五 09:00-17:30",
    verdicts=[{"constraint": "audience", "verdict": "unknown", "text": "?", "field": "name"}],
)  # fmt: skip


@pytest.mark.parametrize("language", ["zh", "en", "de", "ru", "ja", "ko", "fr", "es", "zh-Hant"])
def test_no_cell_parts_a_time_or_a_number_and_a_head_stays_whole(language: Language) -> None:
    text = text_of(read(places=[HALL], language=language, notice=""))
    assert "255" in text
    assert "09:00–17:30" in text.replace("-", "–")
    assert f"{say('export.rating', language)}" in text.replace(" ", "")


def test_columns_have_room_by_what_stands_in_them_and_the_widest_give_way() -> None:
    def width(text: str) -> float:
        return 10.0 * len(text)

    rows = [["n", "a word", "10:00-22:00"], ["", "and many others that follow", "x"]]
    for room in (250.0, 400.0, 900.0):
        widths = column_widths(rows, room, width, 10)
        assert sum(widths) == pytest.approx(room)
        assert widths[0] >= 20
        assert widths[2] >= 110, "the time is whole"
    narrow = column_widths([["ab", "word" * 9, "word" * 9]], 150, width, 10)
    assert narrow == [30, 60, 60]


def lines_of(text: str, width: float, language: Language = "zh") -> list[str]:
    """The lines in which a paragraph of a PDF is set."""
    register_fonts()
    made = MixedParagraph(text_markup(text, language), paragraph_style(language, size=8.5))
    made.wrap(width, 1000)
    return ["".join(part.text for part in line.words).strip() for line in made.blPara.lines]


@pytest.mark.parametrize(
    "text", ["서울역 근처 어린이 박물관", "дом у реки", "a house by the river"]
)
def test_a_line_ends_at_a_blank_of_a_script_that_has_them(text: str) -> None:
    for width in range(50, 140, 9):
        assert "".join(lines_of(text, width)).replace(" ", "") == text.replace(" ", "")
        assert {word for line in lines_of(text, width) for word in line.split()} == {*text.split()}


def test_a_time_is_not_parted_between_two_lines() -> None:
    for width in range(60, 200, 7):
        lines = lines_of("周一至周日 10:00-21:30，周五 09:00–22:15", width)
        for time in ("10:00-21:30，", "09:00–22:15"):
            assert any(time in line for line in lines), (width, lines)


def test_no_line_begins_with_a_mark_that_ends_words_nor_ends_with_an_open_bracket() -> None:
    text = "（查找了 GEMINI_API_KEY），模型、网页和地图(示例)“示例”，不是（实时）结果。"
    for width in range(90, 300, 5):
        lines = lines_of(text, width)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        for line in lines:
            assert line[0] not in "，。、）)”", (width, lines)
            assert line[-1] not in "（(“", (width, lines)


def test_a_word_that_no_line_holds_is_parted_where_the_line_ends() -> None:
    lines = lines_of("见 https://example.com/" + "a" * 200, 150)
    assert len(lines) > 5
    assert all(len(line) > 20 for line in lines[1:-1])


def test_a_citation_never_begins_a_line() -> None:
    register_fonts()
    text = "带孩子适合去的地方[1](https://example.com/a)不少"
    [markup] = inline_markup(MarkdownIt().parse(text)[1].children or [], "zh")
    for width in range(60, 120, 5):
        made = MixedParagraph(markup, paragraph_style("zh", size=10.5))
        made.wrap(width, 1000)
        lines = ["".join(part.text for part in line.words) for line in made.blPara.lines]
        assert not any(line.startswith("[1]") for line in lines), (width, lines)


def test_a_citation_stands_at_its_word_without_a_blank() -> None:
    text = "It is far away. [1](https://example.com/a) Near."
    [markup] = inline_markup(MarkdownIt().parse(text)[1].children or [], "en")
    assert "far away.</font><super" in markup


def test_a_note_is_small_print() -> None:
    reader = read(
        answer="好的。\n\n*停留时间是估计的。*\n\n也*好*。", sources=[], places=[], notice=""
    )
    sizes = {}
    reader.pages[0].extract_text(
        visitor_text=lambda text, _page, _at, _font, size: sizes.setdefault(text.strip(), size)
    )
    assert sizes["停留时间是估计的。"] == 8.5
    assert sizes["好的。"] == sizes["也好。"] == 10.5


def test_a_place_among_the_sources_is_told_by_its_map_not_by_the_address_of_a_marker() -> None:
    url = "https://uri.amap.com/marker?position=116.4,39.9&name=%E4%B9%A6%E5%BA%97"
    shop = Source(**{**source(1, url, "书店"), "kind": "place", "provider": "高德地图"})
    reader = read(answer=f"去书店[1]({url})。", sources=[shop], places=[])
    assert "uri.amap.com" not in text_of(reader)
    assert "高德地图" in text_of(reader)
    assert addresses(reader) == {url}
