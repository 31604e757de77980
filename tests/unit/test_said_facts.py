"""A card leaves out what the words beside it say; of these goes no more than the place's name."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent.evidence.types import Place, Source
from agent.export.bullet_names import name_in
from agent.export.markdown import told_in_bullets
from agent.export.place_cards import card_of
from agent.texts import Language
from tests.support.rows import by_examples, rows
from tests.unit import export_samples
from tests.unit.page_node import page_environment

NODE = shutil.which("node")
MODULE = Path(__file__).parents[2] / "src/agent/page/js/map/bullet_names.js"
ROWS = rows("said_facts")
_SCRIPT = """
import { nameIn } from %s;
const rows = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(rows.map(([text, place]) => nameIn(text, place))));
"""


def cite(number: int) -> str:
    return f"[{number}](https://map.example/{number})"


def told(text: str, *places: Place, language: Language = "zh") -> list[Place]:
    """The places of an answer, each with the source that has its number."""
    records = [
        Source(**{**export_samples.source(n, f"https://map.example/{n}"), "id": each["source"],
                  "kind": "place"})
        for n, each in enumerate(places, 1)
    ]  # fmt: skip
    web = export_samples.source(len(places) + 1, f"https://map.example/{len(places) + 1}")
    cited = re.sub(r"\[(\d)\]", lambda number: cite(int(number[1])), text)
    return told_in_bullets(export_samples.answer(
        answer=cited, places=[*places], sources=[*records, web], language=language, notice="",
    ))  # fmt: skip


def made(number: int = 1, **changed: Any) -> Place:
    return export_samples.place(number, source=f"a0-{number}", **changed)


def shown(text: str) -> str:
    """A bullet's text as the page has it."""
    return text.replace("**", "").replace("[", "").replace("]", "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['language']} {row['text'][:40]}")
def test_a_card_leaves_out_the_facts_whose_figures_its_bullet_has_and_of_this_goes_the_name(
    row: dict[str, Any],
) -> None:
    [place] = told(f"- {row['text']}", made(**row["place"]), language=row["language"])
    bullet = shown(row["text"])
    parts: list[Any] = [*place["told"]]
    for at, said in reversed(parts):
        assert bullet.startswith(said, at)
        bullet = bullet[:at] + bullet[at + len(said) :]
    assert (place["said"], bullet) == (row["said"], row["kept"])


@pytest.mark.parametrize("field", ["distance", "rating", "cost", "hours", "phone", "address"])
def test_a_card_without_a_field_has_all_the_others_and_its_verdicts(field: str) -> None:
    verdict = {"constraint": "other", "verdict": "unknown", "field": "category", "text": "安静"}
    place = made(phone="010-65123456", verdicts=[verdict])
    whole, card = card_of(place, "zh"), card_of(place, "zh", said=[field])
    gone = {*whole.facts, whole.address} - {*card.facts, card.address}
    assert len(gone) == 1
    assert (card.ticks, card.demands) == (whole.ticks, whole.demands) != ((), ())
    assert (card.phone == "") == (field == "phone")


def test_a_card_whose_facts_are_all_told_does_not_say_what_its_place_is() -> None:
    rated = made(distance_m=None, cost=None, open_time=None)
    assert card_of(rated, "zh", said=["rating"]).facts == ()


def test_of_a_text_what_is_told_of_another_place_is_not_told_of_this_one() -> None:
    """The café beside a bookshop has the shop's hours."""
    shop, other = made(name="Oodi"), made(2, name="Kiasma", distance_m=900)
    [first, second] = told("- **Oodi**：安静[1]；Kiasma 900 m，★4.6[2]", shop, other)
    assert (first["said"], second["said"]) == ([], ["distance", "rating"])
    [first, second] = told("Oodi 220 m，10:00-22:00[1]，Kiasma ★4.6[2]", shop, other)
    assert (first["said"], second["said"]) == (["distance", "hours"], ["rating"])
    assert first["told"] == second["told"] == []


def test_what_a_page_says_of_a_place_counts_as_told_of_it() -> None:
    assert told("- **Oodi**：安静[1]。一篇游记说★4.6[2]", made(name="Oodi"))[0]["said"] == [
        "rating"
    ]


def test_a_place_that_the_text_does_not_tell_has_all_its_facts() -> None:
    [_, listed] = told("- **Oodi**：★4.6[1]", made(name="Oodi"), made(2, name="Kiasma"))
    assert not {"told", "said"} & listed.keys()


def test_a_line_of_a_bullet_stays_a_line() -> None:
    [place] = told("先看：\n\n- **儿童乐园**：\n  门口可停车[1]。\n- 再说", made())
    assert place["told"] == [[0, "儿童乐园：\n"]]


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_the_page_finds_names_at_the_front_of_bullets_alike() -> None:
    assert NODE is not None
    texts = [(shown(row["text"]), made(**row["place"])) for row in ROWS]
    texts += [
        (text, made())
        for text in (
            "从王府井站到儿童乐园再往北",
            "2. 儿童乐园",
            "儿童乐园",
            "步行：儿童乐园 → 书店",
            "儿童乐园 → 9:00",
        )
    ]
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", _SCRIPT % json.dumps(MODULE.as_uri())],
        input=json.dumps(texts), capture_output=True, text=True,
        check=False, timeout=60, env=page_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    spans = [name_in(text, place) for text, place in texts]
    assert json.loads(done.stdout) == [[*span] if span else None for span in spans]


@by_examples
def test_steps_with_other_numbers_than_pins_and_sums_are_no_cards(
    text: str, cards: list[str]
) -> None:
    numbers = {"儿童乐园": 2, "书店": 3}
    places = [Place(**{**export_samples.place(number, name), "number": number})
              for name, number in numbers.items()]  # fmt: skip
    shown = told_in_bullets(export_samples.answer(answer=text, places=places))
    assert {place["name"] for place in shown if "told" in place} == {*cards}


def test_a_card_that_has_no_facts_says_what_its_place_is() -> None:
    """Senaatintori was a square in the text, and a tram stop on the map."""
    bare = dict.fromkeys(("distance_m", "rating", "cost", "open_time"))
    stop = Place(**{**export_samples.place(1), **bare, "category": "tram stop"})  # type: ignore[typeddict-item]
    assert card_of(stop, "en").facts == ("tram stop",)
    assert "tram stop" not in card_of(Place(**{**stop, "distance_m": 300}), "en").facts
