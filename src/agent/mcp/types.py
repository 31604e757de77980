"""The map, as a branch of a run sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from typing_extensions import TypedDict

from agent.evidence.geo import wgs84_of
from agent.evidence.types import (
    Anchor,
    Gap,
    Location,
    MapIntent,
    Place,
    Point,
    Route,
    Source,
    Weather,
)
from agent.texts.language import Language

Tell = Callable[[str], None]
"""Told in one short line what the map was asked (tool and its argument)."""


@dataclass(frozen=True)
class MapOptions:
    """How one branch asks the map; source ids begin with `prefix` ("a0")."""

    prefix: str
    language: Language
    near: Point | None = None
    """Where the user is, WGS-84."""
    keywords: int = 2
    details: int = 2
    more: int = 2
    """Further details, looked up while the model is waited for."""


class MapHit(TypedDict):
    """A place a search named but nobody looked up: the server's searches tell no more."""

    id: str
    """Amap's own, for `maps_search_detail`."""
    name: str
    address: str | None
    keywords: list[str]
    """The searches that found it."""


@dataclass
class Survey:
    """What the map knows so far: the ledger of one branch. Grows while tools are called."""

    places: list[Place] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    weather: list[Weather] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """Names of places dropped because they lie outside what was asked (city, radius)."""
    complete: bool = False
    """Whether the prefetch covers the task, so that no further tool is needed."""
    open_for_tools: bool = True
    """False where the server itself cannot be had, so that asking a model is pointless."""
    attribution: str = ""
    intent: MapIntent | None = None
    hits: list[MapHit] = field(default_factory=list)
    """What the searches found besides `places`, best first."""
    centre: Location | None = None
    centre_name: str | None = None
    radius_m: int | None = None
    """Around `centre`; None where nothing was searched around."""

    @property
    def anchor(self) -> Anchor | None:
        """What was searched around, for a map."""
        if self.centre is None or self.centre_name is None:
            return None
        return Anchor(name=self.centre_name, wgs84=wgs84_of(self.centre), location=self.centre)
