"""Draw the map of an answer as pictures for Word: an SVG, and a PNG for what cannot show that.

A PNG has no fonts to rely on: it shows the numbers of the list below it, no names.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence

from agent.core.processor import breathe
from agent.export.svg_map import (
    HEIGHT,
    WIDTH,
    DrawnWay,
    Pin,
    draw_map,
    frame_of,
    grid_lines,
    marks_of,
    spread,
)
from agent.texts import Language

_COLOURS = ("eef1ec", "dde3db", "14746a", "8a9a96", "ffffff", "d2553c")
_GROUND, _GRID, _GREEN, _FAINT, _WHITE, _RED = range(len(_COLOURS))
_STROKE = 'fill="none" stroke="#{}" stroke-width="{}"'
_LOOKS: Mapping[str, str] = {
    "map": f'xmlns="http://www.w3.org/2000/svg" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" '
    'font-family="Arial, Microsoft YaHei, sans-serif" font-size="13" fill="#23282b"',
    "ground": f'fill="#{_COLOURS[_GROUND]}"',
    "grid": _STROKE.format(_COLOURS[_GRID], 1),
    "path": f'{_STROKE.format(_COLOURS[_GREEN], 2)} stroke-dasharray="6 5"',
    "road": f'{_STROKE.format(_COLOURS[_GREEN], 3)} stroke-linejoin="round"',
    "leader": _STROKE.format("657076", 1),
    "pin": f'fill="#{_COLOURS[_GREEN]}"',
    "pin faint": f'fill="#{_COLOURS[_FAINT]}"',
    "anchor": _STROKE.format(_COLOURS[_RED], 2.5),
    "anchor-dot": f'fill="#{_COLOURS[_RED]}"',
    "label": "",
    "label anchor-label": 'font-weight="bold"',
    "scale": _STROKE.format("657076", 1.5),
    "scale-text": 'font-size="12" fill="#657076"',
    "north": _STROKE.format("657076", 1.5),
}
"""What the page's style sheet says of each class: Word reads none."""
_NUMBER = ('<text y="-16"', '<text y="-16" fill="#ffffff" font-size="11.5" font-weight="bold"')


def svg_file(
    pins: Sequence[Pin],
    language: Language,
    anchor: Pin | None = None,
    *,
    path: int = 0,
    ways: Sequence[DrawnWay] = (),
) -> bytes:
    """Return the map that files of an answer have, as a file of its own without a style sheet."""
    svg = draw_map(pins, language, anchor, path=path, ways=ways).replace(*_NUMBER)
    for name, look in _LOOKS.items():
        svg = svg.replace(f'class="{name}"', look)
    return svg.encode()


def png_file(
    pins: Sequence[Pin], anchor: Pin | None = None, ways: Sequence[DrawnWay] = ()
) -> bytes:
    """Return the same points in the same projection, with their numbers, without names or lines."""
    marks = marks_of(pins, anchor, ways)
    frame = frame_of([*pins, *marks], ways)
    canvas = _Canvas()
    across, down = grid_lines(frame)
    for at in across:
        canvas.fill(at - 0.5, 0, at + 0.5, HEIGHT, _GRID)
    for at in down:
        canvas.fill(0, at - 0.5, WIDTH, at + 0.5, _GRID)
    for mark in marks:
        for radius, colour in ((8.0, _RED), (5.5, _GROUND), (2.5, _RED)):
            canvas.disc(*frame.project(mark.lng, mark.lat), radius, colour)
    spots = spread([frame.project(pin.lng, pin.lat) for pin in pins])
    for pin, (x, y) in reversed(list(zip(pins, spots, strict=True))):
        breathe()
        canvas.disc(x, y, 12, _WHITE)
        canvas.disc(x, y, 11, _GREEN if pin.strong else _FAINT)
        canvas.number(x, y, str(pin.number))
    return canvas.png()


_DIGITS = (
    "75557", "26227", "71747", "71717", "55711", "74717", "74757", "71122", "75757", "75717",
)  # fmt: skip
"""The rows of each figure from the top; of a row's three bits the highest is on the left."""
_DENSITY = 2
"""Dots of the picture a pixel of the map."""


class _Canvas:
    """Hold the dots of a picture in colours of a palette; positions are pixels of the map."""

    def __init__(self) -> None:
        self._width, self._height = int(WIDTH) * _DENSITY, int(HEIGHT) * _DENSITY
        self._rows = [bytearray(self._width) for _ in range(self._height)]

    def fill(self, left: float, top: float, right: float, bottom: float, colour: int) -> None:
        begin, end = (min(max(round(x * _DENSITY), 0), self._width) for x in (left, right))
        for row in self._rows[max(round(top * _DENSITY), 0) : max(round(bottom * _DENSITY), 0)]:
            row[begin:end] = bytes([colour]) * (end - begin)

    def disc(self, x: float, y: float, radius: float, colour: int) -> None:
        dots = round(radius * _DENSITY)
        for row in range(-dots, dots):
            half = (dots**2 - (row + 0.5) ** 2) ** 0.5 / _DENSITY
            at = y + row / _DENSITY
            self.fill(x - half, at, x + half, at + 1 / _DENSITY, colour)

    def number(self, x: float, y: float, digits: str) -> None:
        """Write a number in white around a point; a third figure makes all smaller."""
        size = 2.0 if len(digits) < 3 else 1.5
        left = x - (4 * len(digits) - 1) * size / 2
        for place, digit in enumerate(digits):
            for row, bits in enumerate(_DIGITS[int(digit)]):
                for column in range(3):
                    if int(bits) & 4 >> column:
                        dot = left + (4 * place + column) * size
                        top = y + (row - 2.5) * size
                        self.fill(dot, top, dot + size, top + size, _WHITE)

    def png(self) -> bytes:
        about = struct.pack(">IIBBBBB", self._width, self._height, 8, 3, 0, 0, 0)
        palette = bytes.fromhex("".join(_COLOURS))
        lines = zlib.compress(b"".join(b"\0" + row for row in self._rows))
        chunks = ((b"IHDR", about), (b"PLTE", palette), (b"IDAT", lines), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )
