"""Load the records of the bundled sample, and normalize the words of look-ups."""

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

from agent.core.strings import has_han

_LATIN_WORD = re.compile(r"[a-z0-9]+")


def phrase(text: str) -> str:
    """Return normal form of a name or keyword: folded case and width, English plurals cut."""
    folded = _fold(text).replace("'", "").replace("’", "")
    return " ".join(_LATIN_WORD.sub(lambda match: _stem(match[0]), folded).split())


def has_part(words: str, part: str) -> bool:
    """Tell whether the normal form `part` is in `words`; Latin text only as whole words."""
    if not part:
        return False
    if has_han(part):
        return part in words
    return re.search(rf"(?<![a-z0-9]){re.escape(part)}(?![a-z0-9])", words) is not None


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@dataclass(frozen=True)
class SamplePlace:
    """Hold a sample place; `rating`, `cost` (yuan a head) and `open_time` are sample values."""

    id: str
    area: str
    name: str
    name_en: str
    type: str
    typecode: str
    tags: tuple[str, ...]
    """Words (zh, en) the place answers to."""
    address: str
    address_en: str | None
    district: str
    city: str
    province: str
    adcode: str
    citycode: str
    lng: float
    lat: float
    rating: float | None
    cost: float | None
    open_time: str | None
    scope: frozenset[str]
    """Names of its area and city, in normal form: a keyword that is one of them narrows."""
    tel: str | None = None

    @cached_property
    def words(self) -> str:
        """Return the names, type and tags in normal form, in which keywords are looked up."""
        return "|".join(phrase(text) for text in (self.name, self.name_en, self.type, *self.tags))


@dataclass(frozen=True)
class NamedSpot:
    """Hold a named spot that a geocoder resolves; `level` is worded as the map words it."""

    name: str
    aliases: tuple[str, ...]
    city: str
    province: str
    district: str
    adcode: str
    citycode: str
    lng: float
    lat: float
    level: str


@dataclass(frozen=True)
class SamplePage:
    """Hold a short text; `subjects` name what it is about (zh, en), `topics` its aspects."""

    id: str
    url: str
    title: str
    site: str
    language: str
    published: str
    subjects: tuple[str, ...]
    topics: tuple[str, ...]
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.subjects, *self.topics)


@dataclass(frozen=True)
class CityWeather:
    """Hold the sample weather of a city; `offset` of a day counts from today."""

    city: str
    province: str
    adcode: str
    days: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class City:
    name: str
    aliases: tuple[str, ...]
    province: str
    adcode: str
    citycode: str
    lng: float
    lat: float
    districts: tuple[NamedSpot, ...]


DATA = resources.files(__package__) / "data"
_DISTRICT = "区县"

JsonRow = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    places: tuple[SamplePlace, ...]
    anchors: tuple[NamedSpot, ...]
    pages: tuple[SamplePage, ...]
    weather: tuple[CityWeather, ...]
    cities: tuple[City, ...]


@cache
def load_sample() -> Sample:
    """Return the sample, read once from the package's files."""
    cities = tuple(_city(row) for row in _read("cities.json")["cities"])
    kinds = _read("kinds.json")
    sheets = read_sheets("places_")
    return Sample(
        places=tuple(_place(row, s["area"], cities, kinds) for s in sheets for row in s["places"]),
        anchors=tuple(_anchor(row, cities) for row in _read("anchors.json")["anchors"]),
        pages=tuple(SamplePage(**frozen(r)) for s in read_sheets("pages_") for r in s["pages"]),
        weather=tuple(CityWeather(**frozen(row)) for row in _read("weather.json")["weather"]),
        cities=cities,
    )


def _read(name: str) -> JsonRow:
    row: JsonRow = json.loads((DATA / name).read_text(encoding="utf-8"))
    return row


def read_sheets(prefix: str) -> list[JsonRow]:
    """Return the contents of the files whose names begin so, in their order."""
    return [_read(name) for name in sorted(os.listdir(str(DATA))) if name.startswith(prefix)]


def frozen(row: JsonRow) -> JsonRow:
    """Return a row of JSON with tuples for its lists, as a dataclass holds it."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}


def _city(row: JsonRow) -> City:
    shared = {"city": row["name"], "province": row["province"], "citycode": row["citycode"]}
    districts = tuple(
        NamedSpot(**frozen(district), **shared, district=district["name"], level=_DISTRICT)
        for district in row["districts"]
    )
    return City(**{**frozen(row), "districts": districts})


def _anchor(row: JsonRow, cities: tuple[City, ...]) -> NamedSpot:
    city = _city_named(row["city"], cities)
    return NamedSpot(**frozen(row), province=city.province, citycode=city.citycode)


def _place(row: JsonRow, area: JsonRow, cities: tuple[City, ...], kinds: JsonRow) -> SamplePlace:
    kind, city = kinds["kinds"][row["kind"]], _city_named(area["city"], cities)
    tags = [*kind["tags"], *row["tags"]]
    tags += [tag for trait in row["traits"] for tag in kinds["traits"][trait]]
    scope = (area["name"], area["name_en"], *area["aliases"], city.name, *city.aliases)
    own = {name: row[name] for name in row if name not in ("kind", "traits", "tags")}
    return SamplePlace(
        **{"address_en": None, **own},
        area=area["key"],
        type=kind["type"],
        typecode=kind["typecode"],
        tags=tuple(dict.fromkeys(tags)),
        scope=frozenset(map(phrase, scope)),
        city=city.name,
        province=city.province,
        citycode=city.citycode,
    )


def _city_named(name: str, cities: tuple[City, ...]) -> City:
    return next(city for city in cities if city.name == name)
