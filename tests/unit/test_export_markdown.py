"""An answer as Markdown: what a reader of Markdown can follow, and what plain text shows."""

import io
from dataclasses import replace

import docx
import pytest
from markdown_it import MarkdownIt
from pypdf import PdfReader

from agent.cli.render import print_outcome
from agent.evidence.types import Place
from agent.export.html import html_page
from agent.export.markdown import answer_markdown, markdown_document, place_table
from agent.export.pdf import pdf_document
from agent.export.word import word_document
from agent.texts import say
from tests.unit.export_samples import NOTICE, answer, place, source
from tests.unit.test_cli_console import outcome

LONG = "https://uri.amap.com/marker?position=116.410352,39.913566&name=" + "%E5%92%8C" * 12
PAGE = "https://example.com/a"
NOWHERE = "https://sample.tanlu.invalid/a"
LISTED = f"""> {NOTICE}

这几处都不远：

- **和平菓局** — 直线 220 m，★4.6，雨天也能逛[2]({LONG})[1]({PAGE})。
- **书店**：老字号[1]({PAGE})

想歇脚可以去茶馆[3]({NOWHERE})(二楼)。

**来源**

1. [遛娃指南]({PAGE})
2. [和平菓局]({LONG})
3. [\\[示例\\] 茶馆]({NOWHERE})"""
PLACES = [
    Place(**{**place(1, "和平菓局", url=LONG, source="w0-2"), "number": 1}),
    Place(**{**place(2, "书店", url=f"{LONG}2"), "number": 2}),
    Place(**{**place(3, "茶馆", url=f"{LONG}3", mentioned=False), "number": 3}),
]
SOURCES = [source(), source(2, LONG, "和平菓局"), source(3, NOWHERE, "[示例] 茶馆")]
GIVEN = answer(answer=LISTED, sources=SOURCES, places=PLACES)


def links_of(markdown: str) -> list[tuple[str, str]]:
    """What any reader of CommonMark shows as links: their words and where they lead."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        children = token.children or []
        for at, child in enumerate(children):
            if child.type == "link_open":
                found.append((children[at + 1].content, str(child.attrGet("href"))))
    return found


def test_addresses_stand_at_the_end_and_every_citation_leads_there() -> None:
    written = answer_markdown(GIVEN)
    text, _, addresses = written.partition("\n\n[1]: ")
    assert "http" not in text
    assert addresses.splitlines()[:2] == [PAGE, f"[2]: {LONG}"]
    led = links_of(written)
    assert ("1", PAGE) in led
    assert ("2", LONG) in led
    assert ("茶馆", f"{LONG}3") in led
    assert NOWHERE not in written


def test_citations_side_by_side_stay_two_and_a_bracket_behind_one_is_no_address() -> None:
    written = answer_markdown(answer(
        answer=f"雨天[1]({PAGE})[2]({LONG})，茶馆[3]({NOWHERE})[1]({PAGE})(二楼)，[注][1]({PAGE})！",
        sources=SOURCES, places=[], notice="",
    ))  # fmt: skip
    assert written.startswith("雨天[1] [2]，茶馆[3] [1] (二楼)，[注] [1]！")
    assert links_of(written)[:4] == [("1", PAGE), ("2", LONG), ("1", PAGE), ("1", PAGE)]


@pytest.mark.parametrize(
    ("line", "told"),
    [("走2公里[1]({}): 快走。", "走2公里[1]: 快走。"), ("- [1]({}): 快走。", "- [1] : 快走。")],
)
def test_a_colon_stands_apart_from_a_citation_that_begins_its_line_alone(
    line: str, told: str
) -> None:
    shown = answer(answer=line.format(PAGE), sources=SOURCES[:1], places=[])
    assert told in answer_markdown(shown)


def test_code_is_left_as_it_is() -> None:
    code = f"```\n[a]({LONG})\n```"
    assert code in answer_markdown(answer(answer=f"{code}\n\n见[1]({PAGE})。"))


def test_a_place_is_told_once() -> None:
    written = answer_markdown(GIVEN)
    card = "- **1. [和平菓局][2]** · ¥88/人 · 10:00-22:00 · 王府井大街138号"
    assert f"{card}  \n  直线 220 m，★4.6，雨天也能逛[2] [1]。\n" in written
    assert written.count("和平菓局") == len(["card", "source"])
    rows = [line for line in written.splitlines() if line.startswith("| ") and "m |" in line]
    assert [row.split(" | ")[:2] for row in rows] == [["| 3", "[茶馆][link-2]"]]


def test_a_place_that_a_row_of_the_answer_tells_has_no_other_row_and_no_card() -> None:
    """A dossier's table of three saunas stood again below it, and one behind a paragraph."""
    text = f"| 店 | 价 |\n|---|---|\n| 书店[2]({LONG}) | 88 |\n\n书店很安静[2]({LONG})。"
    record = source(2, LONG, "书店")
    record["id"] = "a0-7"
    given = answer(answer=text, sources=[record], places=[place(2, "书店", source="a0-7")])
    written = answer_markdown(given)
    assert say("export.places", "zh") not in written
    assert "王府井大街138号" not in written
    other = replace(given, answer=text.partition("\n\n")[0].replace(f"[2]({LONG})", ""))
    assert "王府井大街138号" in answer_markdown(other), "a row that cites no record tells none"


