"""Put a planned day into words: as a section of the answer, and as lines for a model."""

from collections.abc import Collection, Sequence
from datetime import date

from agent.evidence.citations import inert
from agent.evidence.geo import distance_text, duration_text
from agent.evidence.hours import clock_of, minutes_of
from agent.evidence.nearness import walk_limit_text
from agent.evidence.outing.legs import is_beyond, timed
from agent.evidence.outing.plan import ENDS
from agent.evidence.types import LeftOut, Leg, Outing, Stop
from agent.texts import Language, in_script, say, table

_LONG_WAIT, _LONG_REST, _REST_ASKED = 60, 180, 60
"""Minutes that are told to be free: between two stops, after the last, and after that where the
person said until when."""
_SAY_STOPS = frozenset({"order", "ordered", "stops", "without", "incoming", "stands_for"})
"""Of a wish: with these a day is as full as was said, whatever else was found."""


def day_title(outing: Outing, language: Language) -> str:
    """Return the date with its weekday, and from when to when one is out."""
    weekday = say(f"records.weekdays.{date.fromisoformat(outing['day']).isoweekday()}", language)
    values = {"day": outing["day"], "weekday": weekday}
    return say("outing.title", language, begins=outing["begins"], ends=outing["ends"], **values)


def leg_text(leg: Leg, language: Language) -> str:
    """Return "on foot 850 m, 12 min", with a word that says so where it is an estimate.

    A ride names its lines, or says that nobody knows them: who reads "transit" looks for a stop.
    """
    key = "outing.estimated_leg" if leg["estimated"] else "outing.leg"
    mode = say(f"records.modes.{leg['mode']}", language)
    if leg["mode"] == "transit":
        names = [
            in_script(_cell(name.partition("(")[0]), language) for name in leg.get("lines", [])
        ]
        lines = " → ".join(names) or say("outing.line_unknown", language)
        mode += say("punctuation.brackets", language, text=lines)
    return say(
        key,
        language,
        mode=mode,
        distance=distance_text(leg["distance_m"], language),
        time=duration_text(leg["duration_s"], language),
    )


def stop_text(stop: Stop, language: Language) -> str:
    """Return the name of a stop, with the meal that one has there."""
    if "meal" not in stop:
        return _cell(stop["name"])
    meal = say(f"outing.meals.{stop['meal']}", language)
    return say("outing.meal_at", language, meal=meal, name=_cell(stop["name"]))


def numbers(outing: Outing) -> list[int | None]:
    """Return the number that each stop has on the map; None for a meal without a chosen place."""
    count = 0
    counted: list[int | None] = []
    for stop in outing["stops"]:
        count += "place" in stop
        counted.append(count if "place" in stop else None)
    return counted


def outing_section(outing: Outing, language: Language) -> str:
    """Return the plan as a marked section: its title, a table of the stops, and remarks."""
    header = [say(f"outing.columns.{column}", language) for column in ("time", "stop", "way")]
    rows = [header, ["---"] * len(header)]
    if start := outing.get("start"):
        rows.append([outing["begins"], _cell(start["name"]), ""])
    for number, stop, free in zip(numbers(outing), outing["stops"], _free(outing), strict=True):
        if free:
            rows.append([free, say("outing.free", language), ""])
        name = stop_text(stop, language)
        if number:
            name = f"{number}. {name} [^{stop['source']}]"
        way = leg_text(stop["leg"], language) if "leg" in stop else ""
        rows.append([f"{stop['begins']}–{stop['ends']}", name, way])
    if "back" in outing:
        back = leg_text(outing["back"], language)
        rows.append([outing["ends"], end_text(outing, language), back])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    parts = [f"**{day_title(outing, language)}**", table, *_left_out(outing, language)]
    return "\n\n".join([*parts, f"*{outing_remarks(outing, language)}*"])


