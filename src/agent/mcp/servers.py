"""Which map server can be started, as data. Everything here blocks: call it in a thread."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ProviderRefused, ProviderUnavailable
from agent.mcp.install import Told, installed_server
from agent.mcp.node import Node, find_node
from agent.redaction import hide
from agent.settings import Settings

SAMPLE_KEY = "sample"
_REDIRECT = Path(__file__).parents[1] / "offline" / "amap_redirect.cjs"
_NEEDED = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TZ", "NODE_EXTRA_CA_CERTS",
    "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "APPDATA", "PATHEXT", "COMSPEC",
)  # fmt: skip
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@dataclass(frozen=True)
class ServerSpec:
    """A process to start; `env` is all it gets."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None = None

    def __repr__(self) -> str:
        """Without the environment, which holds the key."""
        return f"ServerSpec({' '.join((self.command, *self.args))})"


def amap_server(
    settings: Settings, *, redirect: str | None = None, tell: Told | None = None
) -> ServerSpec:
    """The configured command, else the pinned server (installed at first use) under node.

    `redirect` is the base address of a stand-in for Amap's REST service. Raises ProviderRefused
    (`map_key_missing`) and ProviderUnavailable (`map_no_node`, `map_install_failed`,
    `map_server_down`).
    """
    environment = _environment(settings, redirect)
    if settings.amap_mcp_command:
        if redirect:
            environment["NODE_OPTIONS"] = f'--require "{_REDIRECT.as_posix()}"'
        return _supervised(_found(settings.amap_mcp_command), environment)
    if "AMAP_MAPS_API_KEY" not in environment:
        raise ProviderRefused("amap", "AMAP_MAPS_API_KEY is not set", code="map_key_missing")
    node = find_node()
    script = installed_server(node, tell=tell)
    preload = ["--require", str(_REDIRECT)] if redirect else []
    return _supervised([node.node, *preload, str(script)], _with_node(environment, node))


def _environment(settings: Settings, redirect: str | None) -> dict[str, str]:
    wanted = [*_NEEDED, *(n.strip() for n in settings.amap_mcp_env.split(",") if n.strip())]
    environment = {name: os.environ[name] for name in wanted if name in os.environ}
    key = settings.amap_maps_api_key
    if redirect:
        sample = key.get_secret_value() if key else SAMPLE_KEY
        return {**environment, "AMAP_MAPS_API_KEY": sample, "AMAP_TEST_BASE_URL": redirect}
    proxies = {n: os.environ[n] for p in PROXIES for n in (p, p.lower()) if os.environ.get(n)}
    if proxies:
        environment |= {**proxies, "NODE_USE_ENV_PROXY": "1"}
    if key:
        environment["AMAP_MAPS_API_KEY"] = key.get_secret_value()
        hide(environment["AMAP_MAPS_API_KEY"])
    return environment


def _with_node(environment: dict[str, str], node: Node) -> dict[str, str]:
    folder = str(Path(node.node).parent)
    return {**environment, "PATH": os.pathsep.join([folder, environment.get("PATH", "")])}


def _found(command: list[str]) -> list[str]:
    program = shutil.which(command[0])
    if program is None:
        raise ProviderUnavailable(
            "amap", f"AMAP_MCP_COMMAND: {command[0]} was not found", code="map_server_down"
        )
    return [program, *command[1:]]


def _supervised(command: list[str], environment: dict[str, str]) -> ServerSpec:
    """On Linux the server dies with the thread that started it, however that ends."""
    whole = [*death_signal(), *command]
    return ServerSpec(whole[0], tuple(whole[1:]), environment)


@functools.cache
def death_signal() -> tuple[str, ...]:
    """`setpriv --pdeathsig KILL --` where it exists and works, else nothing."""
    program = shutil.which("setpriv") if sys.platform == "linux" else None
    if program is None:
        return ()
    prefix = (program, "--pdeathsig", "KILL", "--")
    probe = [*prefix, program, "--version"]
    works = subprocess.run(probe, capture_output=True, check=False)  # noqa: S603 - fixed words
    return prefix if works.returncode == 0 else ()


def node_version() -> str | None:
    """`v20.…`, or None without Node."""
    try:
        node = find_node()
    except ProviderUnavailable:
        return None
    shown = subprocess.run(  # noqa: S603 - the node we would start the server with
        [node.node, "--version"], capture_output=True, text=True, check=False, timeout=10
    )
    return shown.stdout.strip() or None
