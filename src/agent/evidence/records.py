"""Format records of the map: in Chinese as listed, in other languages translated by tables.

Names are those in the reader's language where the map has them, with the local ones behind.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from importlib.resources import files
from string import digits
from typing import Any

from agent.core.strings import parted_brackets, split_at
from agent.evidence.demand_words import access_text, is_news, verdict_marks
from agent.evidence.figures import Figure, figures
from agent.evidence.geo import decimal_text, distance_text, duration_text
from agent.evidence.language import fold
from agent.evidence.mentions import without_branch
from agent.evidence.names import district_in_english, origins_of, titled_name
from agent.evidence.types import (
    Place,
    Route,
    Source,
    Weather,
    WeatherDay,
)
from agent.evidence.vocabulary import city_in_english
from agent.evidence.way_steps import has_steps, tells_way, way_text, without_legs
from agent.evidence.zones import CHINA, china_time, offset_words, zone_of_record
from agent.texts import Language, has_text, in_script, is_chinese, say, table

_WORDS: dict[str, Any] = json.loads(
    files(__package__).joinpath("record_words.json").read_text(encoding="utf-8")
)
_KINDS: dict[str, str] = _WORDS["kinds"]
_IN_LANGUAGES: dict[str, dict[str, str]] = json.loads(
    files(__package__).joinpath("reader_words.json").read_text(encoding="utf-8")
)
"""English words of records in other languages, as far as they are known."""
_HOURS = [(re.compile(pattern), words) for pattern, words in _WORDS["hours"]]
_NUMBER = "[一二三四五六日天]"
_WEEKDAYS = re.compile(
    rf"(?:周|星期)({_NUMBER}(?:(?:, |/|\s*[至到~-]\s*)?{_NUMBER}(?![一二三四五六日天楼层号点月]))*)"
)
_LISTED = re.compile(rf"({_NUMBER})(?=({_NUMBER})?)")
_TO_WEEKDAY = re.compile(r"(?<=[a-z])\s*(?:至|到|[-~])\s*(?=(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun))")
_ENGLISH_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ENGLISH_WORDS = {
    **{day: f"weekdays.{number}" for number, day in enumerate(_ENGLISH_DAYS, 1)},
    "daily": "hours.daily",
    "open 24 hours": "hours.always",
}
_ENGLISH_WORD = re.compile(rf"\b(?:{'|'.join(_ENGLISH_WORDS)})\b")
_LONGEST_NUMBER, _DIGITS = 25, range(3, 16)
"""Of a telephone number: its characters, and how many of them may be digits."""
_WORD_END = re.compile(r"(?<=[a-z])(?=\d)")
HOME_MAP = "amap"
"""Whose ends of ways are shown where there is no record of a place."""


def kind_text(place: Place, language: Language) -> str:
    """Return what the place is, in its reader's words as far as the tables have them."""
    return kind_word(place["category"] or "", language)


def kind_word(kind: str, language: Language) -> str:
    """Return the same of a category, or of a word that the map was searched for."""
    if is_chinese(language):
        return in_script(kind, language)
    name, inside = parted_brackets(_KINDS.get(kind, kind))
    parts = filter(None, inside.split(", "))
    # A tag's own word says nothing in another language; what a place is has to be said.
    told = (reader_word(part, language) for part in parts if language == "en" or _is_told(part))
    about = ", ".join(told)
    return reader_word(name, language) + (f" ({about})" if about else "")


def _is_told(word: str) -> bool:
    return word in _IN_LANGUAGES


def reader_word(word: str, language: Language) -> str:
    """Return an English word of a record in a reader's language; itself where it has none."""
    return _IN_LANGUAGES.get(word, {}).get(language, word)


