import pytest

from agent.evidence.citations import (
    Citer,
    cited_ids,
)
from agent.evidence.markdown import link_url
from agent.evidence.numbering import carry_over
from agent.evidence.references import (
    SourceListFilter,
    findings_of,
    references,
    renumber_for_prompt,
    resolved,
    strip_references,
    with_targets,
    without_bare_list,
)
from agent.evidence.types import Source
from tests.support.rows import by_examples
from tests.unit.page_sources import source


def test_the_list_of_sources_is_written_by_code_with_escaped_titles() -> None:
    used = [
        source("w0-0", "https://e.example/(a)", "A [b](c) *d*\n1. x"),
        source("a1-0", "", "地点"),
    ]
    assert references(used, "zh") == (
        "**来源**\n\n1. [A \\[b\\](c) \\*d\\* 1. x](https://e.example/%28a%29) — e.example\n2. 地点"
    )
    assert references(used, "en").startswith("**Sources**\n\n1. ")
    assert references([], "en") == ""


def test_below_a_calculation_stand_the_sums_that_the_text_uses() -> None:
    sums = ["Ersparnis: 830 * 0,4 = 332 €", "je Tag: 332 / 365 = 0,91 €"]
    pages = [source("w0-0", "https://a.example/a") for _ in range(9)]
    listed = references([*pages, {**source("c0-0", ""), "kind": "document", "sums": sums}], "en")
    assert listed.endswith(
        "\n10. T — Google\n    - Ersparnis: 830 \\* 0,4 = 332 €\n    - je Tag: 332 / 365 = 0,91 €"
    )


def test_a_source_says_from_when_it_is_where_that_is_known() -> None:
    dated = [
        {**source("w0-0", "https://a.example/x"), "published": "2026-03-28T08:00"},
        {**source("w0-1", "https://b.example/y"), "published": "2026-04", "unresolved": True},
        {**source("w0-2", "https://c.example/z"), "published": "3 hours ago"},
    ]
    lines = references(dated, "en", unresolved="?").splitlines()[2:]
    assert [line.partition(" — ")[2] for line in lines] == [
        "a.example · 2026-03-28", "b.example · 2026-04 · ?", "c.example",
    ]  # fmt: skip


def test_f8_two_sources_with_one_title_are_told_apart() -> None:
    titles = [
        source("w0-0", "https://agentbeck.bot/report/1", "agentbeck.bot"),
        source("w0-1", "https://agentbeck.bot/report/2", "agentbeck.bot"),
        source("w0-2", "https://a.example/x", "WAL"),
        source("w0-3", "https://b.example/x", "WAL"),
        source("w0-4", "https://c.example/x", "Alone"),
    ]
    lines = references(titles, "en").splitlines()[2:]
    assert [line.partition(" — ")[2] for line in lines] == [
        "agentbeck.bot/report/1", "agentbeck.bot/report/2", "a.example", "b.example", "c.example",
    ]  # fmt: skip


def test_a_finished_answer_becomes_marked_text_for_the_next_prompt() -> None:
    citer = Citer({"w0-0": source("w0-0", "https://e.example/(a)"), "w0-1": source("w0-1")})
    answer = citer.feed("甲[^w0-1]。乙[^w0-0]。") + citer.flush()
    stored = answer + "\n\n" + references(citer.used, "zh")
    carried = carry_over(citer.used, "p0")
    assert renumber_for_prompt(stored, carried) == "甲[^p0-0]。乙[^p0-1]。"
    assert "number" not in carried[0]
    assert strip_references(stored) == answer
    assert strip_references("no list") == "no list"


def test_the_next_turn_reads_a_citation_of_a_line_as_one_of_its_calculation() -> None:
    calculation = {**source("c0-0", "", "sums"), "kind": "document", "number": 1}
    carried = carry_over([calculation])
    stored = "Ten nights cost $1,455.[1b] A night costs $145.50.[1aa] The [1st] stays."
    assert renumber_for_prompt(stored, carried, [calculation]) == (
        "Ten nights cost $1,455.[^p0-0] A night costs $145.50.[^p0-0] The [1st] stays."
    )


