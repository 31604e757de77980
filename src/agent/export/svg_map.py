"""Draw a map of points as one SVG: grid, scale, numbered pins. No tiles, no script."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, product
from math import cos, hypot, log10, pi, radians, sin
from typing import Any

from agent.core.strings import is_wide, without_open_bracket
from agent.evidence.geo import EARTH_RADIUS_M
from agent.evidence.markdown import open_url
from agent.evidence.mentions import day_ends, places_of
from agent.evidence.names import map_name
from agent.evidence.types import Place
from agent.export.finished import FinishedAnswer, by_mention, metres
from agent.export.geojson import has_sane_axes, lines_of
from agent.texts import Language, is_chinese, say

Pixel = tuple[float, float]

_WIDE, _NARROW, _LINE = 13.0, 7.2, 14.0
_LONGEST = 180.0
_ASLANT = (-31, 1, 14)
"""From a pin's tip to the line of a name that stands beside it, above or below its middle."""
_WORD = re.compile(r"[!-~\u00a1-\u024f]+[，。；：、！？）”]* ?|.[，。；：、！？）”]*")
"""A Latin word, or another sign, with the marks that may not begin a line."""


@dataclass(frozen=True)
class Box:
    """Hold a rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not apart and not (self.bottom <= other.top or other.bottom <= self.top)

    def on(self, *ways: Sequence[Pixel]) -> bool:
        """Return whether a line over the points of one of these goes through it."""
        return any(self._is_cut(*ends) for way in ways for ends in pairwise(way))

    def _is_cut(self, begin: Pixel, end: Pixel) -> bool:
        (x1, y1), (x2, y2) = begin, end
        around = Box(min(x1, x2) - 1, min(y1, y2) - 1, max(x1, x2) + 1, max(y1, y2) + 1)
        corners = product((self.left, self.right), (self.top, self.bottom))
        sides = {(x - x1) * (y2 - y1) > (y - y1) * (x2 - x1) for x, y in corners}
        return self.meets(around) and len(sides) > 1


@dataclass(frozen=True)
class Label:
    text: str
    x: float
    y: float
    align: str
    box: Box


def place_labels(
    names: Sequence[tuple[str, Pixel]],
    boxes: list[Box],
    *ways: Sequence[Pixel],
    size: float = 1,
) -> list[Label]:
    """Return the names that have room beside their pins, and take it; `boxes` are what is drawn.

    They keep off the `ways`, lines over stops, where they can. A long name is cut, unless the whole
    has room as well once all are placed. `size` is that of the letters beside the usual one.
    """
    labels: list[tuple[str, Pixel, Label]] = []
    for name, pin in names:
        if label := next(_labels(_shorten(name), pin, boxes, ways, size), None):
            labels.append((" ".join(name.split()), pin, label))
            boxes.append(label.box)
    for at, (name, pin, cut) in enumerate(labels):
        others = [box for box in boxes if box is not cut.box]
        whole = next(_labels(name, pin, others, ways, size), cut)
        if cut.text != name and (cut.box.on(*ways) or not whole.box.on(*ways)):
            boxes[boxes.index(cut.box)] = whole.box
            labels[at] = (name, pin, whole)
    return [label for *_, label in labels]


def _labels(
    text: str, pin: Pixel, boxes: Sequence[Box], ways: Sequence[Sequence[Pixel]], size: float
) -> Iterator[Label]:
    """Yield where a text has room around the pin whose tip is at `pin`, the best place first."""
    x, y = pin
    width, high = text_width(text) * size, (_LINE - 2) * size
    spots = (
        ("start", x + 15, y - 15, x + 15),
        ("end", x - 15, y - 15, x - 15 - width),
        ("middle", x, y + 17, x - width / 2),
        ("middle", x, y - 36, x - width / 2),
        *(("start", x + 14, y + at, x + 14) for at in _ASLANT),
        *(("end", x - 14, y + at, x - 14 - width) for at in _ASLANT),
    )
    free = list[Label]()
    for align, at_x, at_y, left in spots:
        box = Box(left, at_y - high, left + width, at_y + 3 * size)
        inside = box.left >= 2 and box.right <= WIDTH - 2
        inside = inside and box.top >= 2 and box.bottom <= HEIGHT - 2
        if text and inside and not any(box.meets(other) for other in boxes):
            free.append(Label(text, at_x, at_y, align, box))
    yield from sorted(free, key=lambda label: label.box.on(*ways))


def text_width(text: str) -> float:
    """Return the rough width in pixels at the size of the map's labels."""
    return sum(_WIDE if is_wide(c) else _NARROW for c in text)