def hours_text(place: Place, language: Language) -> str:
    """Return when the place is open: "周一至周日 09:00-20:00", "daily 09:00–20:00"."""
    hours = place["open_time"] or ""
    if is_chinese(language) or not hours:
        return in_script(hours, language)
    for pattern, words in _HOURS:
        hours = pattern.sub(words, hours)
    hours = _WEEKDAYS.sub(lambda days: _LISTED.sub(_weekday, days[1]), hours)
    # 每天9:30 has no space to keep.
    english = " ".join(_WORD_END.sub(" ", _TO_WEEKDAY.sub("–", hours)).split())
    if language == "en":
        return english
    return _ENGLISH_WORD.sub(
        lambda word: say(f"records.{_ENGLISH_WORDS[word[0]]}", language), english
    )


def _weekday(day: re.Match[str]) -> str:
    """Return a day's name, with a comma where the next one follows at once (周六日)."""
    return f"{_WORDS['weekdays'][day[1]]}{', ' if day[2] else ''}"


def cost_text(place: Place, language: Language) -> str:
    """Return the price with what it is per: "¥40/人", "¥40 a head", "free"; empty without one."""
    return _price(place, "export.cost", language)


def cost_words(place: Place, language: Language) -> str:
    """Return the same in a sentence: 人均 ¥40."""
    return _price(place, "records.cost", language)


def _price(place: Place, key: str, language: Language) -> str:
    if place["cost"] is None:
        return ""
    if not place["cost"]:
        return say("records.free", language)
    # What a car park's ¥8 is for, an hour or a visit, the map does not say.
    if not place.get("per_head", True):
        key = "records.per_night" if place.get("per_night") else "records.price"
    if currency := place.get("currency"):
        return f"{place['cost']:g} {currency}"
    return say(key, language, cost=f"{place['cost']:g}")


def _walk_text(place: Place, language: Language) -> str:
    if "walk_m" not in place:
        return ""
    minutes = duration_text(place.get("walk_s"), language)
    distance = distance_text(place["walk_m"], language)
    return say(
        "records.walk", language, distance=f"{distance} ({minutes})" if minutes else distance
    )


def _detour_text(place: Place, language: Language) -> str:
    if "detour_m" not in place:
        return ""
    key = "detour_on_foot" if place.get("detour_walked") else "detour"
    return say(f"records.{key}", language, distance=distance_text(place["detour_m"], language))


def place_facts(place: Place, language: Language, *, is_nearest: bool = False) -> str:
    """Return what is known of a place for a model, its name first, separated by bars."""
    far = distance_texts(place, language)
    if far and is_nearest:
        far[0] += say("punctuation.brackets", language, text=say("records.nearest", language))
    facts = (
        titled_name(place, language),
        kind_text(place, language),
        *far,
        _walk_text(place, language),
        _detour_text(place, language),
        f"★{place['rating']:g}" if place["rating"] is not None else None,
        cost_text(place, language),
        hours_text(place, language),
        access_text(place, language),
        city_text(city_told(place), language),
        in_script(place["address"] or "", language),
        telephone(place),
        *verdict_marks(filter(is_news, place.get("verdicts", [])), language),
    )
    return " | ".join(fact for fact in facts if fact)


def place_quote(place: Place, language: Language) -> str:
    """Return the same for a reader, as one line like a sentence."""
    facts = (
        titled_name(place, language),
        kind_text(place, language),
        place["address"],
        *reach_texts(place, language),
        say("records.rated", language, rating=decimal_text(f"{place['rating']:g}", language))
        if place["rating"] is not None
        else "",
        cost_words(place, language),
        hours_text(place, language),
        access_text(place, language),
    )
    line = say("punctuation.comma", language).join(fact for fact in facts if fact)
    return in_script(line, language)


def telephone(place: Place) -> str:
    """Return the first telephone number of a record; "" where what it has first is none.

    The page does the same (`map/place_facts.js`).
    """
    number = split_at(place.get("phone") or "", ";,/；，、")[0].strip()
    is_number = set(number.removeprefix("+")) <= set(f"{digits} -")
    is_whole = len(number) <= _LONGEST_NUMBER and len(dialled(number).lstrip("+")) in _DIGITS
    return number if is_number and is_whole else ""