def end_text(outing: Outing, language: Language) -> str:
    """Return where a day ends: the named place, or where it began."""
    end = outing.get("end") or outing.get("start")
    return _cell(end["name"]) if end else say("outing.back", language)


def _free(outing: Outing) -> list[str]:
    """Return the hours before each stop in which nothing is planned; "" where one only goes."""
    before, free = minutes_of(outing["stops"][0]["begins"]), list[str]()
    for stop in outing["stops"]:
        begins = minutes_of(stop["begins"])
        begins -= timed(stop["leg"]) if "leg" in stop else 0
        is_free = begins - before > _LONG_WAIT
        free.append(f"{clock_of(before)}–{clock_of(begins)}" if is_free else "")
        before = minutes_of(stop["ends"])
    return free


def _left_out(outing: Outing, language: Language) -> list[str]:
    if not outing["left_out"]:
        return []
    lines = [f"- {_left_out_line(left, language)}" for left in outing["left_out"]]
    return ["\n".join([say("outing.without", language), *lines])]


def outing_remarks(outing: Outing, language: Language) -> str:
    """Return what the plan's figures rest on, and which opening hours nobody knows."""
    legs = [stop["leg"] for stop in outing["stops"] if "leg" in stop]
    legs += [outing["back"]] if "back" in outing else []
    remarks = [say("outing.stays_estimated", language)]
    count, wanted = outing.get("had", 0), outing.get("asked", 0)
    if count < wanted:
        # Where hours are left, they are not what is short.
        key = "outing.fewer_found" if _rest(outing) > _LONG_REST else "outing.fewer"
        remarks.append(say(key, language, count=count, wanted=wanted))
    remarks += _rest_free(outing, language)
    remarks += [*_told(outing, language), *_beyond(outing, language), *_prices(outing, language)]
    if any(leg["estimated"] for leg in legs):
        remarks.append(say("outing.legs_estimated", language))
    wish = outing["wish"]
    limit = walk_limit_text(wish.get("max_walk_m"), wish.get("max_walk_min"), language)
    if limit and not any(is_beyond(leg, wish) for leg in legs):
        remarks.append(say("outing.walks_within", language, limit=limit))
    remarks += _not_known(outing, language)
    return say("punctuation.space", language).join(remarks)


def _rest(outing: Outing) -> int:
    """Return how many minutes before its end a day is over."""
    return minutes_of(outing["wish"].get("back_by", ENDS)) - minutes_of(outing["ends"])


def _rest_free(outing: Outing, language: Language) -> list[str]:
    """Return from when on one is free; why, too, where only its hours were said of a day."""
    wish, ends = outing["wish"], outing["ends"]
    until, rest = wish.get("back_by", ""), _rest(outing)
    if rest < (_REST_ASKED if until else _LONG_REST):
        return []
    if until and wish.keys().isdisjoint(_SAY_STOPS):
        return [say("outing.nothing_more", language, ends=ends, until=until)]
    return [say("outing.rest_free", language, ends=ends)]


def _not_known(outing: Outing, language: Language) -> list[str]:
    """Return which opening hours nobody knows, and which named stops were not found."""
    unknown = [stop["name"] for stop in outing["stops"] if stop.get("hours_unknown")]
    strange = outing["wish"].get("unknown", ())
    return [*_of_names("hours_not_known", unknown, language),
            *_of_names("unknown_stops", strange, language)]  # fmt: skip


def _of_names(key: str, names: Sequence[str], language: Language) -> list[str]:
    """Return what is to be said of names; nothing where there are none."""
    joined = say("punctuation.comma", language).join(map(_cell, names))
    return [say(f"outing.{key}", language, names=joined)] if names else []