def test_of_two_calculations_with_one_title_the_next_turn_reads_the_one_with_those_words() -> None:
    first, second = (
        {**source("c0-0", "", "worked out"), "kind": "document", "number": 1, "quotes": [words]}
        for words in ("a = 1", "b = 2")
    )
    carried = carry_over([first, second])
    assert renumber_for_prompt("It is 1.[1]", carried, [first]) == "It is 1.[^p0-0]"
    assert renumber_for_prompt("It is 2.[1]", carried, [second]) == "It is 2.[^p0-1]"


def test_ids_are_read() -> None:
    assert cited_ids("a[^w0-1][^w0-10] 【^a1-0】 [^w0-1, ^p0-0] [x] [^note]") == [
        *("w0-1", "w0-10", "a1-0", "p0-0")
    ]


def test_redirect_links_are_replaced_by_where_they_lead_each_once() -> None:
    one, other, third = (source(f"w0-{n}", f"https://r.example/{n}") for n in range(3))
    citer = Citer({item["id"]: item for item in (one, other, third)})
    answer = citer.feed("a[^w0-0] b[^w0-1] (https://r.example/0) c[^w0-2]") + citer.flush()
    targets = {
        one["url"]: other["url"],
        other["url"]: "https://dpm.org.cn/x)![y](https://evil.example",
        third["url"]: "javascript:alert(1)",
    }
    text, used = with_targets(answer, targets), resolved(citer.used, targets)
    assert text == (
        "a[1](https://r.example/1) b[2](https://dpm.org.cn/x%29!%5By%5D%28https://evil.example)"
        " (https://r.example/0) c[3](https://r.example/2)"
    )
    assert [item["url"] for item in used] == [
        "https://r.example/1",
        "https://dpm.org.cn/x%29!%5By%5D%28https://evil.example",
        "https://r.example/2",
    ]
    assert one["url"] == "https://r.example/0"
    assert [item.get("unresolved", False) for item in used] == [False, False, True]
    assert (with_targets(answer, {}), resolved(citer.used, {})) == (answer, citer.used)


def test_a_cited_source_has_the_url_that_its_link_has() -> None:
    sources = {
        "w0-0": source("w0-0", "https://e.example/a b\u202e(c)"),
        "w0-1": source("w0-1", "javascript:alert(1)"),
        "w0-2": source("w0-2", "http:no-host"),
    }
    citer = Citer(sources)
    text = citer.feed("a[^w0-0] b[^w0-1] c[^w0-2]") + citer.flush()
    assert text == "a[1](https://e.example/a%20b%E2%80%AE%28c%29) b[2] c[3]"
    assert [item["url"] for item in citer.used] == [
        "https://e.example/a%20b%E2%80%AE%28c%29", "", "",
    ]  # fmt: skip


def test_a_url_with_a_lone_surrogate_or_a_split_scheme_is_no_trouble() -> None:
    assert link_url("https://e.example/\ud800") == "https://e.example/%3F"
    assert link_url("ht\ntps://e.example/") == ""
    assert link_url("\x01https://e.example/") == ""


def test_an_address_longer_than_servers_take_is_no_link() -> None:
    address = f"https://e.example/{'a' * 7_000}"
    assert link_url(address) == address
    assert link_url(address * 2) == ""


REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQca97"


def _found_by_google(title: str) -> Source:
    return Source(**{**source("w0-0", REDIRECT, title), "site": title})


def test_a_source_of_googles_is_called_by_its_site_and_address_never_by_google() -> None:
    found = _found_by_google("github.com")
    [named] = resolved([found], {REDIRECT: "https://github.com/langchain-ai/langgraph?tab=readme"})
    assert references([named], "en").splitlines()[-1] == (
        "1. [github.com/langchain-ai/langgraph](https://github.com/langchain-ai/langgraph?tab=readme)"
    )
    [unresolved] = resolved([found], {REDIRECT: None})
    assert references([unresolved], "en").splitlines()[-1] == f"1. [github.com]({REDIRECT})"
    assert (found.get("unresolved"), unresolved.get("unresolved")) == (None, True)


def test_a_title_of_the_pages_own_stays_with_its_site_behind_it() -> None:
    found = source("w0-0", "https://www.sqlite.org/whentouse.html", "Appropriate Uses For SQLite")
    assert references([found], "en").splitlines()[-1] == (
        "1. [Appropriate Uses For SQLite](https://www.sqlite.org/whentouse.html) — sqlite.org"
    )


