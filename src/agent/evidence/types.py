"""Define the nouns of a run; TypedDicts, as they cross checkpoints and the wire."""

from collections.abc import Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict

Crs = Literal["GCJ-02", "WGS-84"]
SourceKind = Literal["page", "place", "paper", "filing", "document"]
MapIntent = Literal["nearby", "area", "poi", "route", "distance", "weather", "regeo"]
TravelMode = Literal["walking", "driving", "bicycling", "transit"]
RouteMode = Literal["walking", "driving", "bicycling", "transit", "straight"]
"""How a route goes; `straight` is the line between its ends, which nobody can travel."""


class Point(TypedDict):
    """Degrees, WGS-84."""

    lng: float
    lat: float


class Location(TypedDict):
    """Degrees, with the coordinate system they are in (Amap speaks GCJ-02)."""

    lng: float
    lat: float
    crs: Crs


class Source(TypedDict):
    """Something that can be cited: `id` is unique within the turn (`w0-2` web, `a1-0` map)."""

    id: str
    kind: SourceKind
    title: str
    url: str
    provider: str
    quotes: list[str]
    """The sentences this source supports."""
    label: NotRequired[str]
    """Its title once more, under the name by which front ends of Google's quickstart list it."""
    number: NotRequired[int | None]
    """Its number in the answer, by first use; absent until cited."""
    site: NotRequired[str]
    """The site of a page: `sqlite.org`."""
    published: NotRequired[str | None]
    """When a page was published, as the search wrote it."""
    where: NotRequired[str]
    """Where a place is, in words: it tells a branch from the others of its name."""
    document: NotRequired[str]
    """The document that it is a page or passage of: several sources may be of one."""
    unresolved: NotRequired[bool]
    """Its URL is a redirect link whose target is not known."""
    sums: NotRequired[list[str]]
    """Of a calculation the lines that the text uses, with their figures as it writes them.

    Each is behind its letter, in the order of the text, which cites it by that: `[1c]`. Where the
    sources of its numbers are known, they are cited at its end.
    """
    inputs: NotRequired[list[str]]
    """Of each of these lines the citations of its numbers' sources, until they stand behind it."""
    assumed: NotRequired[list[str]]
    """Of a calculation the lines that rest on numbers from nowhere, as its quote has them."""


Diet = Literal["vegetarian", "vegan", "halal", "kosher", "gluten_free"]
Season = Literal["winter", "spring", "summer", "autumn"]
Suits = Literal["children", "elderly", "wheelchair", "indoor", Diet]
"""Whom or what a place is to suit; who eats by a rule, too."""
PlaceKind = Literal[
    "restaurant", "cafe", "bar", "hotel", "parking", "museum", "park", "bookshop", "mall",
    "pharmacy", "hospital", "station",
]  # fmt: skip


SortKey = Literal["distance", "walk", "rating", "price"]
"""What places are wished in the order of: the nearest first, or the shortest way on foot, the best
rated, the cheapest."""


class Constraints(TypedDict, total=False):
    """The demands of a question on a place; a key without a demand is absent."""

    max_cost: float
    """Yuan a person."""
    min_cost: float
    """Yuan a person at least."""
    total_cost: float
    """Yuan at most for all of `people`."""
    people: int
    min_rating: float
    """Of five."""
    free: bool
    """It must cost nothing."""
    open_at: str
    """`HH:MM`, 24 hours; behind `<` some time before it will do."""
    asked_at: float
    """The moment of the question, in seconds since the epoch, where `open_at` is that moment: a
    place is open or closed by its own clock."""
    open_until: str
    """`HH:MM` before which it must not close."""
    open_on: list[int]
    """ISO weekdays, 1 Monday to 7 Sunday; one of them is enough."""
    not_on: list[int]
    """ISO weekdays that are ruled out."""
    day: str
    """ISO date of the day of `open_on`, where it is known: it may be a public holiday."""
    max_distance_m: int
    """In a straight line."""
    max_walk_m: int
    """On foot: a straight line can only say that it is too far."""
    max_walk_min: int
    """The same in minutes; a limit is in one of the two."""
    suits: list[Suits]
    kind: PlaceKind
    """What the place is to be."""
    without: list[str]
    """Names of places that are ruled out."""
    other: list[str]
    """What no field holds, in words."""
    wished: list[str]
    """Keys, or values of `suits`, that would be better met: what fails them fails nothing."""
    sort_by: SortKey
    """No demand on any place: the order that they are wished in."""


