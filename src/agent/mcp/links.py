"""Links into Amap, of the documented kind."""

from urllib.parse import quote, urlencode

from agent.evidence.types import TravelMode

_BASE = "https://uri.amap.com"
_US = {"src": "tanlu", "callnative": "0"}
_MODES: dict[TravelMode, str] = {
    "walking": "walk",
    "driving": "car",
    "bicycling": "ride",
    "transit": "bus",
}


def place_link(poi_id: str) -> str:
    """A place by its id."""
    return _link("marker", {"poiid": poi_id})


def position_link(lng: float, lat: float, name: str) -> str:
    """A GCJ-02 position with a name."""
    asked = {"position": f"{lng:.6f},{lat:.6f}", "name": name, "coordinate": "gaode"}
    return _link("marker", asked)


def route_link(origin: str, destination: str, mode: TravelMode, names: tuple[str, str]) -> str:
    """A way between two "lng,lat" points in GCJ-02."""
    start, end = (name.replace(",", " ") for name in names)
    asked = {"from": f"{origin},{start}", "to": f"{destination},{end}", "mode": _MODES[mode]}
    return _link("navigation", {**asked, "coordinate": "gaode"})


def city_link(city: str) -> str:
    """A city on the map."""
    return _link("search", {"keyword": city, "city": city})


def _link(kind: str, asked: dict[str, str]) -> str:
    return f"{_BASE}/{kind}?{urlencode({**asked, **_US}, quote_via=quote, safe=',')}"