def dialled(number: str) -> str:
    """Return a telephone number as a telephone takes it."""
    return number.replace(" ", "").replace("-", "")


def place_source(source: Source, place: Place, language: Language) -> Source:
    """Return a place's source with what its record says now: where it is, and its line."""
    told = Source(**{**source, "quotes": [place_quote(place, language)]})
    where = (place["address"], *reach_texts(place, language))
    if first := next(filter(None, where), ""):
        told["where"] = in_script(first, language)
    return told


def reach_texts(place: Place, language: Language) -> list[str]:
    """Return the same for a reader: on foot where that is measured, and what a way gets longer."""
    ways = (*distance_texts(place, language, on_foot=True), _detour_text(place, language))
    return [*filter(None, ways)]


def distance_texts(place: Place, language: Language, *, on_foot: bool = False) -> list[str]:
    """Return how far a place is, and from where; from each of the places it was looked for at.

    The first is by choice the way `on_foot`, where it is measured: two figures are one too many.
    """
    texts, walk = list[str](), _walk_text(place, language) if on_foot else ""
    for at, (origin, metres) in enumerate(origins_of(place, language)):
        far = (walk if at == 0 else "") or distance_text(metres, language)
        if far and origin:
            far = say("records.far", language, origin=origin, distance=far)
        texts += [far] if far else []
    return texts


def city_text(city: str, language: Language) -> str:
    """Return a city's name for its reader: its English one where that is known."""
    english = None if is_chinese(language) else city_in_english(city)
    return english or in_script(city, language)


def city_told(place: Place) -> str:
    """Return the city, which a question does not always say, where the address lacks it."""
    city = place["city"] or ""
    return "" if city.removesuffix("市") in (place["address"] or "") else city


def route_text(route: Route, language: Language, *, steps: bool = True) -> str:
    """Return the mode, the ends, the distance, the duration, and the way; by choice without it."""
    mode = say(f"records.modes.{route['mode']}", language)
    ends = " → ".join(named_route_ends(route, language))
    facts = (
        distance_text(route["distance_m"], language, exact=route["mode"] == "straight"),
        duration_text(route["duration_s"], language),
        way_text(route, language) if steps else "",
    )
    return " · ".join(
        [f"{mode}{say('punctuation.colon', language)}{ends}", *(fact for fact in facts if fact)]
    )


def named_route_ends(route: Route, language: Language) -> tuple[str, str]:
    """Return the ends of a way: as its asker calls them, else as listed."""
    if is_chinese(language):
        return in_script(route["origin"], language), in_script(route["destination"], language)
    return (
        route.get("origin_en") or route["origin"],
        route.get("destination_en") or route["destination"],
    )


def forecast_city(weather: Weather, language: Language) -> str:
    """Return the city of a forecast; for English readers by its English name, where it has one."""
    return (weather.get("city_en") if not is_chinese(language) else None) or in_script(
        weather["city"], language
    )


def weather_text(weather: Weather, language: Language, days: Sequence[str] = ()) -> str:
    """Return a forecast in one line: of the ISO dates in `days`, of every day without them.

    It says which of these it does not reach, and nothing of others.
    """
    told = [day_text(d, language) for d in weather["days"] if not days or d["date"] in days]
    start = f"{forecast_city(weather, language)}{say('punctuation.colon', language)}"
    parts = [f"{start}{' · '.join(told)}" if told else "", not_reached(weather, language, days)]
    return say("punctuation.semicolon", language).join(filter(None, parts))


def reached(weather: Weather, days: Collection[str]) -> bool:
    """Return whether a forecast has any of these days."""
    return any(day["date"] in days for day in weather["days"])


def forecasts_reaching(days: Collection[str], weather: Iterable[Weather]) -> list[Weather]:
    """Return the forecasts that have any of the days asked for; all where none are."""
    return [each for each in weather if not days or reached(each, days)]


