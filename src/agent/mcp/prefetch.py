"""Fetch what a task needs before a model is asked: what the plans of all map servers share."""

import logging
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from typing import Any

from agent.core.errors import AgentError, BudgetExceeded, ProviderError, ProviderRefused
from agent.core.faults import contained
from agent.core.strings import letters_of
from agent.evidence.geo import distance_text, location_in, metres_apart
from agent.evidence.language import fold, words
from agent.evidence.maps import WAY_TIMES, WAYS, WITHOUT_TRAFFIC, way_wishes
from agent.evidence.mentions import named_in, without_branch
from agent.evidence.records import map_title
from agent.evidence.said import stop_names
from agent.evidence.stop_order import MOST_STOPS, S, shortest_order
from agent.evidence.types import Gap, Leg, Location, MapTask, Place, Point, TravelMode, WayWish
from agent.evidence.vocabulary import city_in_english, landmark_in
from agent.mcp.new_records import NamedStop
from agent.mcp.records import (
    NOT_FOUND,
    POINTLESS_TO_GO_ON,
    BranchCalls,
    MapOptions,
    MapRecords,
    MapResult,
    MapSearch,
    map_gap,
    misread,
)
from agent.texts import in_script, reads_han, say

log = logging.getLogger(__name__)
OnFoot = Callable[[Sequence[Location], BranchCalls], Awaitable[dict[tuple[int, int], Leg]]]
"""Measures the ways on foot between points, by their indices, as far as they are known."""
_HERE_WORDS = frozenset(
    {
        "我的位置", "我这里", "我这儿", "这里", "这儿", "附近", "当前位置", "此处", "here", "me",
        "my location", "current location", "near me",
    }
)  # fmt: skip
_MIDDLES = frozenset(
    {
        "centre", "center", "downtown", "zentrum", "stadtzentrum", "innenstadt", "centre-ville",
        "centro", "центр", "市中心", "中心", "城区", "市区", "中心城区",
    }
)  # fmt: skip
_BESIDE_MIDDLES = frozenset({"the", "of", "city", "town", "der", "de", "du", "la", "ville", "的"})
"""Words for where a city has its middle, and those that stand by them."""
DEFAULT_RADIUS_M = 2000
WIDER = 2.5
"""Times the radius, where few places lie within it."""
FEW = 3
ITSELF_M = 500
"""Within which a hit that has the very name of the centre is the centre: an address and a place of
one name are located some hundred metres apart."""
_RIDES_M = 5000
"""Up to which a way by bus is shown as one on foot, where there are no timetables."""
_LEAST_BETWEEN_M = 500
"""Around the middle of two that are next to each other."""
_SAME_TOWN_M = 50_000
"""Within which a place is in the town where the person is."""
_WALKABLE_M = 1500
"""Up to which a way is one on foot unless something else is asked for."""
FAR_ON_FOOT_M = 3000
"""In a straight line; nobody asks for the way on foot to what is further."""


def means_here(place: str | None) -> bool:
    """Return whether the words only say "where I am"."""
    return (place or "").strip().casefold() in _HERE_WORDS


def is_middle(place: str, city: str | None) -> bool:
    """Return whether a place is the middle of its city: 北京市中心, "Helsinki city centre"."""
    rest, town = fold(place), (city or "").removesuffix("市")
    for name in filter(None, (city, town, city_in_english(town))):
        rest = rest.replace(fold(name), " ")
    said = {*rest.replace(",", " ").split()}
    return bool(town and said & _MIDDLES) and said <= _MIDDLES | _BESIDE_MIDDLES


def one_line_of(text: str | None) -> str | None:
    """Return a text of a task without superfluous blanks; None where nothing is left."""
    return " ".join(text.split()) or None if text else None


def walks_between(task: MapTask, start: NamedStop, end: NamedStop) -> bool:
    """Return whether one walks between the two that something is looked for between."""
    usual = "walking" if metres_apart(start[1], end[1]) <= FAR_ON_FOOT_M else "driving"
    return (task.get("mode") or usual) == "walking"