class PlaceVerdict(TypedDict):
    """One constraint checked against the record of a place."""

    constraint: str
    """A key of Constraints, or one of `Suits`."""
    verdict: Literal["satisfied", "violated", "unknown"]
    field: str
    """The field of the place that says so, or that would; empty where none could."""
    text: str
    """For the reader, in their language."""
    partly: NotRequired[bool]
    """Of a diet that is met by some dishes only, not by the whole kitchen."""
    ordinarily: NotRequired[bool]
    """Of one that is unknown as the day is a holiday: it is met on an ordinary day."""


class OpeningHours(TypedDict):
    """Hours of some ISO weekdays, in minutes since midnight there; `end` may pass 1440."""

    days: list[int]
    start: int
    end: int


class Distance(TypedDict):
    """How far a place is from another one, in a straight line."""

    origin: str
    origin_en: NotRequired[str]
    metres: int | None
    from_middle: NotRequired[bool]
    """In a message: whether it is from the map's point in the middle of a lake, a park."""
    kind: NotRequired[PlaceKind]
    """What was searched for where the origin was found, beside what found the place."""
    unasked: NotRequired[bool]
    """Whether it is for who writes to choose by: nobody asked how far it is from there."""


class Place(TypedDict):
    """A point of interest as the map knows it; unknown facts are None, never guessed."""

    id: str
    """`amap:B0…`, `osm:node/…`: the map's name, then its own id."""
    name: str
    nameless: NotRequired[bool]
    """Its name was made of its kind and of where it is, or is no more than its kind."""
    name_en: NotRequired[str]
    """Its name in its reader's language where the map has it, else its English one."""
    other_names: NotRequired[list[str]]
    """Further ones of its record, by which a text may call it: in the local script, in Chinese."""
    name_pinyin: NotRequired[str]
    """How a Chinese name sounds, where the turn is in English and there is no English name."""
    name_hant: NotRequired[str]
    """Its name for a reader of Chinese, where that is another: in traditional characters, or as
    the answer calls it, with the local one behind."""
    category_en: NotRequired[str]
    open_time_en: NotRequired[str]
    hours: NotRequired[str]
    """The same as the reader reads it, in an answer not in English or simplified Chinese."""
    district_en: NotRequired[str]
    """The category and the hours in the reader's language where it is not Chinese, the district in
    English."""
    location: Location
    wgs84: Point
    address: str | None
    category: str | None
    district: str | None
    city: str | None
    distance_m: int | None
    """Straight line, metres, from `distance_from`."""
    distance_from: str | None
    distance_from_en: NotRequired[str]
    from_middle: NotRequired[bool]
    """As `Distance.from_middle`."""
    walk_m: NotRequired[int]
    walk_s: NotRequired[int]
    """On foot from there, as the map measured it."""
    further: NotRequired[list[Distance]]
    """From other places that it was looked for at, too."""
    detour_m: NotRequired[int]
    """How much longer the way between the two that it was looked for between is over it."""
    detour_walked: NotRequired[bool]
    """That is measured on foot, and no difference of straight lines."""
    rating: float | None
    cost: float | None
    """Per person unless `per_head` says otherwise; yuan unless `currency` does."""
    currency: NotRequired[str]
    """ISO 4217, of a cost that is no yuan."""
    per_head: NotRequired[bool]
    per_night: NotRequired[bool]
    """Of a room, which is no price a head."""
    open_time: str | None
    hours_osm: NotRequired[str]
    """The same in OpenStreetMap's syntax, where its record has it."""
    opening: NotRequired[list[OpeningHours]]
    """The same as figures; absent where any of it cannot be read."""
    seasons: NotRequired[list[Season]]
    """In which alone it is there; empty where nobody says in which."""
    wheelchair: NotRequired[Literal["no", "limited"]]
    """Where the map says that one gets into little or nothing of it."""
    toilets: NotRequired[Literal["yes", "no", "limited"]]
    """Whether a wheelchair gets into its toilets, where the map says so."""
    access: NotRequired[str]
    """What the map says of how a wheelchair gets in, in its own words."""
    suits: NotRequired[list[Suits]]
    """Whom or what its record says that it suits, in whatever words that is told."""
    wholly: NotRequired[list[Suits]]
    """The diets among these that its whole kitchen keeps; of others it has some dishes."""
    zone: NotRequired[str]
    """Its time zone by its name in the time zone database; China's where it has none."""
    phone: NotRequired[str]
    photo: str | None
    url: str
    source: str
    """`id` of the Source that stands for this place."""
    sources: NotRequired[list[str]]
    """The ids of all sources that stand for it, where several branches found it."""
    verdicts: NotRequired[list[PlaceVerdict]]
    """Of the question's constraints; absent where it has none."""
    demands: NotRequired[Constraints]
    """Of the search that found it, for the question's; a message's places have none."""
    told: NotRequired[list[list[int | str]]]
    """In a message: what its card says of its bullet's words, where each part begins, and it."""
    said: NotRequired[list[str]]
    """Which of its facts the words beside its card say, which leaves them out."""
    mentioned: bool
    """Whether the answer names it."""
    number: NotRequired[int]
    """Of its pin, card and row, from 1; a message's places have it. Sources have others."""
    keywords: list[str]
    """The searches that found it."""
    detailed: bool
    fetched_at: str
    """ISO 8601, UTC."""


