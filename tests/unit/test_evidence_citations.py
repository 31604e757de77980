import random
import re
import time

import pytest

from agent.evidence.citations import (
    MARKER,
    Citer,
    id_meant,
)
from agent.evidence.numbering import carry_over
from agent.evidence.types import Source
from agent.export.markdown import answer_parser
from tests.support.rows import by_examples
from tests.unit.cpu_time import takes_less
from tests.unit.page_sources import source

SOURCES = {
    name: source(name) for name in ("w0-0", "w0-1", "w0-2", "w0-3", "w0-10", "w1-0", "a1-0", "p0-0")
}


def cite(text: str, sources: dict[str, Source] | None = None) -> str:
    citer = Citer(SOURCES if sources is None else sources)
    return citer.feed(text) + citer.flush()


def link(number: int, name: str) -> str:
    return f"[{number}](https://e.example/{name})"


def test_markers_become_links_numbered_by_first_use() -> None:
    citer = Citer(SOURCES)
    out = citer.feed("甲[^w0-2]。乙[^a1-0]。丙[^w0-2]。") + citer.flush()
    assert out == (f"甲{link(1, 'w0-2')}。乙{link(2, 'a1-0')}。丙{link(1, 'w0-2')}。")
    assert [(item["id"], item.get("number")) for item in citer.used] == [("w0-2", 1), ("a1-0", 2)]
    assert "number" not in SOURCES["w0-2"]


def test_d11_an_id_that_begins_another_is_not_mistaken_for_it() -> None:
    assert MARKER.findall("[^w0-1][^w0-10]") == ["w0-1", "w0-10"]
    assert cite("a[^w0-10] b[^w0-1]") == f"a{link(1, 'w0-10')} b{link(2, 'w0-1')}"


@pytest.mark.parametrize("copy", ["o1-0", "^o1-0", "[^o1-0]", "[o1-0", "O1_0", " o1–0 "])
def test_a_copied_id_is_read_where_it_can_mean_one_alone(copy: str) -> None:
    assert id_meant(copy, ["o0-0", "o1-0", "o11-0"]) == "o1-0"
    assert id_meant("o110", ["o11-0", "o1-10"]) == "", "two may be meant"
    assert id_meant(copy, ["o0-0"]) == ""


def test_d12_an_id_nobody_issued_is_removed_and_counted() -> None:
    citer = Citer(SOURCES)
    assert citer.feed("a[^w9-9] b[^w0-0, ^w8-8].") == f"a b{link(1, 'w0-0')}."
    assert citer.unknown_ids_removed == 2
    assert [item["id"] for item in citer.used] == ["w0-0"]


@pytest.mark.parametrize(
    "broken",
    [
        *("[^w01]", "[^a12]", "[^w1-]", "[^w0-1-2]", "[^w0]", "[^p7, ^a1]"),
        *("[*w01]", "[* w07 ]", "[w01]", "【*w01】"),
    ],
)
def test_a_marker_that_is_spelt_wrongly_goes_beside_one_that_is_right(broken: str) -> None:
    for size in (1, 3, 100):
        text, citer = f"人少适合拍照。{broken}[^w0-1]然后", Citer(SOURCES)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        shown = "".join(map(citer.feed, pieces)) + citer.flush()
        assert shown == f"人少适合拍照。{link(1, 'w0-1')}然后"
        assert citer.unknown_ids_removed


@pytest.mark.parametrize(
    ("text", "shown"), [("甲^w0-2。", "甲{}。"), ("10^2 and ^w9-9", "10^2 and ^w9-9"), ("^", "^")]
)
def test_an_id_behind_a_bare_caret_is_a_citation_where_it_is_known(text: str, shown: str) -> None:
    for size in (1, 3, 100):
        citer = Citer(SOURCES)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        out = "".join(map(citer.feed, pieces)) + citer.flush()
        assert out == shown.format(link(1, "w0-2"))


