"""List the map servers: the command of each, and the readers of its replies."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from pydantic import SecretStr

from agent.core.errors import ConfigurationError, ProviderRefused, ProviderUnavailable
from agent.core.proxies import is_socks, proxy_environment
from agent.evidence.types import MapTask
from agent.mcp import mapbox, tencent
from agent.mcp.amap.install import PROVIDER, NodeCommand, TellStep, find_node, installed_server
from agent.mcp.amap.prefetch import AmapPrefetch
from agent.mcp.amap.records import (
    PHOTO_HOSTS,
    PRESENTATION,
    SAMPLE,
    AmapReader,
    without_empties,
)
from agent.mcp.amap.tools import (
    CACHE_SECONDS,
    CATALOGUE,
    QUOTA,
    TOOLS_BY_INTENT,
    cache_key,
    clean_arguments,
    failure,
)
from agent.mcp.amap.ways import AmapWays
from agent.mcp.keyed import KeyedPrefetch, KeyedReader
from agent.mcp.map_server import MapServer, ServerAddress, ServerCommand
from agent.mcp.osm import records as osm_records
from agent.mcp.osm import tools as osm_tools
from agent.mcp.osm.prefetch import OsmPrefetch
from agent.mcp.osm.services import CONTACT, PUBLIC, lacks_contact
from agent.settings import Settings

__all__ = ["PHOTO_HOSTS", "SERVERS", "TellStep", "amap_command", "amap_server", "death_signal"]
SAMPLE_KEY = "sample"
_REDIRECT = Path(__file__).parents[1] / "sample" / "services" / "amap_redirect.cjs"
_NEEDED = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TZ", "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "APPDATA", "PATHEXT", "COMSPEC",
)  # fmt: skip


KEY_VARIABLE = "AMAP_MAPS_API_KEY"
CHINA = frozenset({"cn", "hk", "mo", "tw"})
"""What Amap knows."""


def amap_server(
    settings: Settings, *, redirect: str | None = None, notify: TellStep | None = None
) -> MapServer:
    """Return the entry of Amap's own server."""
    return MapServer(
        presentation=SAMPLE if redirect else PRESENTATION,
        command=lambda: amap_command(settings, redirect=redirect, notify=notify),
        catalogue=CATALOGUE,
        reader=AmapReader,
        read_error=failure,
        clean_reply=without_empties,
        clean_arguments=clean_arguments,
        cache_key=cache_key,
        cache_seconds=CACHE_SECONDS,
        tools_by_intent=TOOLS_BY_INTENT,
        prefetch=AmapPrefetch,
        ways=AmapWays(),
        key_variable=KEY_VARIABLE,
        missing="" if redirect or settings.amap_maps_api_key else KEY_VARIABLE,
        crs="GCJ-02",
        covers=CHINA,
        qps=settings.amap_qps,
        quota=QUOTA,
        daily_limit=0 if redirect else settings.amap_daily_search_limit,
    )


def amap_command(
    settings: Settings, *, redirect: str | None = None, notify: TellStep | None = None
) -> ServerCommand | ServerAddress:
    """Return the configured command or address, else the pinned server under node.

    The server is installed at its first use.

    `redirect` is the base address of a stand-in for Amap's REST service. Raises ProviderRefused
    (`map_key_missing`) and ProviderUnavailable (`map_no_node`, `map_install_failed`,
    `map_server_down`).
    """
    environment = _environment(settings, redirect)
    if settings.amap_mcp_command:
        if redirect:
            environment["NODE_OPTIONS"] = f'--require "{_REDIRECT.as_posix()}"'
        return _supervised(_resolved(settings.amap_mcp_command), environment)
    if KEY_VARIABLE not in environment:
        raise ProviderRefused(PROVIDER, f"{KEY_VARIABLE} is not set", code="map_key_missing")
    if settings.amap_mcp_url and not redirect:
        # Amap takes the key there and nowhere else.
        query = urlencode({"key": environment[KEY_VARIABLE]})
        return ServerAddress(f"{settings.amap_mcp_url}?{query}")
    node = find_node()
    script = installed_server(node, notify=notify)
    preload = ["--require", str(_REDIRECT)] if redirect else []
    return _supervised([node.node, *preload, str(script)], _with_node(environment, node))


