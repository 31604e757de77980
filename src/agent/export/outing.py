"""Export a planned day: as a calendar (RFC 5545), and as a one-page pocket map (SVG)."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from html import escape
from itertools import pairwise

import segno
from markdown_it.token import Token

from agent.core.errors import AgentError
from agent.evidence.hours import minutes_of
from agent.evidence.mentions import day_ends, places_of
from agent.evidence.names import map_name
from agent.evidence.outing.text import day_title, end_text, leg_text, numbers, stop_text
from agent.evidence.records import HOME_MAP, hours_text, map_title
from agent.evidence.types import Outing, Place, Stop
from agent.evidence.zones import CHINA, zone_named
from agent.export.finished import FinishedAnswer, credit, sample_remark
from agent.export.geojson import has_sane_axes
from agent.export.svg_map import HEIGHT, WIDTH, Pin, draw_map, drawn_ways, wrap
from agent.texts import Language, say

STOPS = "stops"
"""Beneath this name the `meta` of a table's token has the code that stands beside it."""
_LONGEST_LINE = 73
"""Octets of a line; with the space before a continued one it stays within 75."""


def outing_of(answer: FinishedAnswer) -> Outing:
    """Return the planned day; raise AgentError (`no_outing`) where the answer has none."""
    if answer.outing is None:
        raise AgentError(say("export.no_outing", answer.language), code="no_outing")
    return answer.outing


def calendar(answer: FinishedAnswer) -> str:
    """Return the day as iCalendar: an event for each stop, its hours in the description."""
    outing = outing_of(answer)
    places = {place["id"]: place for place in answer.places}
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tanlu//Tanlu//EN", "CALSCALE:GREGORIAN"]
    for at, stop in enumerate(outing["stops"]):
        lines += _event(at, stop, outing, places.get(stop.get("place", "")), answer)
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])


def _event(
    at: int, stop: Stop, outing: Outing, place: Place | None, answer: FinishedAnswer
) -> list[str]:
    language, day = answer.language, outing["day"]
    zone = zone_named(outing.get("zone", str(CHINA)))
    about = [leg_text(stop["leg"], language)] if "leg" in stop else []
    lines = [
        "BEGIN:VEVENT",
        f"UID:{day}-{at}-{''.join(filter(str.isalnum, stop.get('place', 'meal')))}@tanlu",
        f"DTSTAMP:{_stamp(datetime.fromisoformat(answer.generated_at))}",
        f"DTSTART:{_moment(day, stop['begins'], zone)}",
        f"DTEND:{_moment(day, stop['ends'], zone)}",
        f"SUMMARY:{_escaped(stop_text(stop, language))}",
    ]
    if place:
        point = place["wgs84"]
        lines.append(f"GEO:{point['lat']:.6f};{point['lng']:.6f}")
        if place["address"]:
            lines.append(f"LOCATION:{_escaped(place['address'])}")
        about += [hours] if (hours := hours_text(place, language)) else []
    about += filter(None, [sample_remark(answer)])
    if about:
        lines.append(f"DESCRIPTION:{_escaped(chr(10).join(about))}")
    return [*lines, "END:VEVENT"]


def _moment(day: str, clock: str, zone: tzinfo) -> str:
    """Return a time of the places' day in UTC, which every calendar shows in its own zone."""
    begin = datetime.combine(date.fromisoformat(day), time(), zone)
    return _stamp(begin + timedelta(minutes=minutes_of(clock)))


def _stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


_ESCAPES = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n"})


def _escaped(text: str) -> str:
    plain = "".join(c for c in text if c.isprintable() or c == "\n")
    return plain.translate(_ESCAPES)


def _folded(line: str) -> str:
    """Return a line in parts of at most 75 octets, none of which cuts a character."""
    parts = [""]
    for character in line:
        if len((parts[-1] + character).encode()) > _LONGEST_LINE:
            parts.append("")
        parts[-1] += character
    return "\r\n ".join(parts)


_SMALLER, _LARGER = 12 / 13, 14 / 13
"""A note's and a name's letters beside those of the map, which `text_width` measures."""
_TITLE, _ROW, _QR, _MARGIN, _NOTE_LINE = 56.0, 40.0, 150.0, 20.0, 16.0
_STYLE = """
text { font-family: system-ui, "Noto Sans CJK SC", "PingFang SC", sans-serif; fill: #17211d; }
.ground { fill: #eef1ec; } .grid { stroke: #dde3db; fill: none; }
.scale, .north, .leader { stroke: #5d6b64; fill: none; stroke-width: 1.5; }
.path { stroke: #14746a; fill: none; stroke-width: 2.5; stroke-dasharray: 6 5; }
.anchor { stroke: #b3261e; fill: none; stroke-width: 2.5; } .anchor-dot { fill: #b3261e; }
.pin path { fill: #14746a; stroke: #fff; } .pin text { fill: #fff; font-size: 11.5px; }
.label, .scale-text { font-size: 12px; }
.label { paint-order: stroke; stroke: #eef1ec; stroke-width: 4px; }
.title { font-size: 20px; font-weight: 700; }
.time { font-size: 14px; font-weight: 700; } .name { font-size: 14px; }
.way, .note { font-size: 12px; fill: #5d6b64; }
"""


