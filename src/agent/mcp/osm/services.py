"""Ask OpenStreetMap's services (Nominatim, Overpass, OSRM) and Open-Meteo, by their usage policies.

One request a second to each, a User-Agent that names a contact, every reply kept for a while,
nothing in bulk. What goes wrong is a ServiceError that begins with one of its words.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from agent import __version__
from agent.core.concurrency import BoundedCache, Pace
from agent.core.outside import parse_json
from agent.core.proxies import proxy_for

# httpx logs every URL at INFO.
logging.getLogger("httpx").setLevel(logging.WARNING)
PUBLIC: Mapping[str, str] = {
    "NOMINATIM_BASE_URL": "https://nominatim.openstreetmap.org",
    "OVERPASS_BASE_URL": "https://overpass-api.de/api/interpreter",
    "OSRM_BASE_URL": "https://routing.openstreetmap.de/routed-{profile}",
    "OPEN_METEO_BASE_URL": "https://api.open-meteo.com",
}
"""Where the services are unless a variable says otherwise; {profile} is foot, bike or car."""
CONTACT = "TANLU_CONTACT"
_CACHED, _CACHE_SECONDS = 500, 3600.0
_LARGEST = 4 << 20
"""Bytes of a reply."""
_SECONDS = 14.0
_REFUSED, _RATE, _MISSING = (401, 403), 429, 404


class ServiceError(Exception):
    """Tell why a service gave nothing; begins with NOT_FOUND, NO_ROUTE, RATE_LIMITED, BUSY, …"""


@dataclass(frozen=True)
class OsmSettings:
    """Hold the addresses, whom to turn to, and calls a second to each service."""

    addresses: Mapping[str, str]
    contact: str = ""
    qps: float = 1.0

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "OsmSettings":
        """Read the environment; raise ValueError where a public service has nobody to turn to."""
        addresses = {name: environment.get(name) or url for name, url in PUBLIC.items()}
        contact = environment.get(CONTACT, "")
        if lacks_contact(addresses, contact):
            raise ValueError(f"{CONTACT} is not set: the public services want to know it")
        return cls(addresses, contact, float(environment.get("OSM_QPS") or 1))


def lacks_contact(addresses: Mapping[str, str], contact: str | None) -> bool:
    """Return whether a public service would be asked by nobody in particular."""
    return not contact and any(addresses[name] == url for name, url in PUBLIC.items())


class OsmServices:
    """Ask each service at its pace; equal questions are asked once an hour."""

    def __init__(self, settings: OsmSettings) -> None:
        self._settings = settings
        self._paces = {name: Pace(settings.qps, 1) for name in settings.addresses}
        self._cache = BoundedCache[str, Any](_CACHED, seconds=_CACHE_SECONDS)
        self._clients: dict[str | None, httpx.AsyncClient] = {}

    async def nominatim(self, path: str, params: Mapping[str, str]) -> Any:
        """Return the reply of the geocoder: a list of a search, an object of one position."""
        url = f"{self._settings.addresses['NOMINATIM_BASE_URL']}/{path}"
        return await self._asked("NOMINATIM_BASE_URL", url, {"format": "jsonv2", **params})

    async def overpass(self, query: str) -> list[dict[str, Any]]:
        """Return the elements that a query finds."""
        url = self._settings.addresses["OVERPASS_BASE_URL"]
        reply = await self._asked("OVERPASS_BASE_URL", url, {"data": query}, post=True)
        if not isinstance(reply, dict) or not isinstance(reply.get("elements"), list):
            raise ServiceError("MALFORMED the reply of Overpass has no elements")
        if "runtime error" in str(reply.get("remark", "")) and not reply["elements"]:
            raise ServiceError(f"BUSY Overpass: {reply['remark']}"[:200])
        return [each for each in reply["elements"] if isinstance(each, dict)]

    async def osrm(
        self, service: str, profile: str, path: str, params: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the reply of the router: `route` or `table` over positions."""
        base = self._settings.addresses["OSRM_BASE_URL"].replace("{profile}", profile)
        url = f"{base}/{service}/v1/{profile}/{path}"
        reply = await self._asked("OSRM_BASE_URL", url, params)
        if not isinstance(reply, dict):
            raise ServiceError("MALFORMED the reply of OSRM is no object")
        code = str(reply.get("code"))
        if code in ("NoRoute", "NoSegment", "NoTable"):
            raise ServiceError(f"NO_ROUTE OSRM: {code}")
        if code != "Ok":
            raise ServiceError(f"BAD_REQUEST OSRM: {code} {reply.get('message', '')}"[:200])
        return reply

    async def forecast(self, params: Mapping[str, str]) -> dict[str, Any]:
        """Return a forecast of Open-Meteo."""
        url = f"{self._settings.addresses['OPEN_METEO_BASE_URL']}/v1/forecast"
        reply = await self._asked("OPEN_METEO_BASE_URL", url, params)
        return reply if isinstance(reply, dict) else {}

    async def aclose(self) -> None:
        """Close the clients."""
        for client in self._clients.values():
            await client.aclose()

    async def _asked(
        self, service: str, url: str, params: Mapping[str, str], *, post: bool = False
    ) -> Any:
        key = json.dumps([url, params])
        if (known := self._cache.get(key)) is not None:
            return known
        await asyncio.sleep(self._paces[service].reserve())
        client = await self._client(url)
        values = dict(params)
        request = (
            client.build_request("POST", url, data=values)
            if post
            else client.build_request("GET", url, params=values)
        )
        try:
            async with contextlib.aclosing(await client.send(request, stream=True)) as response:
                raw = await _read(response)
                reply = _parsed(response, raw, urlsplit(url).netloc)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ServiceError(f"NETWORK {type(error).__name__}: {error}"[:200]) from None
        self._cache.put(key, reply)
        return reply

    async def _client(self, url: str) -> httpx.AsyncClient:
        """Return the client for the address, by its proxy; redirects are not followed."""
        proxy = proxy_for(url)
        if proxy not in self._clients:
            agent = f"tanlu/{__version__} ({self._settings.contact or 'own services'})"
            context = await asyncio.to_thread(httpx.create_ssl_context)
            self._clients[proxy] = httpx.AsyncClient(
                headers={"User-Agent": agent}, timeout=_SECONDS, proxy=proxy, trust_env=False,
                verify=context,
            )  # fmt: skip
        return self._clients[proxy]