def calls_for_walks(task: MapTask, result: MapResult, options: MapOptions) -> int:
    """Return how many calls are kept for ways on foot, which are measured last of all."""
    if result.between:
        return 2 if walks_between(task, *result.between) else 0
    return int(options.walks_within_m is not None and result.centre is not None)


def drop_budget_gaps(result: MapResult) -> None:
    """Log a spent budget instead of telling it, where the branch has records all the same."""
    spent = [gap for gap in result.gaps if gap["code"] == "budget_max_map_calls"]
    if spent and result.sources:
        log.info("map: the calls of %r are spent, after %d records", spent[0]["query"],
                 len(result.sources))  # fmt: skip
        result.gaps[:] = [gap for gap in result.gaps if gap not in spent]


class Prefetch:
    """Fetch into the records before a model is asked; without a plan of its own, nothing."""

    def __init__(self, task: MapTask, query: str, records: MapRecords, call: BranchCalls) -> None:
        self._task, self._query, self._records, self._call = task, query, records, call
        self._options, self._result = records.options, records.result
        self._place, self._city = one_line_of(task.get("place")), one_line_of(task.get("city"))
        self.heeds: frozenset[WayWish] = frozenset()
        """What of the wishes for a way the map can do."""
        self._unknown_end: str | None = None
        self._cities = set[str]()
        """Cities that places of this task were found in."""

    async def run(self) -> None:
        """Carry out the plan; a failed source becomes a gap, what is there already stays."""
        try:
            with contained(self._records.provider, misread):
                await self._plan()
        except (ProviderError, BudgetExceeded) as error:
            self._gap(error)
        result = self._result
        drop_budget_gaps(result)
        result.complete = bool(result.places or result.routes or result.weather)
        self.tell()
        log.info(
            "map: %s: %d places of %d hits, %d routes, %d forecasts, %d gaps",
            self._task["intent"], len(result.places), len(result.places) + len(result.hits),
            len(result.routes), len(result.weather), len(result.gaps),
        )  # fmt: skip

    async def more(self, count: int) -> None:
        """Look up `count` further hits; failures are gaps."""

    async def _plan(self) -> None:
        """Carry out the task by the method of its intent's name: nothing where there is none."""
        intent = self._task["intent"]
        if plan := getattr(self, "_route" if intent == "distance" else f"_{intent}", None):
            await plan()

    async def _stop(self, name: str | None) -> NamedStop:
        """Return a place by its name, a position as it is, or where the person is."""
        raise self._no_place()

    async def _middle(self, most: int) -> NamedStop | None:
        """Return the middle of the two that something is looked for between; None without them.

        What lies within half their distance of it is searched, up to `most` metres, which is told.
        """
        task, language = self._task, self._options.language
        names = [task.get("origin") or self._place, task.get("destination")]
        if not names[1] or names[0] == names[1] or not (names[0] or self._options.near):
            return None
        start, end = [await self._stop(one_line_of(name)) for name in names]
        (begins, at), (ends, to) = self._result.between = start, end
        half = round(metres_apart(at, to) / 2)
        self._task = MapTask(**{**task, "radius_m": max(half, _LEAST_BETWEEN_M)})
        values = {"begin": in_script(begins, language), "end": in_script(ends, language)}
        if half > most:
            far = distance_text(most, language)
            self._remark("map_between", say("map.between_far", language, far=far, **values))
        lng, lat = (at["lng"] + to["lng"]) / 2, (at["lat"] + to["lat"]) / 2
        return say("map.between", language, **values), Location(lng=lng, lat=lat, crs=at["crs"])

    async def _in_best_order(self, stops: list[S], on_foot: OnFoot) -> list[S]:
        """Return the stops of a way in the shortest order, where any will do, which is told.

        Ways on foot are measured; of others, and where one is lacking, the straight lines count.
        """
        if "any_order" not in self._task:
            return stops
        is_named, legs = self._task["any_order"] == "via", None
        if self._task.get("mode") in ("walking", None) and len(stops) <= MOST_STOPS:
            legs = await on_foot([stop.location for stop in stops], self._call)
        best = shortest_order(stops, legs, is_end_named=is_named) if legs else None
        key = "map.ordered_on_foot" if best else "map.ordered"
        best = best or shortest_order(stops, None, is_end_named=is_named)
        if best:
            self._remark("map_ordered", say(key, self._options.language))
        return best or stops

    def _meant_here(self, name: str | None) -> Point | None:
        """Return where the person is, as far as it is known, for no name or one that means it."""
        return self._options.near if not name or means_here(name) else None

    def _known(self, name: str | None) -> Place | None:
        """Return the place of this map that the person was shown by that name, if it is one."""
        town, own = fold(self._city or "").removesuffix("市"), f"{self._records.provider}:"

        def is_meant(place: Place) -> bool:
            told, city = f"{place['name']}, {place['address']}", place["city"] or ""
            towns = [fold(city), fold(city_in_english(city) or "")] if city else [town]
            is_called = name in (place["name"], place.get("name_en"), told)
            return is_called and place["id"].startswith(own) and any(town in t for t in towns)

        found = {each["id"]: each for each in self._options.known if name and is_meant(each)}
        return next(iter(found.values())) if len(found) == 1 else None

    def _mode(self, straight: float, modes: Container[TravelMode]) -> TravelMode:
        """Return how one goes so far: as asked for, as far as the map has such ways."""
        usual: TravelMode = "walking" if straight < _WALKABLE_M else "driving"
        mode = self._task.get("mode") or usual
        return mode if mode in modes else self._instead_of_a_ride(straight)

    def _instead_of_a_ride(self, straight: float) -> TravelMode:
        """Return how one goes where the map has no timetables, which is told."""
        mode: TravelMode = "walking" if straight < _RIDES_M else "driving"
        language = self._options.language
        name = map_title(self._records.provider, language)
        message = say(f"map.no_timetables.{mode}", language, map=name)
        self._remark("map_no_timetables", message)
        return mode

    async def _near_or_wider(
        self, bounds: tuple[int, int], search: Callable[[], Awaitable[list[list[dict[str, Any]]]]]
    ) -> list[list[dict[str, Any]]]:
        """Return what searches find within the radius asked for; where that is little, further."""
        result, (least, most) = self._result, bounds
        result.radius_m = min(max(self._task.get("radius_m") or DEFAULT_RADIUS_M, least), most)
        calls = self._call.left()
        found, radius = await search(), result.radius_m
        if sum(map(len, found)) >= FEW or radius >= most:
            return found
        # What is found further off is of no use if no call is left to look at it.
        left = self._call.left() - (calls - self._call.left())
        if any(found) and left <= calls_for_walks(self._task, result, self._options):
            return found
        result.radius_m = min(int(radius * WIDER), most)
        wider = await search()
        return wider if sum(map(len, wider)) > sum(map(len, found)) else found

    def _spots(self) -> list[NamedStop]:
        """Return what is searched around: a centre, or the two that something lies between."""
        result = self._result
        if result.between:
            return [*result.between]
        return [(result.centre_name, result.centre)] if result.centre_name and result.centre else []

    def _refused(self, reason: str, code: str) -> ProviderRefused:
        return ProviderRefused(self._records.provider, reason, code=code)

    def _no_place(self) -> ProviderRefused:
        return self._refused("no place is named", "map_needs_place")

    def _remark(self, code: str, message: str) -> None:
        """Note something of how was searched."""
        gap = Gap(query=self._query, provider=self._records.provider, code=code, message=message)
        self._result.gaps.append(gap)

    def tell(self) -> None:
        """Note what the way is without of what was wished.

        Called again once more was looked up: what was told before is told as it is then.
        """
        told, result = ("map_unmet", "map_wished", "map_unread"), self._result
        result.gaps[:] = [gap for gap in result.gaps if gap["code"] not in told]
        self._tell_found_instead()
        for gap in result.gaps:
            if gap["code"] == "map_taken" and result.sources:
                gap["concerns"] = [source["id"] for source in result.sources]
        if self._task["intent"] not in WAYS:
            self._tell_besides()
        elif result.routes:
            self._tell_unmet()

    def _tell_found_instead(self) -> None:
        """Tell from where else a model searched, instead of that the place was not found.

        A way over as many stops as were asked for tells itself between what it is.
        """
        result, own = self._result, letters_of(self._result.centre_name or "")
        lost = [gap for gap in result.gaps if gap["code"] == NOT_FOUND]
        if self._task["intent"] in WAYS:
            stops = max((len(stop_names(route)) for route in result.routes), default=0)
            is_found = stops >= 2 + len(self._task.get("via", []))
            result.gaps[:] = [gap for gap in result.gaps if not (is_found and gap in lost)]
            return
        if not (lost and own and result.places and self._place):
            return
        result.gaps[:] = [gap for gap in result.gaps if gap not in lost]
        asked = letters_of(self._place)
        if own not in asked and asked not in own:
            self._tell_taken(self._place, result.centre_name or "", None)

    def _tell_besides(self) -> None:
        """Note what was wished of places in words: their writer sees whether a record tells it."""
        if wishes := self._task.get("wishes"):
            language = self._options.language
            told = say("punctuation.comma", language).join(wishes)
            self._remark("map_wished", say("map.besides", language, wishes=told))

    def _tell_unmet(self) -> None:
        """Note what a way takes no account of."""
        language = self._options.language
        asked = [wish for wish in way_wishes(self._task) if wish not in self.heeds]
        roads = [say(f"map.avoid.{road}", language) for road in self._task.get("avoid", [])
                 if road in asked]  # fmt: skip
        if "any_order" in self._task and not any(
            g["code"] == "map_ordered" for g in self._result.gaps
        ):
            roads.append(say("map.any_order", language))
        # When to leave for eight is worked out from any way; at what traffic, is not.
        has_traffic = any(r["mode"] not in WITHOUT_TRAFFIC for r in self._result.routes)
        times = [
            say(f"map.{key}", language, time=self._task.get(key, "").rpartition("T")[2])
            for key in (WAY_TIMES if has_traffic else ())
            if key in asked
        ]
        joint = say("punctuation.comma", language)
        if self._task.get("by_rules"):
            self._remark("map_unread", say("map.unread", language))
        wishes = self._task.get("wishes", [])
        # Whether a wish in words is met, its writer sees from all the ways that were looked up.
        for key, told in (("unmet", roads), ("untimed", times), ("wished", wishes)):
            if told:
                code = "map_wished" if told is wishes else "map_unmet"
                self._remark(code, say(f"map.{key}", language, wishes=joint.join(told)))

    def _tell_city(self, place: str, city: str, others: Sequence[str], at: Location) -> None:
        """Note which city's place was taken, where others have one, or nobody said which city."""
        language, named = self._options.language, self._is_city_known(place, city, at)
        names = say("punctuation.comma", language).join(map(self._town, others[:3]))
        values = {"place": in_script(place, language), "city": self._town(city)}
        self._cities.add(city)
        if names:
            message = say("map.ambiguous", language, others=names, **values)
        elif not named:
            message = say("map.city_assumed", language, **values)
        else:
            return
        self._remark("map_ambiguous", message)

    def _tell_taken(
        self, place: str, name: str, city: str | None, names: Sequence[str] = ()
    ) -> bool:
        """Note which place was taken for one that the map has under another name, if it is one.

        It is no other where one of its `names` has every word, or is what its asker wrote.
        """
        language, asked = self._options.language, words(place.partition(",")[0])
        question = fold(self._options.question)
        self._cities.update(filter(None, [city]))
        if any((asked and asked <= words(each)) or fold(each) in question for each in names):
            return False
        town = self._town(city) if city and city not in name else ""
        taken = f"{name}{say('punctuation.brackets', language, text=town)}" if town else name
        values = {"place": in_script(place, language), "name": in_script(taken, language)}
        self._remark("map_taken", say("map.taken", language, **values))
        return True

    def _town(self, city: str) -> str:
        """Return a city as whoever asks reads it."""
        language = self._options.language
        return in_script(city, language) if reads_han(language) else city_in_english(city) or city

    def _is_city_known(self, place: str, city: str, at: Location) -> bool:
        """Return whether the question, its fame, what was shown before or where one is tell it."""
        near, names = self._options.near, {city.removesuffix("市"), city_in_english(city) or city}
        task = self._task
        ends = [task.get("origin"), task.get("destination"), *task.get("via", [])]
        told = [self._options.question, self._query, place, *self._records.cities, *ends]
        said = " ".join(filter(None, told)).casefold()
        if landmark_in(place) or any(name.casefold() in said for name in names):
            return True
        shown = {each["city"] for each in self._options.known}
        here = location_in(at["crs"], near) if near else None
        return city in self._cities | shown or bool(here and metres_apart(here, at) < _SAME_TOWN_M)

    def _note_search(
        self,
        words: str,
        where: str,
        hits: int,
        radius_m: int | None = None,
        *,
        is_cut: bool = False,
    ) -> None:
        named = self._named_keywords().get(words, words)
        search = MapSearch(
            keyword=named, words=words, where=where, radius_m=radius_m, hits=hits, is_cut=is_cut
        )
        narrower = [s for s in self._result.searches if (s["words"], s["where"]) != (words, where)]
        self._result.searches[:] = [*narrower, search]

    def _named(self, names: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the ids of hits that pages name, before there are any the question; none of those
        that are called as what is searched around.
        """
        spot = letters_of(self._place or "")
        hits = {id: own for id, own in names.items() if letters_of(without_branch(own[0])) != spot}
        return {*named_in(hits, self._options.pages or self._options.question)}

    def _listed(self, keyword: str) -> str:
        """Return a keyword as the map lists such places."""
        return keyword

    def _keywords(self) -> list[str]:
        """Return the words to search for, as the map lists such places."""
        return list(self._named_keywords())[: self._options.keywords]

    def _named_keywords(self) -> dict[str, str]:
        """Return each word to search for with the task's own word for it."""
        plain = [" ".join(word.split()) for word in self._task.get("keywords") or []]
        named: dict[str, str] = {}
        for word in filter(None, plain):
            named.setdefault(self._listed(word), word)
        return named

    def _about(self, error: AgentError) -> str:
        """Return the words of the task that an error is about.

        They are those of whoever asked, which are not always those of the map.
        """
        asked = list(self._named_keywords().values())[: self._options.keywords]
        words = [self._place or self._city, *asked]
        about = words[0] or " ".join(word for word in words if word) or self._query
        about = self._unknown_end or about
        if error.code == "map_no_results":
            about = " ".join(word for word in words if word) or self._query
        if self._task["intent"] in ("route", "distance") and error.code == "map_no_route":
            about = f"{self._task.get('origin') or ''} → {self._task.get('destination') or ''}"
        return about

    def _gap(self, error: AgentError) -> None:
        """Add the gap of a failed call; a spent budget is told once."""
        codes = {gap["code"] for gap in self._result.gaps}
        if not (error.code in codes and error.code.startswith("budget_")):
            self._result.gaps.append(
                map_gap(
                    error,
                    self._query,
                    self._options.language,
                    self._about(error),
                    provider=self._records.provider,
                )
            )
        if error.code in POINTLESS_TO_GO_ON:
            self._result.open_for_tools = False
