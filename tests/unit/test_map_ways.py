"""A way on the maps of files: its line, its ends by name; names keep off what else is drawn."""

import re

from reportlab.graphics.shapes import Drawing, PolyLine

from agent.evidence.types import Anchor, Point, Route
from agent.export.html import html_page
from agent.export.pdf_map import map_drawing
from agent.export.pdf_text import register_fonts
from agent.export.svg_map import NORTH, Box, Pin, draw_map, drawn_ways, marks_of, text_width
from agent.export.word_map import svg_file
from tests.unit.export_samples import answer

STATION = Anchor(
    name="Rautatieasema", name_en="ヘルシンキ中央駅", wgs84=Point(lng=116.40, lat=39.9)
)
SHOP = Anchor(name="Kirjakauppa", wgs84=Point(lng=116.42, lat=39.9))


def way(*line: list[float]) -> Route:
    return Route(
        id="osm:1", mode="walking", origin="a", destination="b", distance_m=461, duration_s=355,
        steps=[], url="https://example.org", source="a0-0", fetched_at="", ends=[STATION, SHOP],
        line=[*line],
    )  # fmt: skip


CROOKED = way([116.40, 39.9], [116.41, 39.905], [116.42, 39.9])


def test_a_way_is_on_the_map_with_its_line_and_its_ends() -> None:
    """The way was the question: the map had neither it nor the station nor the bookshop."""
    page = html_page(answer(places=[], routes=[CROOKED], language="ja"))
    (line,) = re.findall(r'<path class="road" d="M([^"]+)"', page)
    assert line.count("L") == 2
    assert page.count('class="anchor-dot"') == 2
    assert re.findall(r'anchor-label"[^>]*>([^<]+)<', page) == ["ヘルシンキ中央駅", "Kirjakauppa"]


def test_a_way_without_a_line_is_dashed_as_what_is_straight() -> None:
    page = html_page(answer(routes=[way()]))
    assert '<path class="path"' in page
    assert 'class="road"' not in page


def test_an_end_that_has_a_pin_is_marked_by_it_alone() -> None:
    pin = Pin(116.42, 39.9001, "Kirjakauppa", 1)
    ways = drawn_ways(answer(routes=[CROOKED]))
    assert [mark.lng for mark in marks_of([pin], None, ways)] == [116.40]
    station = Pin(116.40, 39.9, "station", 0)
    assert marks_of([pin], station, ways) == [station]
    beside = Pin(116.42, 39.90005, "Café Aalto", 1)
    assert len(marks_of([beside], None, ways)) == 2


def test_word_and_pdf_have_the_way_too() -> None:
    register_fonts()
    ways = drawn_ways(answer(routes=[CROOKED]))
    assert b'stroke-linejoin="round"' in svg_file([], "en", ways=ways)
    drawing: Drawing = map_drawing([], width=482, ways=ways)
    lines = [len(each.points) for each in drawing.contents if isinstance(each, PolyLine)]
    assert 6 in lines


def test_the_centre_s_name_has_the_room_that_its_larger_letters_need_on_a_phone() -> None:
    """ "Сенатская площадь" lost its end at 390 pixels."""
    name = "Сенатская площадь"
    anchor = Pin(116.42, 39.9, name, 0)
    drawn = draw_map([Pin(116.40, 39.9, "west", 1)], "ru", anchor)
    ((x, align),) = re.findall(r'anchor-label" x="([\d.]+)" y="[\d.]+" text-anchor="(\w+)"', drawn)
    bold = 1.25
    wide, at = text_width(name) * bold * 22 / 13, float(x)
    left = {"start": at, "middle": at - wide / 2, "end": at - wide}[align]
    assert left >= 0
    assert left + wide <= 720


def test_a_name_stands_beside_the_arrow_to_the_north() -> None:
    """A museum's name ran into it."""
    name = "Bank of Finland Museum"
    pins = [Pin(116.40, 39.9, "west", 1), Pin(116.416, 39.909, name, 2)]
    pins += [Pin(116.4185, 39.9, "east", 3)]
    drawn = draw_map(pins, "en")
    ((x, y, align),) = re.findall(
        rf'class="label" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">{name}', drawn
    )
    wide, at = text_width(name), float(x)
    left = {"start": at, "middle": at - wide / 2, "end": at - wide}[align]
    assert not NORTH.meets(Box(left, float(y) - 12, left + wide, float(y) + 3))