def _environment(settings: Settings, redirect: str | None) -> dict[str, str]:
    names = [*_NEEDED, *(n.strip() for n in settings.amap_mcp_env.split(",") if n.strip())]
    environment = {name: os.environ[name] for name in names if name in os.environ}
    key = _plain(settings.amap_maps_api_key)
    if redirect:
        return {**environment, KEY_VARIABLE: key or SAMPLE_KEY, "AMAP_TEST_BASE_URL": redirect}
    try:
        proxies = proxy_environment()
    except ConfigurationError as error:
        raise ProviderUnavailable(PROVIDER, error.message, code="map_network") from None
    # Node speaks to no SOCKS proxy: the map is asked directly then.
    if proxies and not any(map(is_socks, proxies.values())):
        environment |= {**proxies, "NODE_USE_ENV_PROXY": "1"}
    if key:
        environment[KEY_VARIABLE] = key
    return environment


def _with_node(environment: dict[str, str], node: NodeCommand) -> dict[str, str]:
    folder = str(Path(node.node).parent)
    return {**environment, "PATH": os.pathsep.join([folder, environment.get("PATH", "")])}


def _resolved(command: list[str]) -> list[str]:
    program = shutil.which(command[0])
    if program is None:
        raise ProviderUnavailable(
            PROVIDER, f"AMAP_MCP_COMMAND: {command[0]} was not found", code="map_server_down"
        )
    return [program, *command[1:]]


def _supervised(command: list[str], environment: dict[str, str]) -> ServerCommand:
    """Return a command whose process, on Linux, dies with the thread that started it."""
    whole = [*death_signal(), *command]
    return ServerCommand(whole[0], tuple(whole[1:]), environment)


@functools.cache
def death_signal() -> tuple[str, ...]:
    """Return `setpriv --pdeathsig KILL --` where it exists and works, else nothing."""
    program = shutil.which("setpriv") if sys.platform == "linux" else None
    if program is None:
        return ()
    prefix = (program, "--pdeathsig", "KILL", "--")
    probe = [*prefix, program, "--version"]
    works = subprocess.run(probe, capture_output=True, check=False)  # noqa: S603 - fixed words
    return prefix if works.returncode == 0 else ()


def osm_server(
    settings: Settings, *, redirect: str | None = None, notify: TellStep | None = None
) -> MapServer:
    """Return the entry of our own OpenStreetMap server, which needs no key; see `amap_server`."""
    environment = _osm_environment(settings)
    lacks = lacks_contact(environment, settings.tanlu_contact)
    return MapServer(
        presentation=osm_records.PRESENTATION,
        command=lambda: _osm_command(environment, lacks=lacks),
        catalogue=osm_tools.CATALOGUE,
        reader=osm_records.OsmReader,
        read_error=osm_tools.failure,
        cache_seconds=osm_tools.CACHE_SECONDS,
        tools_by_intent=osm_tools.TOOLS_BY_INTENT,
        prefetch=OsmPrefetch,
        ways=osm_records.OsmWays(),
        key_variable=CONTACT,
        missing=CONTACT if lacks else "",
        own=True,
        qps=settings.osm_qps,
        service_of=osm_tools.SERVICE_OF,
    )


def _osm_environment(settings: Settings) -> dict[str, str]:
    """Return what our server is told: where the services are, and whom they may turn to."""
    addresses = {name: str(getattr(settings, name.lower())).rstrip("/") for name in PUBLIC}
    environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    contact = settings.tanlu_contact or ""
    return {**environment, **addresses, CONTACT: contact, "OSM_QPS": str(settings.osm_qps)}


def _osm_command(environment: dict[str, str], *, lacks: bool) -> ServerCommand:
    """Return our own server under this Python; raise ProviderRefused (`map_key_missing`)."""
    if lacks:
        raise ProviderRefused(osm_tools.PROVIDER, f"{CONTACT} is not set", code="map_key_missing")
    try:
        proxies = proxy_environment()
    except ConfigurationError as error:
        raise ProviderUnavailable(osm_tools.PROVIDER, error.message, code="map_network") from None
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-m", "agent.mcp.osm"]
    return _supervised(command, {**environment, **proxies, "PYTHONPATH": path})