class Anchor(TypedDict):
    """The centre that the places of a map search lie around."""

    name: str
    name_en: NotRequired[str]
    wgs84: Point
    location: NotRequired[Location]
    district: NotRequired[str]
    district_en: NotRequired[str]


class RouteStep(TypedDict):
    """Hold one part of a way; a ride has its line, and where to get on and off."""

    instruction: str
    distance_m: int | None
    line: NotRequired[str]
    """Of the ride."""
    board_at: NotRequired[str | None]
    leave_at: NotRequired[str | None]
    stops: NotRequired[int | None]
    """Stops ridden, the last one included."""
    duration_s: NotRequired[int | None]
    """Of a leg: the way from one stop to the next, where there are several."""


class Route(TypedDict):
    id: str
    mode: RouteMode
    origin: str
    destination: str
    origin_en: NotRequired[str]
    destination_en: NotRequired[str]
    """As who asked for the way calls them, where that is not in the map's language."""
    distance_m: int | None
    duration_s: int | None
    steps: list[RouteStep]
    url: str
    source: str
    fetched_at: str
    ends: NotRequired[list["Anchor"]]
    """The two, with their positions."""
    via: NotRequired[list["Anchor"]]
    """The stops between them, in their order."""
    zone: NotRequired[str]
    """In which it begins, as a Place's."""
    line: NotRequired[list[list[float]]]
    """The way as the map draws it: [lng, lat], WGS-84; absent where it gives none."""
    whole: NotRequired[bool]
    """True where the way itself was asked for: it is told with all its steps."""


class Leg(TypedDict):
    """Hold the way from one stop of an outing to the next."""

    mode: RouteMode
    distance_m: int
    duration_s: int
    estimated: bool
    """From the straight line between them; False where the map measured it."""
    lines: NotRequired[list[str]]
    """What a ride goes by, as far as the map names it."""


class Incoming(TypedDict, total=False):
    """Hold what was said of a stop that has to be found first."""

    time: str
    meal: Literal["lunch", "dinner"]
    """That is to be had there, whatever else the place is."""
    name: str
    """What is looked for, where it is no meal and comes for no other stop."""