@pytest.mark.parametrize("text", ["[w99] and [*] and [*see below*]", "grid [b12]", "[*1]"])
def test_a_bracket_that_is_no_marker_stays(text: str) -> None:
    assert cite(text) == text


def test_d10_an_id_of_the_turn_before_is_cited_under_its_new_name() -> None:
    before = [source("w0-0", "https://old.example/"), source("w0-1")]
    carried = carry_over(before, "p0")
    assert [item["id"] for item in carried] == ["p0-0", "p0-1"]
    sources = {item["id"]: item for item in [*carried, source("w0-0", "https://new.example/")]}
    assert cite("a[^w0-0]b[^p0-0]", sources) == (
        "a[1](https://new.example/)b[2](https://old.example/)"
    )


@by_examples
def test_variants_of_a_marker_that_models_write_are_understood(
    written: str, read: list[str]
) -> None:
    out = cite(f"a{written}b")
    links = "".join(link(number, name) for number, name in enumerate(read, 1))
    assert re.sub(r" +(?=b)", "", out) == f"a{links}b"


@by_examples
def test_f9_no_habit_of_citing_leaks_an_id_into_the_text(written: str, read: list[str]) -> None:
    links = "".join(link(number, name) for number, name in enumerate(read, 1))
    assert cite(f"a{written}。b") == f"a{links}。b"
    pieces = Citer(SOURCES)
    assert "".join(map(pieces.feed, f"a{written}。b")) + pieces.flush() == f"a{links}。b"


@by_examples
def test_a_bare_id_is_a_citation_where_it_is_known(text: str, shown: str) -> None:
    for size in (1, 2, 3, 100):
        citer = Citer(SOURCES)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        out = "".join(map(citer.feed, pieces)) + citer.flush()
        assert out == shown.format(link(1, "w0-2"))


def test_f9_words_beside_an_id_in_round_brackets_stay() -> None:
    assert cite("a (about 5 min, w0-0) b") == f"a (about 5 min{link(1, 'w0-0')}) b"
    assert cite("(w9-9) and (A4-5) and (see below)") == "(w9-9) and (A4-5) and (see below)"


@by_examples
def test_f9_a_removed_marker_leaves_no_blank_before_what_follows(written: str, kept: str) -> None:
    assert cite(written) == kept
    pieces = Citer(SOURCES)
    assert "".join(map(pieces.feed, written)) + pieces.flush() == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("text [^w0-0] .", "text {}."),
        ("a [^w0-0] , b", "a {}, b"),
        ("四点关门。 [^w0-0]", "四点关门。{}"),
        ("全天 [^w0-0] 。", "全天 {}。"),
    ],
)
def test_f8_no_blank_stands_between_punctuation_and_a_citation(written: str, kept: str) -> None:
    shown = kept.format(link(1, "w0-0"))
    assert cite(written) == shown
    pieces = Citer(SOURCES)
    assert "".join(map(pieces.feed, written)) + pieces.flush() == shown


@by_examples
def test_bold_text_is_bold_wherever_its_punctuation_and_the_next_letter_meet(
    written: str, shown: str
) -> None:
    expected = shown.format(link(1, "w0-0"))
    assert cite(written) == expected
    pieces = Citer(SOURCES)
    assert "".join(map(pieces.feed, written)) + pieces.flush() == expected
    words = [each.content for t in answer_parser().parse(expected) for each in t.children or []]
    assert "**" not in "".join(words) or "`" in expected


