"""What a text that is being revised can have looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.evidence.types import Place, Route, Source

MAP_WAY = "map_way"


@dataclass(frozen=True)
class Looked:
    """What was found: as the reviser reads it, each passage behind its marker, and its sources."""

    text: str
    sources: Sequence[Source] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """What each source says, by its id."""
    places: Sequence[Place] = ()
    routes: Sequence[Route] = ()
    seen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What of pages the text shows, by their ids."""


class LookUp(Protocol):
    """Look something up for the revision; never raise."""

    @property
    def tools(self) -> Mapping[str, str]:
        """Return what each tool's argument is."""

    async def __call__(self, tool: str, argument: str, places: Sequence[Place] = ()) -> Looked:
        """Return what a tool finds; `places` are what names in its argument mean."""
