from agent.evidence.citations import (
    Citer,
    carry_over,
    cited_ids,
    references,
    renumber_for_prompt,
    restamp,
    strip_references,
    with_targets,
)
from agent.evidence.markdown import link_url
from tests.support.page_sources import source


def test_the_list_of_sources_is_written_by_code_with_escaped_titles() -> None:
    used = [
        source("w0-0", "https://e.example/(a)", "A [b](c) *d*\n1. x"),
        source("a1-0", "", "地点"),
    ]
    assert references(used, "zh") == (
        "**来源**\n\n"
        "1. [A \\[b\\](c) \\*d\\* 1. x](https://e.example/%28a%29) — Google\n"
        "2. 地点 — Google"
    )
    assert references(used, "en").startswith("**Sources**\n\n1. ")
    assert references([], "en") == ""


def test_a_finished_answer_becomes_marked_text_for_the_next_prompt() -> None:
    citer = Citer({"w0-0": source("w0-0", "https://e.example/(a)"), "w0-1": source("w0-1")})
    answer = citer.feed("甲[^w0-1]。乙[^w0-0]。") + citer.flush()
    stored = answer + "\n\n" + references(citer.used, "zh")
    carried = carry_over(citer.used, "p0")
    assert renumber_for_prompt(stored, carried) == "甲[^p0-0]。乙[^p0-1]。"
    assert "number" not in carried[0]
    assert strip_references(stored) == answer
    assert strip_references("no list") == "no list"


def test_ids_are_restamped_and_read() -> None:
    assert restamp("a[^w0-1]b[^w0-10]c[^w5-5]", {"w0-1": "p0-0", "w0-10": "p0-1"}) == (
        "a[^p0-0]b[^p0-1]c"
    )
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
    text, used = with_targets(answer, citer.used, targets)
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
    assert with_targets(answer, citer.used, {}) == (answer, citer.used)


def test_a_cited_source_has_the_url_that_its_link_has() -> None:
    ledger = {
        "w0-0": source("w0-0", "https://e.example/a b\u202e(c)"),
        "w0-1": source("w0-1", "javascript:alert(1)"),
        "w0-2": source("w0-2", "http:no-host"),
    }
    citer = Citer(ledger)
    text = citer.feed("a[^w0-0] b[^w0-1] c[^w0-2]") + citer.flush()
    assert text == "a[1](https://e.example/a%20b%E2%80%AE%28c%29) b[2] c[3]"
    assert [item["url"] for item in citer.used] == [
        "https://e.example/a%20b%E2%80%AE%28c%29", "", "",
    ]  # fmt: skip


def test_a_url_with_a_lone_surrogate_or_a_split_scheme_is_no_trouble() -> None:
    assert link_url("https://e.example/\ud800") == "https://e.example/%3F"
    assert link_url("ht\ntps://e.example/") == ""
    assert link_url("\x01https://e.example/") == ""