def test_a_citation_keeps_the_blank_before_words_and_the_end_of_its_line() -> None:
    assert cite("a [^w0-0] b (c)  \nd") == f"a {link(1, 'w0-0')} b (c)  \nd"
    assert cite("a [^w0-0]  \nb") == f"a {link(1, 'w0-0')}  \nb"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("官方菜单见 https://menu.example/x 。", "官方菜单见网站。"),
        ("见 <https://menu.example/x>，或 http://b.example/", "见网站，或网站"),
        ("[the menu](https://menu.example/x) lists it", "the menu lists it"),
    ],
)
def test_a_removed_url_leaves_no_hole_in_its_sentence(written: str, kept: str) -> None:
    citer = Citer(SOURCES, omitted="网站")
    assert citer.feed(written) + citer.flush() == kept
    pieces = Citer(SOURCES, omitted="网站")
    assert "".join(map(pieces.feed, written)) + pieces.flush() == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("see [the site](https://evil.example/x) now", "see the site now"),
        ("see [x](javascript:alert(1)).", "see x."),
        ("see [x](</a b> 'title').", "see x."),
        ("![pic](https://evil.example/a.png) after", " after"),
        ("bare https://evil.example/a?b=1, and", "bare, and"),
        ("裸链接https://evil.example/路径", "裸链接路径"),
        ("www.evil.example/x is", " is"),
        ("javascript:alert(1) x", " x"),
        ("<https://evil.example> x", " x"),
        ("<tg:resolve> x", " x"),
        ("as in [1](https://old.example/) it", "as in it"),
        ("[`code`](https://evil.example) x", "`code` x"),
        ("[https://a.example](https://b.example) x", " x"),
        ("a[^w0-0](https://evil.example) b", f"a{link(1, 'w0-0')} b"),
        ("see [a [b](u) c](v)", "see [a b c]"),
        ("[ref]: /evil", "[ref] : /evil"),
        ("[a](b c d)", "[a] (b c d)"),
    ],
)
def test_a_link_the_model_wrote_is_taken_out(written: str, kept: str) -> None:
    citer = Citer(SOURCES)
    assert citer.feed(written) + citer.flush() == kept


@by_examples
def test_ordinary_markdown_and_code_stay_as_they_are(text: str) -> None:
    citer = Citer(SOURCES)
    assert citer.feed(text) + citer.flush() == text
    assert citer.unknown_ids_removed == 0


@pytest.mark.parametrize(
    "attack",
    [
        "` \n`[x](javascript:a)`",
        "`a`![i](u)`[x](javascript:a)`",
        "``a``![i](u)`[x](javascript:a)`",
        "`" + "a" * 600 + "` [x](https://evil.example) `",
        "[\\`a`](u) [x](https://evil.example) `",
        "- a\n  ```\n[x](https://evil.example)\n```\n[y](https://evil.example)",
        "text\n    ```\n[x](https://evil.example)",
        "```\na\n    ```\n```\n[x](https://evil.example)",
        "[a][^w9-9](/evil)",
        "[a]\\[^w9-9\\](/evil)",
        "[a\nb](https://evil.example)",
        "```" + "a" * 300 + "`\n[x](https://evil.example)",
        "Wow!![a](b)[x](https://evil.example)",
        "\\![x](https://evil.example)",
        "[x](https://evil.example/" + "a" * 3000 + ")",
        "[[[x](https://evil.example)](https://evil.example)](https://evil.example)",
        "`" * 201 + "a` [x](https://evil.example) `",
    ],
)
def test_no_live_link_comes_through_by_a_trick(attack: str) -> None:
    out = cite(attack)
    code = re.sub(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "", out)
    assert not re.search(r"(?<!\\)\]\((?!https://e\.example)", code)
    assert "evil.example" not in code


def test_an_exclamation_mark_before_a_citation_makes_no_image_of_it() -> None:
    assert cite("Great![^w0-0]") == f"Great! {link(1, 'w0-0')}"


def test_urls_are_escaped_so_that_the_link_cannot_break() -> None:
    sources = {"w0-0": source("w0-0", 'https://e.example/a_(b) c[d]?q="x"|y')}
    assert cite("a[^w0-0]", sources) == (
        "a[1](https://e.example/a_%28b%29%20c%5Bd%5D?q=%22x%22%7Cy)"
    )
    assert cite("a[^w0-0](b)", {"w0-0": source("w0-0", "javascript:alert(1)")}) == "a[1] (b)"


