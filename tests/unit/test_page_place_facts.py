"""The page words places as the server does: one figure, one text, on both sides."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent.evidence.records import cost_text, owners, telephone
from agent.evidence.types import Place
from agent.export.finished import metres, rating
from agent.export.svg_map import nice_step
from agent.texts import LANGUAGES, say
from tests.unit.page_node import page_environment

NODE = shutil.which("node")
PAGE = Path(__file__).parents[2] / "src/agent/page/js/map"

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node")

_SCRIPT = """
import * as here from %s;
import * as words from %s;
const { lengths, places } = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify({
  metres: lengths.map((length) => words.metres(length)),
  steps: lengths.slice(1).map(here.niceStep),
  facts: places.map((place) => [words.rating(place),
    ...["zh", "en"].map((language) => words.cost(place, language))]),
  phones: places.map(words.telephone),
  attribution: ["zh", "en"].map((language) =>
    words.credit([{ id: "amap:B1" }, { id: "osm:node/1" }], language)),
}));
"""


def _places() -> list[Place]:
    facts: list[dict[str, Any]] = [
        {"rating": 4.5, "cost": 40.0, "mentioned": False, "phone": "+358 9 1234-567; 112"},
        {"rating": 5.0, "cost": 12.5, "phone": "javascript:alert(1)", "mentioned": True},
        {"rating": None, "cost": None, "mentioned": False},
        {"rating": 3.75, "cost": 1280.0, "phone": "1234567890123456", "mentioned": True},
        {"rating": 4.0, "cost": 300.0, "per_head": False, "mentioned": True},
        {"rating": 4.0, "cost": 300.0, "per_head": False, "per_night": True, "mentioned": True},
        {"rating": None, "cost": 40.0, "currency": "CHF", "mentioned": True},
    ]
    return [Place(id=str(number), **fact) for number, fact in enumerate(facts)]  # type: ignore[typeddict-item]


PLACES = _places()
LENGTHS = [0, *range(50, 10_000, 50), 999, 9_949, 9_951, 10_500, 11_500, 99_999, 1_234_567]


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's modules make of the same input, by one start of Node."""
    modules = [json.dumps((PAGE / name).as_uri()) for name in ("coordinates.js", "place_facts.js")]
    given = json.dumps({"lengths": LENGTHS, "places": PLACES})
    command = [NODE or "", "--input-type=module", "-e", _SCRIPT % tuple(modules)]
    done = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=page_environment(),
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_both_word_lengths_and_choose_steps_alike(page: dict[str, Any]) -> None:
    assert page["metres"] == [metres(length, "en") for length in LENGTHS]
    assert page["steps"] == [nice_step(length) for length in LENGTHS[1:]]


def test_both_word_places_alike(page: dict[str, Any]) -> None:
    expected = [
        [rating(place, "en"), *(cost_text(place, language) for language in LANGUAGES)]
        for place in PLACES
    ]
    assert page["facts"] == expected


def test_both_find_the_same_telephone_in_a_record(page: dict[str, Any]) -> None:
    assert page["phones"] == [telephone(place) for place in PLACES]
    assert [*filter(None, page["phones"])] == ["+358 9 1234-567"]


def test_both_name_the_same_owner_of_the_data(
    page: dict[str, Any],
) -> None:
    assert page["attribution"] == [
        say("records.attribution", language, maps=owners(["amap", "osm"], language))
        for language in LANGUAGES
    ]
