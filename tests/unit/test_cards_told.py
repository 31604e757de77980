"""Cards stand where a text tells its places first, with numbers in that order, and once."""

import asyncio
import io
from typing import Any

import pytest
from docx import Document

from agent.assistants.common.shown_records import places_as_shown
from agent.evidence.names import local_name, titled_name
from agent.evidence.types import Place, Source
from agent.export.finished import FinishedAnswer
from agent.export.html import html_page
from agent.export.markdown import as_told, markdown_document, told_in_bullets
from agent.export.place_cards import TABLE, card_of
from agent.export.word import word_document
from agent.mcp.osm.records import name_of
from agent.texts import Language
from tests.unit import export_samples

URL = "https://map.example/{}"
NAMES = {1: "Ateneum", 2: "Oodi", 3: "Suomen Pankin rahamuseo", 4: "Kiasma", 5: "Annantalo"}
PLACES = [
    Place(**{**export_samples.place(n, name), "url": URL.format(n), "source": f"a0-{n}",
             "distance_from": "Senaatintori"})
    for n, name in NAMES.items()
]  # fmt: skip
SOURCES = [
    Source(**{**export_samples.source(n, URL.format(n), name), "id": f"a0-{n}", "kind": "place"})
    for n, name in NAMES.items()
]


def cite(number: int) -> str:
    return f"[{number}]({URL.format(number)})"


CHOICE = f"""Both are near.

**My choice: Oodi**, because it has a place to play {cite(2)}.

- **Kiasma**: modern art {cite(4)}.
- To eat: after Oodi go to Ateneum {cite(1)} or Annantalo {cite(5)}.

Oodi once more {cite(2)}.
"""
TABLED = (
    f"| museum | |\n|---|---|\n| Kiasma | {cite(4)} |\n\nElse Oodi {cite(2)}; not Kiasma {cite(4)}."
)


def finished(text: str, **more: Any) -> FinishedAnswer:
    given = {"places": PLACES, "sources": SOURCES, "language": "en", "notice": ""}
    return export_samples.answer(answer=text, **{**given, **more})


def names(text: str, **more: Any) -> list[str]:
    ids = {place["id"]: place["name"] for place in PLACES}
    return [ids.get(id, id) for id in as_told(finished(text, **more))]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CHOICE, ["Oodi", "Kiasma", "Ateneum", "Annantalo"]),
        (f"Oodi {cite(2)} or Kiasma {cite(4)}.", ["Oodi", "Kiasma"]),
        (f"Oodi {cite(2)}, Kiasma {cite(4)}, Ateneum {cite(1)}.", []),
        ("Oodi and Kiasma.", []),
        (f"It is open {cite(2)}.", []),
        (f"> Oodi {cite(2)}.", []),
        (f"Oodi {cite(2)}: 2 × 8 = 16.", []),
        (f"1. Buy tickets in Oodi {cite(2)}\n2. Then rest", []),
        (f"Near Oodi {cite(2)}.\n\n- **Oodi**: quiet {cite(2)}", ["Oodi"]),
        (TABLED, [TABLE, "Oodi"]),
        (f"- **The money museum**: coins {cite(3)}", ["Suomen Pankin rahamuseo"]),
        (f"- **Lunch**: Oodi or {cite(4)}", []),
        (f"- **Why**: quiet {cite(2)}\n- **Oodi**: books {cite(2)}", ["Oodi"]),
        (f"- **Two**: coins {cite(3)}, art {cite(4)}", []),
        (f"Kiasma, beside Oodi {cite(4)}{cite(2)}.\n\n- **Kiasma**: near Oodi {cite(4)}{cite(2)}",
         ["Kiasma", "Oodi"]),
        (f"Go to Oodi {cite(2)}.\n\n- **Kiasma**: nearer than Oodi {cite(4)}{cite(2)}",
         ["Oodi", "Kiasma"]),
    ],
    ids=["a choice and a bullet of two", "two in a paragraph", "a summary", "cited nowhere",
         "named nowhere", "quoted", "a sum", "a step", "a bullet is its own card", "a table before",
         "a lead in the reader's words", "a lead that names another",
         "a lead before its name", "a lead of two", "an opening of a list", "a choice before one"],
)  # fmt: skip
def test_a_card_stands_where_a_text_is_the_first_to_cite_and_name_its_place(
    text: str, told: list[str]
) -> None:
    assert names(text) == told


def test_a_line_of_a_way_is_of_two_places_and_no_card() -> None:
    ways = (
        "- Walk: Oodi → Kiasma · 300 m\n- Drive: Ateneum → Oodi · 1 km\n- Annantalo → 12:00–14:00"
    )
    assert names(f"Two museums.\n\n{ways}") == ["Annantalo"]


