import pytest

from agent.language import detect_language


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
