"""A topic's pages and notes: how long, what stays open, and whose words a card shows."""

from typing import Any

import pytest

from agent.assistants.deep_research.compress_topic import (
    ReadPage,
    _excerpts,
    _read,
    _sources,
    _without_open,
    _words,
    read_page_elements,
)
from agent.assistants.deep_research.notes import workspace_lines
from agent.assistants.deep_research.state import TopicResult, UsefulPage
from agent.assistants.deep_research.write_report import page_lines
from agent.core.strings import estimated_tokens
from tests.support.rows import by_examples

TEXT = (
    "# 托管许可\n\nConductor 可以自行托管。免费许可最多连接一个执行器。"
    "商业或生产环境使用需要付费许可密钥，每月1200美元。联系销售获取报价。"
)


def useful(**more: Any) -> UsefulPage:
    fields: dict[str, Any] = {
        "id": "t0-0", "url": "https://docs.example/c", "title": "托管", "site": "docs.example",
        "snippet": "免费许可", "published": "2026-03-02", "provider": "tavily", **more,
    }  # fmt: skip
    return UsefulPage(**fields)


def read(text: str = TEXT, **more: Any) -> ReadPage:
    return ReadPage(useful(**more), text, partial=False)


def test_a_card_shows_the_pages_words_and_not_the_notes_paraphrase_f9() -> None:
    (source,) = _sources([read()], "生产环境要买许可，1200美元一个月[^t0-0]。")
    assert source["quotes"] == ["商业或生产环境使用需要付费许可密钥，每月1200美元。"]
    assert (source["site"], source["published"]) == ("docs.example", "2026-03-02")


def test_several_passages_of_a_page_keep_each_its_own_quote_f9() -> None:
    notes = "免费许可只连一个执行器[^t0-0]。生产环境每月1200美元[^t0-0]。"
    (source,) = _sources([read()], notes)
    assert source["quotes"] == [
        "免费许可最多连接一个执行器。",
        "商业或生产环境使用需要付费许可密钥，每月1200美元。",
    ]


def test_a_note_that_no_sentence_of_its_page_is_near_to_leaves_the_excerpt() -> None:
    (source,) = _sources([read()], "Zyx quorble[^t0-0].")
    assert source["quotes"] == ["免费许可"]


def test_an_excerpt_has_the_page_s_words_and_no_summary_by_a_search_s_model() -> None:
    summary = "搜索摘要：生产环境要买许可，1200美元一个月。"
    told = _excerpts([read(snippet=summary)])
    assert told == "托管: 商业或生产环境使用需要付费许可密钥，每月1200美元。[^t0-0]"
    unread = ReadPage(useful(snippet=summary), summary, partial=True)
    assert _excerpts([unread]) == f"托管: {summary}[^t0-0]"


def test_a_page_comes_with_its_date_and_keeps_its_signs_f9() -> None:
    shown = read_page_elements([read('if x <= "y" -> Vec<T> </page>')], 500)
    assert 'published="2026-03-02"' in shown
    assert '>if x <= "y" -> Vec<T> ‹/page›</page>' in shown


def test_a_page_without_a_word_is_not_offered_for_citing() -> None:
    assert read_page_elements([read("  "), read("文字")], 500).count("<page ") == 1


def test_a_page_that_a_search_names_by_its_site_gets_its_heading_f10() -> None:
    page = useful(title="docs.example")
    assert _read(page, (TEXT, False)).page["title"] == "托管许可"
    assert _read(page, None).page["title"] == "docs.example"
    assert _read(useful(), (TEXT, False)).page["title"] == "托管"


@pytest.mark.parametrize(
    ("tokens", "share", "words"),
    [(1000, 10_000, 450), (6000, 10_000, 1500), (60_000, 10_000, 3750), (60_000, 1000, 1050)],
)
def test_notes_are_as_long_as_their_pages_deserve_f9(tokens: int, share: int, words: int) -> None:
    page = read("电" * round(tokens / 0.72))
    assert estimated_tokens(page.text) == pytest.approx(tokens, rel=0.001)
    assert _words([page], share, "zh") == words
    assert _words([page], share, "en") == pytest.approx(words / 2, abs=50)


@by_examples
def test_what_notes_leave_open_is_taken_out_of_them_f2(line: str, open_: str) -> None:
    notes, said = _without_open(f"许可有两种[^t0-0]。\n{line}\n")
    assert (notes.strip(), said) == ("许可有两种[^t0-0]。", open_)


def test_notes_without_such_a_line_stay_as_they_are() -> None:
    assert _without_open("This is open: source[^t0-0].") == ("This is open: source[^t0-0].", "")


def test_the_writer_gets_title_site_and_date_of_the_pages_that_notes_cite() -> None:
    cited, other = useful(published="2026-03-02T08:00:00Z"), useful(id="t0-1", url="https://b/")
    topic = TopicResult(
        topic="托管", reason="", useful_webpages=[cited, other], compressed_content="付费[^t0-0]。"
    )
    assert page_lines([topic]) == "[^t0-0] 托管 | docs.example | 2026-03-02"
    assert page_lines([TopicResult(**{**topic, "whole": True})]) == ""


def test_a_page_stands_once_in_the_workspace() -> None:
    page = {"id": "w1-0", "url": "https://a.example/1", "title": "Licence"}
    state: Any = {
        "turn": {"language": "en"}, "messages": [], "base": 0, "pages_left": [page, page],
        "search_results": [{"useful_webpages": [useful(**page)]}],
    }  # fmt: skip
    assert workspace_lines(state, 500).count("w1-0") == 1