def test_what_others_are_far_from_has_no_card_within_the_text() -> None:
    square = Place(**{**PLACES[1], "name": "Senaatintori"})
    assert names(f"From Senaatintori {cite(2)}.", places=[square, *PLACES[2:]]) == []


def test_a_card_stands_behind_its_paragraph_in_each_file() -> None:
    written = markdown_document(finished(CHOICE))
    assert written.index("My choice") < written.index("[Oodi][2]") < written.index("[Kiasma][4]")
    assert written.count("\n  - **[") == 2, "both in their bullet"
    page = html_page(finished(CHOICE))
    assert page.count('<li class="card">') == 4
    assert '<ol class="places">' in page, "of a place that the text does not tell"
    assert page.index("My choice") < page.index('<li class="card">') < page.index("modern art")
    paper = Document(io.BytesIO(word_document(finished(CHOICE))))
    lines = [each.text.partition("\n")[0] for each in paper.paragraphs]
    at = next(n for n, line in enumerate(lines) if "My choice" in line)
    assert lines[at + 1].endswith(". Oodi")


def test_a_place_s_card_is_at_the_bullet_that_names_it_and_not_where_another_cites_it() -> None:
    written = markdown_document(
        finished(f"- **Why**: quiet {cite(2)}\n- **Oodi**: books {cite(2)}")
    )
    assert "- **Why**: quiet [2]\n- **[Oodi][2]**" in written


def test_a_card_behind_a_paragraph_leaves_out_the_address_that_this_has() -> None:
    text = f"Oodi is at 王府井大街138号 {cite(2)}."
    assert markdown_document(finished(text)).partition("## ")[0].count("王府井大街138号") == 1


def test_numbers_are_in_the_order_in_which_a_text_tells_its_places() -> None:
    shown = asyncio.run(places_as_shown(PLACES, SOURCES, CHOICE, "en", first=()))
    told = ["Oodi", "Kiasma", "Ateneum", "Annantalo", "Suomen Pankin rahamuseo"]
    assert [each["name"] for each in shown] == told
    assert [each["number"] for each in shown] == [1, 2, 3, 4, 5]
    shown = asyncio.run(places_as_shown(PLACES, SOURCES, TABLED, "en", first=()))
    assert [each["name"] for each in shown][:2] == ["Kiasma", "Oodi"], "a table's rows are first"


def test_a_message_says_of_a_card_behind_a_paragraph_that_it_is_told_there() -> None:
    told = {each["name"]: each.get("told") for each in told_in_bullets(finished(CHOICE))}
    assert told["Oodi"] == told["Ateneum"] == []
    assert told["Kiasma"]
    assert told["Suomen Pankin rahamuseo"] is None


@pytest.mark.parametrize(
    ("name", "english", "language", "shown"),
    [
        ("Ateneum", "ATENEUM", "en", ("ATENEUM", "")),
        ("Oodi", "Библиотека Oodi", "ru", ("Библиотека Oodi", "")),
        ("Rahamuseo", "Музей Банка", "ru", ("Музей Банка", "Rahamuseo")),
        ("Oodi", "Oodi Library", "zh", ("Oodi", "")),
    ],
)
def test_the_name_on_the_spot_stands_beside_another_one_once(
    name: str, english: str, language: Language, shown: tuple[str, str]
) -> None:
    place = Place(**{**export_samples.place(1, name), "name_en": english})
    card = card_of(place, language)
    assert (card.name, card.local) == shown
    assert local_name(place, language) == shown[1]
    assert titled_name(place, language) == " · ".join(filter(None, shown))


@pytest.mark.parametrize(
    ("local", "chinese", "shown"),
    [("Oodi", "Oodi 图书馆", "Oodi 图书馆"), ("Ateneum", "ateneum", "Ateneum"),
     ("Kauppatori", "集市广场", "集市广场 (Kauppatori)")],
)  # fmt: skip
def test_a_chinese_name_that_has_the_local_one_in_it_stands_alone(
    local: str, chinese: str, shown: str
) -> None:
    assert name_of({"name": local, "names": {"zh": chinese}}, "zh") == shown


def test_a_list_has_all_places_where_the_text_has_cards_of_few() -> None:
    """Two of a report's twenty places were on the map and not in the list."""
    text = f"- **Kiasma**: modern art {cite(4)}.\n\nOodi, Ateneum, Annantalo."
    assert names(text) == ["Kiasma"]
    assert html_page(finished(text)).count('<span class="number">') == len(PLACES)
