"""Make records as a reader of replies makes them; `MapRecords` completes and enters them."""

from collections.abc import Sequence
from itertools import pairwise

from agent.evidence.geo import wgs84_of
from agent.evidence.said import BETWEEN_STOPS
from agent.evidence.types import Anchor, Location, Place, Route, RouteMode, RouteStep

NamedStop = tuple[str, Location]
"""The name and the position of a stop of a way or an outing."""
MOST_STEPS = 40
"""Of one way."""
LONGEST_LINE = 2000
"""Points of a way that are kept."""


def new_place(
    *,
    id: str,
    name: str,
    location: Location,
    url: str,
    address: str | None = None,
    category: str | None = None,
    district: str | None = None,
    city: str | None = None,
    rating: float | None = None,
    cost: float | None = None,
    open_time: str | None = None,
    photo: str | None = None,
) -> Place:
    """Return a place; what the map does not tell is None."""
    return Place(
        id=id,
        name=name,
        location=location,
        wgs84=wgs84_of(location),
        address=address,
        category=category,
        district=district,
        city=city,
        distance_m=None,
        distance_from=None,
        rating=rating,
        cost=cost,
        open_time=open_time,
        photo=photo,
        url=url,
        source="",
        mentioned=False,
        keywords=[],
        detailed=True,
        fetched_at="",
    )


def new_route(
    *,
    id: str,
    mode: RouteMode,
    stops: Sequence[NamedStop],
    url: str,
    distance_m: int | None,
    duration_s: int | None,
    steps: Sequence[RouteStep] = (),
    line: Sequence[Sequence[float]] = (),
) -> Route:
    """Return a way from the first stop over the others to the last.

    A line of no length, or of more points than are kept, is left out. Of a way told in legs the
    whole is what its legs come to as a reader sees them: 10 and 16 minutes are 26, not 27.
    """
    legs = [(step["distance_m"], step.get("duration_s")) for step in steps if "duration_s" in step]
    lengths, times = [metres for metres, _ in legs if metres], [s for _, s in legs if s]
    if distance_m and len(lengths) > 1 and len(lengths) == len(steps):
        distance_m = sum(each if each < 1000 else round(each, -2) for each in lengths)
    if duration_s and len(times) > 1 and len(times) == len(steps):
        duration_s = sum(60 * max(1, round(each / 60)) for each in times)
    named = [Anchor(name=name, wgs84=wgs84_of(at), location=at) for name, at in stops]
    route = Route(
        id=id,
        mode=mode,
        origin=named[0]["name"],
        destination=BETWEEN_STOPS.join(each["name"] for each in named[1:]),
        distance_m=distance_m,
        duration_s=duration_s,
        steps=list(steps),
        url=url,
        source="",
        fetched_at="",
        ends=[named[0], named[-1]],
    )
    if between := named[1:-1]:
        route["via"] = between
    if 1 < len(line) <= LONGEST_LINE:
        route["line"] = [list(point) for point in line]
    return route


def legs_over(
    stops: Sequence[NamedStop], ways: Sequence[tuple[int | None, int | None]]
) -> list[RouteStep]:
    """Return a step for each of several ways from stop to stop, by their metres and seconds."""
    if len(ways) < 2 or len(ways) != len(stops) - 1:
        return []
    return [
        RouteStep(instruction=f"{start} → {end}", distance_m=metres, duration_s=seconds)
        for ((start, _), (end, _)), (metres, seconds) in zip(pairwise(stops), ways, strict=True)
    ]
