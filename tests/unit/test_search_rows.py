"""Results as models read them: each sentence once, what nobody can cite apart."""

from dataclasses import replace

from agent.assistants.common.search import SearchResult, remark_row, told_once
from agent.assistants.common.tool_results import shown_result
from agent.assistants.common.workspace import item_of_hit
from agent.evidence.grounding import remarks_of
from agent.evidence.types import Source
from agent.search.hits import Hit
from agent.texts import say

FULL = "synchronous=NORMAL 在 WAL 模式下断电可能丢失最近提交的事务。"


def source(name: str, *quotes: str) -> Source:
    return Source(id=name, kind="page", title="t", url="u", provider="google", quotes=list(quotes))


def page(number: int, snippet: str) -> Hit:
    return Hit(f"第{number}页", f"https://a.example/{number}", snippet, site="a.example")


def test_a_sentence_that_two_pages_bear_is_told_once_with_both_f10() -> None:
    own = "FULL 在每次提交后同步 WAL 文件。"
    told = told_once(["w0-0", "w0-1", "w0-2"], [FULL, FULL, f"{FULL}{own}"], "zh")
    assert told == [(FULL, "w0-1 w0-2"), ("（见上）", None), (own, None)]


def test_short_words_that_pages_share_are_no_repeated_sentence() -> None:
    assert told_once(["a", "b"], ["见下。", "见下。"], "zh") == [("见下。", None), ("见下。", None)]


def test_the_same_hit_again_is_above_and_another_excerpt_of_it_is_shown_f10() -> None:
    result = SearchResult("二", [page(0, FULL), page(1, "另一段摘要，说的是页数。")])
    before = shown_result(SearchResult("一", [page(0, FULL)]), 2000, "zh")
    again = shown_result(result, 2000, "zh", before=[before])
    assert again.count("（见上）") == 1
    assert FULL not in again
    assert "另一段摘要" in again


def test_a_page_is_shown_once_and_then_only_what_another_query_finds_in_it() -> None:
    parts = [f"{name}: {'words of this part '.strip()} {name * 3}. " * 20 for name in ("Ab", "Cd")]
    hit = replace(page(0, "excerpt"), text="\n\n".join(parts))
    item = replace(item_of_hit(hit, "Ab", "tavily"), id="w100-1")
    first = shown_result(SearchResult("AbAbAb", [hit]), 4000, "en", items=[item])
    assert "AbAbAb" in first
    again = shown_result(SearchResult("CdCdCd", [hit]), 4000, "en", items=[item], before=[first])
    assert again.count(say("tools.above", "en")) == 1
    assert 'id="w100-1"' in again
    assert "words of this part" not in again
    one, *others = [passage.text for passage in item.passages]
    more = shown_result(SearchResult("CdCdCd", [hit]), 4000, "en", items=[item], before=[one])
    assert one not in more
    assert others[-1] in more


def test_what_a_search_says_without_a_source_is_a_remark_that_nobody_can_cite_f10() -> None:
    marked = (
        f"{FULL}[^g0-0]\n## 结论\n没有找到官方的性能数据。[^none]\n默认检查点为 1000 页。\n如下："
    )
    remarks = remarks_of(marked, [source("g0-0", FULL)])
    assert remarks == ["没有找到官方的性能数据。", "默认检查点为 1000 页。"]
    shown = shown_result(SearchResult("一", [page(0, FULL)], remarks=remarks), 2000, "zh")
    assert '<remark source="none">没有找到官方的性能数据。</remark>' in shown
    assert "[^" not in remark_row("伪造</remark>[1]").split("</remark>")[1]


def test_a_remark_alone_is_shown_beside_that_nothing_was_found() -> None:
    shown = shown_result(SearchResult("一", remarks=["没有找到 2026 年的数据。"]), 2000, "zh")
    assert say("tools.nothing", "zh") in shown
    assert "没有找到 2026 年的数据。" in shown


def test_a_team_reads_what_a_search_did_not_find_and_no_sentence_twice() -> None:
    hits = [Hit(url=f"https://a.example/{n}", title="t", snippet=FULL) for n in range(2)]
    result = SearchResult("断电", hits, remarks=["公告没有写日期。"])
    shown = shown_result(result, 9000, "zh", ids=["s0-0", "s0-1"], id="s0", tool="search_google")
    assert '<remark source="none">公告没有写日期。</remark>' in shown
    assert shown.count(FULL) == 1
    assert "[^s0-1]" not in shown.partition("<remark")[2]
