from agent.evidence.citations import (
    Citer,
    carry_over,
    cited_ids,
    references,
    renumber_for_prompt,
    restamp,
    strip_references,
)
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
