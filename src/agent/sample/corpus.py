"""Look up places, named anchors and pages in the bundled sample.

Coordinates are GCJ-02 degrees, distances metres. The rules are generic: they compare words with
what the files under `sample/` say, and know no particular question.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol, TypeVar

from agent.core.strings import has_han, letters_of, split_at, word_set
from agent.evidence.geo import distance_m
from agent.knowledge.terms import query_terms, terms
from agent.sample.records import (
    City,
    NamedSpot,
    SamplePage,
    SamplePlace,
    has_part,
    load_sample,
    phrase,
)

_LEAST, _NAMED, _IN_TEXT, _SHARE_OF_BEST, _MOST = 0.5, 0.6, 0.7, 0.5, 0.66
_SEPARATORS = "|,，、;；"
_ENGLISH_FILLER = word_set("the near around in at china")
_SHARED = ("name", "province", "adcode", "citycode", "lng", "lat")
_CITY, _DISTRICT, _SPOT = "市", "区县", "兴趣点"


def place_by_id(place_id: str) -> SamplePlace | None:
    """Return the place with the id (with or without `amap:` in front), or None."""
    own_id = place_id.removeprefix("amap:")
    return next((place for place in load_sample().places if place.id == own_id), None)


def places_near(
    lng: float, lat: float, radius_m: float, keywords: str = ""
) -> list[tuple[SamplePlace, float]]:
    """Place within `radius_m` metres that any of the keywords fits, nearest first, with metres."""
    metres = {p.id: distance_m((lng, lat), (p.lng, p.lat)) for p in load_sample().places}
    pool = [place for place in load_sample().places if metres[place.id] <= radius_m]
    pairs = [(place, metres[place.id]) for place in _fitting(pool, keywords)]
    return sorted(pairs, key=lambda pair: pair[1])


def places_in(city: str | None, keywords: str = "") -> list[SamplePlace]:
    """Place of a city (name, code or district; None for all), those named like a keyword first."""
    pool = list(load_sample().places)
    if city:
        home = find_city(city)
        pool = [place for place in pool if home and place.city == home.name]
    names = [phrase(part) for part in split_at(keywords, _SEPARATORS)]

    def named_otherwise(place: SamplePlace) -> bool:
        own = f"{phrase(place.name)}|{phrase(place.name_en)}"
        return not any(has_part(own, name) for name in names)

    return sorted(_fitting(pool, keywords), key=named_otherwise)


def find_city(text: str) -> City | None:
    """Return the city of a name (zh, en), an adcode, a citycode or a district."""
    name_key = letters_of(text)
    for city in load_sample().cities:
        keys = {city.adcode, city.citycode, *(d.adcode for d in city.districts)}
        keys |= {letters_of(name) for name in _admin_names(city)}
        rests = {name_key.removeprefix(letters_of(name)) for name in _names_of(city)}
        if name_key and (name_key in keys or rests & keys):
            return city
    return None


def find_spot(text: str, city: str | None = None) -> NamedSpot | None:
    """Return the named spot, district, city or sample place that a geocoder makes of the text.

    Before the name may only stand its province, city or district, so that the 西湖 of another
    city is not taken for Hangzhou's. None where nothing fits.
    """
    home = find_city(city) if city else None
    if city and not home:
        return None
    readings = _without_admin_names(_telling_letters(text))
    for anchor in _candidates(readings):
        if not home or anchor.city == home.name:
            return anchor
    return None


def search_pages(query: str, limit: int = 8) -> list[SamplePage]:
    """Return the pages that fit the query, best first; none where the sample has nothing on it.

    Pages in the query's own language stand before equals.
    """
    own = "zh" if has_han(query) else "en"
    pages = sorted(load_sample().pages, key=lambda page: (page.language != own, page.id))
    return search_records(query, pages, limit)


class SampleRecord(Protocol):
    """Describe a text of the sample that a search can return."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return its title, its subjects and what else it is about."""

    @property
    def subjects(self) -> tuple[str, ...]: ...

    @property
    def text(self) -> str: ...


R = TypeVar("R", bound=SampleRecord)


