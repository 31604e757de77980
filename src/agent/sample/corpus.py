"""Look up places, named anchors and pages in the bundled sample.

Coordinates are GCJ-02 degrees, distances metres. The rules are generic: they compare words with
what the files under `sample/` say, and know no particular question.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import asin, cos, log, radians, sin, sqrt

from agent.sample.records import (
    Anchor,
    Area,
    City,
    CityWeather,
    Page,
    Place,
    Sample,
    WeatherDay,
    has,
    is_chinese,
    key,
    load_sample,
    phrase,
    segments,
    terms,
    unseen,
)

__all__ = [
    "Anchor",
    "Area",
    "City",
    "CityWeather",
    "Page",
    "Place",
    "Sample",
    "WeatherDay",
    "distance_m",
    "find_anchor",
    "find_city",
    "load_sample",
    "place_by_id",
    "places_in",
    "places_near",
    "search_pages",
]

_EARTH_RADIUS_M = 6_371_008.8
_MIN_SCORE = 0.75
_SUBJECT_BONUS = 0.6
_CITY_BONUS = 0.3
_RELATIVE_CUT = 0.5
_RARE = 3
_TITLE_WEIGHT, _TEXT_WEIGHT = 1.0, 0.7
_SEPARATORS = re.compile(r"[|,，、;；]")
_ENGLISH_FILLER = re.compile(r"\b(?:the|near|around|in|at|china)\b", re.IGNORECASE)
_CITY, _DISTRICT, _SPOT = "市", "区县", "兴趣点"


def place_by_id(place_id: str) -> Place | None:
    """Return the place with the id (with or without `amap:` in front), or None."""
    own_id = place_id.removeprefix("amap:")
    return next((place for place in load_sample().places if place.id == own_id), None)


def places_near(
    lng: float, lat: float, radius_m: float, keywords: str = ""
) -> list[tuple[Place, float]]:
    """Place within `radius_m` metres that any of the keywords fits, nearest first, with metres."""
    metres = {p.id: distance_m(lng, lat, p.lng, p.lat) for p in load_sample().places}
    pool = [place for place in load_sample().places if metres[place.id] <= radius_m]
    pairs = [(place, metres[place.id]) for place in _fitting(pool, keywords)]
    return sorted(pairs, key=lambda pair: pair[1])


def places_in(city: str | None, keywords: str = "") -> list[Place]:
    """Place of a city (name, code or district; None for all), those named like a keyword first."""
    pool = list(load_sample().places)
    if city:
        home = find_city(city)
        pool = [place for place in pool if home and place.city == home.name]
    names = [phrase(part) for part in _SEPARATORS.split(keywords)]

    def named_otherwise(place: Place) -> bool:
        own = f"{phrase(place.name)}|{phrase(place.name_en)}"
        return not any(has(own, name) for name in names)

    return sorted(_fitting(pool, keywords), key=named_otherwise)


def find_city(text: str) -> City | None:
    """Return the city of a name (zh, en), an adcode, a citycode or a district."""
    name_key = key(text)
    for city in load_sample().cities:
        keys = {city.adcode, city.citycode, *(d.adcode for d in city.districts)}
        keys |= {key(name) for name in _admin_names(city)}
        rests = {name_key.removeprefix(key(name)) for name in _names_of(city)}
        if name_key and (name_key in keys or rests & keys):
            return city
    return None


def find_anchor(text: str, city: str | None = None) -> Anchor | None:
    """Return the named spot, district, city or sample place that a geocoder makes of the text.

    Before the name may only stand its province, city or district, so that the 西湖 of another
    city is not taken for Hangzhou's. None where nothing fits.
    """
    home = find_city(city) if city else None
    if city and not home:
        return None
    readings = _without_admin_names(key(_ENGLISH_FILLER.sub(" ", text)))
    for anchor in _candidates(readings):
        if not home or anchor.city == home.name:
            return anchor
    return None


def search_pages(query: str, language: str | None = None, limit: int = 8) -> list[Page]:
    """Return the pages that fit the query, best first; none where the sample has nothing on it.

    The score is the share of the query's words (weighted by rarity) that a page has, and more
    where the query names the page's subject or city; pages of another city are left out. A page
    that has every word always fits.
    """
    query_terms = terms(query)
    scored = [
        (score, page)
        for page in load_sample().pages
        if language in (None, page.language) and (score := _score(query_terms, page)) >= _MIN_SCORE
    ]
    best = max((score for score, _ in scored), default=0.0)
    best_pairs = [pair for pair in scored if pair[0] >= best * _RELATIVE_CUT]
    own = "zh" if is_chinese(query) else "en"
    best_pairs.sort(key=lambda pair: (-pair[0], pair[1].language != own, pair[1].id))
    return [page for _, page in best_pairs[:limit]]


def distance_m(lng_a: float, lat_a: float, lng_b: float, lat_b: float) -> float:
    """Return metres along the sphere."""
    x_a, y_a, x_b, y_b = map(radians, (lng_a, lat_a, lng_b, lat_b))
    h = sin((y_b - y_a) / 2) ** 2 + cos(y_a) * cos(y_b) * sin((x_b - x_a) / 2) ** 2
    return 2 * _EARTH_RADIUS_M * asin(sqrt(min(1.0, h)))


def _fitting(pool: list[Place], keywords: str) -> list[Place]:
    parts = [part for part in _SEPARATORS.split(keywords) if phrase(part)]
    if not parts:
        return pool
    ids = {place.id for part in parts for place in _fitting_part(pool, phrase(part))}
    return [place for place in pool if place.id in ids]


def _fitting_part(pool: list[Place], part: str) -> list[Place]:
    """Place that answer to the phrase as it is, or to all known phrases it is made of.

    Otherwise any of its words will do, within the areas and cities it names.
    """
    words = part.split()
    if len(words) == 1 or not is_chinese(part):
        if direct := [place for place in pool if _answers(place, part)]:
            return direct
        phrases = segments(part, _vocabulary())
        if phrases or len(words) == 1:
            return [p for p in pool if phrases and all(_answers(p, word) for word in phrases)]
    scopes = [word for word in words if any(word in p.scope for p in load_sample().places)]
    others = [word for word in words if word not in scopes]
    return [
        place
        for place in pool
        if all(word in place.scope for word in scopes)
        and (not others or any(_answers(place, word) for word in others))
    ]


def _answers(place: Place, word: str) -> bool:
    return word in place.scope or has(place.words, word)


@cache
def _vocabulary() -> frozenset[str]:
    places = load_sample().places
    return frozenset(phrase(tag) for p in places for tag in p.tags).union(
        *(p.scope for p in places)
    )


def _without_admin_names(text: str) -> list[str]:
    """Return the text, then with each province, city or district name in front taken off."""
    cities = load_sample().cities
    admin = {key(name) for city in cities for name in _admin_names(city)}
    admin |= {key(city.province) for city in cities}
    readings = [text]
    while front := max((n for n in admin if readings[-1].startswith(n)), key=len, default=""):
        readings.append(readings[-1][len(front) :])
    return [reading for reading in readings if reading]


def _candidates(readings: list[str]) -> Iterator[Anchor]:
    """Yield the anchors named exactly by a reading, then those a reading begins with."""
    index = _anchor_index()
    for reading in readings:
        yield from index.get(reading, ())
    for reading in reversed(readings):
        for alias in sorted(index, key=len, reverse=True):
            rest = reading.removeprefix(alias)
            if rest != reading and rest[:1] not in ("区", "县", "市"):
                yield from (a for a in index[alias] if a.level not in (_CITY, _DISTRICT))


@cache
def _anchor_index() -> dict[str, list[Anchor]]:
    sample = load_sample()
    spots = [*sample.anchors]
    spots += [d for city in sample.cities for d in (_centre(city), *city.districts)]
    spots += [_anchor_of(place) for place in sample.places]
    index: dict[str, list[Anchor]] = {}
    for spot in spots:
        for name in _names_of(spot):
            index.setdefault(key(_ENGLISH_FILLER.sub(" ", name)), []).append(spot)
    return index


def _admin_names(city: City) -> list[str]:
    return [*_names_of(city), *(name for part in city.districts for name in _names_of(part))]


def _names_of(spot: Anchor | City) -> tuple[str, ...]:
    return (spot.name, *spot.aliases)


def _score(query_terms: frozenset[str], page: Page) -> float:
    titles, texts, subjects = _page_terms()[page.id]
    rarity = _rarity()
    new = log(1 + 2 * len(load_sample().pages)) * len(unseen(query_terms, rarity))
    total = new + sum(rarity[term] for term in query_terms if term in rarity)
    if not total:
        return 0.0
    weight = sum(_TITLE_WEIGHT * rarity[term] for term in query_terms & titles)
    weight += sum(_TEXT_WEIGHT * rarity[term] for term in (query_terms & texts) - titles)
    if any(subject <= query_terms for subject in subjects):
        return weight / total + _SUBJECT_BONUS
    cities, own = _cities_named(query_terms), _cities_named(titles)
    if cities and own:
        return weight / total + _CITY_BONUS if cities & own else 0.0
    if len(query_terms) > 1 and query_terms <= titles | texts:
        return max(weight / total, _MIN_SCORE)
    return weight / total


def _cities_named(words: frozenset[str]) -> set[str]:
    return {
        city.name
        for city in load_sample().cities
        if any(terms(alias) <= words for alias in city.aliases)
    }


PageTerms = tuple[frozenset[str], frozenset[str], list[frozenset[str]]]


@cache
def _page_terms() -> dict[str, PageTerms]:
    """Return the terms of each page's title and topics, of its text, and of each subject name."""
    return {
        page.id: (
            terms(" ; ".join((page.title, *page.subjects, *page.topics))),
            terms(page.text),
            [subject for name in page.subjects if (subject := terms(name))],
        )
        for page in load_sample().pages
    }


@cache
def _rarity() -> dict[str, float]:
    """Return the weight of each term.

    Terms on fewer than three pages count alike, as chance pairs do.
    """
    counts = Counter(term for titles, texts, _ in _page_terms().values() for term in titles | texts)
    return {term: log(1 + len(_page_terms()) / max(count, _RARE)) for term, count in counts.items()}


def _centre(city: City) -> Anchor:
    return Anchor(
        name=city.name,
        aliases=city.aliases,
        city=city.name,
        province=city.province,
        district="",
        adcode=city.adcode,
        citycode=city.citycode,
        lng=city.lng,
        lat=city.lat,
        level=_CITY,
    )


def _anchor_of(place: Place) -> Anchor:
    return Anchor(
        name=place.name,
        aliases=(place.name_en,),
        city=place.city,
        province=place.province,
        district=place.district,
        adcode=place.adcode,
        citycode=place.citycode,
        lng=place.lng,
        lat=place.lat,
        level=_SPOT,
    )
