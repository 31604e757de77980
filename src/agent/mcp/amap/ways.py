"""Measure ways on foot and by transit with Amap's tools, and link to all stops of an outing."""

import asyncio
import logging
from collections.abc import Sequence

from agent.core.errors import BudgetExceeded, ProviderError
from agent.core.outside import objects, whole_or_none
from agent.evidence.geo import metres_apart
from agent.evidence.types import Leg, Location
from agent.mcp.amap.records import path_of, stops_link
from agent.mcp.amap.tools import ROUTE_TOOLS
from agent.mcp.new_records import NamedStop
from agent.mcp.records import BranchCalls, lnglat

log = logging.getLogger(__name__)
_WALKABLE_M = 5000
"""Straight line, metres, up to which Amap measures ways on foot."""


class AmapWays:
    """Measure by the distance tool, which takes many origins at once, and the transit planner."""

    async def on_foot(
        self, points: Sequence[Location], call: BranchCalls
    ) -> dict[tuple[int, int], Leg]:
        """Return the ways between points by their indices, those of the calls that succeed.

        One call for each point but the first; a way is taken to be as long there as back.
        """
        pairs = {
            end: starts
            for end in range(1, len(points))
            if (
                starts := [
                    a for a in range(end) if metres_apart(points[a], points[end]) <= _WALKABLE_M
                ]
            )
        }
        found = await asyncio.gather(
            *(self._to(points, starts, end, call) for end, starts in pairs.items())
        )
        legs: dict[tuple[int, int], Leg] = {}
        for measured in found:
            for (start, end), leg in measured.items():
                legs[start, end] = legs[end, start] = leg
        return legs

    async def from_one(
        self, start: Location, points: Sequence[Location], call: BranchCalls
    ) -> dict[int, Leg]:
        """Return the ways on foot from one point to others, by their indices: one call.

        A way is taken to be as long there as back.
        """
        near = [at for at, point in enumerate(points) if metres_apart(start, point) <= _WALKABLE_M]
        end = len(points)
        legs = await self._to([*points, start], near, end, call) if near else {}
        return {at: leg for (at, _), leg in legs.items()}

    async def _to(
        self, points: Sequence[Location], starts: Sequence[int], end: int, call: BranchCalls
    ) -> dict[tuple[int, int], Leg]:
        origins = "|".join(lnglat(points[start]) for start in starts)
        arguments = {"origins": origins, "destination": lnglat(points[end]), "type": "3"}
        try:
            reply = await call("maps_distance", arguments)
        except (ProviderError, BudgetExceeded) as error:
            log.info("map: ways on foot are not measured: %s", error)
            return {}
        legs: dict[tuple[int, int], Leg] = {}
        for row in objects(reply.get("results")):
            number = whole_or_none(row.get("origin_id"))
            leg = _leg(whole_or_none(row.get("distance")), whole_or_none(row.get("duration")))
            if leg and number and 0 < number <= len(starts):
                legs[starts[number - 1], end] = leg
        return legs

    async def by_transit(
        self, start: Location, end: Location, city: str, call: BranchCalls
    ) -> Leg | None:
        """Return the way by bus and train within a city; None where there is none or it fails."""
        tool = ROUTE_TOOLS["transit"]
        ends = {"origin": lnglat(start), "destination": lnglat(end)}
        try:
            reply = await call(tool, {**ends, "city": city, "cityd": city})
        except (ProviderError, BudgetExceeded) as error:
            log.info("map: a ride is not measured: %s", error)
            return None
        metres, seconds, steps = path_of(tool, reply)
        leg = _leg(metres, seconds)
        lines = [step["line"] for step in steps if "line" in step]
        return Leg(**{**leg, "mode": "transit", "lines": lines}) if leg else None

    def link(self, stops: Sequence[NamedStop]) -> str:
        """Return the address of a map of all stops in their order."""
        return stops_link(stops)


def _leg(metres: int | None, seconds: int | None) -> Leg | None:
    if metres is None or not seconds:
        return None
    return Leg(mode="walking", distance_m=metres, duration_s=seconds, estimated=False)