def search_records(query: str, records: Iterable[R], limit: int) -> list[R]:
    """Return the records on what a query names that have half of its words, best first.

    A topic of several subjects (tickets, metro) names none of them.
    """
    query_phrase, wanted, pool = phrase(query), query_terms(query), list(records)
    subjects: dict[str, set[str]] = {}
    for record in pool:
        for name in _phrases(record.names[1:]):
            subjects.setdefault(name, set()).add(record.subjects[0])
    scored: list[tuple[float, R]] = []
    for record in pool if wanted else ():
        named = {name for name in _phrases(record.names[1:]) if has_part(query_phrase, name)}
        own = named & _phrases(record.subjects)
        if not (own or any(len(subjects[name]) == 1 or name in _cities() for name in named)):
            continue
        heading, text = _terms(" ".join(record.names)), _terms(record.text)
        hits = sum(1.0 if term in heading else _IN_TEXT * (term in text) for term in wanted)
        score = hits / len(wanted) + _NAMED * bool(own)
        if score >= _LEAST:
            scored.append((score, record))
    scored.sort(key=lambda pair: -pair[0])
    return [record for score, record in scored if score >= scored[0][0] * _SHARE_OF_BEST][:limit]


@cache
def _phrases(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(phrase, names))


@cache
def _cities() -> frozenset[str]:
    return _phrases(tuple(name for city in load_sample().cities for name in _names_of(city)))


@cache
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _fitting(pool: list[SamplePlace], keywords: str) -> list[SamplePlace]:
    parts = [part for part in split_at(keywords, _SEPARATORS) if phrase(part)]
    if not parts:
        return pool
    ids = {place.id for part in parts for place in _fitting_part(pool, phrase(part))}
    return [place for place in pool if place.id in ids]


def _fitting_part(pool: list[SamplePlace], part: str) -> list[SamplePlace]:
    """Return the places, within the areas and cities it names, that answer to a phrase.

    Those that have it as it is, else those that have most of its terms.
    """
    words = part.split() if has_han(part) else [part]
    scopes = {word for word in words if any(word in p.scope for p in load_sample().places)}
    others = [word for word in words if word not in scopes]
    own = [place for place in pool if scopes <= place.scope]
    direct = [place for place in own if not others or any(has_part(place.words, w) for w in others)]
    return direct or [place for place in own if any(_has_most(place, word) for word in others)]


def _has_most(place: SamplePlace, word: str) -> bool:
    have, wanted = _terms("|".join((*sorted(place.scope), place.words))), query_terms(word)
    return sum(term in have for term in wanted) >= _MOST * len(wanted) > 0


def _without_admin_names(text: str) -> list[str]:
    """Return the text, then with each province, city or district name in front taken off."""
    cities = load_sample().cities
    admin = {letters_of(name) for city in cities for name in _admin_names(city)}
    admin |= {letters_of(city.province) for city in cities}
    readings = [text]
    while front := max((n for n in admin if readings[-1].startswith(n)), key=len, default=""):
        readings.append(readings[-1][len(front) :])
    return [reading for reading in readings if reading]


def _candidates(readings: list[str]) -> Iterator[NamedSpot]:
    """Yield the anchors named exactly by a reading, then those a reading begins with."""
    index = _anchor_index()
    for reading in readings:
        yield from index.get(reading, ())
    for reading in reversed(readings):
        for alias in sorted(index, key=len, reverse=True):
            rest = reading.removeprefix(alias)
            if rest != reading and rest[:1] not in ("区", "县", "市"):
                yield from (a for a in index[alias] if a.level not in (_CITY, _DISTRICT))


def _telling_letters(text: str) -> str:
    words = (word for word in text.split() if word.casefold() not in _ENGLISH_FILLER)
    return letters_of("".join(words))


@cache
def _anchor_index() -> dict[str, list[NamedSpot]]:
    sample = load_sample()
    spots = [*sample.anchors]
    for city in sample.cities:
        spots += [_anchor(city, city.aliases, city.name, "", _CITY), *city.districts]
    spots += [_anchor(p, (p.name_en,), p.city, p.district, _SPOT) for p in sample.places]
    index: dict[str, list[NamedSpot]] = {}
    for spot in spots:
        for name in _names_of(spot):
            index.setdefault(_telling_letters(name), []).append(spot)
    return index


def _admin_names(city: City) -> list[str]:
    return [*_names_of(city), *(name for part in city.districts for name in _names_of(part))]


def _names_of(spot: NamedSpot | City) -> tuple[str, ...]:
    return (spot.name, *spot.aliases)


def _anchor(
    spot: City | SamplePlace, aliases: tuple[str, ...], city: str, district: str, level: str
) -> NamedSpot:
    """Return a city or a place as a geocoder names it."""
    shared = {name: getattr(spot, name) for name in _SHARED}
    return NamedSpot(aliases=aliases, city=city, district=district, level=level, **shared)