def pocket_map(answer: FinishedAnswer) -> str:
    """Return one page: the stops on a map in their order, the timetable, a code for the phone."""
    outing, language = outing_of(answer), answer.language
    top = foot = _TITLE + HEIGHT + _MARGIN
    rows = ""
    for cells in _rows(outing, language):
        row, foot = _row(*cells, foot)
        rows += row
    height = max(foot, top + _QR + _ROW)
    notes = _notes(answer)
    whole = height + _NOTE_LINE + len(notes) * _NOTE_LINE + _MARGIN / 2
    title = escape(day_title(outing, language))
    drawing = draw_map(
        stop_pins(answer), language, path=len(outing["stops"]), ways=drawn_ways(answer)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" lang="{language}" '
        f'viewBox="0 0 {WIDTH:.0f} {whole:.0f}" width="{WIDTH:.0f}" '
        f'height="{whole:.0f}"><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text class="title" x="{_MARGIN}" y="36">{title}</text>'
        + drawing.replace("<svg ", f'<svg y="{_TITLE}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        + rows
        + _code(outing["url"], top, phone_caption(outing, language))
        + "".join(_note(note, height + (at + 1) * _NOTE_LINE) for at, note in enumerate(notes))
        + "</svg>\n"
    )


def _notes(answer: FinishedAnswer) -> list[str]:
    """Return the lines at the foot: whose data it is, and that it is sample data where it is."""
    notes = [credit(answer.places, answer.language), answer.notice]
    return [line for note in notes for line in wrap(note, (WIDTH - 2 * _MARGIN) / _SMALLER)]


def _note(text: str, y: float) -> str:
    """Return one small line at the foot."""
    return f'<text class="note" x="{_MARGIN}" y="{y:.0f}">{escape(text)}</text>'


def stop_pins(answer: FinishedAnswer) -> list[Pin]:
    """Return the stops of the planned day as numbered points."""
    outing, places = outing_of(answer), {place["id"]: place for place in answer.places}
    return [
        Pin(**place["wgs84"], name=map_name(place, answer.language), number=number)
        for number, stop in zip(numbers(outing), outing["stops"], strict=True)
        if number and (place := places.get(stop["place"])) and has_sane_axes(place)
    ]


def _rows(outing: Outing, language: Language) -> Iterator[tuple[str, str, str]]:
    """Yield when, what and how to get there: of each stop, and of where the day begins and ends."""
    start, _ = day_ends(outing)
    if start:
        yield outing["begins"], start["name"], ""
    for number, stop in zip(numbers(outing), outing["stops"], strict=True):
        name = f"{number}. {stop_text(stop, language)}" if number else stop_text(stop, language)
        way = leg_text(stop["leg"], language) if "leg" in stop else ""
        yield f"{stop['begins']}–{stop['ends']}", name, way
    if "back" in outing:
        yield outing["ends"], end_text(outing, language), leg_text(outing["back"], language)


def _row(clock: str, name: str, way: str, y: float) -> tuple[str, float]:
    """Return the lines of a stop, left of the code, and where they end."""
    left = _MARGIN + 110
    room = WIDTH - _QR - 2 * _MARGIN - left
    lines = [("name", line) for line in wrap(name, room / _LARGER)]
    lines += [("way", line) for line in wrap(way, room)]
    texts = "".join(
        f'<text class="{kind}" x="{left}" y="{y + 16 * (at + 1)}">{escape(line)}</text>'
        for at, (kind, line) in enumerate(lines)
    )
    return (
        f'<text class="time" x="{_MARGIN}" y="{y + 16}">{clock}</text>{texts}',
        y + max(_ROW, 16 * len(lines) + 8),
    )


@dataclass(frozen=True)
class PhoneCode:
    """Hold what opens the stops of a day on a phone, as a code to scan, and what it is."""

    url: str
    caption: str


def mark_stops(tokens: Sequence[Token], answer: FinishedAnswer) -> None:
    """Give the table of a planned day its code, where its stops have an address."""
    outing = answer.outing
    if not outing or not outing["url"] or not outing["stops"]:
        return
    first = outing["stops"][0]
    time = f"{first['begins']}–{first['ends']}"
    table: Token | None = None
    for before, token in pairwise(tokens):
        if before.type == "table_open":
            table = before
        elif before.type == "td_open" and table and token.content.strip() == time:
            table.meta[STOPS] = PhoneCode(outing["url"], phone_caption(outing, answer.language))
            return


def phone_caption(outing: Outing, language: Language) -> str:
    """Return the line below the code that opens all stops on the map they are from."""
    name = next((place.partition(":")[0] for place in places_of(outing)), HOME_MAP)
    return say("export.open_on_phone", language, map=map_title(name, language))


def _code(url: str, y: float, caption: str) -> str:
    """Return the QR code of an address with a line below it; nothing without an address."""
    if not url:
        return ""
    x, caption = WIDTH - _QR - _MARGIN, escape(caption)
    code = qr_svg(url).replace("<svg ", f'<svg x="{x}" y="{y}" width="{_QR}" height="{_QR}" ', 1)
    middle = x + _QR / 2
    text = (
        f'<text class="note" x="{middle}" y="{y + _QR + 16}" text-anchor="middle">{caption}</text>'
    )
    return code + text


def qr_svg(text: str) -> str:
    """Return the QR code of a text as an SVG element without a size of its own."""
    buffer = io.BytesIO()
    segno.make(text, error="l", micro=False).save(
        buffer, kind="svg", xmldecl=False, nl=False, border=2, omitsize=True, light="#fff"
    )
    return buffer.getvalue().decode()