async def _read(response: httpx.Response) -> bytes:
    raw = b""
    async for chunk in response.aiter_bytes():
        raw += chunk
        if len(raw) > _LARGEST:
            raise ServiceError("TOO_LARGE the reply has more than 4 MB")
    return raw


def _parsed(response: httpx.Response, raw: bytes, host: str) -> Any:
    """Return a reply's JSON; raise what its status, or its form, stands for."""
    status = response.status_code
    if status == _RATE:
        wait = response.headers.get("retry-after", "")
        raise ServiceError(f"RATE_LIMITED {wait if wait.isdigit() else ''} {host}")
    if status in _REFUSED:
        raise ServiceError(f"REFUSED {host}: HTTP {status}")
    if status >= 500:
        raise ServiceError(f"BUSY {host}: HTTP {status}")
    try:
        reply = parse_json(raw)
    except ValueError:
        reply = None
    # OSRM says in the object of an HTTP 400 that there is no way.
    if isinstance(reply, dict) and "code" in reply:
        return reply
    if status == _MISSING:
        raise ServiceError(f"NOT_FOUND {host}: HTTP {status}")
    if status >= 300:
        raise ServiceError(f"BAD_REQUEST {host}: HTTP {status}")
    if reply is None:
        raise ServiceError(f"MALFORMED {host}: the reply is no JSON")
    return reply
