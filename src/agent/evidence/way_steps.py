"""Tell the steps of a way: in English, too, where the map has its few fixed phrases in Chinese."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from agent.core.strings import has_han
from agent.evidence.figures import Figure, figures
from agent.evidence.geo import distance_text, duration_text
from agent.evidence.said import BETWEEN_STOPS, stop_names
from agent.evidence.types import Route, RouteStep
from agent.texts import Language, in_script, is_chinese, reads_han, say

_WORDS: dict[str, Any] = json.loads(
    files(__package__).joinpath("record_words.json").read_text(encoding="utf-8")
)["steps"]
_VERBS: dict[str, str] = _WORDS["verbs"]
_DIRECTIONS: dict[str, str] = _WORDS["directions"]
_TURNS: dict[str, str] = _WORDS["turns"]
_TOWARDS = "|".join(sorted(_DIRECTIONS, key=len, reverse=True))
_STEP = re.compile(
    r"(?:沿着?(?P<road>.+?)|从起点)?(?:途?[经径](?P<via>.+?))?"
    rf"(?:[向往]正?(?P<direction>{_TOWARDS})方?向?)?"
    rf"(?P<verb>{'|'.join(_VERBS)})(?P<number>[\d.]+)(?P<unit>公里|千米|米)[,，]?(?P<turn>.*)"
)
_GOES_ON = ("行走", "行驶", "骑行", "步行")
_LONGEST = 60
"""Characters of a step in the map's own words."""
_LONGEST_STEP = 200
_TWO, _MAIN_STEPS, _WHOLE_STEPS = 2, 3, 25
"""Of a way that stands beside what was asked, and of one that was asked for itself."""
_ROUNDED = 0.05


def has_steps(route: Route, language: Language) -> bool:
    """Return whether a way is told in words of its reader's language; its link has them, too.

    In China they are Chinese or English, elsewhere the reader's; rides and legs are names.
    """
    is_told = _in_names(route) or "zone" in route
    return is_told or language == "en" or is_chinese(language)


def _in_names(route: Route) -> bool:
    """Return whether a way is told in lines to ride on, or from stop to stop."""
    return any("line" in step or "duration_s" in step for step in route["steps"])


def without_turns(route: Route) -> Route:
    """Return a way as a plan has it: its table tells where one goes, and of a ride the line."""
    return route if _in_names(route) else Route(**{**route, "steps": []})


def each_way_once(routes: Iterable[Route]) -> list[Route]:
    """Return each way once, by its first source; one that is asked for again may have its line."""
    first = dict[str, Route]()
    for route in routes:
        known = first.setdefault(route["id"], route)
        if "line" in route and "line" not in known:
            first[route["id"]] = Route(**{**route, "source": known["source"]})
    return [*first.values()]


def ways_back(routes: Iterable[Route]) -> dict[str, Route]:
    """Return the ways there by the sources of those back between the same points that are alike.

    A drive back by other streets is another way.
    """
    there, back = dict[tuple[object, ...], Route](), dict[str, Route]()
    for route in routes:
        spots = [(end["wgs84"]["lng"], end["wgs84"]["lat"]) for end in route.get("ends", ())]
        if route.get("via") or len({*spots}) < _TWO:
            continue
        reach = (route["mode"], route["distance_m"], duration_text(route["duration_s"], "en"))
        if earlier := there.get((*reach, *spots[::-1])):
            back[route["source"]] = earlier
        else:
            there.setdefault((*reach, *spots), route)
    return back


def way_text(route: Route, language: Language) -> str:
    """Return the legs of a way over stops, a ride's lines; of another way its first three steps.

    One that was asked for itself is told whole, each step with its metres.
    """
    steps, is_whole = route["steps"], route.get("whole", False)
    if any("duration_s" in step for step in steps):
        return legs_text(steps, language)
    if any("line" in step for step in steps):
        return _journey_text(steps, language)
    parts = [_step_told(step, language, measured=is_whole) for step in steps]
    parts = [part for part in parts if part]
    most = _WHOLE_STEPS if is_whole else _MAIN_STEPS
    more = " …" if len(parts) > most else ""
    way = say("punctuation.semicolon", language).join(parts[:most]) + more
    return in_script(way, language)


def tells_way(stated: Iterable[Figure], route: Route) -> bool:
    """Return whether the figures of a text have the steps of a way that was asked for itself.

    Who writes joins some: most of their lengths will do.
    """
    lengths = [step["distance_m"] for step in route["steps"] if step["distance_m"]]
    if not route.get("whole") or _in_names(route) or len(lengths) < _MAIN_STEPS:
        return True
    said = {float(figure.amount) for figure in stated if figure.kind == "metre"}
    told = [any(abs(metres - each) <= _ROUNDED * each for metres in said) for each in lengths]
    return sum(told) * 2 > len(lengths)


