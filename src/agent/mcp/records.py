"""Hold what a branch asks of the map and the records it gets: each once, with its source."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

from typing_extensions import TypedDict

from agent.core.errors import AgentError, MalformedReply
from agent.core.progress import Spot, SpotRole
from agent.evidence.agreement import plain_name
from agent.evidence.geo import metres_apart, parse_lnglat, wgs84_of
from agent.evidence.hours import yearly_hours
from agent.evidence.language import fold
from agent.evidence.mentions import without_branch
from agent.evidence.names import english_names, titled_name
from agent.evidence.records import (
    day_text,
    forecast_city,
    hours_text,
    kind_text,
    map_title,
    named_route_ends,
    place_facts,
    place_source,
    route_text,
)
from agent.evidence.said import route_said
from agent.evidence.types import (
    Anchor,
    Constraints,
    Crs,
    Distance,
    Gap,
    Location,
    MapIntent,
    OpeningHours,
    Place,
    Point,
    Route,
    Source,
    Weather,
)
from agent.evidence.vocabulary import cities_in, city_in_english
from agent.evidence.zones import CHINA, zone_of
from agent.mcp.new_records import NamedStop
from agent.texts import Language, has_text, in_script, is_chinese, reason_of, say

log = logging.getLogger(__name__)

REMARKS = (
    "map_ambiguous",
    "map_taken",
    "map_between",
    "map_no_timetables",
    "map_unmet",
    "map_wished",
    "map_ordered",
    "map_unread",
    "map_differs",
)
"""Codes of gaps that tell how was searched; nothing failed."""
FITTING = 2
"""Places that are to meet a question's demands."""
CALLS_FOR_TOOLS = 3
"""Calls of a branch's share that are left to a model; with fewer it is offered no tools."""
OnCall = Callable[[str], None]
"""Takes one short line about a call of the map: the tool and its argument."""
OnFound = Callable[[list[Spot]], None]
"""Takes what a call has located: the centre, a place, both ends of a way."""
CallTool = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls one tool of the map with its arguments."""


@dataclass(frozen=True)
class BranchCalls:
    """Call the map's tools for one branch, which knows how many calls it has left."""

    send: CallTool
    left: Callable[[], int]

    async def __call__(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply of one tool; raise ProviderError or BudgetExceeded."""
        return await self.send(tool, arguments)


@dataclass(frozen=True)
class MapOptions:
    """Set how one branch uses the map; source ids begin with `prefix` ("a0")."""

    prefix: str
    language: Language
    near: Point | None = None
    """The user's position, WGS-84."""
    keywords: int = 3
    details: int = 2
    more: int = 2
    """Further details, looked up with the calls that the model did not need."""
    constraints: Constraints = field(default_factory=Constraints)
    """Demands of a place; further hits are looked up until two break none of them."""
    on_found: OnFound = lambda spots: None
    walks_within_m: int | None = None
    """Up to where, in a straight line, ways on foot are measured; None: none is."""
    question: str = ""
    """What was asked, which may name a city that the task leaves out."""
    known: Sequence[Place] = ()
    """Places that the person was shown; a name among them is that place, not a namesake."""
    pages: str = ""
    """What pages say, once a search was answered: only places that they name are entered."""
    entered: frozenset[str] = frozenset()
    """Those that are by then."""
    first: int = 0
    """The number of the first source."""


class MapHit(TypedDict):
    """Hold a place that a search named and no call looked up."""

    id: str
    """The server's own id."""
    name: str
    address: str | None
    keywords: list[str]
    """The words of the searches that returned it."""


class MapSearch(TypedDict):
    """Hold a search for a kind of place that was answered, also by nothing."""

    keyword: str
    """As the task names it; empty where every kind was searched."""
    words: str
    """As the map was asked."""
    where: str
    """The name of the centre, or of the city."""
    radius_m: int | None
    hits: int
    is_cut: bool
    """Whether the map has more, which it does not tell."""


@dataclass
class MapResult:
    """Collect the records of one branch; grows while tools are called."""

    places: list[Place] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    weather: list[Weather] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """Names of places dropped because they lie outside the city or the radius."""
    complete: bool = False
    """True where the prefetch covers the task, so that no further tool is needed."""
    open_for_tools: bool = True
    """False where the server itself cannot be had, so that asking a model is pointless."""
    intent: MapIntent | None = None
    provider: str = ""
    """The map that was asked; empty where a model may turn to any."""
    hits: list[MapHit] = field(default_factory=list)
    """Hits of the searches besides `places`, best first."""
    searches: list[MapSearch] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Names of positions ("lng,lat") that earlier calls have located."""
    located: dict[str, str] = field(default_factory=dict)
    """Those positions by the map's own ids, of what is no place of the records."""
    meant: dict[str, str] = field(default_factory=dict)
    """The map's names by those that were looked up: of no place that was taken for another."""
    centre: Location | None = None
    centre_name: str | None = None
    centre_district: str | None = None
    between: tuple[NamedStop, NamedStop] | None = None
    """The two whose middle is the `centre`, where something was looked for between them."""
    radius_m: int | None = None
    """Around `centre`; None where nothing was searched around."""

    @property
    def anchor(self) -> Anchor | None:
        """Return the centre of the searches, for a map; the middle between two is no place."""
        if self.centre is None or self.centre_name is None or self.between:
            return None
        anchor = Anchor(name=self.centre_name, wgs84=wgs84_of(self.centre), location=self.centre)
        if self.centre_district:
            anchor["district"] = self.centre_district
        return anchor

    def settle_found(self) -> None:
        """Drop that nothing was found where a later call brought a place."""
        if self.places:
            self.gaps[:] = [gap for gap in self.gaps if gap["code"] != "map_no_results"]


_DEFAULT_PROVIDER = "amap"
_OWN_ID = range(8, 21)
"""How many characters an id of the map's has."""
_CHINESE = re.compile("[\u4e00-\u9fff]{4,40}")
_NAME = re.compile(r"\b[A-Z][A-Z_]{6,}\b")
WAITING_HELPS = frozenset({"map_rate", "map_busy", "map_network", "map_malformed"})
"""Codes after which the same call may be made again soon."""
NOT_FOUND = "map_place_not_found"
NOT_SET_UP = frozenset({"map_key_missing", "map_no_node"})
"""Codes of a map that nobody has set up; nothing is broken."""


def service_words(text: str) -> list[str]:
    """Return a map service's own words for a failure, such as INVALID_USER_IP or 账号处于…."""
    names = [name for name in _NAME.findall(text) if not name.endswith("_API_KEY")]
    return names or _CHINESE.findall(text)


_SAME = {"timeout": "map_timeout"}
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def _code(error: AgentError) -> str:
    """Return the code of a failure of the map; of a model's its own."""
    of_model = getattr(error, "provider", "").startswith("model:")
    return error.code if of_model else _SAME.get(error.code, error.code)


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """Return one line for people; of a refused key with the service's own word for it."""
    code = _code(error)
    provider = getattr(error, "provider", _DEFAULT_PROVIDER)
    keys = (f"map.errors_of.{provider}.{code}", f"map.other_errors.{code}")
    own = next((key for key in keys if has_text(key)), "") if provider != _DEFAULT_PROVIDER else ""
    key = own or f"map.errors.{code}"
    # A map's branch asks a model, too: what failed there is not the map.
    if provider.startswith("model:") or not has_text(key):
        return say("map.unwritten", language, reason=reason_of(error, language))
    name = map_title(provider, language)
    text = say(key, language, about=about, map=name)
    words = service_words(error.message) if error.code == "map_key_invalid" else []
    if not words:
        return text
    refusal = "map.refusal" if provider == _DEFAULT_PROVIDER else "map.other_refusal"
    return say(refusal, language, text=text, reply=words[0], map=name)


def map_gap(
    error: AgentError,
    query: str,
    language: Language,
    about: str = "",
    *,
    provider: str = _DEFAULT_PROVIDER,
) -> Gap:
    """Return the failure as the user sees it; its own text goes to the log."""
    log.info("map: %s (%s)", error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", provider),
        code=_code(error),
        message=map_message(error, language, about or query),
    )


_ENDS: tuple[SpotRole, ...] = ("origin", "destination")
_LONGEST_TEXT = 255
_FAR = 1.5
"""Times the radius, beyond which a place is no answer to "nearby"."""


def misread(provider: str, problem: str) -> MalformedReply:
    """Return a fault in reading the map's replies as its failure."""
    return MalformedReply(provider, problem, code="map_malformed")


def text_or_none(value: Any) -> str | None:
    """Return one line of text, cut where it is absurdly long."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = " ".join(str(value).split())
    return text[:_LONGEST_TEXT] or None


def lnglat(location: Location) -> str:
    """Return "lng,lat" with six decimals."""
    return f"{location['lng']:.6f},{location['lat']:.6f}"


@dataclass(frozen=True)
class Presentation:
    """Describe the look of a server's records: names, label, links."""

    provider: str
    """The name in ids, errors and gaps."""
    names: Mapping[Language, str]
    label: Mapping[Language, str] = field(default_factory=dict)
    currency: str = "CNY"
    """Of its prices, ISO 4217."""
    links_by_id: bool = True
    """False where the server's ids lead nowhere, as in the sample."""


def has_name(place: Place, name: str) -> bool:
    """Return whether a place has this very name: it is at no distance from itself.

    An address and a place of one name are located some hundred metres apart.
    """
    names = (place["name"], place.get("name_en", ""))
    return bool(name) and any(plain_name(name) == plain_name(own) for own in names)


class MapRecords:
    """Add records to the result of a branch; ids of sources are `prefix-0`, `prefix-1`, …"""

    def __init__(
        self,
        result: MapResult,
        options: MapOptions,
        *,
        presentation: Presentation,
        cities: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.result, self.options, self._now = result, options, now
        self.presentation, self.cities = presentation, list(cities)

    @property
    def provider(self) -> str:
        """Return the name of the map server in errors and gaps."""
        return self.presentation.provider

    def add_place(self, place: Place, keywords: Sequence[str] = ()) -> Place | None:
        """Complete and enter a place, once per id; return None where it is too far."""
        if earlier := next((p for p in self.result.places if p["id"] == place["id"]), None):
            earlier["keywords"] = list(dict.fromkeys([*earlier["keywords"], *keywords]))
            return earlier
        name, metres = place["name"], self._distance(place)
        if metres is not None and self.result.radius_m and metres > self.result.radius_m * _FAR:
            self.reject(name, f"{metres} m from {self.result.centre_name}")
            return None
        if self._is_elsewhere(place):
            self.reject(name, f"in {place['city']}, not in {', '.join(self.cities)}")
            return None
        # What a search named and a tool looked up was found by that search.
        own = place["id"].partition(":")[2]
        found = chain(*(hit["keywords"] for hit in self.result.hits if hit["id"] == own))
        place["keywords"] = list(dict.fromkeys([*keywords, *found]))
        if fold(name) == fold(without_branch(place["category"] or "")):
            place["nameless"] = True
        place["distance_m"] = metres
        place["distance_from"] = self.result.centre_name if metres is not None else None
        if self.result.between:
            _measure_between(place, *self.result.between)
        place["fetched_at"] = self._time()
        if place["cost"] and self.presentation.currency != "CNY":
            place["currency"] = self.presentation.currency
        if hours := yearly_hours(place):
            place["opening"] = [
                OpeningHours(days=sorted(each.days), start=each.start, end=each.end)
                for each in hours
            ]
        language = self.options.language
        if not is_chinese(language):
            place["category_en"], place["open_time_en"] = (
                kind_text(place, language),
                hours_text(place, language),
            )
        if (zone := zone_of(place)) is not CHINA:
            place["zone"] = str(zone)
        place["source"] = self._source(titled_name(place, language), place["url"])
        self.result.sources[-1] = place_source(self.result.sources[-1], place, language)
        self.result.places.append(place)
        self.options.on_found([{**_spot("place", name, place["wgs84"]), "id": place["id"]}])
        return place

    def set_centre(self, name: str, location: Location, district: str | None = None) -> None:
        """Search around this position, which lies in that district, from now on."""
        self.result.centre, self.result.centre_name = location, name
        self.result.centre_district = district
        if not self.result.between:
            self.options.on_found([_spot("anchor", name, wgs84_of(location))])

    def measure_from(self, position: str, name: str | None, crs: Crs) -> None:
        """Let places lie around what a model searches around, where there is no centre yet."""
        point = parse_lnglat(position)
        if name and point and self.result.centre is None:
            self.set_centre(name, Location(lng=point[0], lat=point[1], crs=crs))

    def aside(self) -> "MapRecords":
        """Return records of the same searches in which places are tried, not entered."""
        known = self.result
        result = MapResult(centre=known.centre, centre_name=known.centre_name)
        result.intent, result.radius_m = known.intent, known.radius_m
        options = replace(self.options, on_found=lambda spots: None)
        return MapRecords(
            result, options, presentation=self.presentation, cities=self.cities, now=self._now
        )

    def note_cities(self, arguments: Mapping[str, Any]) -> None:
        """Let places also lie in a city that a call names itself."""
        if self.cities:
            texts = (value for value in arguments.values() if isinstance(value, str))
            self.cities += [city for text in texts for city in cities_in(text)]

    def _is_elsewhere(self, place: Place) -> bool:
        """Return True for a place outside the cities named; around a centre the radius decides."""
        city = place["city"]
        if not (self.cities and city) or self.result.centre is not None:
            return False
        names = (city, place["district"] or "")
        return not any(own in name for own in self.cities for name in names)

    def known_place(self, text: Any) -> Place | None:
        """Return the place whose record has this id: that of its source, its own, or the map's."""
        if not isinstance(text, str) or not (name := text.strip().strip("[]^")):
            return None
        for place in self.result.places:
            if name in (place["source"], place["id"], place["id"].partition(":")[2]):
                return place
        return None

    def unknown_ids(self, values: Sequence[Any]) -> list[str]:
        """Return the map's own ids that stand where positions belong and have no record yet."""
        texts = [part for value in values if isinstance(value, str) for part in value.split("|")]
        names = dict.fromkeys(text.strip(" []^").rpartition(":")[2] for text in texts)
        own = [name for name in names if name.isalnum() and name.isascii() and name.isupper()]
        return [name for name in own if len(name) in _OWN_ID and self.known_place(name) is None]

    def with_position(self, value: Any) -> Any:
        """Return a value with the positions of what it names by ids that replies have had.

        Several stand in a list, or are parted by |.
        """
        if isinstance(value, list):
            return [self.with_position(each) for each in value]
        if not isinstance(value, str):
            return value
        located = self.result.located
        places = [(part, self.known_place(part)) for part in value.split("|")]
        return "|".join(
            lnglat(place["location"]) if place else located.get(part.strip(), part)
            for part, place in places
        )

    def reject(self, name: str, why: str) -> None:
        """Note a place that must not be used."""
        log.info("map: %s left out: %s", name, why)
        if name not in self.result.rejected:
            self.result.rejected.append(name)

    def add_route(self, route: Route) -> Route:
        """Complete and enter a way, once per id."""
        if earlier := next((r for r in self.result.routes if r["id"] == route["id"]), None):
            return earlier
        language = self.options.language
        names = {} if is_chinese(language) else english_names(self.result.places)
        route = route_said(route, names)
        mode = say(f"records.modes.{route['mode']}", language)
        title = f"{mode} {' → '.join(named_route_ends(route, language))}"
        if "ends" in route and (zone := zone_of(route["ends"][0])) is not CHINA:
            route["zone"] = str(zone)
        if self.result.intent == "route":
            route["whole"] = True
        route["source"] = self._source(title, route["url"], route_text(route, language))
        route["fetched_at"] = self._time()
        self.result.routes.append(route)
        self.options.on_found(
            [
                _spot(role, end["name"], end["wgs84"])
                for role, end in zip(_ENDS, route.get("ends", ()), strict=False)
            ]
        )
        return route

    def add_weather(self, weather: Weather, url: str, *, by: str = "") -> Weather:
        """Complete and enter a forecast, once per city; `by` another service than the map's."""
        city = weather["city"]
        if earlier := next((w for w in self.result.weather if w["city"] == city), None):
            return earlier
        language = self.options.language
        if not is_chinese(language) and (english := city_in_english(city)):
            weather["city_en"] = english
        city = forecast_city(weather, language)
        title = say("map.forecast", language, city=city)
        days = (day_text(day, language) for day in weather["days"])
        facts = f"{city} {' · '.join(days)}"
        weather["source"] = self._source(title, url, facts, by)
        weather["fetched_at"] = self._time()
        self.result.weather.append(weather)
        return weather

    def _distance(self, place: Place) -> int | None:
        centre, location = self.result.centre, place["location"]
        name = self.result.centre_name or ""
        if centre is None or centre["crs"] != location["crs"] or has_name(place, name):
            return None
        return round(metres_apart(centre, location))

    def _source(self, title: str, url: str, facts: str = "", by: str = "") -> str:
        language: Language = "zh" if is_chinese(self.options.language) else "en"
        script = self.options.language
        source = Source(
            id=f"{self.options.prefix}-{self.options.first + len(self.result.sources)}",
            kind="place",
            title=in_script(f"{self.presentation.label.get(language, '')}{title}", script),
            url=url,
            provider=by or in_script(self.presentation.names[language], script),
            quotes=[facts],
        )
        self.result.sources.append(source)
        return source["id"]

    def today(self) -> date:
        """Return the day (UTC) on which the records are fetched."""
        return self._now().astimezone(UTC).date()

    def _time(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds")


def _measure_between(place: Place, start: NamedStop, end: NamedStop) -> None:
    """Tell of a place how far both ends are, and what the way between them gets longer by it."""
    (begins, at), (ends, to), own = start, end, place["location"]
    first, last = metres_apart(at, own), metres_apart(own, to)
    place["distance_m"], place["distance_from"] = round(first), begins
    place["further"] = [Distance(origin=ends, metres=round(last))]
    place["detour_m"] = max(0, round(first + last - metres_apart(at, to)))


def _spot(role: SpotRole, name: str, position: Point) -> Spot:
    return Spot(role=role, name=name, lng=position["lng"], lat=position["lat"])


def place_line(place: Place, language: Language) -> str:
    """Return a place with the marker a model cites it by."""
    return f"[^{place['source']}] {place_facts(place, language)}"


def route_line(route: Route, language: Language) -> str:
    """Return a way with its marker."""
    return f"[^{route['source']}] {route_text(route, language)}"


def marked_weather_lines(weather: Weather, language: Language) -> list[str]:
    """Return the days of a forecast, each with the marker."""
    head = f"[^{weather['source']}] {weather['city']}"
    return [f"{head} {day_text(day, language)}" for day in weather["days"]]