def test_a_numbered_list_of_places_has_the_numbers_of_their_pins() -> None:
    text = "1. **和平菓局**：街景\n2. **书店**：老字号\n3. 回家"
    lines = answer_markdown(answer(answer=text, places=PLACES)).splitlines()
    assert lines[0].startswith("-  **1. [和平菓局][link-1]** · ")
    assert lines[1:4:2] == ["   街景", "   老字号"]
    assert lines[4] == "3. 回家"


def test_a_table_of_places_has_no_column_that_says_nothing() -> None:
    bare = {"rating": None, "cost": None, "open_time": ""}
    table = place_table([place(1, **bare), place(2, **bare)], "en")
    assert table.splitlines()[0] == "|  | Name | From 王府井 | Address |"
    assert "| Rating |" in place_table([place(1, **bare), place(2)], "en")


def test_no_notice_stands_before_the_answer() -> None:
    for written in (markdown_document(GIVEN), answer_markdown(GIVEN)):
        assert written.count(NOTICE) == 1
        assert written.index("这几处都不远") < written.index(f"> {NOTICE}")


def test_a_pipe_gets_the_same_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    told = outcome(LISTED, places=PLACES, sources=SOURCES)
    print_outcome(told, follow_up="tanlu ask --thread T")
    shown = capsys.readouterr().out
    assert shown.startswith(answer_markdown(told.finished()))
    assert "tanlu ask --thread T" in shown


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (f"A[1]({PAGE})。B[1]({PAGE})。C[2]({LONG})。", "A。B[1]。C[2]。"),
        (f"A [1]({PAGE}). B [1]({PAGE}). C [1]({PAGE}).", "A. B. C [1]."),
        (f"A[1]({PAGE})[2]({LONG})。B[1]({PAGE})[2]({LONG})。", "A。B[1] [2]。"),
        (f"A。[1]({PAGE}) B。[1]({PAGE})", "A。B。[1]"),
        (f"A[1]({PAGE})[2]({LONG})。B[1]({PAGE})。", "A[1] [2]。B[1]。"),
        (f"A[1]({PAGE})。\n\nB[1]({PAGE})。", "A[1]。\n\nB[1]。"),
        (f"- A[1]({PAGE})\n- B[1]({PAGE})", "- A[1]\n- B[1]"),
        (f"A[1]({PAGE})。B†。C[1]({PAGE})。", "A[1]。B†。C[1]。"),
        (f"|x|y|\n|-|-|\n|A[1]({PAGE})|B[1]({PAGE})|", "|x|y|\n|-|-|\n|A[1]|B[1]|"),
    ],
)
def test_a_citation_that_the_next_sentence_repeats_stands_once_in_files(
    told: str, left: str
) -> None:
    given = answer(answer=told, sources=SOURCES, places=[], notice="")
    text, _, _ = answer_markdown(given).partition("\n\n**来源")
    assert text == left


def test_every_file_has_a_repeated_citation_once() -> None:
    told = f"A[1]({PAGE})。B[1]({PAGE})。"
    given = answer(answer=told, places=[], sources=[source()], notice="")
    assert html_page(given).count('class="cite"') == 1
    paragraphs = docx.Document(io.BytesIO(word_document(given))).paragraphs
    assert "A。B[1]。" in [each.text for each in paragraphs]
    pages = PdfReader(io.BytesIO(pdf_document(given))).pages
    assert "A。B[1]。" in "".join(pages[0].extract_text().split())
