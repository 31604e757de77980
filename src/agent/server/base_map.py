"""Choose the page's base map, and serve the file of vector tiles where it is our own."""

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from starlette.responses import FileResponse, JSONResponse, Response
from typing_extensions import TypedDict

from agent.settings import PMTILES, Settings

BASEMAP: Final = "/app/basemap.pmtiles"
_ON_PAGE = BASEMAP.removeprefix("/")
"""The address of the operator's file of vector tiles."""
_MAGIC = b"PMTiles\x03"
_HEADER_BYTES, _MAX_ZOOM_AT = 127, 101
_USUAL_ZOOM = 15
"""The largest zoom of files whose header nobody here has read."""


class Tiles(TypedDict):
    """Describe a base map of Web Mercator tiles whose positions are WGS-84."""

    kind: Literal["raster", "vector"]
    url: str
    """A template with {z}, {x}, {y}, and {s} for a subdomain; of vector tiles the file itself."""
    host: str
    """Who learns of it when somebody looks at streets; empty where it is this server."""
    overlays: list[str]
    """Templates drawn above it, as those with the names."""
    subdomains: list[str]
    attribution_zh: str
    attribution_en: str
    attribution_url: str
    """Terms of use, to which the attribution is a link."""
    max_zoom: int
    referrer_policy: str
    """What requests for tiles must carry although the page's own policy sends nothing."""
    hosts: list[str]
    """Origins the tiles come from, as the page's policy names them."""


_OSM: Final = Tiles(
    kind="raster",
    host="tile.openstreetmap.org",
    url="https://tile.openstreetmap.org/{z}/{x}/{y}.png",
    overlays=[],
    subdomains=[],
    attribution_zh="© OpenStreetMap 贡献者",
    attribution_en="© OpenStreetMap contributors",
    attribution_url="https://www.openstreetmap.org/copyright",
    max_zoom=19,
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
    """Return the tiles that MAP_TILES names, or None, and why where they were wanted."""
    if settings.map_tiles == "osm":
        return _OSM, ""
    if settings.map_tiles.startswith(PMTILES):
        return _vector(settings.map_tiles.removeprefix(PMTILES))
    if settings.map_tiles != "tianditu":
        return None, ""
    if settings.tianditu_key is None:
        return None, "MAP_TILES=tianditu, but TIANDITU_KEY is not set: the page shows no streets"
    return _tianditu(settings.tianditu_key), ""


def _tianditu(key: str) -> Tiles:
    return Tiles(
        kind="raster",
        host="tianditu.gov.cn",
        url=_TIANDITU.format(layer="vec", key=key),
        overlays=[_TIANDITU.format(layer="cva", key=key)],
        subdomains=_TIANDITU_HOSTS,
        attribution_zh="© 天地图",
        attribution_en="© Tianditu",
        attribution_url="https://www.tianditu.gov.cn",
        max_zoom=18,
        # Keys for browsers may be bound to the sites they are used on.
        referrer_policy="strict-origin-when-cross-origin",
        hosts=[f"https://t{number}.tianditu.gov.cn" for number in _TIANDITU_HOSTS],
    )


def _vector(where: str) -> tuple[Tiles | None, str]:
    """Return the tiles of a PMTiles file at an https address, or of a path of this machine."""
    parts = urlsplit(where)
    if parts.scheme in ("http", "https"):
        origin = f"{parts.scheme}://{parts.netloc}"
        return _vector_tiles(where, parts.netloc, [origin], _USUAL_ZOOM), ""
    path = _path(where)
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        status = path.stat()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        return None, f"MAP_TILES: {path}: {reason}: the page shows no streets"
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return None, f"MAP_TILES: {path} is no PMTiles file: the page shows no streets"
    version = sha256(f"{status.st_mtime_ns} {status.st_size}".encode()).hexdigest()[:12]
    return _vector_tiles(f"{_ON_PAGE}?v={version}", "", [], header[_MAX_ZOOM_AT]), ""


def _path(where: str) -> Path:
    return Path(where).expanduser()


def _vector_tiles(url: str, host: str, hosts: list[str], max_zoom: int) -> Tiles:
    return Tiles(
        kind="vector",
        host=host,
        url=url,
        overlays=[],
        subdomains=[],
        attribution_zh=_OSM["attribution_zh"],
        attribution_en=_OSM["attribution_en"],
        attribution_url=_OSM["attribution_url"],
        max_zoom=max_zoom,
        referrer_policy="same-origin",
        hosts=hosts,
    )


async def basemap_file(settings: Settings | None, headers: dict[str, str]) -> Response:
    """Return the operator's file, or the range of it that is asked for; 404 without one."""
    tiles = (await asyncio.to_thread(base_map, settings))[0] if settings else None
    if settings is None or tiles is None or not tiles["url"].startswith(_ON_PAGE):
        return JSONResponse({"detail": "not found"}, 404, headers=headers)
    path = _path(settings.map_tiles.removeprefix(PMTILES))
    kept = {**headers, "Cache-Control": "private, max-age=86400"}
    return FileResponse(path, headers=kept, media_type="application/vnd.pmtiles")
