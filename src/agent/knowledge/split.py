"""Split texts into stretches that can be found and cited.

A stretch has at most SIZE characters, stays within one section (and one page), and begins with the
last sentences of the one before it, up to OVERLAP characters. Tables stay whole where they fit;
larger ones are cut between rows, each part under the table's head.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.core.processor import breathe
from agent.core.strings import is_table_rule, is_unspaced

SIZE, OVERLAP = 800, 100
_SENTENCE = re.compile(
    r"(?<=[。！？；!?…])[”’」』）\"')\]]*\s*|(?<=\.)[\"')\]]*\s+(?=[A-Z0-9\"'(\[一-鿿])"
)
_CHINESE = r"\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef"
_BREAK = re.compile(f"(?<=[{_CHINESE}])|\\s+|(?<=[,;:，、])")


@dataclass(frozen=True)
class Stretch:
    """Hold a stretch of text with the headings it stands under; `page` of a PDF, from 1."""

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True)
class Block:
    """Hold a part of a document: a heading of a level from 1, a paragraph, or rows of a table."""

    text: str
    level: int = 0
    """Of a heading; 0 is no heading."""
    table: bool = False


class Sections:
    """Hold the headings above the present place, over all pages of one document."""

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> None:
        """Enter a heading, which closes those of its level and deeper ones."""
        self._open = [(above, text) for above, text in self._open if above < level]
        self._open.append((level, heading))

    @property
    def path(self) -> tuple[str, ...]:
        """Return the headings from the title down, without a first one that repeats the title."""
        texts = [text for _, text in self._open]
        return tuple(
            texts if not self._title or texts[:1] == [self._title] else [self._title, *texts]
        )


def split(
    blocks: Iterable[Block], sections: Sections, *, page: int | None = None
) -> Iterator[Stretch]:
    """Yield the stretches of blocks in order; a heading without text stands for itself."""
    body: list[Block] = []
    lonely: Block | None = None
    for block in blocks:
        if not block.level:
            body.append(block)
            lonely = None
            continue
        yield from _section(body, sections, page)
        if lonely and block.level <= lonely.level:
            yield Stretch(lonely.text, sections.path, page)
        body, lonely = [], block
        sections.enter(block.level, block.text)
    yield from _section(body, sections, page)
    if lonely:
        yield Stretch(lonely.text, sections.path, page)


def _section(body: Sequence[Block], sections: Sections, page: int | None) -> Iterator[Stretch]:
    for text in pack_units(body):
        yield Stretch(text, sections.path, page)


@dataclass(frozen=True)
class _Unit:
    """Hold a unit that is never cut, and the text between it and the unit before."""

    text: str
    glue: str
    solid: bool = False


def pack_units(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield texts of at most SIZE characters, filled with whole paragraphs and sentences."""
    current, repeated, solid = "", True, False
    for unit in _units(blocks):
        breathe()
        if current and len(current) + len(unit.glue) + len(unit.text) > SIZE:
            if not repeated:
                yield current
            overlap = "" if solid or unit.solid else tail(current)
            current = overlap if len(overlap) + len(unit.glue) + len(unit.text) <= SIZE else ""
        current = current + unit.glue + unit.text if current else unit.text
        # A stretch that is nothing but the end of the one before it is not given again.
        repeated, solid = False, unit.solid
    if current and not repeated:
        yield current


def _units(blocks: Sequence[Block]) -> Iterator[_Unit]:
    for block in blocks:
        text = block.text.strip("\n") if block.table else block.text.strip()
        if not text.strip():
            continue
        if len(text) <= SIZE:
            yield _Unit(text, "\n\n", block.table)
        elif block.table:
            yield from (_Unit(part, "\n\n", True) for part in _rows(text))
        else:
            yield from _sentence_units(text)


def _sentence_units(text: str) -> Iterator[_Unit]:
    glue = "\n\n"
    for part in sentence_texts(text):
        for piece in [part] if len(part) <= SIZE else _pieces(part):
            yield _Unit(piece.strip(), glue)
            glue = " " if piece[-1:].isspace() or not is_unspaced(piece.strip()[-1:]) else ""


def sentence_texts(text: str) -> list[str]:
    """Return the sentences of a Chinese or Latin text, each with the space after it."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    places = [0, *ends, len(text)]
    return [text[a:b] for a, b in pairwise(places) if text[a:b].strip()]


def tail(text: str) -> str:
    """Return the last sentences within OVERLAP characters; of a longer sentence its last words."""
    overlap = ""
    for sentence in reversed(sentence_texts(text[-4 * OVERLAP :])):
        if len(overlap) + len(sentence) > OVERLAP:
            break
        overlap = sentence + overlap
    if overlap.strip():
        return overlap.strip()
    end = text[-OVERLAP:]
    match = _BREAK.search(end, 1)
    return end[match.end() :].strip() if match else ""


def _pieces(sentence: str) -> Iterator[str]:
    """Yield a sentence longer than SIZE at commas, spaces or Chinese characters, else anywhere."""
    while len(sentence) > SIZE:
        places = [match.end() for match in _BREAK.finditer(sentence, SIZE // 2, SIZE)]
        end = places[-1] if places else SIZE
        yield sentence[:end]
        sentence = sentence[end:]
    if sentence.strip():
        yield sentence


def _rows(table: str) -> Iterator[str]:
    """Yield a large table in parts, each under its first row (and its head's rule)."""
    lines = table.splitlines()
    rule = len(lines) > 1 and is_table_rule(lines[1])
    head = "\n".join(lines[: 2 if rule else 1])
    head = head if len(head) <= SIZE // 3 else ""
    rows = lines[2 if rule else 1 :] if head else lines
    part = head
    for whole in rows:
        room = SIZE - len(head) - 1
        for row in [whole] if len(whole) <= room else _cut_row(whole, room):
            if len(part) + len(row) + 1 > SIZE and part != head:
                yield part
                part = head
            part = f"{part}\n{row}" if part else row
    if part != head:
        yield part


def _cut_row(row: str, room: int) -> list[str]:
    return [row[at : at + room] for at in range(0, len(row), room)]
