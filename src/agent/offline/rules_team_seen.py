"""What the tools have shown so far: in the discussion, and in the present turn."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .brain import FunctionCall, ToolResult, Turn
from .rules_map import places_listed
from .rules_text import block, records

SEARCHES = ("search_google", "search_bocha", "search_tavily")
_RESULT = re.compile(
    r"[<‹]result\s+id=[\"”]([a-z]+\d+-\d+)[\"”]([^>›]*)[>›](.*?)[<‹]/result[>›]", re.DOTALL
)
_TITLE = re.compile(r"title=[\"”]([^\"”]*)[\"”]")
_TOOL = re.compile(
    r'<tool name="([^"]*)" evidence="([^"]*)" asked="([^"]*)">(.*?)</tool>', re.DOTALL
)
_EVIDENCE = re.compile(r"^\[\^([a-z]+\d+-\d+)\]\s*(.+?) — (.+)$")
_CODE = re.compile(r"^(c\d+): (.*) ⇒ (.*)$", re.DOTALL)
_POINT = re.compile(r"-?\d{1,3}\.\d+,-?\d{1,2}\.\d+")
_STARS, _COST = re.compile(r"^★(\d+(?:\.\d+)?)$"), re.compile(r"^[¥￥](\d+(?:\.\d+)?)$")
_HOURS = re.compile(r"\d{1,2}:\d{2}|全天|24\s?小时|开放$|营业$")
_OUTPUT = re.compile(r"[<‹]/?output[^<>‹›]*[>›]")


@dataclass(frozen=True)
class Snippet:
    """What a search showed of a page."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Card:
    """A place as the map's detail shows it; a missing fact is empty."""

    id: str
    name: str
    rating: str = ""
    cost: str = ""
    hours: str = ""
    address: str = ""

    @property
    def spans(self) -> list[tuple[str, str]]:
        return re.findall(r"(\d{1,2}:\d{2})\s*[-–~至]\s*(\d{1,2}:\d{2})", self.hours)


@dataclass(frozen=True)
class Told:
    """One tool call and its answer; `evidence` is empty in the turn that made the call."""

    tool: str
    asked: str
    text: str
    evidence: str = ""

    def is_about(self, value: str) -> bool:
        """Whether an argument of the call was this; of a search, whether it was the query."""
        if not self.tool.startswith("maps_"):
            return value == self.asked
        return bool(
            re.search(rf"={re.escape(value.replace(chr(34), '”'))}(?:, \w+=|$)", self.asked)
        )


@dataclass
class Seen:
    """Everything told, oldest first."""

    told: list[Told] = field(default_factory=list)

    @property
    def snippets(self) -> list[Snippet]:
        found: dict[str, Snippet] = {}
        for told in self.told:
            for name, attributes, text in _RESULT.findall(told.text):
                title = _TITLE.search(attributes)
                found[name] = Snippet(name, title[1] if title else "", html.unescape(text.strip()))
        return list(found.values())

    @property
    def cards(self) -> list[Card]:
        text = "\n".join(t.text for t in self.told if t.tool.startswith("maps_"))
        return list({card.name: card for card in _cards(text)}.values())

    def hits(self, tool: str, asked: str = "") -> list[dict[str, Any]]:
        """What the map's searches listed, by id, in order."""
        texts = [t.text for t in self.told if t.tool == tool and t.is_about(asked)]
        return list({str(p["id"]): p for p in places_listed(texts) if p.get("id")}.values())

    def geocode(self, address: str) -> dict[str, Any] | None:
        """What the geocoder said of an address; None where it was not asked or knew nothing."""
        for told in self.told:
            if told.tool == "maps_geo" and told.is_about(address) and _POINT.search(told.text):
                return _first_return(told.text)
        return None

    def ran(self, tool: str, asked: str = "") -> bool:
        return any(told.tool == tool and told.is_about(asked) for told in self.told)

    @property
    def programs(self) -> list[Told]:
        return [told for told in self.told if told.tool == "run_code"]


def seen_in(turn: Turn) -> tuple[Seen, Seen]:
    """All that was told, and what of it in this very turn."""
    before = [
        Told(tool, html.unescape(asked), text, evidence)
        for tool, evidence, asked, text in _TOOL.findall(block(turn.user, "transcript"))
    ]
    now = list(_paired(turn))
    return Seen([*before, *now]), Seen(now)


def seen_in_evidence(lines: Iterable[str]) -> Seen:
    """The evidence as it is listed where the answer is settled."""
    told: list[Told] = []
    for line in lines:
        if page := _EVIDENCE.match(line):
            text = f'<result id="{page[1]}" title="{page[2]}">{page[3]}</result>'
            told.append(Told("search", "", text, page[1]))
        elif code := _CODE.match(line):
            told.append(Told("run_code", code[2], code[3], code[1]))
        elif line.startswith("[^"):
            told.append(Told("maps_search_detail", "", line, "map"))
    return Seen(told)


def point_of(found: dict[str, Any]) -> str:
    at = _POINT.search(str(found.get("location", "")))
    return at[0] if at else ""


def output_of(told: Told) -> str:
    """What a program printed, as far as the tool's answer shows it; empty where it failed."""
    text = _OUTPUT.sub("", told.text).strip()
    failed = re.search(r"\b\w*Error\b|^(?:error|错误|timeout)", text, re.IGNORECASE)
    return "" if failed else text.strip().strip("`").strip()


def _paired(turn: Turn) -> Iterator[Told]:
    """The results of this turn with the calls that asked for them, by id or else in order."""
    calls = [call for past in turn.history for call in past.calls]
    left = list(calls)
    for result in turn.tool_results:
        call = _call_of(result, left)
        if call:
            left.remove(call)
        yield Told(result.name, _asked(call) if call else "", result.text)


def _call_of(result: ToolResult, calls: list[FunctionCall]) -> FunctionCall | None:
    known = [call for call in calls if result.id and call.id == result.id]
    return next(iter(known or [call for call in calls if call.name == result.name]), None)


def _asked(call: FunctionCall) -> str:
    """The call as the discussion keeps it: the query, the program, or the map's arguments."""
    if not call.name.startswith("maps_"):
        return " ".join(str(value) for value in call.args.values())
    given = ", ".join(f"{name}={value}" for name, value in call.args.items() if value)
    return f"{call.name} {given}".replace('"', "”")


def _cards(text: str) -> Iterator[Card]:
    for record in records(f"<found>\n{text}\n</found>", "found"):
        facts = list(record.fields[1:])
        rating = next((m[1] for f in facts if (m := _STARS.match(f))), "")
        cost = next((m[1] for f in facts if (m := _COST.match(f))), "")
        hours = next((f for f in facts if _HOURS.search(f)), "")
        plain = [f for f in facts if not (_STARS.match(f) or _COST.match(f) or f == hours)]
        address = plain[-1] if len(plain) > 1 and not re.fullmatch(r"\d+ m", plain[-1]) else ""
        yield Card(record.id, record.name, rating, cost, hours, address)


def _first_return(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {"location": text}
    rows = found.get("return") if isinstance(found, dict) else None
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
