"""Any text of a model, a page or a person is read: nothing untyped, no HTML, no lost text."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from agent.assistants.common.conversation import known_words
from agent.assistants.common.tool_results import rounded
from agent.assistants.team_answer.answer_form import formatted, same_answer
from agent.batch.scoring import is_correct
from agent.evidence.citations import Citer, cited_ids, inert
from agent.evidence.claims.corrected import corrected, rows
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.days import days_named
from agent.evidence.figures import figures, same
from agent.evidence.formulas import value_of
from agent.evidence.geo import parse_lnglat
from agent.evidence.hours import EVERY_DAY, all_year, osm_hours, weekly_hours
from agent.evidence.hours_told import hours_words
from agent.evidence.intent import (
    detect_location_query,
    extract_place,
    map_task_by_rules,
    needs_origin,
    needs_place,
)
from agent.evidence.markdown import canonical, link_url, open_url
from agent.evidence.notation import MARKED
from agent.evidence.open_when import openness
from agent.evidence.queries import clean_text, same_search
from agent.evidence.references import SourceListFilter, strip_references, with_targets
from agent.evidence.types import Source
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.models.thoughts import Thoughts
from agent.search.hits import make_hit, only_known, plain_line
from agent.search.rules import published_on
from agent.texts import detect_language
from tests.fuzz.odd import cut, pieces, texts
from tests.support.thoughts import without_thoughts
from tests.unit.export_samples import answer

QUOTE = "门票 60 元。The metro takes 45 minutes and costs CNY 5."
SOURCES: dict[str, Source] = {
    name: Source(
        id=name, kind="page", title="指南", url=f"https://a.example/{n}", provider="google",
        quotes=[QUOTE],
    )
    for n, name in enumerate(("w0-0", "w0-1", "a0-0"))
}  # fmt: skip
MARKDOWN = pieces(
    "Line 2 takes 45 minutes", "门票60元", "[^w0-0]", "[^w0-1, a0-0]", "[^x9-9]", "【^w0-0】",
    ". ", "。", "\n", "\n\n", "- ", "1. ", "| a | b |\n|---|---|\n", "| ", " |", "# ", "**", "*",
    "`", "```\n", "~~~\n", "[x](https://a.example/0)", "[x](", "](", "<a href='x'>", "</div>",
    "<!--", "https://b.example/?q=1", "www.x.example", "&lt;", "\\", "> ", "$", "\t", "来源：\n",
    "Sources\n", "[1]", "[1](https://a.example/0)", "!", "<think>", "</think>",
    "1. 指南 https://a.example/0\n",
)  # fmt: skip
FIGURES = pieces(
    "1", "2", "9", "0", ".", ",", "/", "-", "–", "~", "%", "‰", "万", "亿", "百", "千", "零",
    "两", "半", "成", "折", "元", "¥", "$", "€", "CNY ", " million", " billion", "k", "km",
    "公里", "°C", "度", "minutes", "分钟", "小时", "点", ":", "：", " am", "pm", "年", "月", "日",
    "March ", "May 3rd", "Q3", "+", "×", "=", "(", ")", "≈", "约", "at least ", "½", "third",
    "twenty-one ", "一百二十", "half past ", "2026-11-28", "08:00", " ", "。", "1,234.5", "GB",
    "ft", "''", "lakh", "dozen",
)  # fmt: skip
QUESTIONS = pieces(
    "王府井", "北京", "杭州西湖", "附近", "怎么走", "到", "从", "坐地铁", "步行", "10分钟",
    "500米", "人均", "100元以内", "评分4.5以上", "周末", "明天", "下雨", "带孩子", "半天", "一天",
    "上午九点", "晚上8点半", "near the Bund", "how do I get from ", " to ", "within 2 km",
    "under $20", "open on Sunday", "this afternoon", "for 3 hours", "天气", "？", "?", " ", "\n",
    "“", "”", "'", "和", "vs ", "2026",
)  # fmt: skip
HOURS = pieces(
    "周一", "周日", "至", "-", "~", "、", "星期六", "Mon", "Sun", "-Fri", "08:00", "22:00",
    "26:00", "24小时", "营业", "休息", "全天", ";", "；", ",", " ", "(", ")", "10:00-12:00",
    "0:00-24:00", "法定节假日", "上午9点", "次日2:00", "除外", "closed", "暂停营业", "1月",
    "12月", "每天", "PH off", "Mo-Fr",
)  # fmt: skip
OSM_HOURS = pieces(
    "Mo", "Tu", "We-Fr", "Sa", "Su", "PH", "SH", " ", "-", ",", "; ", " || ", "08:00-18:00",
    "22:00-02:00", "00:00-24:00", "10:00+", "26:00", "off", "closed", "unknown", "24/7", "2026",
    '"by appointment"', ' open "x"', "Jan-Mar", "Dec 24", "week 1-53/2", "easter", "[1]", ":",
    "sunrise-sunset", "(sunset+01:00)",
)  # fmt: skip
DATES = pieces(
    "2026", "11", "28", "-", "/", ".", "年", "月", "日", "T", "Z", "08:00:00", "+08:00",
    "3 days ago", "昨天", "2小时前", "Nov ", "November 28, 2026", "Sept", " ", "周前",
    "yesterday", "99999", "0",
)  # fmt: skip
URLS = pieces(
    "http://", "https://", "a.example", "例子.中国", ":80", ":99999", "/", "?q=", "#", "%", "%zz",
    "..", "@", "user:pass@", "[::1]", "[", "]", "127.0.0.1", "2130706433", " ", "\\", "&", "=",
    "utm_source=x", "(", ")", "<", ">", "', ", ", ", ", ", ", ", ", ", most=12,
)  # fmt: skip
LANGUAGE: Any = st.sampled_from(["zh", "en"])
NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
_ALLOWED_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?>|<!--|<!DOCTYPE", re.IGNORECASE)


def known() -> Evidence:
    records = {name: Record(each["quotes"]) for name, each in SOURCES.items()}
    return Evidence(records, question="怎么去？", today="2026-11-28")


@given(cut(MARKDOWN))
def test_citations_are_the_same_however_a_stream_is_cut(parts: list[str]) -> None:
    whole, streamed = Citer(SOURCES), Citer(SOURCES)
    at_once = whole.feed("".join(parts)) + whole.flush()
    assert "".join(map(streamed.feed, parts)) + streamed.flush() == at_once
    assert not re.search(
        r"(?<![\\&`])<(?:script|a|div|img)\b", re.sub(r"`[^`]*`", "", at_once)
    ) or ("`" in at_once or "~~~" in at_once)


@given(cut(MARKDOWN))
def test_a_list_of_sources_goes_however_a_stream_is_cut(parts: list[str]) -> None:
    whole, streamed = SourceListFilter(), SourceListFilter()
    at_once = whole.feed("".join(parts)) + whole.flush()
    assert "".join(map(streamed.feed, parts)) + streamed.flush() == at_once


@given(cut(MARKDOWN), st.booleans(), st.booleans())
def test_thoughts_go_however_a_stream_is_cut(
    parts: list[str], ends_early: bool, opened: bool
) -> None:
    def said(some: list[str]) -> str:
        thoughts, text = Thoughts(opened=opened), ""
        for withdrawn, piece in [*map(thoughts.feed, some), thoughts.finish(cut=ends_early)]:
            text = piece if withdrawn else text + piece
        return text

    assert said(parts) == said(["".join(parts)])


@given(MARKDOWN)
@example("Line 2 takes 45 minutes\ud83d")
def test_an_answer_is_checked_and_none_of_its_text_is_lost(text: str) -> None:
    found = statements(text, MARKED)
    for one in found:
        assert text[one.start : one.end] == one.text
    untouched = [Outcome("supported")] * len(found)
    assert "".join(part.text for part in corrected(text, found, untouched, MARKED)) == text
    for letter in "scopnx":
        ruling = Ruling(
            v=letter,
            p=["1.1", "2.1"],
            bad=[text[:9], text[-5:]],
            says="60 元",
            calc="60*2",
            fix="-",
        )
        outcomes = proved(found, dict.fromkeys(range(len(found)), ruling), known())
        rows(corrected(text, found, outcomes, MARKED), 0)
        gone = [replace(outcome, revised="") for outcome in outcomes]
        corrected(text, found, gone, MARKED)


@given(FIGURES)
def test_figures_are_read_where_they_stand(text: str) -> None:
    read = figures(text)
    for figure in read:
        assert text[figure.start : figure.start + len(figure.text)] == figure.text
        assert figure.value.is_finite()
    for one, other in pairwise(read):
        same(one, other)
    value_of(text)
    rounded(text)
    found = statements(f"{text} [^w0-0].", MARKED)
    ruling = Ruling(v="c", p=["1.1"], calc=text)
    proved(found, dict.fromkeys(range(len(found)), ruling), known())


@given(FIGURES, texts, st.sampled_from(["", "two decimals", "YYYY-MM-DD", "in km", "保留2位小数"]))
def test_an_answer_is_put_into_its_form(text: str, other: str, requirement: str) -> None:
    again = formatted(formatted(text, requirement), requirement)
    assert isinstance(again, str)
    same_answer(text, other)
    is_correct(text, other, "answered")


@given(HOURS)
def test_opening_hours_are_read_or_not(text: str) -> None:
    hours = all_year(weekly_hours(text))
    for each in hours or []:
        assert 0 <= each.start < 24 * 60
    for until in (None, "22:00"):
        openness(hours, "09:30", [1, 7], until=until)


@given(OSM_HOURS)
@example("Mo-Su " + ",".join(f"{at // 60:02}:{at % 60:02}-{at // 60:02}:{at % 60 + 1:02}"
                            for at in range(0, 1400, 2)))  # fmt: skip
def test_opening_hours_of_openstreetmap_are_read_or_not(text: str) -> None:
    seasons = osm_hours(text, date(2026, 11, 28))
    assert seasons
    for hours in seasons:
        for each in hours or []:
            assert each.days <= EVERY_DAY
            assert 0 <= each.start < 24 * 60 < each.end + 24 * 60
    hours_words(seasons, "zh")


@given(QUESTIONS)
def test_a_question_is_read_by_rules(text: str) -> None:
    for rule in (detect_location_query, extract_place, map_task_by_rules,
                 needs_origin, needs_place, detect_language,
                 parse_lnglat):  # fmt: skip
        rule(text)
    days_named(text, "2026-11-28")
    same_search(text, clean_text(text, 400))
    checks = {"statements": [{"start": 0, "end": len(text), "verdict": "supported"}]}
    answer = AIMessage(f"{text} [1](https://a.example/)", additional_kwargs={"checks": checks})
    known_words([HumanMessage(text), answer])


@given(DATES)
def test_a_date_is_a_day_or_none(text: str) -> None:
    published_on(text, "2026-11-28")


@given(URLS, texts)
def test_an_address_is_a_safe_link_or_none(url: str, title: str) -> None:
    link = link_url(url)
    assert link == "" or link.startswith(("http://", "https://"))
    assert not re.search(r"[\s<>\"]", link)
    canonical(url)
    open_url(url)
    hit = make_hit(title, url, title)
    assert hit is None or hit.url.startswith(("http://", "https://"))
    with_targets(f"[1]({url})", {url: url or None})


@given(MARKDOWN)
def test_a_page_s_text_cannot_cite_and_is_one_line(text: str) -> None:
    assert cited_ids(only_known(text, ())) == []
    assert "\n" not in plain_line(text, 200)
    inert(text)
    strip_references(text)
    without_thoughts(text)


@given(MARKDOWN, texts, LANGUAGE)
@example("```javascript:alert(1)", "", "zh")
def test_an_exported_page_has_no_markup_of_the_text(text: str, title: str, language: Any) -> None:
    made = answer(answer=text, question=title, language=language)
    page = html_page(made)
    body = page[page.index("<body") :]
    for tag in re.findall(r"<[a-zA-Z/!][^>]*>", body):
        assert not re.match(r"<(?:script|iframe|object|embed|form|img|base|meta)\b", tag, re.I) or (
            tag in html_page(answer(answer="", question="", language=language))
        ), tag
        assert not re.search(r"\son\w+\s*=", tag, re.I), tag
        assert "javascript:" not in tag.casefold(), tag
    markdown_document(made)
