"""The pinned map server in the user's cache: installed once, checked by its lock file. Blocks."""

import functools
import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import platformdirs

from agent.errors import ProviderUnavailable
from agent.mcp.node import ADVICE, Node
from agent.private_files import correct_old, private_folder, private_tree
from agent.redaction import scrub

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
