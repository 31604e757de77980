import html
import io
import re
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pypdf import PdfReader

from agent.client.run_result import RunName, outcome_of
from agent.evidence.markdown import link_url
from agent.evidence.ordering import judged
from agent.evidence.types import Place, Point, Source
from agent.export.finished import metres, statement_line, subtitle
from agent.export.html import html_page
from agent.export.markdown import answer_html, markdown_document, place_table
from agent.export.pdf import pdf_document
from agent.export.svg_map import Pin, draw_map, nice_step
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.export_samples import HOSTILE, NOTICE, answer, place, source

FOUND_AT = "2026-11-21T11:41:00+00:00"


class _Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_page_needs_no_network_and_no_script() -> None:
    elements = _Elements(html_page(answer()))
    assert not [tag for tag, _ in elements.found if tag in ("script", "img", "link", "object")]
    policy = next(m["content"] for m in elements.named("meta") if m.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_every_link_is_http_and_gives_nothing_away() -> None:
    page = html_page(answer(sources=[source(), source(2, "javascript:alert(1)")]))
    links = _Elements(page).named("a")
    assert links
    for link in links:
        assert str(link["href"]).startswith("https://")
        assert link["rel"] == "noopener nofollow ugc"


@pytest.mark.parametrize("field", ["question", "notice"])
def test_hostile_text_is_shown_as_text(field: str) -> None:
    page = html_page(answer(**{field: HOSTILE}))
    assert "<img" not in page
    assert "&lt;img" in page


def test_hostile_names_addresses_and_titles_are_text_in_the_map_and_the_lists() -> None:
    hostile = place(1, HOSTILE, address=HOSTILE, open_time=HOSTILE, distance_from=HOSTILE)
    page = html_page(answer(places=[hostile], sources=[source(1, "https://a.b/", HOSTILE)]))
    assert "<img" not in page
    attribute = html_page(answer(places=[place(1, '"><script>x', url='https://a.b/"onclick="x')]))
    elements = _Elements(attribute)
    assert not elements.named("script")
    assert not [a for _, a in elements.found if "onclick" in a]


def test_a_place_of_the_text_is_a_card_there_and_not_listed_again() -> None:
    named, listed = (
        place(2, HOSTILE, name_en="A & B", source="w0-2"),
        place(3, "老舍纪念馆", mentioned=False),
    )
    named["number"], listed["number"] = 1, 2
    text = f"- **A & B**: 440 m, ★4.6, a park[2]({named['url']}).\n- **Elsewhere**: 3 km."
    page = html_page(answer(answer=text, places=[named, listed], language="en"))
    cards, after = page.split("</section>", 1)
    assert cards.count('<li class="card">') == 1
    assert '<a class="number" href="#source-2">1</a>' in cards, "its pin's, not its citation's"
    assert '<span class="number">2</span>' in after
    assert "<small>&lt;img" in cards
    assert "440 m, ★4.6, a park" in cards
    assert "<span>★ 4.6</span>" not in cards, "the words beside it say it"
    assert "<span>10:00–22:00</span>" in cards
    assert "老舍纪念馆" in after
    assert after.count('class="named"') == 0
    assert "<img" not in page


def test_a_bullet_that_names_a_place_and_cites_another_page_is_its_card_and_keeps_both() -> None:
    stop = place(2, "和平菓局", source="a0-1")
    text = "- 10:50–12:50 **和平菓局**：雨天也能逛[1](https://example.com/a)\n- 和平菓局的厨房：无"
    page = html_page(answer(answer=text, places=[stop]))
    cards, after = page.split("</section>", 1)
    assert cards.count('<li class="card">') == 1, "words that go on behind the name are others"
    assert "10:50–12:50" in cards
    assert "：雨天也能逛" in cards
    assert 'href="https://example.com/a"' in cards
    assert cards.count("和平菓局") == 2
    assert '<ol class="places">' not in after


def test_a_bullet_of_two_branches_is_the_card_of_the_one_cited_first_and_keeps_its_words() -> None:
    branches = [place(1, "Robert's", source="a0-1"), place(2, "Robert's", source="a0-2")]
    cites = [source(1, "https://a.b/first"), source(2, "https://a.b/second")]
    records: list[Source] = [
        {**each, "id": branch["source"], "kind": "place"}
        for each, branch in zip(cites, branches, strict=True)
    ]
    said = "the north one 440 m[2](https://a.b/second), the other 440 m[1](https://a.b/first)"
    page = html_page(answer(
        answer=f"- **Robert's**: {said}", places=branches, sources=records, language="en",
    ))  # fmt: skip
    cards = page.split("</section>", 1)[0]
    assert '<a class="number" href="#source-2">' in cards
    assert "the other 440 m" in cards


def test_a_place_shows_its_photo_only_from_hosts_that_are_allowed() -> None:
    host = "store.is.autonavi.com"
    shown = place(1, HOSTILE, photo=f"https://{host}/a.jpg")
    foreign = place(2, photo=f"https://{host}.evil.example/a.jpg")
    off = _Elements(html_page(answer(places=[shown, foreign])))
    assert off.named("img") == []
    on = _Elements(html_page(answer(places=[shown, foreign], photo_hosts=[host])))
    (image,) = on.named("img")
    assert image["src"] == f"https://{host}/a.jpg"
    assert image["alt"]
    assert (image["loading"], image["referrerpolicy"]) == ("lazy", "no-referrer")
    policies = [next(filter(None, (m.get("content") for m in page.named("meta")
                if m.get("http-equiv")))) for page in (off, on)]  # fmt: skip
    assert ["img-src data:;" in one for one in policies] == [True, False]
    assert f"img-src data: https://{host};" in policies[1]


def test_a_long_quote_is_cut_between_words() -> None:
    quote = "Wangfujing is a street of shops in the very centre of Beijing " * 6
    page = html_page(answer(sources=[{**source(), "quotes": [quote]}]))
    shown = page.partition('<p class="quote">“')[2].partition("”")[0]
    assert shown.endswith("…")
    assert len(shown) <= 220
    assert quote.startswith(f"{shown.removesuffix('…')} ")


def test_a_source_says_from_when_it_is() -> None:
    page = html_page(answer(sources=[{**source(), "published": "2026-03-28T08:00:00Z"}]))
    assert '<span class="site">example.com · 2026-03-28</span>' in page


def test_of_a_calculation_the_sums_that_the_text_uses_are_printed() -> None:
    page = html_page(
        answer(
            sources=[
                {**source(1, "", "两次"), "kind": "document", "sums": ["两次：417 * 3 = 1251 元"]}
            ]
        )
    )
    assert '<p class="quote" id="source-1a">两次：417 * 3 = 1251 元</p>' in page


def test_a_citation_leads_to_its_line_of_a_calculation() -> None:
    sums = ["a. 一次：417 元", "b. 两次：417 * 3 = 1251 元"]
    calculation = {**source(1, "", "两次"), "kind": "document", "sums": sums}
    page = html_page(answer(answer="两次一共 1251 元。[1b] 又说。[1]", sources=[calculation]))
    assert '<a href="#source-1b" class="cite" title="两次">1b</a>' in page
    assert '<a href="#source-1" class="cite" title="两次">1</a>' in page
    assert 'id="source-1b">b. 两次' in page


def test_the_answer_stands_once_and_its_sources_once() -> None:
    page = html_page(answer())
    assert page.count("停车场价格") == 1
    assert page.count(NOTICE) == 1
    assert (
        page.index(say("page.notice.offline", "zh")) < page.index("步行街两侧") < page.index(NOTICE)
    )
    assert page.count(">遛娃指南</a>") == 1


def test_temperatures_and_their_unit_stay_on_one_line() -> None:
    assert "2–\u206013\u00a0°C" in html_page(answer(answer="晴，2–13 °C。"))


def test_citations_carry_the_title_of_their_source() -> None:
    cite = next(a for a in _Elements(html_page(answer())).named("a") if a.get("class") == "cite")
    assert cite["title"] == "遛娃指南"
    assert cite["href"] == "https://example.com/a"


def test_a_citation_of_what_has_no_address_leads_to_its_line_below() -> None:
    sums = source(1, "")
    page = html_page(answer(answer="In all 26.40 [1] euros, see [2].", sources=[sums]))
    cite = next(a for a in _Elements(page).named("a") if a.get("class") == "cite")
    assert cite["href"] == "#source-1"
    assert "26.40 <a" in page
    assert "euros, see [2]." in page


def test_search_suggestions_are_unmodified_but_fenced_off() -> None:
    given = "<style>.a{}</style><div><script>bad()</script><a href='https://g.co'>x</a></div>"
    frame = _Elements(html_page(answer(search_entry_points=[given]))).named("iframe")[0]
    assert str(frame["srcdoc"]).endswith(given)
    assert "allow-scripts" not in str(frame["sandbox"])
    assert "allow-same-origin" not in str(frame["sandbox"])


@by_examples
def test_markdown_cannot_act(written: str) -> None:
    elements = _Elements(answer_html(written, {}))
    assert not [tag for tag, _ in elements.found if tag in ("script", "img")]
    for tag, attributes in elements.found:
        assert tag != "a" or str(attributes["href"]).startswith("https://")
        assert not [name for name in attributes if name.startswith("on")]


def test_headings_of_the_answer_begin_below_those_of_the_page() -> None:
    assert answer_html("# A\n\n###### B", {}) == "<h2>A</h2>\n<h6>B</h6>\n"


@by_examples
def test_only_web_addresses_become_links(url: str, kept: bool) -> None:
    assert (link_url(url) == url) is kept


@pytest.mark.parametrize(
    ("first", "marked"), [("09:30–11:00", True), ("9:30", True), ("周六", False), ("1:30 h", False)]
)
def test_a_table_whose_rows_begin_with_times_is_marked(first: str, marked: bool) -> None:
    table = f"| When | Where |\n|---|---|\n| 08:00–09:30 | A |\n| {first} | B |"
    assert ('class="timetable"' in answer_html(table, {})) is marked


SAMPLE = "https://sample.tanlu.invalid/a"


def test_pages_that_lead_nowhere_are_no_links() -> None:
    text = f"去[1]({SAMPLE})，见[那页]({SAMPLE})[2](https://example.com/b)。\n\n**来源**\n\n"
    listed = f"1. [\\[示例\\] 一]({SAMPLE}) — 示例\n2. [二](https://example.com/b)"
    sources = [source(1, SAMPLE, "[示例] 一"), source(2, "https://example.com/b", "二")]
    finished = answer(answer=text + listed, sources=sources, places=[])
    page = html_page(finished)
    assert ".invalid/" not in page
    assert 'href="#source-1"' in page
    assert 'href="https://example.com/b"' in page
    document = markdown_document(finished)
    assert "去[1]，见那页[2]。" in document
    assert "1. \\[示例\\] 一 — sample.tanlu.invalid\n2. [二][2] — example.com\n" in document
    assert document.endswith("\n[2]: https://example.com/b\n")


def test_pins_are_drawn_where_they_are() -> None:
    drawn = draw_map([Pin(116.40, 39.91, "west", 1), Pin(116.42, 39.91, "east", 2)], "en")
    at = [float(x) for x in re.findall(r"translate\(([\d.]+) ", drawn)]
    east, west = at
    assert west < 360 < east
    assert abs((west + east) / 2 - 360) < 0.2


def test_pin_and_list_have_the_number_that_a_place_has_in_the_answer() -> None:
    numbers = (4, 9)
    places = [Place(**{**place(n), "number": number}) for n, number in enumerate(numbers, 1)]
    page = html_page(answer(places=places))
    assert re.findall(r'<span class="number">(\d+)</span>', page)[:2] == ["4", "9"]
    assert set(re.findall(r"<text[^>]*>(\d)</text>", page)) == {"4", "9"}
    older = html_page(answer(places=[place(1), place(2)]))
    assert re.findall(r'<span class="number">(\d+)</span>', older)[:2] == ["1", "2"]


def test_places_in_one_building_do_not_cover_each_other() -> None:
    drawn = draw_map([Pin(116.4, 39.9, f"shop {n}", n) for n in range(1, 7)], "en")
    at = [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", drawn)]
    assert len(at) == 6
    for index, (x, y) in enumerate(at):
        for other in at[index + 1 :]:
            assert abs(x - other[0]) + abs(y - other[1]) > 20


def test_a_map_across_the_date_line_is_small() -> None:
    drawn = draw_map([Pin(179.999, -17, "a", 1), Pin(-179.999, -17, "b", 2)], "en")
    assert ">100 m<" in drawn


def test_nothing_to_draw_is_no_map() -> None:
    assert draw_map([], "zh") == ""
    assert "<svg" not in html_page(answer(places=[]))
    off = place(1, wgs84=Point(lng=39.9, lat=116.4))
    assert "<svg" not in html_page(answer(places=[off]))


@pytest.mark.parametrize(
    ("value", "step"), [(1, 1), (4.9, 2), (5, 5), (99, 50), (1000, 1000), (0.3, 0.2)]
)
def test_steps_are_one_two_or_five(value: float, step: float) -> None:
    assert abs(nice_step(value) - step) < 1e-9


def test_distances_are_worded() -> None:
    assert [metres(m, "en") for m in (0, 999, 1234, 12345, None)] == [
        "0 m", "999 m", "1.2 km", "12 km", "",
    ]  # fmt: skip


def test_the_markdown_document_is_complete() -> None:
    written = markdown_document(answer())
    assert written.startswith("# 王府井附近适合遛娃的好去处\n")
    assert "\n\n**步行街两侧**适合带孩子[1]，雨天去室内[2]。\n\n**没有查到的**\n" in written
    assert "\n**来源**\n\n1. [遛娃指南][1] — example.com\n2. [儿童乐园][2]" in written
    assert (
        written.splitlines()[2]
        == f"2026-11-21 19:41（北京时间） · {say('page.notice.offline', 'zh')}"
    )
    assert "| [儿童乐园][2] | 220 m | 4.6 |" in written
    assert "数据 © 高德地图，查询于 2026-11-21 19:40（北京时间）" in written


def test_every_export_says_which_demand_a_place_breaks() -> None:
    demanding = answer(places=judged([place(1)], {"max_cost": 50}, "zh"))
    verdict = "✗ 超过 ¥50"
    assert verdict in markdown_document(demanding)
    ticks = '<span class="demands"><span class="violated">超过 ¥50</span></span>'
    assert ticks in html_page(demanding)
    assert 'class="demands"' not in html_page(answer())


def test_a_name_cannot_break_out_of_its_cell() -> None:
    table = place_table([place(1, "a|b\n<b>](https://evil.example)")], "en")
    assert len(table.splitlines()) == 3
    assert table.count("](https://uri.amap.com") == 1
    assert "[a\\|b \\<b\\>\\]()](" in table


def test_an_address_that_a_map_wrote_is_no_link_in_a_table() -> None:
    hostile = "http://evil.example/x www.evil.example"
    table = place_table([place(1, f"a {hostile}", address=f"b {hostile}", open_time=hostile)], "en")
    assert "evil" not in table
    assert "| [a](https://uri.amap.com" in table
    assert "| b |" in table


def test_a_redirect_link_whose_target_is_unknown_is_told_as_one() -> None:
    redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQca97"
    found = Source(**{**source(1, redirect, "lyswzyy.com"), "site": "lyswzyy.com"})
    known = html_page(answer(sources=[found]))
    assert "未能解析" not in known
    unresolved = answer(sources=[Source(**{**found, "unresolved": True})])
    assert "lyswzyy.com · 跳转链接，未能解析" in html_page(unresolved)
    lines = markdown_document(unresolved).splitlines()
    assert "1. [lyswzyy.com][1] · 跳转链接，未能解析" in lines
    assert f"[1]: {redirect}" in lines


def test_a_page_is_told_by_its_site_never_by_who_found_it() -> None:
    page = html_page(answer())
    assert '<span class="site">example.com</span>' in page
    assert "Google" not in page


def statement(start: int, end: int, verdict: str, quote: str | None) -> dict[str, Any]:
    return {"start": start, "end": end, "verdict": verdict, "source": "w0-1", "quote": quote}


def test_every_export_lists_what_a_source_corrected_with_its_words() -> None:
    text = (
        "**书店**[1](https://example.com/a)人均40元。喷泉晚上开到22:00[1](https://example.com/a)‡。"
    )
    first, end = text.index("。") + 1, len(text)
    rows = [
        statement(0, first, "repaired", "人均40 <元>"),
        statement(first, end, "contradicted", "到20:00"),
        statement(0, first, "computed", "算得"),
        statement(0, first, "marked", None),
    ]
    given = answer(answer=text, notice="", statements=rows)
    written, page = markdown_document(given), html_page(given)
    lines = written.split("## 按来源核对的句子\n\n")[1].split("\n\n")[0].splitlines()
    assert lines == [
        "- 书店人均40元。 — 已按来源改正，来源写：“人均40 \\<元\\>” [1]",
        "- 喷泉晚上开到22:00‡。 — 来源的说法不同：“到20:00” [1]",
    ]
    cited = ' <a class="cite" href="#source-1">1</a>'
    assert f"书店人均40元。 — 已按来源改正，来源写：“人均40 &lt;元&gt;”{cited}" in page
    assert page.count("算得") == 0
    says = {**statement(first, end, "contradicted", "每天<晚>上开到20:00为止"), "says": "到20:00"}
    given = answer(answer=text, notice="", statements=[says])
    assert "来源的说法不同：“到20:00” <a" in html_page(given), "not the whole row of a map"
    assert "每天" not in markdown_document(given)
    place_row = statement(0, first, "revised", "书店 \\| 人均40元 \\| 距王府井 132 m")
    of_map = [Source(**{**source(), "kind": "place"})]
    given = answer(answer=text, notice="", statements=[place_row], sources=of_map)
    assert "132 m" not in markdown_document(given)
    assert 'class="checked"' not in html_page(answer())
    assert "按来源核对" not in markdown_document(answer())


def test_a_passage_that_a_message_keeps_the_beginning_of_is_told_from_its_source() -> None:
    row = statement(0, 9, "revised", "Hot storage, 7 days, one")
    passage = (
        "Hot storage, 7 days, one replica: 14 TB at 0.122 a GB. "
        + "It is billed by the hour. " * 20
    )
    found = [Source(**{**source(), "quotes": [f"Prices. {passage}"]})]
    written = markdown_document(answer(statements=[row], sources=found))
    told = written.split("## 按来源核对的句子\n\n")[1].splitlines()[0]
    assert "one replica: 14 TB at 0.122 a GB. It is billed" in told
    assert len(told) < 300


CLAIMS = {
    "total": 18, "quoted": 12, "computed": 1, "own": 0, "rematched": 2, "attached": 1,
    "repaired": 0, "marked": 2,
}  # fmt: skip
LINES = {
    "zh": "18 句：15 有原文 · 1 计算 · 1 与来源不符 · 1 无来源",
    "en": "18 statements: 15 with the source's words · 1 calculated"
    " · 1 contradicted by a source · 1 without a source",
}


@pytest.mark.parametrize(("language", "line"), LINES.items())
def test_every_export_says_how_much_of_the_answer_its_sources_bear(
    language: str, line: str
) -> None:
    rows = [statement(0, 3, "contradicted", None), statement(3, 5, "marked", None)]
    given = answer(language=language, claims=CLAIMS, statements=rows)
    assert line in markdown_document(given)
    assert html.escape(line) in html_page(given)
    with_pages = PdfReader(io.BytesIO(pdf_document(given)))
    assert line in " ".join(with_pages.pages[0].extract_text().split())


def test_an_answer_of_which_nothing_was_checked_has_no_such_line() -> None:
    assert statement_line(answer(claims={})) == ""
    assert statement_line(answer(language="en", claims={"total": 2, "own": 2})) == ""
    assert statement_line(answer(language="en", claims={"total": 1, "quoted": 1})) == (
        say("export.statements.borne", "en", n="1 statement: 1")
    )


def test_what_was_too_late_to_be_judged_is_told_as_that() -> None:
    claims = {"version": 2, "total": 9, "supported": 4, "own": 1, "unchecked": 4, "late": 3}
    line = statement_line(answer(language="en", claims=claims))
    assert line == "4 of 8 statements found in the sources; 1 not checked; 3 not checked in time"
    late = {"version": 2, "total": 5, "own": 1, "unchecked": 4, "late": 4}
    for language in ("en", "zh"):
        told = say("export.compared.none_in_time", language, total=4)
        assert statement_line(answer(language=language, claims=late)) == told


@pytest.mark.parametrize(
    ("language", "time"),
    [("zh", "2026-11-21 19:41（北京时间）"), ("en", "2026-11-21 19:41 (UTC+8)")],
)
def test_every_export_is_dated_in_the_time_of_its_places(language: str, time: str) -> None:
    given = answer(language=language)
    printed = PdfReader(io.BytesIO(pdf_document(given))).pages[0].extract_text()
    for text in (markdown_document(given), html_page(given), printed):
        assert time in text


def test_a_part_without_map_or_list_has_no_heading_and_whose_data_it_is_is_told_once() -> None:
    told = "数据 © 高德地图，查询于 2026-11-21 19:40（北京时间）"
    alone = Place(**{**place(1, "书店"), "number": 1})
    more = told.replace("，", "、Open-Meteo (CC BY 4.0)，")
    for text, lines in (
        (f"- **书店**：老字号\n\n*{told}*", 1), (f"- **书店**：老字号\n\n*{more}*", 1),
        ("- **书店**：老字号", 1),
    ):  # fmt: skip
        given = answer(answer=text, places=[alone], notice="")
        printed = PdfReader(io.BytesIO(pdf_document(given))).pages[0].extract_text()
        for written in (html_page(given), printed, markdown_document(given)):
            assert written.count("数据 © 高德地图") == lines
            assert "地点" not in written


def test_no_side_of_an_exported_page_is_left_or_right_for_it_may_run_from_the_right() -> None:
    style = files("agent.export").joinpath("page.css").read_text("utf-8")
    assert re.findall(r"[\w-]*\b(?:left|right)\b", style) == []
    assert ".map { display: block; direction: ltr;" in style, "its labels stand by x and y"


def test_a_point_stands_between_facts_and_not_within_one_that_has_words_of_two_languages() -> None:
    """An address read "王府井大街301 · 号" on an English page, where Han words are spans."""
    html = html_page(answer(language="en", places=[place(1, address="王府井大街301号")]))
    assert '<span lang="zh-CN">王府井大街</span>301<span lang="zh-CN">号</span>' in html
    style = files("agent.export").joinpath("page.css").read_text("utf-8")
    assert ".facts > span + span::before" in style
    assert ".facts span + span" not in style


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ({}, f"{datetime.fromisoformat(FOUND_AT).astimezone():%Y-%m-%d %H:%M} (UTC"),
        ({"utc_offset": 330}, "2026-11-21 17:11 (UTC+5:30)"),
        ({"zone": "Europe/Helsinki", "utc_offset": 0}, "2026-11-21 13:41 (UTC+2)"),
    ],
)
def test_an_answer_without_places_has_the_clock_of_its_turn(
    turn: dict[str, Any], told: str
) -> None:
    outcome = outcome_of(
        {"messages": [HumanMessage("Which store?"), AIMessage("The first.")], "turn": turn},
        RunName("agent", "t", "r"), 0.0,
    )  # fmt: skip
    assert subtitle(replace(outcome.finished(), generated_at=FOUND_AT)).startswith(told)
