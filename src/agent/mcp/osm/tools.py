"""Know our OpenStreetMap server's tools: catalogue, how long replies hold, what failures mean."""

from pathlib import Path

from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.redaction import scrub
from agent.evidence.types import MapIntent, TravelMode
from agent.mcp.map_server import Catalogue
from agent.mcp.records import NOT_FOUND

PROVIDER = "osm"
# Read when imported: later there may be an event loop, which must not wait for files.
CATALOGUE = Catalogue.from_file(Path(__file__).parent / "tools.json")
_PLACES = ("osm_geocode", "osm_nearby", "osm_details")
_WAYS = ("osm_geocode", "osm_route", "osm_matrix")
TOOLS_BY_INTENT: dict[MapIntent | None, tuple[str, ...]] = {
    "nearby": _PLACES,
    "area": _PLACES,
    "poi": _PLACES,
    "route": _WAYS,
    "distance": _WAYS,
    "weather": ("osm_geocode", "osm_weather"),
    "regeo": ("osm_reverse", "osm_nearby"),
    None: (*_PLACES, "osm_reverse", "osm_route", "osm_matrix", "osm_weather"),
}
_HOUR = 3600.0
CACHE_SECONDS = {
    "osm_geocode": 24 * _HOUR,
    "osm_reverse": 24 * _HOUR,
    "osm_nearby": 6 * _HOUR,
    "osm_details": 6 * _HOUR,
    "osm_route": 6 * _HOUR,
    "osm_matrix": 6 * _HOUR,
    "osm_weather": _HOUR,
}
SERVICE_OF = {
    "osm_geocode": "nominatim",
    "osm_reverse": "nominatim",
    "osm_details": "nominatim",
    "osm_nearby": "overpass",
    "osm_route": "osrm",
    "osm_matrix": "osrm",
    "osm_weather": "open-meteo",
}
"""Who answers a tool in the end: each has a pace of its own."""
MODES: tuple[TravelMode, ...] = ("walking", "bicycling", "driving")


def failure(tool: str, text: str) -> ProviderError:
    """Return the error that the text of a failed call stands for, by its first word."""
    message = scrub(text)[:300]
    word, _, rest = message.partition(" ")
    if word in ("NOT_FOUND", "NO_ROUTE", "BAD_REQUEST", "REFUSED"):
        codes = {"NOT_FOUND": NOT_FOUND, "NO_ROUTE": "map_no_route", "REFUSED": "map_key_invalid"}
        return ProviderRefused(PROVIDER, message, code=codes.get(word, "map_bad_request"))
    if word == "RATE_LIMITED":
        seconds = rest.partition(" ")[0]
        wait = min(float(seconds), 600.0) if seconds.isdigit() else None
        return RateLimited(PROVIDER, message, retry_after=wait, code="map_rate")
    if word in ("BUSY", "NETWORK"):
        return ProviderUnavailable(PROVIDER, message, code=f"map_{word.lower()}")
    if word in ("MALFORMED", "TOO_LARGE"):
        return MalformedReply(PROVIDER, message, code=f"map_{word.lower()}")
    return ProviderRefused(PROVIDER, message or "failed without a word", code="map_failed")
