"""What of a reply a model is shown: little enough to read, nothing it may not say."""

import json
from collections.abc import Sequence
from typing import Any

MOST_PLACES = 20
MOST_STEPS = 12
LONGEST = 4000
_DROPPED = frozenset({"photos", "typecode", "polyline", "suggestion", "via_stops"})
_LIMITS = {"pois": MOST_PLACES, "steps": MOST_STEPS, "transits": 2, "paths": 1, "segments": 12}


def compacted(lines: Sequence[str], reply: dict[str, Any]) -> str:
    """The ledger's lines first; the rest of the reply as JSON where there are none.

    At most 4,000 characters, cut where an item of the longest list ends.
    """
    head = "\n".join(lines)
    if head and not _has_steps(reply):
        return head[:LONGEST]
    body = _fitting(_thinned(reply), LONGEST - len(head) - 1)
    return f"{head}\n{body}".strip()


def _has_steps(reply: dict[str, Any]) -> bool:
    return bool({"route", "data"} & reply.keys())


def _thinned(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        kept = {k: _thinned(v, k) for k, v in value.items() if k not in _DROPPED}
        return {k: v for k, v in kept.items() if v not in (None, [], {})}
    if isinstance(value, list):
        return [_thinned(item) for item in value[: _LIMITS.get(name, MOST_PLACES)]]
    return value[:LONGEST] if isinstance(value, str) else value


def _fitting(value: Any, room: int) -> str:
    while True:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= room:
            return text
        longest = max(_lists(value), key=len, default=[])
        if not longest:
            return text[: max(room, 0)]
        longest.pop()


def _lists(value: Any) -> list[list[Any]]:
    if isinstance(value, dict):
        return [found for inner in value.values() for found in _lists(inner)]
    if isinstance(value, list):
        return [value, *(found for inner in value for found in _lists(inner))]
    return []