def not_reached(weather: Weather, language: Language, days: Sequence[str]) -> str:
    """Return which of these days a forecast does not reach; nothing where it has them all."""
    known = {day["date"] for day in weather["days"]}
    missing = [with_weekday(day, language) for day in days if day not in known]
    told = say("punctuation.comma", language).join(missing)
    city = forecast_city(weather, language)
    return say("records.not_forecast", language, city=city, days=told) if missing else ""


def day_text(day: WeatherDay, language: Language) -> str:
    """Return one day of a forecast: its date with the weekday, sky, temperatures, wind."""
    facts = [with_weekday(day["date"], language), _skies(day, language)]
    if day["low_c"] is not None and day["high_c"] is not None:
        facts.append(f"{day['low_c']}–{day['high_c']} °C")
    if day["wind"]:
        facts.append(_wind(day["wind"], language))
    return say("punctuation.comma", language).join(fact for fact in facts if fact)


def forecast_told(weather: Weather, language: Language) -> Weather:
    """Return a forecast that has its skies and winds in a reader's language, the city in English.

    Loads the dictionary of `with_pinyin`.
    """
    days = [
        WeatherDay(
            **{
                **day,
                "sky_en": _skies(day, language),
                "wind_en": _wind(day["wind"] or "", language),
            }
        )
        for day in weather["days"]
    ]
    sound = district_in_english(weather["city"]).removesuffix(" City")
    return Weather(**{"city_en": sound, **weather, "days": days})


def with_days_asked(weather: Weather, asked: Sequence[str]) -> Weather:
    """Return a forecast in which the days of these ISO dates say that they were asked for."""
    days = [
        WeatherDay(**{**day, "asked": True}) if day["date"] in asked else day
        for day in weather["days"]
    ]
    return Weather(**{**weather, "days": days})


def _skies(day: WeatherDay, language: Language) -> str:
    words = _WORDS["sky"] if not is_chinese(language) else {}
    skies = [sky for sky in dict.fromkeys((day["day"], day["night"])) if sky]
    told = [reader_word(str(words.get(sky, sky)), language) for sky in skies]
    return in_script("/".join(told), language)


def _wind(wind: str, language: Language) -> str:
    name, sign, force = wind.partition("风")
    if is_chinese(language) or not sign:
        return in_script(wind, language)
    direction = reader_word(_WORDS["wind"].get(name, name), language)
    force = force.removesuffix("级").strip()
    key = "records.wind_force" if force else "records.wind"
    return say(key, language, direction=direction, force=force)


def with_weekday(day: str, language: Language) -> str:
    """Return `2026-11-21 周六`; the text itself where it is no date."""
    try:
        weekday = date.fromisoformat(day).isoweekday()
    except ValueError:
        return day
    return f"{day} {say(f'records.weekdays.{weekday}', language)}"


def time_there(
    moment: str,
    records: Iterable[Place | Route | Weather],
    language: Language,
    clock: tzinfo = CHINA,
) -> str:
    """Return an ISO moment on the clock of the records' places; on China's where one is there.

    Without records it is on `clock`. The first look for a zone takes a while: use a thread.
    """
    known = list(records)
    if HOME_MAP in maps_of(known) or (not known and clock == CHINA):
        return china_time(moment, language)
    zone = zone_of_record(known[0]) if known else clock
    try:
        local = datetime.fromisoformat(moment).astimezone(zone)
    except ValueError:
        return moment
    town = f"{str(zone).rpartition('/')[2].replace('_', ' ')}, " if known else ""
    return f"{local:%Y-%m-%d %H:%M} ({town}{offset_words(local)})"


def place_lines(places: Sequence[Place], language: Language, among: Sequence[Place] = ()) -> str:
    """Return one line a place, its id first; the nearest of these, or `among` more, says so."""
    nearest = _nearest(among or places)
    return "\n".join(
        f"[^{place['source']}] {place_facts(place, language, is_nearest=place['id'] in nearest)}"
        for place in places
    )


