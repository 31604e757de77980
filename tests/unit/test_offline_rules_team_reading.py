"""Questions of the documented shapes, read by rules."""

import pytest

from agent.offline.rules_team_ask import Need
from agent.offline.rules_team_reading import ask_of


@pytest.mark.parametrize(
    ("question", "subject", "attribute", "wanted", "unit"),
    [
        ("青石桥建成于哪一年？", "青石桥", "建成", "year", ""),
        ("青石桥全长多少米？", "青石桥", "全长", "number", "米"),
        ("《青石志》是谁写的？", "《青石志》", "写", "person", ""),
        ("青石馆星期几闭馆？", "青石馆", "闭馆", "weekday", ""),
        ("青石桥是哪一天通车的？", "青石桥", "通车", "date", ""),
        ("In which year was Stone Bridge completed?", "Stone Bridge", "completed", "year", ""),
        ("Who designed Stone Bridge?", "Stone Bridge", "designed", "person", ""),
        ("How tall is the Stone Tower?", "Stone Tower", "tall", "number", "metres"),
    ],
)
def test_one_attribute_of_one_subject(
    question: str, subject: str, attribute: str, wanted: str, unit: str
) -> None:
    ask = ask_of(question)
    assert ask.shape == "lookup"
    assert ask.needs == (Need(subject, attribute, "page", wanted, unit),)


@pytest.mark.parametrize(
    ("question", "subject", "key"),
    [
        ("青石书店的评分是多少？", "青石书店", "rating"),
        ("青石书店几点关门？", "青石书店", "closes"),
        ("青石书店的营业时间是？", "青石书店", "hours"),
        ("青石书店在哪个区？", "青石书店", "district"),
        ("What is the rating of the Stone Teahouse?", "Stone Teahouse", "rating"),
        ("What time does the Stone Museum open?", "Stone Museum", "opens"),
        ("Until what time is Stone Park open?", "Stone Park", "closes"),
        ("How much does Stone Tavern cost per person?", "Stone Tavern", "cost"),
    ],
)
def test_an_attribute_of_a_place_is_asked_of_the_map(question: str, subject: str, key: str) -> None:
    ask = ask_of(question)
    assert ask.shape == "place"
    assert [(need.subject, need.attribute, need.kind) for need in ask.needs] == [
        (subject, key, "map")
    ]


@pytest.mark.parametrize(
    ("question", "shape", "operation", "subjects"),
    [
        ("青塔和白塔哪座更高？", "compare", "most", ("青塔", "白塔")),
        ("青塔和白塔哪个建成更早？", "compare", "least", ("青塔", "白塔")),
        ("青塔比白塔高多少米？", "arithmetic", "difference", ("青塔", "白塔")),
        ("青桥的长度是白桥的几倍？", "arithmetic", "ratio", ("青桥", "白桥")),
        ("青桥的长度是白桥的百分之几？", "arithmetic", "percent", ("青桥", "白桥")),
        ("青桥比白桥早建成多少年？", "date", "years", ("青桥", "白桥")),
        ("从青桥通车到白桥通车相隔多少天？", "date", "days", ("青桥", "白桥")),
        ("Which is older, the Blue Tower or the White Tower?", "compare", "least",
         ("Blue Tower", "White Tower")),
        ("By how many metres is Blue Tower taller than White Tower?", "arithmetic", "difference",
         ("Blue Tower", "White Tower")),
        ("How many years after Blue Bridge was White Bridge completed?", "date", "years",
         ("Blue Bridge", "White Bridge")),
    ],
)  # fmt: skip
def test_two_subjects_and_what_is_done_with_them(
    question: str, shape: str, operation: str, subjects: tuple[str, str]
) -> None:
    ask = ask_of(question)
    assert (ask.shape, ask.operation) == (shape, operation)
    assert tuple(need.subject for need in ask.needs) == subjects


@pytest.mark.parametrize(
    ("question", "near", "category", "by", "most"),
    [
        ("青石附近评分最高的书店是哪家？", "青石", "书店", "rating", True),
        ("青石附近1公里内人均最低的咖啡店是哪家？", "青石", "咖啡店", "cost", False),
        ("离青石最近的地铁站是哪个？", "青石", "地铁站", "distance", False),
        ("Which bookshop near Stone Hill has the highest rating?", "Stone Hill", "书店", "rating",
         True),
        ("What is the nearest metro station to Stone Hill?", "Stone Hill", "地铁站", "distance",
         False),
    ],
)  # fmt: skip
def test_the_best_place_of_a_kind(
    question: str, near: str, category: str, by: str, most: bool
) -> None:
    ask = ask_of(question)
    assert ask.shape == "compare"
    assert ask.best
    assert (ask.best.near, ask.best.category, ask.best.by, ask.best.most) == (
        near, category, by, most
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("青石附近评分最高的书店几点关门？", "closes"),
        ("离青石最近的地铁站是几号线？", "address"),
        ("At what time does the nearest bookshop to Stone Hill close?", "closes"),
        ("In which district is the best-rated zoo in Shanghai?", "district"),
        ("What is the rating of the bookshop on the 9th floor of Stone Tower?", "rating"),
    ],
)
def test_an_attribute_of_a_place_that_is_to_be_found_first(question: str, attribute: str) -> None:
    ask = ask_of(question)
    assert ask.shape == "hop"
    assert ask.best or ask.described
    assert [(need.subject, need.attribute) for need in ask.needs] == [("", attribute)]


def test_given_dates_need_no_search() -> None:
    ask = ask_of("2008年5月1日到2018年10月24日有多少天？")
    assert [need.given for need in ask.needs] == ["2008-05-01", "2018-10-24"]
    assert ask_of("What weekday was 24 October 2018?").needs[0].given == "2018-10-24"


def test_the_wanted_decimals_are_read_from_the_question_and_the_requirement() -> None:
    assert ask_of("青桥的长度是白桥的几倍？（保留两位小数）").decimals == 2
    assert ask_of("青桥的长度是白桥的几倍？", "three decimal places").decimals == 3


@pytest.mark.parametrize("question", ["", "?", "你好", "x" * 3000, "和和和", "的的的", "哪哪哪？"])
def test_any_text_is_read_without_an_error(question: str) -> None:
    assert ask_of(question).operation
