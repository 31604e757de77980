"""What the sample's model takes a question to be about."""

import pytest

from agent.sample.subject import aspects_of, compared, resolve_references, searched_as, subject_of

SAID_EN = ["user: Where near Wangfujing can I take the children?", "assistant: The LEGO shop."]
SAID = ["user: 王府井附近适合遛娃的好去处", "assistant: 可以去和平菓局。[1]"]


@pytest.mark.parametrize(
    ("question", "name", "aspects"),
    [
        ("王府井附近适合遛娃的好去处", "王府井", ["遛娃"]),
        ("Coffee near the Bund", "Bund", ["Coffee"]),
        ("西湖一日游：交通、门票、餐饮", "西湖", ["交通", "门票", "餐饮"]),
        ("杭州西湖一日游怎么安排，交通、门票、餐饮和避坑", "西湖", ["交通", "门票", "餐饮"]),
        ("外滩的建筑", "外滩", ["建筑"]),
        ("介绍一下苹果公司的营收", "苹果公司", ["营收"]),
        ("Tell me about Apple's revenue", "Apple", ["revenue"]),
        ("Eiffel Tower history", "Eiffel Tower", ["history"]),
        ("外白渡桥建成于哪一年？", "外白渡桥", []),
        ("宁德时代的技术路线与营收", "宁德时代", ["技术路线", "营收"]),
        ("How do sodium-ion batteries work?", "sodium-ion batteries", []),
        (
            "What are the costs, uses and limits of sodium-ion batteries?",
            "sodium-ion batteries",
            ["costs", "uses", "limits"],
        ),
        ("王府井附近打烊晚的餐厅", "王府井", ["餐厅"]),
        ("which restaurants near Wangfujing are open late", "Wangfujing", ["restaurants"]),
        ("Find tea houses in 宽窄巷子", "宽窄巷子", ["tea houses"]),
        ("Where near Wangfujing can I take the children on Saturday?", "Wangfujing", ["children"]),
        ("Where is a public toilet near West Lake?", "West Lake", ["toilet"]),
        ("杭州两日游怎么安排", "杭州两日游", []),
        ("LangGraph 是什么", "LangGraph", []),
    ],
)
def test_a_question_has_a_subject_and_the_aspects_it_names(
    question: str, name: str, aspects: list[str]
) -> None:
    assert subject_of(question).text == name
    assert aspects_of(question) == aspects


@pytest.mark.parametrize("question", ["", "?", "x" * 5000, "、、、", "几点？", "a, b, c, d, e, f"])
def test_any_question_can_be_read(question: str) -> None:
    assert len(aspects_of(question)) <= 3
    assert subject_of(question).is_named_in("") is (not subject_of(question).names)
    assert resolve_references(question, [], []) == question


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        ("介绍一下苹果公司的营收", "宁德时代是一家公司，营收 3620 亿元。", False),
        ("Tell me about Apple's revenue", "CATL's revenue fell in 2024.", False),
        ("Eiffel Tower history", "The Oriental Pearl Tower has a history.", False),
        ("外滩的建筑", "上海迪士尼乐园的门票分四档。", False),
        ("外滩的建筑", "外滩沿黄浦江展开。", True),
        ("宁德时代钠离子电池的技术路线", "宁德时代有两条路线。", True),
        ("CATL's peers", "CATL has several peers.", True),
        ("How do sodium-ion batteries work?", "A sodium-ion battery stores energy.", True),
        ("雷峰塔和豫园哪个评分更高？", "豫园在上海。", True),
    ],
)
def test_a_text_on_another_subject_does_not_name_it(question: str, text: str, named: bool) -> None:
    assert subject_of(question).is_named_in(text) is named


def test_a_place_is_searched_with_its_city() -> None:
    assert searched_as("杭州西湖的历史、保护与游览") == "杭州西湖"


@pytest.mark.parametrize(
    ("question", "said", "places", "alone"),
    [
        ("那附近有停车场吗", SAID, [], "王府井附近有停车场吗"),
        ("附近有适合下雨天的室内场所吗", SAID, [], "王府井附近有适合下雨天的室内场所吗"),
        ("有停车场吗", SAID, ["和平菓局"], "王府井有停车场吗"),
        ("第二个几点关门", SAID, ["和平菓局", "乐高"], "乐高几点关门"),
        ("What time does the second one close?", [], ["A", "B"], "What time does B close?"),
        (
            "Is there parking near it?",
            ["user: Coffee near the Bund"],
            [],
            "Is there parking near Bund?",
        ),
        ("Is it open on Monday?", SAID_EN, [], "Is Wangfujing open on Monday?"),
        ("Is it going to rain?", SAID_EN, [], "Is it going to rain?"),
        ("Is there parking nearby", SAID_EN, [], "Is there parking near Wangfujing"),
        ("Any bookshops nearby?", SAID_EN, [], "Any bookshops near Wangfujing"),
        ("Is there a nearby car park?", SAID_EN, [], "Is there a car park near Wangfujing"),
        (
            "What are heat pumps and what do they cost?",
            SAID,
            [],
            "What are heat pumps and what do they cost?",
        ),
        ("钠离子电池的成本", SAID, ["和平菓局"], "钠离子电池的成本"),
        ("那附近有停车场吗", [], [], "那附近有停车场吗"),
        ("第九个几点关门", SAID, ["和平菓局"], "第九个几点关门"),
    ],
)
def test_a_question_that_points_back_reads_alone(
    question: str, said: list[str], places: list[str], alone: str
) -> None:
    assert resolve_references(question, said, places) == alone


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("国家博物馆和中国美术馆哪个更好", ("国家博物馆", "中国美术馆")),
        ("Which is better, the Bund or West Lake?", ("Bund", "West Lake")),
        ("Compare the Bund and West Lake.", ("Bund", "West Lake")),
        ("西湖的历史和保护", ()),
        ("coffee or tea near the Bund", ()),
    ],
)
def test_the_two_that_a_question_compares_are_read(question: str, names: tuple[str, ...]) -> None:
    assert compared(question) == names


def test_nearby_means_the_last_place_that_was_named() -> None:
    asked = ["user: 王府井附近适合遛娃的好去处", "user: 附近还有适合下雨天去的室内场所吗？"]
    assert "王府井" in resolve_references("附近有什么书店？", asked, [])
