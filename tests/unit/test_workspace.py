"""What is shown of the things that a run has read, and how they are known again."""

from dataclasses import replace

import pytest

from agent.assistants.common.workspace import (
    Item,
    RankedPassages,
    choose,
    first_passages,
    nearest_pages,
)
from agent.assistants.deep_research.write_report import texts_of
from agent.evidence.citations import Citer, cited_ids

_FILLER = " ".join(["The yearly meeting of the board took place in the old town hall."] * 3)


def page(name: str, *paragraphs: str) -> Item:
    return Item(kind="page", title=name, text="\n\n".join(paragraphs), id=name)


def long_page(name: str, *facts: str) -> Item:
    return page(name, *(f"{_FILLER} {n}" for n in range(30)), *facts, _FILLER)


def test_the_passages_nearest_to_a_query_are_shown_verbatim() -> None:
    fact = "A shard of fifty million vectors needs 92 GB of memory without compression."
    chosen = choose([long_page("w482-17", fact)], ["memory for fifty million vectors"], 100)
    assert [passage.name for passage in chosen] == ["w482-17.30"]
    assert fact in chosen[0].text


def test_each_query_has_its_best_passage_before_any_has_its_second_best() -> None:
    one = "The licence is BSD, and the licence covers the whole server."
    other = "Replication needs three nodes."
    again = "The licence file stands in the root of the repository; see the licence page."
    pages = [long_page("a", one, again), long_page("b", other)]
    chosen = choose(pages, ["licence of the server", "replication nodes"], 150)
    assert [passage.source for passage in chosen] == ["a", "b"]
    assert one in chosen[0].text
    assert other in chosen[1].text


def test_passages_stand_in_the_order_of_the_page_whichever_was_nearest() -> None:
    text = ["Prices rose in May.", _FILLER, "In June prices of prices rose."]
    item = page("a", *(f"{line} {_FILLER}" for line in text))
    names = [passage.name for passage in choose([item], ["prices in June"], 10_000)]
    assert names == sorted(names)


def test_a_short_page_with_a_passage_nearest_to_what_is_asked_is_shown_whole() -> None:
    row = "CtrlB 16.3 GiB, ClickHouse 282.4 GiB."
    short = page("s", f"Size of the text index on disk. {_FILLER}", _FILLER, row)
    others = [long_page(f"o{n}", *["A text index on disk has a size."] * 9) for n in range(4)]
    shown = nearest_pages([*others, short], "size of the text index on disk", 1200)
    assert row in " ".join(passage.text for passage in shown)
    assert {passage.source for passage in shown} > {"s"}
    assert sum(passage.tokens for passage in shown) <= 1200


def test_a_page_that_shares_no_word_with_the_query_is_shown_by_its_beginning() -> None:
    chosen = choose([page("a", "海拔三千米。" + _FILLER, _FILLER)], ["Höhe"], 100)
    assert chosen[0].name == "a.1"


def test_room_that_is_left_goes_to_the_neighbours_of_the_nearest_and_then_to_the_rest() -> None:
    item = long_page("a", "Migration: copy the tables first.")
    names = [passage.name for passage in item.passages]
    best = next(at for at, each in enumerate(item.passages) if "Migration" in each.text)
    room = sum(each.tokens for each in item.passages[best - 1 : best + 2])
    near = choose([item], ["migration"], room)
    assert [passage.name for passage in near] == names[best - 1 : best + 2]
    most = choose([item], ["migration"], room + item.passages[0].tokens)
    assert [passage.name for passage in most] == [names[0], *names[best - 1 : best + 2]]


def test_nothing_is_shown_beyond_the_tokens_there_are() -> None:
    chosen = choose([long_page("a", "Licence: BSD.")], ["board meeting licence"], 300)
    assert chosen
    assert sum(passage.tokens for passage in chosen) <= 300


def test_the_words_of_a_title_bear_on_its_passages() -> None:
    weaviate = page("Weaviate", "The licence is BSD.")
    others = [page(f"Milvus {n}", "The licence is Apache.") for n in range(5)]
    (first,) = choose([*others, weaviate], ["Weaviate licence"], weaviate.passages[0].tokens)
    assert first.text == "The licence is BSD."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.example.org/a/?utm_source=x", "http://example.org/a"),
        ("https://example.org/a#part", "https://example.org/a/"),
    ],
)
def test_near_equal_addresses_are_one_thing(one: str, other: str) -> None:
    assert Item("page", "A", one).key == Item("page", "B", other).key


def test_what_has_no_address_is_known_by_its_record_or_its_title() -> None:
    place = Item("place", "Temple", "https://map.org/x", record="amap:B01")
    assert place.key == "amap:B01"
    assert Item("document", "Plan").key != Item("document", "Site sheet").key


def test_a_citation_of_a_passage_is_one_of_its_source() -> None:
    item = Item("page", "A", "https://example.org/a", id="w482-17")
    citer = Citer({item.id: item.source()})
    text = "It is so [^w482-17.3]. And so [w482-17.12, w482-17]."
    assert citer.feed(text) + citer.flush() == (
        "It is so [1](https://example.org/a). And so [1](https://example.org/a)."
    )
    assert citer.unknown_ids_removed == 0
    assert cited_ids(text) == ["w482-17"]


def test_a_page_that_has_room_comes_whole_and_a_longer_one_by_its_nearest_passages() -> None:
    steps = [f"{n}. {word * 40}" for n, word in enumerate(("备份。", "迁移数据。", "切换流量。"))]
    item = Item("page", "指南", "https://a.example/guide", "\n\n".join(steps))
    assert len(item.passages) == 3
    total = sum(passage.tokens for passage in item.passages)
    assert choose([item], ["迁移数据"], total) == item.passages
    assert choose([item], ["迁移数据"], item.passages[1].tokens) == [item.passages[1]]
    assert choose([item], ["迁移数据"], total - 1) == item.passages[:2]


