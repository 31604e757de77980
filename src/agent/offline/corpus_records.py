"""Records of the bundled sample. Coordinates are GCJ-02 degrees."""

from dataclasses import dataclass
from functools import cached_property

from .corpus_words import phrase


@dataclass(frozen=True)
class Place:
    """A sample place; `rating`, `cost` (yuan a head) and `open_time` are sample values."""

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
        """What keywords are looked up in: its names, type and tags in normal form."""
        return "|".join(phrase(text) for text in (self.name, self.name_en, self.type, *self.tags))


@dataclass(frozen=True)
class Anchor:
    """A named spot that a geocoder resolves; `level` is worded as the map words it."""

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
class Area:
    key: str
    name: str
    name_en: str
    aliases: tuple[str, ...]
    city: str
    province: str
    citycode: str
    lng: float
    lat: float


@dataclass(frozen=True)
class Page:
    """A short text; `subjects` are the names (zh, en) of what it is about, `topics` the aspects."""

    id: str
    url: str
    title: str
    site: str
    language: str
    published: str
    subjects: tuple[str, ...]
    topics: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class WeatherDay:
    """Sample weather `offset` days from today; degrees Celsius."""

    offset: int
    dayweather: str
    nightweather: str
    daytemp: int
    nighttemp: int
    daywind: str
    nightwind: str
    daypower: str
    nightpower: str


@dataclass(frozen=True)
class CityWeather:
    city: str
    province: str
    adcode: str
    days: tuple[WeatherDay, ...]


@dataclass(frozen=True)
class City:
    name: str
    aliases: tuple[str, ...]
    province: str
    adcode: str
    citycode: str
    lng: float
    lat: float
    districts: tuple[Anchor, ...]
