"""Tell a model what a map has answered: lines of records, or what is left of the reply itself."""

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

from agent.texts import Language, say

LONGEST = 4000
"""Characters of a reply as a model reads it."""
_MOST_ITEMS = 20


def fitting_lines(
    lines: Sequence[str], language: Language, *, count: int = 0, key: str = "map.listed_of_found"
) -> str:
    """Return the first lines of records as a model reads them, each whole.

    Where these are not all, or of a larger `count`, the text `key` says how many they are.
    """
    sizes = accumulate(len(line) + 1 for line in lines)
    kept = [line for line, size in zip(lines, sizes, strict=True) if size <= LONGEST]
    count = max(count, len(lines))
    left = [say(key, language, listed=len(kept), count=count)] if len(kept) < count else []
    return "\n".join([*kept, *left])


def compacted(
    lines: Sequence[str],
    reply: dict[str, Any],
    *,
    leave_out: Collection[str] = (),
    limits: Mapping[str, int] | None = None,
) -> str:
    """Return the lines of the records, then what is left of the reply as JSON.

    Fields of `leave_out` go, lists are cut to `limits` (20 items); at most 4,000 characters, cut
    where an item of the longest list ends.
    """
    head = "\n".join(lines)

    def thinned(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            fields = {k: thinned(v, k) for k, v in value.items() if k not in leave_out}
            return {k: v for k, v in fields.items() if v not in (None, [], {})}
        if isinstance(value, list):
            return [thinned(item) for item in value[: (limits or {}).get(name, _MOST_ITEMS)]]
        return value[:LONGEST] if isinstance(value, str) else value

    return f"{head}\n{_fitting(thinned(reply), LONGEST - len(head) - 1)}".strip()


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
        return [inner_list for inner in value.values() for inner_list in _lists(inner)]
    if isinstance(value, list):
        return [value, *(inner_list for inner in value for inner_list in _lists(inner))]
    return []
