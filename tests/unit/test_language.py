import pytest

from agent.texts import detect_language, fill, has, say, table


@pytest.mark.parametrize(
    "text",
    [
        "王府井附近适合遛娃的好去处",
        "王府井附近 coffee",
        "LangGraph 和 LangChain 的区别是什么",
        "iPhone 17 Pro 值得买吗",
        "看看 https://example.com/some/long/path 讲了什么",
    ],
)
def test_a_chinese_question_with_some_latin_words_is_chinese(text: str) -> None:
    assert detect_language(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "What to do near 王府井 (Wangfujing)?",
        "coffee near Wangfujing",
        "Translate 谢谢你 into English for me",
        "東京タワーのちかくのカフェ",
        "116.41,39.91",
        "",
        "🙂🙂",
    ],
)
def test_an_english_question_that_names_a_chinese_place_is_english(text: str) -> None:
    assert detect_language(text) == "en"


def test_a_text_is_filled_by_name_and_other_braces_stay() -> None:
    text = '{name} 要一个检索式，如 {"query": "…"}；{name}: {limit} {}'
    assert fill(text, {"name": "搜索", "absent": "x"}) == (
        '搜索 要一个检索式，如 {"query": "…"}；搜索: {limit} {}'
    )


def test_braces_in_a_value_stay() -> None:
    assert fill("{a}, {b}", {"a": "{b}", "b": "x"}) == "{b}, x"


def test_a_text_is_said_by_its_key_with_its_values() -> None:
    assert say("gaps.web", "zh", reason="超时") == "网页搜索没有进行：超时"
    whole = "7 pages can be quoted on “tea”."
    assert say("sample.pages", "en", topic="tea", count=7) == whole


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("gaps.nowhere", "en")
    assert not has("gaps.nowhere")


def test_a_table_has_its_texts_and_by_dotted_keys_those_of_the_tables_in_it() -> None:
    assert table("progress", "en")["speakers.analyst"] == "analyst"
    assert table("progress.speakers", "zh")["analyst"] == "分析员"
