from agent.evidence.queries import clean_text, drop_seen, same_search
from agent.evidence.types import MapTask, Query
from tests.unit.cpu_time import takes_less


def query(text: str) -> Query:
    return {"query": text, "map": None}


def test_d5_follow_ups_already_run_are_dropped_and_the_rest_keep_their_order() -> None:
    asked = [query("b 2024"), query("王府井 咖啡"), query("B  2024"), query("  "), query("a")]
    fresh = drop_seen(asked, [query("王府井的咖啡")])
    assert [item["query"] for item in fresh] == ["b 2024", "a"]


def test_the_same_words_with_another_task_ask_the_map_once_more_and_the_web_no_more() -> None:
    """On foot and by underground a way was asked for in the same words: one was never looked up."""
    text = "外滩到豫园怎么走"
    way = MapTask(intent="route", origin="外滩", destination="豫园", mode="walking")
    walk, transit = (
        Query(query=text, map=task) for task in (way, MapTask(**{**way, "mode": "transit"}))
    )
    fresh = drop_seen([walk, transit, walk, query(text)], [])
    assert fresh == [walk, {**transit, "web": False}]
    assert drop_seen([walk, transit], [walk]) == [{**transit, "web": False}]


def test_comparing_long_queries_takes_no_time() -> None:
    long = "王府井亲子餐厅 family restaurants " * 20_000
    near: list[bool] = []
    assert takes_less(lambda: near.append(same_search(long, long + "2024")), 5)
    assert not any(near)


def test_cleaned_text_is_one_visible_line() -> None:
    assert clean_text(" a\x00b\x1b[31m\n c\td \u202eevil\u202c \ud800x\U000e0041 ", 100) == (
        "ab[31m c d evil x"
    )
    assert clean_text("e\u0301", 10) == "é"
    assert clean_text("abc   def", 4) == "abc"
    assert clean_text("👩\u200d👧", 10) == "👩\u200d👧"
