"""The page computes and words places as the server does: one figure, one text, on both sides."""

import json
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

from agent.evidence.geo import distance_m, gcj02_to_wgs84, wgs84_to_gcj02
from agent.evidence.types import Place
from agent.export.finished import by_mention, cost, metres, rating
from agent.export.svg_map import nice_step
from agent.texts import Language, say
from tests.support.page_node import page_environment

NODE = shutil.which("node")
PAGE = Path(__file__).parents[2] / "src/agent/page/js/map"
PRECISION = 1e-9
LANGUAGES: tuple[Language, ...] = get_args(Language)

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node")

_SCRIPT = """
import * as here from %s;
import * as words from %s;
const { points, lengths, places } = JSON.parse(await new Response(process.stdin).text());
const pair = ({ lng, lat }) => [lng, lat];
const spots = points.map(([lng, lat]) => ({ lng, lat }));
console.log(JSON.stringify({
  gcj02: spots.map((spot) => pair(here.wgs84ToGcj02(spot))),
  wgs84: spots.map((spot) => pair(here.gcj02ToWgs84(spot))),
  distances: spots.map((spot, index) => here.distance(spot, spots[(index + 1) %% spots.length])),
  metres: lengths.map(words.metres),
  steps: lengths.slice(1).map(here.niceStep),
  facts: places.map((place) => [words.rating(place),
    ...["zh", "en"].map((language) => words.cost(place, language))]),
  order: words.byMention(places).map((place) => place.id),
  attribution: ["zh", "en"].map((language) => words.credit([{}], language)),
}));
"""


def _points() -> list[tuple[float, float]]:
    """Two hundred: in China, around it, at the edges of the box, elsewhere."""
    random = Random(6)
    china = [(random.uniform(73, 135), random.uniform(3, 54)) for _ in range(150)]
    world = [(random.uniform(-180, 180), random.uniform(-90, 90)) for _ in range(42)]
    edges = [(72.004, 0.8293), (72.0039, 20.0), (137.8347, 55.8271), (137.8348, 55.0)]
    near = [(105.0, 35.0), (116.404, 39.915), (114.158, 22.279), (121.5, 25.03)]
    return china + world + edges + near


def _places() -> list[Place]:
    facts: list[dict[str, Any]] = [
        {"rating": 4.5, "cost": 40.0, "mentioned": False},
        {"rating": 5.0, "cost": 12.5, "mentioned": True},
        {"rating": None, "cost": None, "mentioned": False},
        {"rating": 3.75, "cost": 1280.0, "mentioned": True},
    ]
    return [Place(id=str(number), **fact) for number, fact in enumerate(facts)]  # type: ignore[typeddict-item]


POINTS, PLACES = _points(), _places()
LENGTHS = [0, *range(50, 10_000, 50), 999, 9_949, 9_951, 10_500, 11_500, 99_999, 1_234_567]


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's modules make of the same input, by one start of Node."""
    modules = [json.dumps((PAGE / name).as_uri()) for name in ("coordinates.js", "place_facts.js")]
    given = json.dumps({"points": POINTS, "lengths": LENGTHS, "places": PLACES})
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


def test_both_convert_two_hundred_points_alike(page: dict[str, Any]) -> None:
    assert len(POINTS) == 200
    for convert, told in ((wgs84_to_gcj02, page["gcj02"]), (gcj02_to_wgs84, page["wgs84"])):
        for point, (lng, lat) in zip(POINTS, told, strict=True):
            assert (lng, lat) == pytest.approx(convert(*point), rel=0, abs=PRECISION)


def test_both_measure_the_same_distances(page: dict[str, Any]) -> None:
    others = [*POINTS[1:], POINTS[0]]
    expected = [distance_m(a, b) for a, b in zip(POINTS, others, strict=True)]
    assert page["distances"] == pytest.approx(expected, abs=1e-3)


def test_both_word_lengths_and_choose_steps_alike(page: dict[str, Any]) -> None:
    assert page["metres"] == [metres(length) for length in LENGTHS]
    assert page["steps"] == [nice_step(length) for length in LENGTHS[1:]]


def test_both_word_and_order_places_alike(page: dict[str, Any]) -> None:
    expected = [
        [rating(place), *(cost(place, language) for language in LANGUAGES)] for place in PLACES
    ]
    assert page["facts"] == expected
    assert page["order"] == [place["id"] for place in by_mention(PLACES)]


def test_both_name_the_same_owner_of_the_data(
    page: dict[str, Any],
) -> None:
    assert page["attribution"] == [say("records.attribution", language) for language in LANGUAGES]