def _told(outing: Outing, language: Language) -> list[str]:
    """Return what is not as it was asked for, and what no place that was found can be."""
    own = table("outing.meals", language)
    names = [own.get(word, word) for word in outing.get("lacks", ())]
    told = [*map(_cell, outing.get("told", ()))]
    open_at: dict[str, list[str]] = {}
    for each in outing.get("open", ()):
        open_at.setdefault(each["text"], []).append(_cell(each["name"]))
    for text, places in open_at.items():
        joined = say("punctuation.comma", language).join(places)
        told.append(say("outing.not_known", language, text=text, names=joined))
    return [*told, *_of_names("lacking", names, language)]


def settle(outing: Outing, settled: Collection[tuple[str, str]]) -> bool:
    """Take out of a plan the questions that pages have answered, by place; return if any was."""
    asked = outing.get("open", [])
    left = [each for each in asked if (each["place"], each["text"]) not in settled]
    if left != asked:
        outing["open"] = left
    return left != asked


def _beyond(outing: Outing, language: Language) -> list[str]:
    """Return to which stops one walks further than the day's limit."""
    wish, names = outing["wish"], list[str]()
    for stop in outing["stops"]:
        if "leg" in stop and is_beyond(stop["leg"], wish):
            names.append(_cell(stop["name"]))
    limit = walk_limit_text(wish.get("max_walk_m"), wish.get("max_walk_min"), language)
    joined = say("punctuation.comma", language).join(names)
    return [say("outing.walks_beyond", language, limit=limit, names=joined)] if names else []


def _prices(outing: Outing, language: Language) -> list[str]:
    """Return what the stops come to where the day may cost so much, and what is not known of it."""
    if (total := outing["wish"].get("total_cost")) is None:
        return []
    people, told = outing["wish"].get("people"), list[str]()
    # What is free comes to nothing that anybody has to be told.
    if any(known := [stop["cost"] for stop in outing["stops"] if "cost" in stop]):
        each = f"{sum(known):g}"
        of_all = f"{people} × ¥{each} = ¥{people * sum(known):g}" if people else ""
        of_all = of_all or say("records.cost", language, cost=each)
        told.append(say("outing.prices", language, sum=of_all, total=f"{total:g}"))
    unknown = [stop_text(stop, language) for stop in outing["stops"] if "cost" not in stop]
    return [*told, *_of_names("prices_not_known", unknown, language)]


def outing_lines(outing: Outing, language: Language) -> str:
    """Return the plan for a model, a line a stop with its marker, then what to do with it."""
    told = [say("outing.rest_told", language)] if _rest_free(outing, language) else []
    return "\n".join([day_lines(outing, language), *told, say("outing.task", language)])


def day_lines(outing: Outing, language: Language) -> str:
    """Return the plan for a model: a line a stop with its marker, and what it lacks."""
    lines = [day_title(outing, language)]
    if start := outing.get("start"):
        lines.append(f"{outing['begins']} {_cell(start['name'])}")
    for stop, free in zip(outing["stops"], _free(outing), strict=True):
        if free:
            lines.append(f"{free} {say('outing.free', language)}")
        way = f" ({leg_text(stop['leg'], language)})" if "leg" in stop else ""
        marker = _marker(stop.get("source", ""))
        lines.append(f"{stop['begins']}–{stop['ends']} {stop_text(stop, language)}{marker}{way}")
    if "back" in outing:
        back = leg_text(outing["back"], language)
        lines.append(f"{outing['ends']} {end_text(outing, language)} ({back})")
    lines += [_left_out_line(left, language) for left in outing["left_out"]]
    for told in (_told, _beyond, _prices, _not_known):
        lines += told(outing, language)
    return "\n".join(lines)


def _left_out_line(left: LeftOut, language: Language) -> str:
    line = say("outing.left_out_line", language, name=_cell(left["name"]), reason=left["text"])
    # What the person took out needs no source, and no pin.
    return line + _marker("" if left["reason"] == "unwanted" else left["source"])


def _marker(source: str) -> str:
    return f" [^{source}]" if source else ""


def _cell(name: str) -> str:
    """Return a map's name so that it stays one cell of a table, and text."""
    return inert(name).replace("|", "/")