def _step_told(step: RouteStep, language: Language, *, measured: bool) -> str:
    """Return a step, where asked with its metres: the words of some maps have them."""
    words = step_text(step["instruction"], language)
    if not (measured and words and step["distance_m"]):
        return words
    is_said = any(figure.kind == "metre" for figure in figures(words))
    blank = "" if words.endswith("）") else " "
    return words if is_said else f"{words}{blank}{distance_text(step['distance_m'], language)}"


def ride_text(step: RouteStep, language: Language) -> str:
    """Return a ride's line, where to get on and off, and the stops; of a walk, that it is one."""
    if "line" not in step:
        return say("records.modes.walking", language)
    ends = " → ".join(filter(None, (step.get("board_at"), step.get("leave_at"))))
    stops = step.get("stops")
    count = say("records.stops", language, count=stops) if ends and stops else ""
    inside = say("punctuation.comma", language).join(filter(None, (ends, count)))
    brackets = say("punctuation.brackets", language, text=inside) if inside else ""
    return in_script(f"{step['line']}{brackets}", language)


def _journey_text(steps: Sequence[RouteStep], language: Language) -> str:
    rides = sum("line" in step for step in steps)
    text = " → ".join(
        ride_text(step, language)
        if "line" in step
        else say("records.walk", language, distance=distance_text(step["distance_m"], language))
        for step in steps
    )
    changes = say("records.transfers", language, count=rides - 1) if rides > 1 else ""
    return say("punctuation.semicolon", language).join(filter(None, (text, changes)))


def step_text(instruction: str, language: Language) -> str:
    """Return a step as its reader can follow it; what cannot be read is said to be the map's text.

    Names of roads stay as the map has them.
    """
    words = " ".join(instruction.split())
    if is_chinese(language):
        return words[:_LONGEST]
    first, blank, _ = words.partition(" ")
    if not has_han(words) or (blank and first.isascii() and first.isalpha()):
        return words
    if english := in_english(words):
        return english
    if reads_han(language):
        # Some maps are answered in the reader's own language.
        return words[:_LONGEST]
    return say("records.maps_words", language, text=words[:_LONGEST])


def in_english(words: str) -> str:
    """Return one of the map's fixed phrases in English; empty where it is none of them."""
    match = _STEP.fullmatch(words) if len(words) <= _LONGEST_STEP else None
    if match is None:
        turn = _turn(words)
        return f"arrive at{turn[2:]}" if turn.startswith("to ") else turn.removeprefix("then ")
    turn = _turn(match["turn"])
    if match["turn"] and not turn:
        return ""
    metres = round(float(match["number"]) * (1 if match["unit"] == "米" else 1000))
    parts = [_VERBS[match["verb"]], distance_text(metres, "en")]
    parts += [_DIRECTIONS[match["direction"]]] if match["direction"] else []
    parts += [f"along {match['road']}"] if match["road"] else []
    parts += [f"by {match['via']}"] if match["via"] else []
    joined = " ".join(parts)
    between = ", " if turn.startswith("then") else " "
    return f"{joined}{between}{turn}".strip()


def _turn(words: str) -> str:
    """Return what is done at the end of a step; empty where it is not known."""
    plain = words
    if words not in _TURNS and words.endswith(_GOES_ON):
        plain = words[: -len(_GOES_ON[0])]
    if plain in _TURNS:
        return _TURNS[plain]
    turn, _, road = plain.partition("进入")
    return f"{_TURNS[turn]} into {road}" if road and turn in _TURNS else ""


def legs_text(steps: Sequence[RouteStep], language: Language) -> str:
    """Return how far and how long it is from each stop of a way to the next."""
    legs = list[str]()
    for step in steps:
        time = duration_text(step.get("duration_s"), language)
        figures = filter(None, (distance_text(step["distance_m"], language), time))
        told = say("punctuation.comma", language).join(figures)
        legs.append(f"{step['instruction']}{say('punctuation.colon', language)}{told}")
    return in_script(say("punctuation.semicolon", language).join(legs), language)


def without_legs(routes: Mapping[str, Route]) -> dict[str, Route]:
    """Return ways without those that another one over several stops tells as its legs.

    A ride is told by its own line alone.
    """
    legs = {
        (route["mode"], *leg)
        for route in routes.values()
        if BETWEEN_STOPS in route["destination"]
        for leg in pairwise(stop_names(route))
    }
    return {
        id: route
        for id, route in routes.items()
        if (route["mode"], *stop_names(route)) not in legs or route["mode"] == "transit"
    }