class OutingWish(TypedDict, total=False):
    """Hold what a person wants of an outing; times are `HH:MM`, 24 hours, places' keys are ids."""

    day: str
    """ISO date; absent while nobody has named one and no place is known."""
    begins: str
    back_by: str
    not_before: dict[str, str]
    """Places that are to be visited at that time or later."""
    not_after: dict[str, str]
    without: list[str]
    """Places that are not wanted."""
    incoming: list[Incoming]
    """Stops that are looked up for it; none any more once it is planned."""
    stands_for: dict[str, str]
    """What was looked up, by the places that were found for it."""
    eats: dict[str, Literal["lunch", "dinner"]]
    """The meals that were given a place."""
    unknown: list[str]
    """What was to be changed and is no stop that anybody knows."""
    meals: list[Literal["lunch", "dinner"]]
    """The meals that are to be had at places of the plan; both where none is named."""
    stops: int
    """How many at most; with `meals`, beside those."""
    order: list[str]
    """What each stop is to be, in turn: kinds of places, names, meals. There are no others, but for
    so many more as `stops` says."""
    max_walk_m: int
    """From one stop to the next; what is further is ridden."""
    max_walk_min: int
    """The same in minutes."""
    any_order: bool
    """Whether `order` says only what stops there are, and not when."""
    ordered: bool
    """Whether somebody said an order before the day was changed: it is that of its stops."""
    on_foot: bool
    """All ways: that one is longer than a named limit on walks is told."""
    little_walking: bool
    sets_out: bool
    """Whether one leaves home when it begins, and is not at the first stop yet."""
    from_place: str
    """Where it begins, as somebody named it, and ends, unless `to_place` is named, too."""
    to_place: str
    total_cost: float
    """Of all stops together, for `people`: without these, for nobody knows how many."""
    people: int
    demands: Constraints
    """On each place, at whatever hour and on whatever day: they hold when the day is changed."""


class Stop(TypedDict):
    """Hold one stop of an outing; times are `HH:MM`."""

    place: NotRequired[str]
    """Id of the Place; absent where it is a meal at a place of one's own choice."""
    name: str
    source: NotRequired[str]
    begins: str
    ends: str
    meal: NotRequired[Literal["lunch", "dinner"]]
    leg: NotRequired[Leg]
    """How to get here; absent at the first stop where nobody said from where."""
    hours_unknown: NotRequired[bool]
    cost: NotRequired[float]
    """A person, in yuan; absent where it is not known."""


LeftOutReason = Literal["closed", "hours", "meals", "time", "far", "unfit", "unwanted", "dear"]


class LeftOut(TypedDict):
    """Hold a place that an outing has no room for."""

    place: str
    name: str
    source: str
    reason: LeftOutReason
    text: str
    """The reason for a reader, in their language."""


class DayEnd(TypedDict):
    """Hold where a day begins or ends: as it was `asked` for, and as the map has it."""

    asked: str
    name: str
    wgs84: Point


class StopQuestion(TypedDict):
    """What of a stop nobody knows, though it is wanted: "not known whether it suits children"."""

    place: str
    name: str
    text: str


class Outing(TypedDict):
    """Hold a planned day: its stops in order, and what was left out."""

    wish: OutingWish
    day: str
    """ISO date."""
    begins: str
    ends: str
    """When it is over; the way back included, where there is one."""
    stops: list[Stop]
    left_out: list[LeftOut]
    back: NotRequired[Leg]
    """To where it ends, or else to where it began."""
    start: NotRequired[DayEnd]
    """Where it begins, if that was named; absent for the person's own position."""
    end: NotRequired[DayEnd]
    lacks: NotRequired[list[str]]
    """What is to be in it and no place that was found can be: words of its order, "lunch"."""
    asked: NotRequired[int]
    """How many stops were asked for that a place can be, and how many of them there are."""
    had: NotRequired[int]
    open: NotRequired[list[StopQuestion]]
    told: NotRequired[list[str]]
    """What is not as it was asked for, in its reader's language: another order, something else."""
    url: str
    """Shows all stops on the map; empty where the map has no such link."""
    zone: NotRequired[str]
    """In which its day and times are, as a Place's."""


