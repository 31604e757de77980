import pytest

from agent.evidence.queries import clean_text, drop_seen, near_duplicate
from agent.evidence.types import Query
from tests.support.cpu_time import takes_less


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("王府井亲子餐厅推荐", "王府井 亲子餐厅 推荐"),
        ("王府井附近的亲子餐厅", "王府井附近亲子餐厅有哪些"),
        ("亲子餐厅 王府井", "王府井 亲子餐厅"),
        ("family restaurants near Wangfujing", "Family restaurant near wangfujing?"),
        ("Wangfujing family restaurants", "family restaurants Wangfujing"),
        ("LangGraph streaming", "ＬangGraph　streaming"),
        ("how does LangGraph streaming work", "How LangGraph streaming works"),
        ("???", "???"),
    ],
)
def test_queries_that_differ_only_in_wording_are_duplicates(a: str, b: str) -> None:
    assert near_duplicate(a, b)
    assert near_duplicate(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("population of paris 2019", "population of paris 2020"),
        ("tesla revenue 2023 q3", "tesla revenue 2023 q4"),
        ("ceo of apple", "cfo of apple"),
        ("2024年新能源汽车销量", "2023年新能源汽车销量"),
        ("北京到上海高铁", "上海到北京高铁"),
        ("flights from Beijing to Shanghai", "flights from Shanghai to Beijing"),
        ("特斯拉第三季度收入", "特斯拉第四季度收入"),
        ("适合儿童的博物馆", "不适合儿童的博物馆"),
        ("hotels near the Bund with pool", "hotels near the Bund without pool"),
        ("langgraph persistence site:github.com", "langgraph persistence"),
        ('"deep research" agents', "deep research agents"),
        ("python -snake", "python snake"),
        ("北京大学附近咖啡", "南京大学附近咖啡"),
        ("王府井亲子餐厅", "三里屯亲子餐厅"),
        ("C++ tutorial", "C tutorial"),
        ("trade between Iran and Oman", "trade between Iraq and Oman"),
        ("???", "!!!"),
    ],
)
def test_queries_that_differ_in_substance_are_kept(a: str, b: str) -> None:
    assert not near_duplicate(a, b)
    assert not near_duplicate(b, a)


def query(text: str) -> Query:
    return {"query": text, "map": None}


def test_d5_follow_ups_already_run_are_dropped_and_the_rest_keep_their_order() -> None:
    asked = [query("b 2024"), query("王府井 咖啡"), query("B  2024"), query("  "), query("a")]
    fresh = drop_seen(asked, ["王府井的咖啡"])
    assert [item["query"] for item in fresh] == ["b 2024", "a"]


def test_comparing_long_queries_takes_no_time() -> None:
    long = "王府井亲子餐厅 family restaurants " * 20_000
    near: list[bool] = []
    assert takes_less(lambda: near.append(near_duplicate(long, long + "2024")), 5)
    assert not any(near)


def test_cleaned_text_is_one_visible_line() -> None:
    assert clean_text(" a\x00b\x1b[31m\n c\td \u202eevil\u202c \ud800x\U000e0041 ", 100) == (
        "ab[31m c d evil x"
    )
    assert clean_text("e\u0301", 10) == "é"
    assert clean_text("abc   def", 4) == "abc"
    assert clean_text("👩\u200d👧", 10) == "👩\u200d👧"
