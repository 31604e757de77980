"""An answer says its language, and has its words with it where the page has no texts in it."""

import re
from importlib.resources import files

import pytest

from agent.server.page_routes import FOLDER
from agent.texts import OF_ANSWERS, Language, say, table
from agent.texts.card_words import spoken_fields

_CARD = "page.place_card."
_FACTS = (FOLDER / "js/map/place_facts.js").read_text("utf-8")
FACTS = {*re.findall(r'"((?:records|export)\.\w+)"', _FACTS)} - {
    "export.as_of",
    "records.attribution",
}
"""Texts of the card's line of facts; the list's credit is in the page's language."""


@pytest.mark.parametrize("language", OF_ANSWERS)
def test_a_card_s_frame_is_in_the_answer_s_language_as_a_whole(language: Language) -> None:
    words = spoken_fields(language)["words"]
    shown = {"open_now", "closed_now", "hours", "address", "category", "demands", "sources",
             "phone", "navigate", "open", "by", "fields.open_time", "fields.cost"}  # fmt: skip
    assert {f"{_CARD}{name}" for name in shown} <= words.keys()
    assert {"export.far", "export.cost", "records.free"} <= FACTS <= words.keys()
    english = table("page.place_card", "en")
    same = {key for key, text in words.items() if english.get(key.removeprefix(_CARD)) == text}
    assert same <= {f"{_CARD}sources"}, "Sources is French, too"
    assert sum(len(text.encode()) for text in words.values()) < 900


@pytest.mark.parametrize("language", ["zh", "en"])
def test_answers_in_the_page_s_own_languages_carry_no_words(language: Language) -> None:
    assert spoken_fields(language) == {"language": language}


def test_ways_are_worded_in_the_answer_s_language_too() -> None:
    words = spoken_fields("de")["words"]
    assert words["records.modes.walking"] == "Zu Fuß"
    assert words["records.minutes"] == say("records.minutes", "de")


def test_traditional_characters_are_words_of_their_own() -> None:
    fields = spoken_fields("zh-Hant")
    assert fields["language"] == "zh-Hant"
    assert fields["words"]["page.place_card.open_now"] == "現在營業"


def test_a_length_within_arabic_words_keeps_its_unit_behind_it() -> None:
    arabic = (files("agent.texts") / "ar.toml").read_text("utf-8")
    begin, end = r"\u2066", r"\u2069"
    lengths = re.findall(r"(?:\\u2066)?\{(?:distance|far|near)\}(?:\\u2069)?", arabic)
    assert len(lengths) > 5
    assert all(told.startswith(begin) and told.endswith(end) for told in lengths)
