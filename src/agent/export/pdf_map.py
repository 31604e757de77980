"""Draw the map of an answer, and codes that open it on a phone, as vectors of a PDF."""

from collections.abc import Sequence

import segno
from reportlab.graphics.shapes import Circle, Drawing, Line, PolyLine, Rect, String
from reportlab.lib.colors import HexColor

from agent.export.pdf_text import CHINESE, LATIN, encodes, printable_text
from agent.export.svg_map import (
    HEIGHT,
    WIDTH,
    Box,
    DrawnWay,
    Frame,
    Label,
    Pin,
    Pixel,
    frame_of,
    grid_lines,
    marks_of,
    place_labels,
    scale_bar,
    scale_box,
    spread,
)

_GREY, _GROUND = "#5f6368", HexColor("#eef1ec")


def map_drawing(
    pins: Sequence[Pin],
    anchor: Pin | None = None,
    *,
    width: float,
    path: int = 0,
    ways: Sequence[DrawnWay] = (),
) -> Drawing:
    """Return numbered points in the projection of the other maps, the first `path` joined."""
    scale = width / WIDTH
    drawing = Drawing(width, HEIGHT * scale)
    drawing.add(Rect(0, 0, width, HEIGHT * scale, fillColor=_GROUND, strokeColor=_GROUND))
    marks = marks_of(pins, anchor, ways)
    if not (pins or marks):
        return drawing
    frame = frame_of([*pins, *marks], ways)
    _add_grid(drawing, frame, scale)
    spots = spread([frame.project(pin.lng, pin.lat) for pin in pins])
    green, faint, white = HexColor("#14746a"), HexColor("#8a9a96"), HexColor("#ffffff")
    lines = [*map(frame.line, ways), spots[: path if path > 1 else 0]]
    for line, is_straight in zip(lines, [*(w.is_straight for w in ways), True], strict=True):
        points = [part for x, y in line for part in (x * scale, (HEIGHT - y) * scale)]
        dashes = {"strokeDashArray": [4, 3]} if is_straight else {}
        if points:
            drawing.add(PolyLine(points, strokeColor=green, strokeWidth=1.5, **dashes))
    text = {"fontName": f"{LATIN}-Bold", "fontSize": 9, "textAnchor": "middle", "fillColor": white}
    boxes = [Box(x - 12, y - 12, x + 12, y + 12) for x, y in spots]
    ends = [frame.project(mark.lng, mark.lat) for mark in marks]
    boxes += [scale_box(frame), *(Box(x - 9, y - 9, x + 9, y + 9) for x, y in ends)]
    for mark, (x, y) in zip(marks, ends, strict=True):
        red = HexColor("#d2553c")
        for radius, fill in ((6, None), (2, red)):
            spot = Circle(x * scale, (HEIGHT - y) * scale, radius, fillColor=fill, strokeColor=red)
            drawing.add(spot)
        for label in place_labels([(printable_text(mark.name), (x, y + 14))], boxes, *lines):
            _add_label(drawing, label, scale, lines)
    for pin, (x, y) in zip(pins, spots, strict=True):
        across, up = x * scale, (HEIGHT - y) * scale
        colour = green if pin.strong else faint
        drawing.add(Circle(across, up, 8, fillColor=colour, strokeColor=white))
        drawing.add(String(across, up - 3, str(pin.number), **text))
    # A label's place is that beside the head of a pin, whose tip is below it.
    names = [(printable_text(p.name), (x, y + 19)) for p, (x, y) in zip(pins, spots, strict=True)]
    for label in place_labels(names, boxes, *lines):
        _add_label(drawing, label, scale, lines)
    return drawing


def _add_grid(drawing: Drawing, frame: Frame, scale: float) -> None:
    """Draw lines every nice number of metres, and a bar that says how many."""
    high, (across, down) = HEIGHT * scale, grid_lines(frame)
    lines = [(at * scale, 0.0, at * scale, high) for at in across]
    lines += [(0.0, at * scale, WIDTH * scale, at * scale) for at in down]
    for line in lines:
        drawing.add(Line(*line, strokeColor=HexColor("#dde3db"), strokeWidth=0.7))
    words, pixels = scale_bar(frame)
    ends = [14, 18, 14, 14, 14 + pixels * scale, 14, 14 + pixels * scale, 18]
    drawing.add(PolyLine(ends, strokeColor=HexColor(_GREY), strokeWidth=1))
    drawing.add(String(18, 18, words, fontName=LATIN, fontSize=8, fillColor=HexColor(_GREY)))


def _add_label(
    drawing: Drawing, label: Label, scale: float, lines: Sequence[Sequence[Pixel]]
) -> None:
    """Write a label in points, a little smaller than the room that was measured for it.

    Of a line that goes through that room, this part is not seen.
    """
    x, y, box = label.x * scale, (HEIGHT - label.y) * scale, label.box
    if box.on(*lines):
        room = (box.left, HEIGHT - box.bottom, box.right - box.left, box.bottom - box.top)
        drawing.add(Rect(*(each * scale for each in room), fillColor=_GROUND, strokeColor=None))
    font = LATIN if encodes(label.text, "cp1252") else CHINESE
    size = 13 * scale
    drawing.add(String(x, y, label.text, fontName=font, fontSize=size, textAnchor=label.align))


def code_drawing(url: str, size: float) -> Drawing:
    """Return the QR code of an address, `size` points wide."""
    rows = [list(row) for row in segno.make(url, error="l", micro=False).matrix_iter(border=2)]
    drawing, module = Drawing(size, size), size / len(rows)
    for top, row in enumerate(rows):
        for left, dark in enumerate(row):
            if dark:
                y = size - (top + 1) * module
                drawing.add(Rect(left * module, y, module, module, strokeWidth=0))
    return drawing