def _nearest(places: Iterable[Place]) -> set[str]:
    """Return the ids of the places that are nearest to where they were looked for.

    From each such point one, where there are several: a model compares figures badly.
    """
    groups: dict[str, list[Place]] = {}
    for place in places:
        origin = place["distance_from"]
        if place["distance_m"] is None or "detour_m" in place:
            continue
        if origin and place["keywords"]:
            groups.setdefault(origin, []).append(place)
    return {min(group, key=_metres_to)["id"] for group in groups.values() if len(group) > 1}


def _metres_to(place: Place) -> tuple[bool, int]:
    """Return how far a place is: on foot where that is measured, which was asked for then."""
    return "walk_m" not in place, place.get("walk_m", place["distance_m"] or 0)


def route_lines(routes: Iterable[Route], language: Language) -> str:
    """Return one line a route: mode, ends, distance, duration, the way."""
    return "\n".join(f"[^{r['source']}] {route_text(r, language)}" for r in routes)


def weather_lines(weather: Iterable[Weather], language: Language) -> str:
    """Return one line a day."""
    return "\n".join(
        f"[^{w['source']}] {line}" for w in weather for line in weather_texts(w, language)
    )


def weather_texts(weather: Weather, language: Language) -> list[str]:
    """Return each day of a forecast with the city."""
    city = forecast_city(weather, language)
    return [f"{city} {day_text(day, language)}" for day in weather["days"]]


_ROUNDED = 0.05
_STEP: Mapping[str, float] = {"metre": 50, "second": 60}
"""Within which, as a share or so much, a distance or a time is the same one."""


def record_sections(
    routes: Sequence[Route],
    weather: Sequence[Weather],
    language: Language,
    *,
    cited: Container[str] = (),
    days: Sequence[str] = (),
    text: str = "",
    is_report: bool = False,
) -> list[str]:
    """Return routes and weather as code prints them, but what the text cites and states.

    Of ways that are compared one alone would read as the only one: all are told, or none.
    A forecast is one line, about the `days` that were asked for. A report's plan joins few of the
    places that were measured: of it only the routes that the text cites and does not tell.
    """
    sections, stated = [], figures(text) if cited else []
    chosen = [r for r in routes if not is_report or r["source"] in cited]
    once = without_legs({r["id"]: r for r in chosen})
    # One citation may bear a table of them.
    is_cited = any(route["source"] in cited for route in once.values())
    untold = [r for r in once.values()
              if not (is_cited and _tells(text, stated, r, timed=not is_report))]  # fmt: skip
    if untold:
        lines = [
            f"- {route_text(r, language, steps=has_steps(r, language))} [^{r['source']}]"
            for r in (untold if is_report else once.values())
        ]
        sections.append("\n".join([say("answer.routes", language), *lines]))
    said = [w for w in weather if w["source"] in cited and _tells_of(stated, w, days)]
    rest = [w for w in one_a_city(weather) if not any(_is_same(w, other) for other in said)]
    # A forecast that reaches none of these days is a gap, and no source of anything.
    if rest := forecasts_reaching(days, rest):
        lines = [f"- {weather_text(w, language, days)} [^{w['source']}]" for w in rest]
        sections.append("\n".join([say("answer.weather", language), *lines]))
    return sections


def _tells(text: str, stated: Iterable[Figure], route: Route, *, timed: bool) -> bool:
    """Return whether a text states how far a way is, if `timed` how long, and the lines of a ride.

    Whoever is told how long a ride takes and not its line cannot take it; so it is with the turns
    of a way that was asked for itself.
    """
    metres, seconds, plain = route["distance_m"], route["duration_s"], fold(text)
    lines = [without_branch(step["line"]) for step in route["steps"] if "line" in step]
    is_measured = _states(stated, "metre", metres, 1000) and (
        not timed or _states(stated, "second", seconds, 60)
    )
    is_whole = is_measured and all(fold(line) in plain for line in lines)
    return is_whole and tells_way(stated, route)