def wrap(text: str, width: float) -> list[str]:
    """Return a text in lines of at most that many pixels; Latin words stay whole if they fit."""
    lines: list[str] = []
    for word in _WORD.findall(" ".join(text.split())):
        pieces = [word] if text_width(word) <= width else list(word)
        for piece in pieces:
            if not lines or text_width((lines[-1] + piece).rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return [line.strip() for line in lines]


def _shorten(name: str) -> str:
    whole = " ".join(name.split())
    if text_width(whole) <= _LONGEST:
        return whole
    cut = whole[: int(_LONGEST / _NARROW)]
    while cut and text_width(cut + "…") > _LONGEST:
        cut = cut[:-1]
    # A Latin word that is cut goes whole, where another one stands before it.
    if cut[-1:].isascii() and whole[len(cut)].isascii() and whole[len(cut)].isalnum():
        cut = cut.rpartition(" ")[0] or cut
    return without_open_bracket(cut.rstrip()) + "…"


WIDTH, HEIGHT = 720.0, 440.0
_MARGIN = 56.0
_SMALLEST_SPAN_M = 300.0
_PIN_GAP = 22.0
_SAME_M = (2.0, 100.0)
"""Within which an end of a way is the place that has a pin; the second of one name."""
_ON_PHONES = 2.2
"""How much wider than others the names of marks are on a narrow screen: bold, too (`page.css`)."""
_METRES_PER_DEGREE = EARTH_RADIUS_M * pi / 180


@dataclass(frozen=True)
class Pin:
    """Hold a point in WGS-84 degrees; `number` is what the list below calls it."""

    lng: float
    lat: float
    name: str
    number: int
    url: str | None = None
    strong: bool = True


@dataclass(frozen=True)
class DrawnWay:
    """Hold a way as a map shows it: [lng, lat] of its line, and where it begins and ends."""

    line: Sequence[Sequence[float]]
    ends: Sequence[Pin]
    is_straight: bool
    """Nobody has told how it goes: a line from stop to stop."""


def numbered_places(answer: FinishedAnswer) -> list[tuple[int, Place]]:
    """Return the places with their numbers on the map, those that the answer names first."""
    ordered = enumerate(by_mention(answer.places), start=1)
    return [(place.get("number", index), place) for index, place in ordered]


def pins_of(answer: FinishedAnswer) -> list[Pin]:
    """Return the places of an answer as points; those that it does not name are faint."""
    return [
        Pin(**place["wgs84"], name=map_name(place, answer.language), number=number,
            url=place["url"], strong=place["mentioned"])
        for number, place in numbered_places(answer)
        if has_sane_axes(place)
    ]  # fmt: skip


def planned_stops(answer: FinishedAnswer) -> int:
    """Return the number of stops of a planned day: they are the first places, in their order."""
    return sum("place" in stop for stop in answer.outing["stops"]) if answer.outing else 0


def drawn_ways(answer: FinishedAnswer) -> list[DrawnWay]:
    """Return the ways of an answer; those of a planned day are its line over the stops.

    Of it only those from and to its named ends are others.
    """
    ways = [*_day_ways(answer)]
    for stops, line in [] if answer.outing else lines_of(answer.routes):
        ends = [Pin(**stop["wgs84"], name=_read(stop, answer), number=0) for stop in stops]
        straight = [[end.lng, end.lat] for end in ends]
        ways.append(DrawnWay(line or straight, [ends[0], ends[-1]], is_straight=not line))
    return ways


def _day_ways(answer: FinishedAnswer) -> Iterator[DrawnWay]:
    """Yield the straight lines between a day's named ends and its first and last stop."""
    places = {place["id"]: place for place in answer.places if has_sane_axes(place)}
    stops = [places[id]["wgs84"] for id in places_of(answer.outing) if id in places]
    for end, stop in zip(day_ends(answer.outing), stops[:1] + stops[-1:], strict=False):
        if end:
            line = [[point["lng"], point["lat"]] for point in (end["wgs84"], stop)]
            yield DrawnWay(line, [Pin(**end["wgs84"], name=end["name"], number=0)], True)


def _read(stop: Mapping[str, Any], answer: FinishedAnswer) -> str:
    english = "" if is_chinese(answer.language) else stop.get("name_en")
    return str(english or stop.get("name", ""))


def anchor_of(answer: FinishedAnswer) -> Pin | None:
    """Return the place that the others lie around, where the collection of the run names it."""
    for feature in (answer.geojson or {}).get("features", []):
        if feature["properties"].get("role") == "anchor":
            lng, lat = feature["geometry"]["coordinates"]
            return Pin(lng, lat, name=_read(feature["properties"], answer), number=0)
    return None


def drawn_pins(answer: FinishedAnswer) -> tuple[list[Pin], Pin | None]:
    """Return what a map of an answer shows beside its ways; no pins where it has one point.

    That lies by nothing.
    """
    pins, anchor = pins_of(answer), anchor_of(answer)
    is_map = len(pins) + bool(anchor) > 1 or drawn_ways(answer)
    return (pins if is_map else [], anchor if pins else None)


@dataclass(frozen=True)
class Frame:
    """Hold an equirectangular projection around the middle of what is shown."""

    lng: float
    lat: float
    pixels_per_metre: float

    def project(self, lng: float, lat: float) -> Pixel:
        """Return pixels from the upper left corner."""
        east, north = _metres_from(self.lng, self.lat, lng, lat)
        scale = self.pixels_per_metre
        return WIDTH / 2 + east * scale, HEIGHT / 2 - north * scale

    def line(self, way: DrawnWay) -> list[Pixel]:
        return [self.project(lng, lat) for lng, lat, *_ in way.line]


def draw_map(
    pins: Sequence[Pin],
    language: Language,
    anchor: Pin | None = None,
    *,
    path: int = 0,
    ways: Sequence[DrawnWay] = (),
) -> str:
    """Return the drawing, or an empty text when there is nothing to draw.

    The first `path` pins are joined in their order, by straight lines.
    """
    marks = marks_of(pins, anchor, ways)
    if not (pins or marks):
        return ""
    frame = frame_of([*pins, *marks], ways)
    spots = spread([frame.project(pin.lng, pin.lat) for pin in pins])
    boxes = [Box(x - 13, y - 32, x + 13, y + 4) for x, y in spots]
    boxes += [NORTH, scale_box(frame)]
    lines = [frame.line(way) for way in ways]
    lines.append([frame.project(pin.lng, pin.lat) for pin in pins[:path]])
    straight = [*(way.is_straight for way in ways), True]
    parts = [_grid(frame), *map(_path, lines, straight)]
    parts += _marks(frame, marks, boxes, lines)
    for pin, spot in reversed(list(zip(pins, spots, strict=True))):
        parts.append(_pin(pin, spot, frame.project(pin.lng, pin.lat)))
    named = [(pin.name, spot) for pin, spot in zip(pins, spots, strict=True)]
    parts += map(_label, place_labels(named, boxes, *lines))
    parts.append(_legend(frame, language))
    title = escape(say("export.map", language))
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )


