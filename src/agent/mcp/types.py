"""Define the map as a branch of a run sees it, and what its failures mean to a person."""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from agent.core.errors import AgentError
from agent.core.progress import Spot
from agent.evidence.geo import wgs84_of
from agent.evidence.types import (
    Anchor,
    Constraints,
    Gap,
    Location,
    MapIntent,
    Place,
    Point,
    Route,
    Source,
    Weather,
)
from agent.texts import Language, has, reason_of, say

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
    hits: list[MapHit] = field(default_factory=list)
    """Hits of the searches besides `places`, best first."""
    searches: list[MapSearch] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Names of positions ("lng,lat") that earlier calls have located."""
    centre: Location | None = None
    centre_name: str | None = None
    centre_district: str | None = None
    radius_m: int | None = None
    """Around `centre`; None where nothing was searched around."""

    @property
    def anchor(self) -> Anchor | None:
        """Return the centre of the searches, for a map."""
        if self.centre is None or self.centre_name is None:
            return None
        anchor = Anchor(name=self.centre_name, wgs84=wgs84_of(self.centre), location=self.centre)
        if self.centre_district:
            anchor["district"] = self.centre_district
        return anchor


_DEFAULT_PROVIDER = "amap"
_NAME = re.compile(r"\b[A-Z][A-Z_]{6,}\b")
WAITING_HELPS = frozenset({"map_rate", "map_busy", "map_network", "map_malformed"})
"""Codes after which the same call may be made again soon."""
NOT_FOUND = "map_place_not_found"
NOT_SET_UP = frozenset({"map_key_missing", "map_no_node"})
"""Codes of a map that nobody has set up; nothing is broken."""


def service_words(text: str) -> list[str]:
    """Return a map service's own words for a failure, such as INVALID_USER_IP."""
    return [name for name in _NAME.findall(text) if not name.endswith("_API_KEY")]


log = logging.getLogger(__name__)

_SAME = {"timeout": "map_timeout"}
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """Return one line for people; of a refused key with the service's own word for it."""
    code = _SAME.get(error.code, error.code)
    provider = getattr(error, "provider", _DEFAULT_PROVIDER)
    key = f"map.errors.{code}"
    if provider != _DEFAULT_PROVIDER and has(f"map.other_errors.{code}"):
        key = f"map.other_errors.{code}"
    if not has(key):
        return say("map.unwritten", language, reason=reason_of(error, language))
    text = say(key, language, about=about, map=provider)
    words = service_words(error.message) if error.code == "map_key_invalid" else []
    if not words:
        return text
    refusal = "map.refusal" if provider == _DEFAULT_PROVIDER else "map.other_refusal"
    return say(refusal, language, text=text, reply=words[0], map=provider)


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
        code=error.code,
        message=map_message(error, language, about or query),
    )