def test_what_a_search_alone_showed_of_a_page_is_what_its_statements_are_judged_by() -> None:
    """A judge who was given its first sentence alone took out what the second one says."""
    item = Item(
        "page", "Breach", "https://b", snippet="Report at once. Tell consumers too.", id="w1"
    )
    opened = replace(item, text="The whole page.", id="w2")
    assert texts_of([item, opened], {}) == {"w1": item.snippet, "w2": opened.text}
    assert [passage.text for passage in item.passages] == [item.words]


def test_of_what_is_shown_that_comes_first_which_is_nearest_to_what_found_its_page() -> None:
    facts = ["With the DCS lost, the primary goes to read-only mode.", "Etcd has three nodes."]
    item = replace(long_page("w1", *facts), query="lost DCS read-only mode")
    shown = choose([item], ["etcd nodes", "lost DCS"], 400)
    ranked = RankedPassages([item], ["主库只读", "etcd nodes", item.query])
    [texts] = ranked.nearest_first(shown).values()
    assert facts[0] in texts[0]
    assert {*texts} <= {passage.text for passage in shown}


_MACHINES = [f"| db.x{n}.large | {n} | {4 * n} GiB | {31 * n} |" for n in range(2, 60, 4)]
_BILLED = "A vCPU is billed by the hour, and each vCPU has a quota of vCPU hours in a zone."


def _shown(items: list[Item], asked: str, tokens: int = 600) -> str:
    return "\n".join(passage.text for passage in nearest_pages(items, asked, tokens))


def test_of_a_figure_that_many_pages_have_the_row_is_shown_that_says_it_of_what_is_asked() -> None:
    columns = ["| Class | vCPU | Memory | Monthly |", "|---|---|---|---|"]
    tables = page("w1-1", *[_FILLER] * 8, "\n".join([*columns, *_MACHINES]), *[_FILLER] * 8)
    told = [_BILLED, _BILLED, f"{_BILLED} In 38 zones there are two."]
    others = [page(f"w1-{k}", *told * 12) for k in range(2, 8)]
    assert "| db.x38.large | 38 | 152 GiB |" in _shown([tables, *others], "38 vCPU")


@pytest.mark.parametrize("asked", ["-35 %", "−35 %", "latency -35%"])
def test_a_share_with_a_sign_is_found_however_its_minus_is_written(asked: str) -> None:
    """Words know no sign: 35 requests are as near."""
    runs = [f"Run {n}: latency of 35 % of the requests rose, 35 hosts." for n in range(200)]
    told = "With the new build the median went to −35 % of where it was."
    assert told in _shown([page("w1-1", *runs[:100], told, *runs[100:])], asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("30,000 元 高可用版", "高可用版的年费是 3 万元。"),
        ("450 million users", "There are 0.45 billion users."),
        ("90 % der Nutzer", "用户中有九成续费。"),
    ],
)
def test_a_figure_is_found_in_another_form(asked: str, told: str) -> None:
    others = [
        "高可用版按年付费，用户可以随时升级。" * 4,
        "Users of the service pay yearly." * 4,
    ] * 20
    assert told in _shown([page("w1-1", *others, told, *others)], asked)


def test_a_row_is_shown_with_what_its_table_stands_under() -> None:
    def table(edition: str, base: int) -> str:
        prices = [f"| {n} 核 {2 * n} GB | {base * n} 元 |" for n in range(1, 40)]
        return "\n".join(
            [f"## {edition}", "", "按月付费", "", "| 规格 | 价格 |", "|---|---|", *prices]
        )

    item = page("w1-1", table("基础版", 90), table("高可用版", 270))
    row = next(
        each.text for each in nearest_pages([item], "4320 元", 200) if "4320 元" in each.text
    )
    assert row.startswith("## 高可用版 按月付费 | 规格 | 价格 |")


def test_a_first_row_of_a_page_s_length_is_shown_once_and_is_no_head() -> None:
    row = f"| {_FILLER * 20} It has 38 rooms. |"
    item = page("w", f"{row}\n|---|\n" + "| 1 |\n" * 200)
    text = " ".join(passage.text for passage in item.passages)
    assert text.count("It has 38 rooms.") == 1
    assert len(text) < 2 * len(item.text)


def test_short_pages_leave_half_of_the_room_to_passages_that_are_nearer() -> None:
    short = [page(f"s{n}", f"The vCPU quota. {_FILLER}", *[_FILLER] * 3) for n in range(4)]
    row = f"Of each vCPU class the price is told. {_FILLER}"
    shown = nearest_pages([*short, long_page("w", row)], "vCPU quota", 1000)
    assert any(row in passage.text for passage in shown)


def test_where_nothing_was_ranked_each_page_is_heard_before_any_goes_on() -> None:
    pages = [long_page("w1-1", "One."), long_page("w2-2", "Two.")]
    shown = first_passages(pages, 400)
    firsts = [passage.name for passage in shown if passage.name.endswith(".1")]
    assert firsts == ["w1-1.1", "w2-2.1"]
    assert sum(passage.tokens for passage in shown) <= 400


def test_one_item_is_chosen_from_as_if_it_stood_alone() -> None:
    fact = "A shard of fifty million vectors needs 92 GB of memory without compression."
    items = [long_page("w1-1", "One."), long_page("w2-2", fact)]
    ranked = RankedPassages(items, ["memory for fifty million vectors"])
    assert [passage.name for passage in ranked.choose(100, of=items[1])] == ["w2-2.30"]
    assert [passage.name for passage in ranked.choose(60, of=items[0])] == ["w1-1.1"]
