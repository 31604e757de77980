"""A file has one title, and its headings go down from there a step at a time."""

import io
import re
from itertools import pairwise

import docx
import pytest
from markdown_it import MarkdownIt
from pypdf import PdfReader

from agent.cli.render import print_outcome
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.export.pdf import pdf_document
from agent.export.word import word_document
from tests.unit.export_samples import answer
from tests.unit.test_cli_console import outcome

QUESTION = "西湖一日游：交通和门票"
REPORT = "# 西湖\n\n## 交通\n\n地铁。\n\n### 公交\n\n有。\n\n## 门票\n\n免费。"
ROWS = {
    "a report's own title": (REPORT, [("交通", 2), ("公交", 3), ("门票", 2)]),
    "sections alone": ("先说。\n\n## 交通\n\n有。", [("交通", 2)]),
    "several of the first rank": ("# 交通\n\n有。\n\n# 门票\n\n免。", [("交通", 2), ("门票", 2)]),
    "of the third rank": ("先说。\n\n### 交通\n\n#### 公交\n\n有。", [("交通", 2), ("公交", 3)]),
    "underlined": ("西湖\n===\n\n交通\n---\n\n有。", [("西湖", 2), ("交通", 3)]),
    "in a quotation": ("# 西湖\n\n> # 交通\n\n有。", [("交通", 2)]),
    "a sign of code": ("# 西湖\n\n```\n# 交通\n```", [("西湖", 2)]),
    "none": ("有。", []),
}


@pytest.fixture(params=ROWS, name="row")
def row_fixture(request: pytest.FixtureRequest) -> tuple[str, list[tuple[str, int]]]:
    return ROWS[request.param]


def given(text: str) -> dict[str, object]:
    return {"question": QUESTION, "answer": text, "notice": "", "sources": [], "places": []}


def title(text: str) -> str:
    """What a file is called: a report by its own title, another answer by the question."""
    return "西湖" if text.startswith("# 西湖") and "\n# " not in text else QUESTION


def test_markdown_and_a_page_have_one_title(
    row: tuple[str, list[tuple[str, int]]],
) -> None:
    text, expected = row
    finished = answer(**given(text))
    tokens = MarkdownIt("commonmark").parse(markdown_document(finished))
    found = [
        (after.content, int(token.tag[1]))
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    shown = re.findall(r"<h(\d)>([^<]+)</h\1>", html_page(finished))
    assert found == [(words, int(level)) for level, words in shown] == [(title(text), 1), *expected]


def test_word_has_them_below_its_title(row: tuple[str, list[tuple[str, int]]]) -> None:
    text, expected = row
    written = docx.Document(io.BytesIO(word_document(answer(**given(text)))))
    styles = [(each.text, each.style.name) for each in written.paragraphs if each.style]
    assert [words for words, style in styles if style == "Title"] == [title(text)]
    named = [(words, style) for words, style in styles if str(style).startswith("Heading")]
    assert named == [(words, f"Heading {level - 1}") for words, level in expected]


def test_in_a_pdf_nothing_else_is_as_large_as_the_title(
    row: tuple[str, list[tuple[str, int]]],
) -> None:
    sizes: dict[str, float] = {}

    def seen(text: str, _cm: object, matrix: list[float], _font: object, size: float) -> None:
        if text.strip():
            sizes[text.strip()] = size * abs(matrix[3])

    reader = PdfReader(io.BytesIO(pdf_document(answer(**given(row[0])))))
    for page in reader.pages:
        page.extract_text(visitor_text=seen)
    largest = max(sizes.values())
    titles = "".join(text for text, size in sizes.items() if size == largest)
    assert titles.replace("\n", "") == title(row[0])


def test_below_a_report_s_own_title_stands_what_was_asked() -> None:
    finished = answer(**given(REPORT))
    assert markdown_document(finished).startswith(f"# 西湖\n\n{QUESTION} · ")
    assert QUESTION not in markdown_document(finished).partition("## ")[2]
    assert html_page(finished).count(QUESTION) == 1


def test_a_terminal_that_prints_no_question_keeps_a_report_s_own_title(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_outcome(outcome(REPORT, mode="online", places=[], sources=[]), follow_up="")
    assert capsys.readouterr().out.startswith("# 西湖\n\n## 交通\n")
