"""Any language can be answered in: as a setting names it, or as the question is written."""

import pytest

from agent.configuration import configure
from agent.core.errors import ConfigurationError
from agent.texts.languages import language_name, language_of_setting, named_language


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("王府井附近适合遛娃的好去处", "Simplified Chinese (zh)"),
        ("請問西湖附近有咖啡館嗎", "Traditional Chinese (zh-Hant)"),
        ("上野公園の近くで子供と遊べる場所は？", "Japanese (ja)"),
        ("경복궁 근처 카페", "Korean (ko)"),
        ("ร้านกาแฟใกล้วัดพระแก้ว", "Thai (th)"),
        ("Wo gibt es in Peking Kaffee?", "the language of “Wo gibt es in Peking Kaffee?”"),
        ("Где в Пекине  погулять\nс детьми?", "the language of “Где в Пекине погулять с детьми?”"),
    ],
)
def test_a_question_names_its_language_by_its_script_or_by_itself(
    question: str, named: str
) -> None:
    assert named_language(question) == named


def test_a_long_question_is_named_by_its_beginning() -> None:
    assert len(named_language("many words " * 2000)) < 160


@pytest.mark.parametrize(
    ("tag", "own", "named"),
    [
        ("zh", "zh", "Simplified Chinese (zh)"),
        ("zh-TW", "zh", "Traditional Chinese (zh-TW)"),
        ("en", "en", "English (en)"),
        ("ja", "en", "Japanese (ja)"),
        ("pt-BR", "en", "pt-BR"),
    ],
)
def test_a_setting_takes_any_tag_and_code_says_its_own_in_the_nearest(
    tag: str, own: str, named: str
) -> None:
    assert configure({"answer_language": tag}).answer_language == tag
    assert language_of_setting(tag, "任何问题") == own
    assert language_name(tag) == named


@pytest.mark.parametrize("tag", ["German", "z", "en_US", "zh-<b>", "en us", "autos-x"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(ConfigurationError, match="answer_language"):
        configure({"answer_language": tag})
