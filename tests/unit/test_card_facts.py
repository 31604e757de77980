"""What a place's card tells of its record: how one gets there, and where it is, each once."""

import pytest

from agent.evidence.types import Distance, Place, Source
from agent.export.finished import place_cell
from agent.export.html import html_page
from agent.export.markdown import markdown_document, told_in_bullets
from agent.export.place_cards import card_of
from agent.texts import Language
from tests.support.rows import by_examples
from tests.unit.export_samples import answer, place, source

URL = "https://uri.amap.com/marker?poiid=B1"
WALKED = place(1, walk_m=720, walk_s=554, distance_from_en="Senate Square", cost=None)


@pytest.mark.parametrize(
    ("language", "way"),
    [("zh", "距王府井 步行 720 m (9 分钟)"), ("en", "walk 720 m (9 min) from Senate Square"),
     ("ru", "пешком 720 м (9 мин) от «Senate Square»")],
)  # fmt: skip
def test_a_way_that_was_walked_stands_on_the_card_in_place_of_the_straight_line(
    language: Language, way: str
) -> None:
    """532 m on the card and 720 m in the text were one way."""
    assert card_of(WALKED, language).facts[0] == way
    assert "220 m" not in " ".join(card_of(WALKED, language).facts)
    assert place_cell("distance", WALKED, [WALKED], language) == way


def test_the_detour_by_which_a_list_is_sorted_stands_on_the_card() -> None:
    far = [Distance(origin="书店", metres=256)]
    detour = card_of(place(1, further=far, detour_m=37, detour_walked=True), "zh")
    assert detour.facts[:3] == ("距王府井 220 m", "距书店 256 m", "步行绕路 37 m")


def told(words: str, *places: Place) -> tuple[str, str]:
    shown = answer(
        answer=f"- **儿童乐园**{words}[1]({URL})", places=[*places] or [place(1)],
        sources=[source(1, URL, "儿童乐园")], notice="",
    )  # fmt: skip
    return markdown_document(shown), html_page(shown)


@pytest.mark.parametrize(
    "words", ["：适合雨天", "：在王府井大街138号，适合雨天", "（王府井大街138号）"]
)
def test_an_address_stands_once_where_the_record_has_one_and_the_text_does_not_say_it(
    words: str,
) -> None:
    """Two cafés of one name could not be told apart: what the text had in brackets was cut."""
    for shown in told(words):
        assert shown.count("王府井大街138号") == 1


def test_places_of_one_name_are_told_apart_by_their_addresses() -> None:
    shop = place(1, address="Kaivokatu 8, 00100 Helsinki")
    text = f"- **儿童乐园（Kaivokatu 8）**：适合雨天[1]({URL})"
    page = html_page(answer(answer=text, places=[shop], notice=""))
    assert "<span>Kaivokatu 8, 00100 Helsinki</span>" in page
    assert "（Kaivokatu 8）" not in page


@by_examples
def test_a_card_says_what_its_bullet_does_not_and_no_clause_of_this_goes(
    language: Language, words: str, facts: list[str]
) -> None:
    """Hours and price stood twice on each card; where they were cut, half a sentence was left."""
    shop = place(1, distance_m=1240, distance_from_en="Wangfujing")
    text = f"- **儿童乐园**: {words}[1]({URL})."
    record = Source(**{**source(1, URL, "儿童乐园"), "id": shop["source"], "kind": "place"})
    shown = answer(answer=text, places=[shop], sources=[record], language=language, notice="")
    card, _, said = markdown_document(shown).partition("- **[儿童乐园][1]**")[2].partition("\n")
    assert f"  {words}[1]." in said
    told = card.split(" · ")[1:-1]
    assert len(told) == len(facts)
    assert all(one.startswith(fact) for one, fact in zip(told, facts, strict=True))
    [in_message] = told_in_bullets(shown)
    assert len(in_message["said"]) == 4 - len(facts)


def test_a_bullet_that_says_only_what_its_card_does_is_the_card() -> None:
    text = f"- **儿童乐园**：¥88/人，10:00–22:00，王府井大街138号[1]({URL})。"
    record = Source(**{**source(1, URL, "儿童乐园"), "id": place(1)["source"], "kind": "place"})
    shown = answer(answer=text, places=[place(1)], sources=[record], notice="")
    written = markdown_document(shown)
    assert "· ¥88/人 · 10:00-22:00 · 王府井大街138号" in written
    assert written.count("¥88") == 1


def test_a_traditional_card_has_its_address_in_traditional_characters() -> None:
    assert card_of(place(1, address="三里屯北小街1号"), "zh-Hant").address == "三里屯北小街1號"