def tencent_server(
    settings: Settings, *, redirect: str | None = None, notify: TellStep | None = None
) -> MapServer:
    """Return the entry of Tencent's hosted server, which holds Amap's places against its own."""
    key = _plain(settings.tencent_map_key)
    service = tencent.TencentService()
    # Tencent takes the key there and nowhere else; format=1 asks for JSON.
    url = f"{settings.tencent_mcp_url}?{urlencode({'key': key, 'format': '1'})}"
    return MapServer(
        presentation=tencent.PRESENTATION,
        command=lambda: _reached(tencent.PROVIDER, "TENCENT_MAP_KEY", key, ServerAddress(url)),
        catalogue=tencent.CATALOGUE,
        reader=lambda records: KeyedReader(records, service),
        clean_reply=tencent.clean_reply,
        clean_arguments=tencent.clean_arguments,
        prefetch=functools.partial(KeyedPrefetch, service),
        key_variable="TENCENT_MAP_KEY",
        missing="" if key else "TENCENT_MAP_KEY",
        crs=service.crs,
        probe=MapTask(intent="poi", place="故宫博物院", city="北京"),
        covers=CHINA,
        heeds=service.heeds,
        is_second_voice=True,
    )


def mapbox_server(
    settings: Settings, *, redirect: str | None = None, notify: TellStep | None = None
) -> MapServer:
    """Return the entry of Mapbox's hosted server, which is asked outside China only."""
    key = _plain(settings.mapbox_access_token)
    service = mapbox.MapboxService()
    address = ServerAddress(settings.mapbox_mcp_url, {"Authorization": f"Bearer {key}"})
    return MapServer(
        presentation=mapbox.PRESENTATION,
        command=lambda: _reached(mapbox.PROVIDER, "MAPBOX_ACCESS_TOKEN", key, address),
        catalogue=mapbox.CATALOGUE,
        reader=lambda records: KeyedReader(records, service),
        read_error=mapbox.failure,
        prefetch=functools.partial(KeyedPrefetch, service),
        key_variable="MAPBOX_ACCESS_TOKEN",
        missing="" if key else "MAPBOX_ACCESS_TOKEN",
        probe=MapTask(intent="poi", place="Helsinki"),
        leaves_out=CHINA,
        heeds=service.heeds,
    )


def _plain(key: SecretStr | None) -> str:
    """Return a key, which the settings keep out of every log; empty without one."""
    return key.get_secret_value() if key else ""


def _reached(provider: str, variable: str, key: str, address: ServerAddress) -> ServerAddress:
    """Return the address of a hosted server; raise ProviderRefused (`map_key_missing`)."""
    if not key:
        raise ProviderRefused(provider, f"{variable} is not set", code="map_key_missing")
    return address


SERVERS: dict[str, Callable[..., MapServer]] = {
    PROVIDER: amap_server,
    osm_tools.PROVIDER: osm_server,
    tencent.PROVIDER: tencent_server,
    mapbox.PROVIDER: mapbox_server,
}
"""By provider; the name stands in ids, errors, gaps and keys of requests."""
_CATALOGUES = {
    osm_tools.PROVIDER: osm_tools.CATALOGUE,
    tencent.PROVIDER: tencent.CATALOGUE,
    mapbox.PROVIDER: mapbox.CATALOGUE,
}


def map_of_tool(name: str) -> str:
    """Return the map that a tool is of; Amap of any other."""
    return next((one for one, tools in _CATALOGUES.items() if name in tools.names), PROVIDER)


def map_names(settings: Settings) -> list[str]:
    """Return the servers of MAP_SERVERS in their order; raise ConfigurationError for another."""
    names = [name.strip() for name in settings.map_servers.split(",") if name.strip()]
    if unknown := [name for name in names if name not in SERVERS]:
        known = ", ".join(SERVERS)
        raise ConfigurationError("MAP_SERVERS", f"knows no {unknown[0]!r}; there are: {known}")
    return list(dict.fromkeys(names)) or [PROVIDER]


def is_set_up(settings: Settings) -> bool:
    """Return whether one of the servers of MAP_SERVERS lacks nothing."""
    return not all(SERVERS[name](settings).missing for name in map_names(settings))
