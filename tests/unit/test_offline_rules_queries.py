"""The offline brain plans: questions become search queries with tasks for the map."""

import re

import pytest

from agent.evidence.queries import near_duplicate
from agent.language import Language
from agent.offline.rules import SampleBrain
from tests.support.offline_turns import PREVIOUS, PREVIOUS_EN, SAID, SAID_EN, ask


def queries(question: str, language: Language = "zh", count: int = 3, **values: str) -> list[dict]:
    turn = ask("generate_query", language, question=question, count=str(count), **values)
    written = SampleBrain().respond(turn).json
    assert list(written) == ["query", "rationale"]
    assert 1 <= len(written["query"]) <= count
    return written["query"]


def test_a_question_about_a_place_becomes_distinct_queries_with_a_map_task() -> None:
    written = queries("王府井附近适合遛娃的好去处")
    assert len(written) == 3
    first = written[0]
    assert first["query"] == "王府井附近适合遛娃的好去处"
    assert first["map"]["intent"] == "nearby"
    assert first["map"]["place"] == "王府井"
    assert 1 <= len(first["map"]["keywords"]) <= 3
    texts = [query["query"] for query in written]
    assert not any(near_duplicate(a, b) for i, a in enumerate(texts) for b in texts[:i])


def test_an_english_question_gives_english_queries_with_a_map_task() -> None:
    written = queries("Where can we take kids near the Bund in Shanghai?", "en")
    assert written[0]["query"] == "Where can we take kids near the Bund in Shanghai"
    assert written[0]["map"]["intent"] == "nearby"
    assert all(key in written[0]["map"] for key in ("place", "city", "keywords", "radius_m"))


def test_a_question_that_no_map_helps_has_no_map_task() -> None:
    for question, language in (("区块链是什么", "zh"), ("How does photosynthesis work?", "en")):
        assert all(query["map"] is None for query in queries(question, language))


def test_weather_and_routes_need_one_query_only() -> None:
    for question in ("杭州明天天气怎么样", "从王府井到三里屯怎么走"):
        written = queries(question)
        assert len(written) == 1
        assert written[0]["map"]["intent"] in {"weather", "route"}


def test_no_more_queries_are_written_than_asked_for() -> None:
    assert len(queries("王府井附近适合遛娃的好去处", count=1)) == 1
    assert len(queries("王府井附近适合遛娃的好去处", count=2)) == 2


def test_a_comparison_looks_each_side_up() -> None:
    texts = [query["query"] for query in queries("空气炸锅和烤箱有什么区别")]
    assert "空气炸锅" in texts
    assert "烤箱" in texts


@pytest.mark.parametrize("question", ["那附近有停车场吗", "那附近有停车场吗？", "附近有停车场吗"])
def test_what_is_near_there_is_near_the_place_of_the_last_turn(question: str) -> None:
    first = queries(question, conversation=SAID, previous_places=PREVIOUS)[0]
    assert first["query"] == "王府井附近有停车场吗"
    assert first["map"]["place"] == "王府井"
    assert "停车场" in first["map"]["keywords"]


def test_the_second_one_is_the_second_place_of_the_last_answer() -> None:
    first = queries("第二个几点关门", conversation=SAID, previous_places=PREVIOUS)[0]
    assert first["query"] == "开心亲子乐园几点关门"
    said = {"conversation": SAID_EN, "previous_places": PREVIOUS_EN}
    first = queries("When does the second one close?", "en", **said)[0]
    assert first["query"] == "When does Maritime Museum close"


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Is there parking near there?", "the Bund"),
        ("How do I get there?", "to the Bund"),
        ("Any cafes nearby?", "near the Bund"),
    ],
)
def test_there_is_the_place_of_the_last_turn(question: str, wanted: str) -> None:
    text = queries(question, "en", conversation=SAID_EN)[0]["query"]
    assert (
        wanted.casefold()
        in re.sub(r"\bBund\b", "the Bund", text.replace("the Bund", "Bund")).casefold()
    )


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("这几个哪个最便宜", "北京市少年宫、开心亲子乐园、无名公园哪个最便宜"),
        ("它们下雨天开吗", "北京市少年宫、开心亲子乐园、无名公园下雨天开吗"),
        ("那三里屯呢", "三里屯附近适合遛娃的好去处"),
    ],
)
def test_these_are_the_places_listed_and_another_place_keeps_the_question(
    question: str, wanted: str
) -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert queries(question, **said)[0]["query"] == wanted


def test_near_me_without_a_place_is_one_query_for_the_map() -> None:
    (only,) = queries("我附近有什么咖啡馆", user_location="116.4,39.9")
    assert only["map"]["intent"] == "nearby"
    assert only["map"]["place"] is None


def test_a_question_of_aspects_only_is_about_the_last_place() -> None:
    assert queries("停车方便吗", conversation=SAID)[0]["query"] == "王府井停车方便吗"


def test_a_new_subject_after_a_conversation_is_left_alone() -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert queries("区块链是什么", **said)[0]["query"] == "区块链是什么"
    first = queries("三里屯附近的咖啡馆", **said)[0]
    assert first["map"]["place"] == "三里屯"


def test_an_ordinal_beyond_the_list_is_not_guessed() -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert "无名公园" not in queries("第九个几点关门", **said)[0]["query"]
