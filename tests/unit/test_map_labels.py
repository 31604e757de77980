"""Names on the maps of files: whole where there is room, beside the line over the stops."""

from itertools import pairwise
from math import cos, sin
from xml.etree import ElementTree

import pytest
from reportlab.graphics.shapes import Drawing, PolyLine, Rect

from agent.export.pdf_map import map_drawing
from agent.export.pdf_text import register_fonts
from agent.export.svg_map import Box, Label, Pin, Pixel, draw_map, place_labels, text_width

DAY = [
    Pin(116.4155, 39.9085, "中国妇女儿童博物馆", 1),
    Pin(116.4076, 39.9082, "西贝莜面村(东方新天地店)", 2),
    Pin(116.4041, 39.9101, "乐高品牌旗舰店(北京王府井店)", 3),
    Pin(116.4041, 39.9122, "和平菓局", 4),
]
ENGLISH = [
    Pin(116.4155, 39.9085, "China National Museum of Women and Children", 1),
    Pin(116.4041, 39.9101, "LEGO Flagship Store Beijing Wangfujing", 2),
    Pin(116.4041, 39.9122, "Heping Guoju (old Beijing theme street)", 3),
]


def way_in(drawing: Drawing) -> list[Pixel]:
    [line] = [shape for shape in drawing.contents
              if isinstance(shape, PolyLine) and shape.strokeDashArray]  # fmt: skip
    return [*zip(line.points[::2], line.points[1::2], strict=True)]


@pytest.mark.parametrize("pins", [DAY, ENGLISH], ids=["zh", "en"])
def test_the_line_over_the_stops_goes_through_no_name(pins: list[Pin]) -> None:
    register_fonts()
    drawing = map_drawing(pins, width=482, path=len(pins))
    way = way_in(drawing)
    called = {pin.name for pin in pins}
    names = [shape for shape in drawing.contents if getattr(shape, "text", "") in called]
    assert len(names) == len(pins), "and none is cut"
    for name in names:
        assert not Box(*name.getBounds()).on(way), name.text


@pytest.mark.parametrize("pins", [DAY, ENGLISH], ids=["zh", "en"])
def test_no_name_of_a_page_s_map_is_cut_or_on_the_line(pins: list[Pin]) -> None:
    """Its pins stand on their tips: the line over the stops runs below their heads."""
    centre = Pin(116.4061, 39.9120, "王府井", 0)
    svg = ElementTree.fromstring(draw_map(pins, "zh", centre, path=len(pins)))
    [drawn] = (node.attrib["d"] for node in svg.iter() if node.get("class") == "path")
    way = [(float(x), float(y)) for x, y in map(str.split, drawn[1:].split("L"))]
    names = {node.text: node.attrib for node in svg.iter() if node.get("class") == "label"}
    assert {pin.name for pin in pins} <= names.keys()
    for name, at in names.items():
        x, y, wide = float(at["x"]), float(at["y"]), text_width(name or "")
        left = {"start": x, "end": x - wide, "middle": x - wide / 2}[at["text-anchor"]]
        assert not Box(left, y - 11, left + wide, y + 2).on(way), name


def only(name: str, boxes: list[Box], way: list[Pixel]) -> Label:
    [label] = place_labels([(name, (400.0, 200.0))], [*boxes], way)
    return label


NARROW = [Box(0, 0, 720, 170), Box(0, 190, 720, 440), Box(0, 0, 390, 440)]
"""What leaves room at the right of the pin alone."""


def test_a_name_stands_on_the_line_where_there_is_no_other_room() -> None:
    way = [(400.0, 200.0), (480.0, 160.0), (700.0, 180.0)]
    assert only("和平菓局", NARROW, way).box.on(way)


def test_a_line_that_a_name_must_stand_on_is_not_seen_there() -> None:
    register_fonts()
    pins = [Pin(116.4 + at * cos(at) / 9999, 39.9 + at * sin(at) / 9999, "东来顺", at)
            for at in range(30)]  # fmt: skip
    drawing = map_drawing(pins, width=482, path=len(pins))
    way, on = way_in(drawing), 0
    for before, shape in pairwise(drawing.contents):
        if getattr(shape, "text", "") == "东来顺" and Box(*shape.getBounds()).on(way):
            left, low, right, _ = shape.getBounds()
            under = before.getBounds()
            assert isinstance(before, Rect)
            assert under[0] <= left + 1
            assert right - 1 <= under[2]
            assert low <= under[3]
            on += 1
    assert on, "the case that is meant"


def test_a_name_is_rather_cut_than_written_over_the_line() -> None:
    long, way = "乐高品牌旗舰店北京王府井东方新天地二号店", [(620.0, 0.0), (620.0, 400.0)]
    assert only(long, NARROW, []).text == long
    label = only(long, NARROW, way)
    assert not label.box.on(way)
    assert label.text.endswith("…")


@pytest.mark.parametrize(("way", "is_on"), [
    ([(0.0, 0.0), (100.0, 0.0)], True),
    ([(50.0, -90.0), (50.0, 90.0)], True),
    ([(0.0, -90.0), (100.0, 90.0)], True),
    ([(45.0, 2.0), (55.0, 3.0)], True),
    ([(0.0, 20.0), (100.0, 20.0)], False),
    ([(0.0, 0.0), (20.0, 0.0)], False),
    ([(0.0, -20.0), (50.0, 60.0)], False),
    ([(20.0, 0.0), (20.0, 90.0), (90.0, 90.0)], False),
    ([(50.0, 0.0)], False),
    ([], False),
])  # fmt: skip
def test_a_line_is_on_a_box_that_it_goes_through(way: list[Pixel], is_on: bool) -> None:
    assert Box(30, -10, 70, 10).on(way) is is_on