class WeatherDay(TypedDict):
    date: str
    day: str
    night: str
    high_c: int | None
    low_c: int | None
    wind: str | None
    sky_en: NotRequired[str]
    wind_en: NotRequired[str]
    asked: NotRequired[bool]


class Weather(TypedDict):
    id: str
    city: str
    city_en: NotRequired[str]
    days: list[WeatherDay]
    zone: NotRequired[str]
    """In which its days are, as a Place's."""
    source: str
    fetched_at: str


class Gap(TypedDict):
    """Something that could not be found out, and why; shown to the user."""

    query: str
    provider: str
    code: str
    """A stable word: `map_key_missing`, `rate_limited`, `budget_searches`, …"""
    message: str
    recovered: NotRequired[bool]
    """Something else stood in, so that the reader misses nothing."""
    concerns: NotRequired[list[str]]
    """Ids of the sources that it is about: an answer that cites none of them need not tell it."""
    missing: NotRequired[list[str]]
    """The things that its message names: of those that the text tells, the note says nothing."""


AvoidedRoad = Literal["motorway", "toll", "ferry"]
WayTime = Literal["depart_at", "arrive_by"]
WayWish = AvoidedRoad | WayTime
"""What a map may or may not be able to do for a way."""


class FoundPlaces(TypedDict):
    """How many places of a kind a search of the map found, of which not all are looked up."""

    words: str
    """As the places have them among their keywords."""
    where: str
    count: int
    is_cut: bool
    """Whether there are more: the map told no further ones."""
    radius_m: NotRequired[int | None]
    """Within which it searched; absent in a whole city."""


class MapTask(TypedDict):
    """The task of the map for one query."""

    intent: MapIntent
    place: NotRequired[str | None]
    city: NotRequired[str | None]
    country: NotRequired[str | None]
    """Two letters, ISO 3166, of the country that the place is in."""
    keywords: NotRequired[list[str]]
    """At most three."""
    radius_m: NotRequired[int]
    """Metres, 100 to 50,000."""
    origin: NotRequired[str | None]
    destination: NotRequired[str | None]
    mode: NotRequired[TravelMode | None]
    via: NotRequired[list[str]]
    """Places that a way goes over, at most eight."""
    any_order: NotRequired[Literal["via", "all"]]
    """That these may come in any order, with its end or without."""
    wishes: NotRequired[list[str]]
    """What else is wished, in words: the traffic now, no stairs."""
    avoid: NotRequired[list[AvoidedRoad]]
    """Roads that a way by car is not to take."""
    depart_at: NotRequired[str]
    arrive_by: NotRequired[str]
    """When a way begins, or is to end, on the clock there: `HH:MM`, behind an ISO date and a T
    where the day is known."""
    said: NotRequired[dict[str, str]]
    """The asker's words for places, by their names there."""
    demands: NotRequired[Constraints]
    """On what this search finds alone: they stand for the question's."""
    by_rules: NotRequired[bool]
    """A way that rules wrote: what is wished of it they do not read."""
    found: NotRequired[list[FoundPlaces]]
    """What there is, once the map has answered."""


class Query(TypedDict):
    """One search, and the map task that goes with it where the map helps."""

    query: str
    map: MapTask | None
    web: NotRequired[bool]
    """False: only the map is asked, unless it finds nothing; absent means True."""
    rationale: NotRequired[str]


PlanPart = Literal["queries", "topics", "tasks", "steps"]
"""The key of a plan's lines, by the assistant it is of."""
PLAN_TEXTS: Mapping[PlanPart, str] = {
    "queries": "query",
    "topics": "name",
    "tasks": "query",
    "steps": "",
}
"""The key of a line's text; empty where the line is one."""
