"""The page's base map: whose tiles, under which conditions. Settings name it, nothing else."""

from typing import Final

from typing_extensions import TypedDict

from agent.settings import Settings


class Tiles(TypedDict):
    """A base map of Web Mercator tiles whose positions are WGS-84."""

    url: str
    """A template with {z}, {x}, {y}, and {s} for a subdomain."""
    overlays: list[str]
    """Templates drawn above it, as those with the names."""
    subdomains: list[str]
    attribution_zh: str
    attribution_en: str
    attribution_url: str
    """Terms of use, to which the attribution is a link."""
    max_zoom: int
    crs: str
    referrer_policy: str
    """What requests for tiles must carry although the page's own policy sends nothing."""
    hosts: list[str]
    """Origins the tiles come from, as the page's policy names them."""


_OSM: Final = Tiles(
    url="https://tile.openstreetmap.org/{z}/{x}/{y}.png",
    overlays=[],
    subdomains=[],
    attribution_zh="© OpenStreetMap 贡献者",
    attribution_en="© OpenStreetMap contributors",
    attribution_url="https://www.openstreetmap.org/copyright",
    max_zoom=19,
    crs="wgs84",
    # Their tile servers refuse requests that do not say from where.
    referrer_policy="strict-origin-when-cross-origin",
    hosts=["https://tile.openstreetmap.org"],
)
_TIANDITU = (
    "https://t{{s}}.tianditu.gov.cn/{layer}_w/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0"
    "&LAYER={layer}&STYLE=default&TILEMATRIXSET=w&FORMAT=tiles"
    "&TILEMATRIX={{z}}&TILEROW={{y}}&TILECOL={{x}}&tk={key}"
)
_TIANDITU_HOSTS = [str(number) for number in range(8)]


def base_map(settings: Settings) -> tuple[Tiles | None, str]:
    """The tiles that MAP_TILES names, or None, and why it is None where they were wanted."""
    if settings.map_tiles == "osm":
        return _OSM, ""
    if settings.map_tiles != "tianditu":
        return None, ""
    if settings.tianditu_key is None:
        return None, "MAP_TILES=tianditu, but TIANDITU_KEY is not set: the page draws a grid"
    return _tianditu(settings.tianditu_key), ""


def _tianditu(key: str) -> Tiles:
    return Tiles(
        url=_TIANDITU.format(layer="vec", key=key),
        overlays=[_TIANDITU.format(layer="cva", key=key)],
        subdomains=_TIANDITU_HOSTS,
        attribution_zh="© 天地图",
        attribution_en="© Tianditu",
        attribution_url="https://www.tianditu.gov.cn",
        max_zoom=18,
        crs="wgs84",
        # Keys for browsers may be bound to the sites they are used on.
        referrer_policy="strict-origin-when-cross-origin",
        hosts=[f"https://t{number}.tianditu.gov.cn" for number in _TIANDITU_HOSTS],
    )