def test_two_ids_of_one_url_are_one_source() -> None:
    sources = {name: source(name, "https://same.example/") for name in ("w0-0", "w1-4")}
    sources["w0-0"]["quotes"] = ["q1"]
    sources["w1-4"]["quotes"] = ["q2"]
    citer = Citer(sources)
    assert citer.feed("a[^w0-0]b[^w1-4][^w0-0]c") == (
        "a[1](https://same.example/)b[1](https://same.example/)c"
    )
    assert [(item["id"], item["quotes"]) for item in citer.used] == [("w0-0", ["q1", "q2"])]


def test_text_is_held_back_only_while_it_may_be_a_marker() -> None:
    citer = Citer(SOURCES)
    assert citer.feed("Hello world") == "Hello world"
    assert citer.feed("，你好[^w0") == "，你好"
    assert citer.feed("-2") == ""
    assert citer.feed("]。") == f"{link(1, 'w0-2')}。"
    assert citer.feed("open [bracket") == "open"
    assert citer.feed("\n") == " [bracket\n"
    assert len(citer.feed("[" + "x" * 300)) == 301
    assert citer.feed("see ht") == "see"
    assert citer.feed("ml (x") == " html"
    assert citer.feed(" < y)") == " (x < y)"
    assert citer.flush() == ""


FRAGMENTS = [
    *("[^w0-2]", "[^w0-10]", "[^w9-9]", "[^w0-2, ^a1-0]", "【^w0-2】", "[w0-3]", "[^", "]", "["),
    *("(", ")", "](", "![", "!", "`", "``", "```", "~~~", "\n", "\n\n", "  ", "    ", "> ", "- "),
    *("https://evil.example/a_(b)", "http", "www.", "www.a.b", "javascript:", "x", "中文", "。"),
    *("[a](b)", "[a](https://x.example 't')", "![a](b)", "<https://a.b>", "<", ">", "\\", ":"),
    *("https://e.example/w0-0", "data:text/html,x", "[1](u)", "a.", "_", '"', "'", "\r", "{", "^"),
]


def test_splitting_the_stream_anywhere_gives_the_same_text() -> None:
    pick = random.Random(5)
    for _ in range(200):
        text = "".join(pick.choice(FRAGMENTS) for _ in range(pick.randrange(1, 25)))
        text = text.replace("x", "x" * pick.choice([1, 1, 1, 150, 500]), 1)
        whole = Citer(SOURCES)
        expected = whole.feed(text) + whole.flush()
        split = Citer(SOURCES)
        out, at = "", 0
        widest = pick.choice([1, 3, 30])
        while at < len(text):
            step = pick.randrange(1, widest + 1)
            out += split.feed(text[at : at + step])
            at += step
        out += split.flush()
        assert out == expected, repr(text)
        assert split.used == whole.used
        assert split.unknown_ids_removed == whole.unknown_ids_removed


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["[", "[^w0-2", "](", "](a", "`", "`a", "` `` ", "![", "<a", "http://", "h", "(", "\\[", "【",
     "[a](b", "正常的句子[^w0-2]。\n", "```\n", "    \n", "![a](", "https://a_(", "](((", "w"],
)  # fmt: skip
def test_text_of_any_kind_takes_linear_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    assert takes_less(lambda: cite(text), 1)


def test_a_long_text_in_small_chunks_takes_seconds() -> None:
    text = "正常的句子，很长很长[^w0-2]。See `code` and https://evil.example/x [a](b).\n" * 1_000
    citer = Citer(SOURCES)
    started = time.thread_time()
    for at in range(0, len(text), 40):
        citer.feed(text[at : at + 40])
    citer.flush()
    assert time.thread_time() - started < 2


def test_a_marker_in_backticks_is_still_a_marker() -> None:
    assert cite("a `[^w0-2]`, `[^0-9]` `[^w9-9]`") == f"a {link(1, 'w0-2')}, `[^0-9]` `[^w9-9]`"