def nice_step(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is not above `value`."""
    power: float = 10.0 ** int(log10(value) // 1)
    return next(factor * power for factor in (5, 2, 1) if factor * power <= value * 1.0000001)


def _metres_from(lng0: float, lat0: float, lng: float, lat: float) -> tuple[float, float]:
    east = (lng - lng0 + 540) % 360 - 180
    return (
        east * _METRES_PER_DEGREE * cos(radians(lat0)),
        (lat - lat0) * _METRES_PER_DEGREE,
    )


def marks_of(pins: Sequence[Pin], anchor: Pin | None, ways: Sequence[DrawnWay]) -> list[Pin]:
    """Return what is marked without a number, each once: what all lies around, the ends of ways."""
    marks = [anchor] if anchor else []
    for end in (end for way in ways for end in way.ends):
        if not any(_is_same(end, pin) for pin in (*pins, *marks)):
            marks.append(end)
    return marks


def _is_same(one: Pin, other: Pin) -> bool:
    apart = hypot(*_metres_from(one.lng, one.lat, other.lng, other.lat))
    return apart <= _SAME_M[one.name == other.name]


def frame_of(pins: Sequence[Pin], ways: Sequence[DrawnWay] = ()) -> Frame:
    """Return the projection that shows every pin and way within the margins."""
    first = pins[0]
    points = [(pin.lng, pin.lat) for pin in pins]
    points += [(lng, lat) for way in ways for lng, lat, *_ in way.line]
    # Longitudes relative to the first pin, so that the date line is no border.
    lngs = [first.lng + (lng - first.lng + 540) % 360 - 180 for lng, _ in points]
    lats = [lat for _, lat in points]
    lng, lat = (min(lngs) + max(lngs)) / 2, (min(lats) + max(lats)) / 2
    east, north = _metres_from(lng, lat, max(lngs), max(lats))
    wide, high = max(2 * east, _SMALLEST_SPAN_M), max(2 * north, _SMALLEST_SPAN_M)
    scale = min((WIDTH - 2 * _MARGIN) / wide, (HEIGHT - 2 * _MARGIN) / high)
    return Frame(lng, lat, scale)


def spread(spots: Sequence[Pixel]) -> list[Pixel]:
    """Move pins that lie on each other apart, outwards in a spiral."""
    placed: list[Pixel] = []
    for x, y in spots:
        for turn in range(60):
            radius, angle = 4.0 * turn, 2.4 * turn
            spot = (x + radius * cos(angle), y + radius * sin(angle))
            inside = 14 <= spot[0] <= WIDTH - 14 and 34 <= spot[1] <= HEIGHT - 6
            if inside and all(hypot(spot[0] - p[0], spot[1] - p[1]) >= _PIN_GAP for p in placed):
                break
        placed.append(spot)
    return placed


def grid_lines(frame: Frame) -> tuple[list[float], list[float]]:
    """Return where lines every nice number of metres stand and lie; one goes through the middle."""
    step = nice_step(WIDTH / 6 / frame.pixels_per_metre) * frame.pixels_per_metre
    counts = [(size, int(size / 2 / step)) for size in (WIDTH, HEIGHT)]
    across, down = ([size / 2 + at * step for at in range(-n, n + 1)] for size, n in counts)
    return across, down


def scale_bar(frame: Frame) -> tuple[str, float]:
    """Return a nice length in words and in pixels."""
    length = nice_step(150 / frame.pixels_per_metre)
    return metres(length, "en"), length * frame.pixels_per_metre


def _grid(frame: Frame) -> str:
    across, down = grid_lines(frame)
    lines = [f"M{at:.1f} 0V{HEIGHT:.0f}" for at in across]
    lines += [f"M0 {at:.1f}H{WIDTH:.0f}" for at in down]
    background = f'<rect class="ground" width="{WIDTH:.0f}" height="{HEIGHT:.0f}"/>'
    return f'{background}<path class="grid" d="{"".join(lines)}"/>'


def _path(way: Sequence[Pixel], is_straight: bool) -> str:
    if len(way) < 2:
        return ""
    points = " L".join(f"{x:.1f} {y:.1f}" for x, y in way)
    return f'<path class="{"path" if is_straight else "road"}" d="M{points}"/>'


def _marks(
    frame: Frame, marks: Sequence[Pin], boxes: list[Box], lines: Sequence[Sequence[Pixel]]
) -> Iterator[str]:
    """Yield a ring with a dot for each mark, and its name with the room it needs on a phone."""
    spots = [frame.project(mark.lng, mark.lat) for mark in marks]
    boxes += [Box(x - 9, y - 9, x + 9, y + 9) for x, y in spots]
    for mark, (x, y) in zip(marks, spots, strict=True):
        yield f'<circle class="anchor" cx="{x:.1f}" cy="{y:.1f}" r="7"/>'
        yield f'<circle class="anchor-dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'
        named, kind = [(mark.name, (x, y + 14))], "label anchor-label"
        large = place_labels(named, boxes, *lines, size=_ON_PHONES)
        for label in large or place_labels(named, boxes, *lines):
            yield _label(label, kind if large else "label")


def _pin(pin: Pin, spot: Pixel, true: Pixel) -> str:
    x, y = spot
    leader = ""
    if hypot(x - true[0], y - true[1]) > 1:
        leader = f'<path class="leader" d="M{true[0]:.1f} {true[1]:.1f}L{x:.1f} {y:.1f}"/>'
    kind = "pin" if pin.strong else "pin faint"
    shape = (
        f'<g transform="translate({x:.1f} {y:.1f})"><g class="{kind}"><title>{escape(pin.name)}'
        '</title><path d="M0 0C-3-9-11-12-11-20a11 11 0 0 1 22 0C11-12 3-9 0 0Z"/>'
        f'<text y="-16" text-anchor="middle">{pin.number}</text></g></g>'
    )
    if url := open_url(pin.url or ""):
        shape = f'<a href="{escape(url)}" target="_blank" rel="noopener nofollow ugc">{shape}</a>'
    return leader + shape


def _label(label: Label, kind: str = "label") -> str:
    """Return a name beside its pin."""
    return (
        f'<text class="{kind}" x="{label.x:.1f}" y="{label.y:.1f}" '
        f'text-anchor="{label.align}">{escape(label.text)}</text>'
    )


NORTH = Box(WIDTH - 42, 8, WIDTH - 14, 64)
"""Where the arrow stands."""
_SCALE = (20.0, HEIGHT - 20)


def scale_box(frame: Frame) -> Box:
    """Return where the bar of a length stands, with its words."""
    (x, y), (_, pixels) = _SCALE, scale_bar(frame)
    return Box(x - 6, y - 32, x + pixels + 6, y + 6)


def _legend(frame: Frame, language: Language) -> str:
    """Return a bar of a nice length, and where north is."""
    words, pixels = scale_bar(frame)
    x, y = _SCALE
    bar = f'<path class="scale" d="M{x} {y - 6}V{y}H{x + pixels:.1f}V{y - 6}"/>'
    scale = f'<text class="scale-text" x="{x + 6}" y="{y - 8}">{words}</text>'
    arrow = f'<path class="north" d="M{WIDTH - 28} 38V14l-5 8m5-8l5 8"/>'
    north = escape(say("export.north", language))
    name = f'<text class="scale-text" x="{WIDTH - 28}" y="58" text-anchor="middle">{north}</text>'
    return bar + scale + arrow + name