def _states(stated: Iterable[Figure], kind: str, amount: float | None, unit: int) -> bool:
    """Return whether a figure is an amount, rounded; in a language whose units are not known, bare.

    What is not known cannot be stated.
    """
    if not amount:
        return True
    bare = (amount, amount / unit)
    return any(
        abs(float(f.amount) - amount) <= max(_ROUNDED * amount, _STEP[kind])
        if f.kind == kind
        else not f.kind and any(abs(float(f.bare) - n) <= _ROUNDED * n for n in bare)
        for f in stated
    )


def _tells_of(stated: Iterable[Figure], forecast: Weather, days: Sequence[str]) -> bool:
    """Return whether a text states a temperature of a day that is asked for."""
    asked = [day for day in forecast["days"] if day["date"] in days] or forecast["days"]
    known = {t for day in asked for t in (day["low_c"], day["high_c"]) if t is not None}
    return not known or any(abs(float(f.bare)) in {abs(t) for t in known} for f in stated)


def one_a_city(weather: Sequence[Weather]) -> list[Weather]:
    """Return the last forecast of each city, however it was asked for: 杭州, 杭州市, a position."""
    last = [*{_city(forecast): forecast for forecast in weather}.values()]
    return [w for at, w in enumerate(last) if not any(_is_same(w, other) for other in last[:at])]


def _is_same(one: Weather, other: Weather) -> bool:
    """Return whether two forecasts are of one town: days that are all alike have one position."""
    alike = len(one["days"]) > 1 and one["days"] == other["days"]
    return alike or _city(one) == _city(other)


def _city(forecast: Weather) -> str:
    return forecast["city"].removesuffix("市")


def attribution(
    places: Sequence[Place],
    routes: Sequence[Route],
    weather: Sequence[Weather],
    language: Language,
    *,
    cited: Sequence[Source] = (),
) -> str:
    """Return who owns the map's data and when it was fetched; empty where the map gave nothing.

    What is cited of an earlier turn, its forecast, is somebody's, too.
    """
    records: list[Place | Route | Weather] = [*places, *routes, *weather]
    if not records:
        return ""
    newest = max(record["fetched_at"] for record in records)
    of_maps = [source["provider"] for source in cited if source["kind"] == "place"]
    earlier = [
        name
        for provider in of_maps
        for name, owner in table("records.owners", language).items()
        if owner.startswith(provider)
    ]
    values = {
        "maps": owners(dict.fromkeys([*maps_of(records), *earlier]), language),
        "time": time_there(newest, records, language),
    }
    return "*" + say("answer.map_data", language, **values) + "*"


def map_title(provider: str, language: Language) -> str:
    """Return a map's name as readers know it; its name in ids where nobody has written one."""
    key = f"records.maps.{provider}"
    return say(key, language) if has_text(key) else provider


def maps_of(records: Iterable[Place | Route | Weather]) -> list[str]:
    """Return the names of the maps that the records are from, each once."""
    return list(dict.fromkeys(record["id"].partition(":")[0] for record in records))


def owners(maps: Iterable[str], language: Language) -> str:
    """Return whose data it is that these maps give."""
    keys = ((name, f"records.owners.{name}") for name in maps)
    joint = say("punctuation.comma", language)
    return joint.join(say(key, language) if has_text(key) else name for name, key in keys)


def some_of_each_kind(places: Sequence[Place]) -> list[Place]:
    """Return the places, those that the answer did not name one of each kind before two of a kind.

    The next question may be for a park in place of the museum, and there are a dozen restaurants.
    """
    of_kind = Counter[str]()

    def turn(place: Place) -> int:
        kind = without_branch(place["category"] or "")
        of_kind[kind] += 1
        return 0 if place["mentioned"] else of_kind[kind]

    return sorted(places, key=turn)
