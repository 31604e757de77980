"""Write small files of vector tiles (PMTiles 3 of Mapbox vector tiles), uncompressed."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

EXTENT = 4096
Ring = Sequence[tuple[int, int]]
"""Corners of a polygon in a tile's units, clockwise on the screen."""


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _geometry(ring: Ring) -> bytes:
    """MoveTo, LineTo and ClosePath, each point relative to the one before."""
    moves, before = [], (0, 0)
    for point in ring:
        moves.append(_zigzag(point[0] - before[0]) + _zigzag(point[1] - before[1]))
        before = point
    line_to = varint((len(ring) - 1) << 3 | 2)
    return b"".join((varint(1 << 3 | 1), moves[0], line_to, *moves[1:], varint(1 << 3 | 7)))


def vector_tile(layers: Mapping[str, tuple[str, Ring]]) -> bytes:
    """One polygon a layer, with its `kind`."""
    tile = b""
    for name, (kind, ring) in layers.items():
        feature = _field(2, varint(0) + varint(0)) + _field(3, 3) + _field(4, _geometry(ring))
        head = _field(15, 2) + _field(1, name.encode()) + _field(2, feature)
        value = _field(1, kind.encode())
        tile += _field(3, head + _field(3, b"kind") + _field(4, value) + _field(5, EXTENT))
    return tile


def write_pmtiles(path: Path, tile: bytes, *, max_zoom: int = 1) -> None:
    """The same for each tile of zoom 0 and 1; the header says `max_zoom`."""
    directory = varint(1) + varint(0) + varint(5) + varint(len(tile)) + varint(1)
    metadata = b"{}"
    at = 127
    sections: list[int] = []
    for part in (directory, metadata, b"", tile):
        sections += [at, len(part)]
        at += len(part)
    numbers: Iterable[int] = (*sections, 5, 1, 1)
    header = b"PMTiles\x03" + struct.pack("<11Q", *numbers)
    header += bytes([1, 1, 1, 1, 0, max_zoom])
    header += struct.pack(
        "<4iB2i", -1_800_000_000, -850_000_000, 1_800_000_000, 850_000_000, 0, 0, 0
    )
    assert len(header) == 127
    path.write_bytes(header + directory + metadata + tile)
