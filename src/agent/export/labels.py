"""Where the names on the map stand, so that they do not cover each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

_WIDE, _NARROW, _LINE = 13.0, 7.2, 14.0
_LONGEST = 180.0


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not apart and not (self.bottom <= other.top or other.bottom <= self.top)


@dataclass(frozen=True)
class Label:
    text: str
    x: float
    y: float
    align: str
    box: Box


def place_label(
    name: str, pin: tuple[float, float], taken: Sequence[Box], size: tuple[float, float]
) -> Label | None:
    """The name right, left, below or above of the pin whose tip is at `pin`; None without room."""
    text = _shortened(name)
    if not text:
        return None
    x, y = pin
    width = text_width(text)
    spots = (
        ("start", x + 15, y - 15, x + 15),
        ("end", x - 15, y - 15, x - 15 - width),
        ("middle", x, y + 17, x - width / 2),
        ("middle", x, y - 36, x - width / 2),
    )
    for align, at_x, at_y, left in spots:
        box = Box(left, at_y - _LINE + 2, left + width, at_y + 3)
        inside = box.left >= 2 and box.right <= size[0] - 2
        inside = inside and box.top >= 2 and box.bottom <= size[1] - 2
        if inside and not any(box.meets(other) for other in taken):
            return Label(text, at_x, at_y, align, box)
    return None


def text_width(text: str) -> float:
    """Roughly, in pixels, at the size of the map's labels."""
    return sum(_WIDE if east_asian_width(c) in "WF" else _NARROW for c in text)


def _shortened(name: str) -> str:
    text = " ".join(name.split())
    if text_width(text) <= _LONGEST:
        return text
    while text and text_width(text + "…") > _LONGEST:
        text = text[:-1]
    return text.rstrip() + "…"