def test_a_site_that_is_told_by_its_whole_host_stands_behind_the_title() -> None:
    found = Source(**{**_found_by_google("Oodi"), "url": "https://www.oodi.example/en/",
                      "site": "www.oodi.example"})  # fmt: skip
    assert references([found], "en").endswith(
        "1. [Oodi](https://www.oodi.example/en/) — oodi.example"
    )


def test_a_writer_sees_which_site_each_cited_page_is_on_and_from_when() -> None:
    dated = Source(**{**source("w0-1", "https://www.sqlite.org/x"), "published": "2026-04"})
    place = Source(**{**source("a0-0"), "kind": "place"})
    sources = [_found_by_google("github.com"), dated, source("w0-2"), place]
    texts = ["one[^w0-0], two[^w0-1]", "three[^a0-0]"]
    marked, lines = findings_of(sources, texts, cited=True)
    assert marked == "\n\n".join(texts)
    assert lines == f"w0-0 github.com\nw0-1 sqlite.org · {dated['title']} · 2026-04"


@pytest.mark.parametrize(
    ("cited", "expected", "first", "second"),
    [
        (True, "one[^w1-0], two[^w0-0]\n\nthree[^w0-0], own[^d0-1]", "w1-0", "w0-0"),
        (False, "one[1], two[2]\n\nthree[2], own[^d0-1]", "1", "2"),
    ],
)
def test_a_page_that_two_searches_found_has_one_name_a_number_where_nobody_cites_it(
    expected: str, first: str, second: str, *, cited: bool
) -> None:
    sources = [source("w0-0", "https://a.org/x", "X"), source("w1-0", "https://a.org/y", "Y"),
               source("w1-3", "https://www.a.org/x/", "X")]  # fmt: skip
    texts = ["one[^w1-0], two[^w0-0]", "three[^w1-3], own[^d0-1]"]
    marked, lines = findings_of(sources, texts, cited=cited)
    assert marked == expected
    assert lines.splitlines() == [f"{first} a.org · Y", f"{second} a.org · X"]


def test_what_two_searches_say_of_a_page_in_the_same_words_stands_there_once() -> None:
    sources = [source("w0-0", "https://a.org/x", "X"), source("w1-3", "https://a.org/x", "X")]
    marked, _ = findings_of(sources, ["Old.[^w0-0]\nBig.[^w0-0]", "Big.[^w1-3]"], cited=True)
    assert marked == "Old.[^w0-0]\nBig.[^w0-0]"


def test_a_writer_sees_what_a_page_calls_itself_without_its_addresses() -> None:
    title = f"Visit https://a.org/x\n{'long ' * 60}"
    named = Source(**{**source("w0-1", "https://www.sqlite.org/x"), "title": title})
    _, line = findings_of([named], ["so[^w0-1]"], cited=True)
    assert line.startswith("w0-1 sqlite.org · Visit")
    assert "a.org" not in line
    assert len(line) < 110


def _without_list(text: str, size: int) -> str:
    kept = SourceListFilter()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(map(kept.feed, chunks)) + kept.flush()


@by_examples
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_list_of_sources_that_the_model_writes_itself_is_dropped(
    text: str, shown: str, size: int
) -> None:
    assert _without_list(text, size) == shown


@by_examples
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_text_about_sources_is_no_list_of_them(text: str, size: int) -> None:
    assert _without_list(text, size) == text


LISTED = [
    source("w0-0", "http://www.upmc.fr/marie_curie.html", "Marie Curie - Physics - 1903"),
    source("w0-1", "https://lifesciencehistory.com/x", "Vanity Fair, 1904"),
    source("w0-2", "https://hel.fi/x", "Children’s Town"),
    Source(**{**source("a0-0", "https://uri.amap.com/x", "上影"), "kind": "place"}),
    Source(**{**source("a0-1", "https://uri.amap.com/y", "万达"), "kind": "place"}),
]


@by_examples
def test_last_lines_that_only_name_cited_pages_go_in_any_language(listed: str) -> None:
    text = "One half went to Becquerel [1](http://www.upmc.fr/marie_curie.html)."
    assert without_bare_list(f"{text}\n\n{listed}", LISTED) == text
    assert without_bare_list(listed, LISTED) == listed


@by_examples
def test_last_lines_that_say_more_than_names_of_cited_pages_stay(text: str) -> None:
    assert without_bare_list(f"So.\n\n{text}", LISTED) == f"So.\n\n{text}"
