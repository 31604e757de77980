"""Reads the bundled sample from the package's files under `sample/`."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from .corpus_records import Anchor, Area, City, CityWeather, Page, Place, WeatherDay
from .corpus_words import phrase

_DISTRICT = "区县"

Row = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    areas: tuple[Area, ...]
    places: tuple[Place, ...]
    anchors: tuple[Anchor, ...]
    pages: tuple[Page, ...]
    weather: tuple[CityWeather, ...]
    cities: tuple[City, ...]


@cache
def load_sample() -> Sample:
    """The sample, read once from the package's files."""
    cities = tuple(_city(row) for row in _read("cities.json")["cities"])
    kinds = _read("kinds.json")
    sheets = [_read(name) for name in _names("places_")]
    return Sample(
        areas=tuple(Area(**_frozen(sheet["area"])) for sheet in sheets),
        places=tuple(_place(row, s["area"], cities, kinds) for s in sheets for row in s["places"]),
        anchors=tuple(_anchor(row, cities) for row in _read("anchors.json")["anchors"]),
        pages=tuple(Page(**_frozen(r)) for n in _names("pages_") for r in _read(n)["pages"]),
        weather=tuple(_weather(row) for row in _read("weather.json")["weather"]),
        cities=cities,
    )


def _read(name: str) -> Row:
    path = resources.files(__package__) / "sample" / name
    found: Row = json.loads(path.read_text(encoding="utf-8"))
    return found


def _names(prefix: str) -> list[str]:
    folder = resources.files(__package__) / "sample"
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(prefix))


def _frozen(row: Row) -> Row:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}


def _city(row: Row) -> City:
    shared = {"city": row["name"], "province": row["province"], "citycode": row["citycode"]}
    districts = tuple(
        Anchor(**_frozen(district), **shared, district=district["name"], level=_DISTRICT)
        for district in row["districts"]
    )
    return City(**{**_frozen(row), "districts": districts})


def _anchor(row: Row, cities: tuple[City, ...]) -> Anchor:
    city = _city_named(row["city"], cities)
    return Anchor(**_frozen(row), province=city.province, citycode=city.citycode)


def _weather(row: Row) -> CityWeather:
    days = tuple(WeatherDay(**day) for day in row["days"])
    return CityWeather(row["city"], row["province"], row["adcode"], days)


def _place(row: Row, area: Row, cities: tuple[City, ...], kinds: Row) -> Place:
    kind, city = kinds["kinds"][row["kind"]], _city_named(area["city"], cities)
    tags = [*kind["tags"], *row["tags"]]
    tags += [tag for trait in row["traits"] for tag in kinds["traits"][trait]]
    scope = (area["name"], area["name_en"], *area["aliases"], city.name, *city.aliases)
    own = {name: row[name] for name in row if name not in ("kind", "traits", "tags")}
    return Place(
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
