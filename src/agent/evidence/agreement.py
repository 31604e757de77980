"""Hold a place of one map against what another knows of it."""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from agent.core.strings import parted_brackets, word_set
from agent.evidence.geo import metres_apart
from agent.evidence.hours import hours_of, partly_read
from agent.evidence.records import hours_text, map_title
from agent.evidence.types import Place
from agent.texts import Language, say

_CLOSED = word_set("暂停营业 暂停开放 暂停服务 停业 已停业 歇业 已歇业 已关闭")
"""What maps of China write behind the name of a place that is closed, for good or for now."""
_AGREE_M, _FAR_M = 200, 5000
"""Within which two maps place one thing alike; beyond which a namesake is another."""
_ALIKE = 0.85


def disagreement(place: Place, found: Sequence[Place], language: Language) -> str:
    """Return in one sentence what another map says differently of a place; empty where it agrees.

    `found` is what that map found by the place's name. It says nothing, either, where none of these
    is the place, or more than one may be.
    """
    other = _same(place, found)
    if other is None:
        return ""
    maps = [map_title(one["id"].partition(":")[0], language) for one in (place, other)]
    told = list[str]()
    apart = round(_apart(place, other))
    if apart > _AGREE_M:
        told.append(say("map.differ.placed", language, metres=str(apart)))
    hours = [hours_of(one) for one in (place, other)]
    told_in_full = None not in (hours[0][0], hours[1][0]) and not any(map(partly_read, hours))
    if told_in_full and hours[0] != hours[1]:
        texts = [hours_text(one, language) for one in (place, other)]
        values = {"map": maps[0], "other": maps[1], "hours": texts[0], "others": texts[1]}
        told.append(say("map.differ.hours", language, **values))
    closed = [bool(told_closed(one["name"])) for one in (place, other)]
    if closed[0] != closed[1]:
        told.append(say("map.differ.closed", language, map=maps[closed[1]]))
    if not told:
        return ""
    what = say("punctuation.semicolon", language).join(told)
    names = {"map": maps[0], "other": maps[1], "place": bare_name(place)}
    return say("map.differs", language, what=what, **names)


def plain_name(name: str) -> str:
    """Return a name in one width, without case and blanks."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def bare_name(place: Place) -> str:
    """Return a name without what a map writes behind that of a closed place."""
    name, _ = parted_brackets(place["name"])
    return name if told_closed(place["name"]) else place["name"]


def told_closed(name: str) -> str:
    """Return the word by which a name says that its place is closed; empty where it says none."""
    word = parted_brackets(name)[1]
    return word if word in _CLOSED else ""


def _same(place: Place, found: Sequence[Place]) -> Place | None:
    """Return the place that is this one: near by with nearly its name, else the only namesake."""
    own = plain_name(bare_name(place))
    names = [(plain_name(bare_name(other)), other) for other in found]
    for name, other in names:
        if _apart(place, other) <= _AGREE_M and SequenceMatcher(None, own, name).ratio() >= _ALIKE:
            return other
    namesakes = [other for name, other in names if name == own]
    only = namesakes[0] if len(namesakes) == 1 else None
    return only if only and _apart(place, only) <= _FAR_M else None


def _apart(one: Place, other: Place) -> float:
    return metres_apart(one["wgs84"], other["wgs84"])
