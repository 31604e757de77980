"""The repository as the architecture tests read it: tracked files, modules, their imports."""

import ast
import functools
import gc
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
_NOT_OURS = {".git", ".venv", "node_modules", "__pycache__", "dist", "build"}


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """The files under version control; in an unpacked archive, all that look like ours."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
        return tuple(path for path in paths if path.is_file())
    found = (path for path in ROOT.rglob("*") if path.is_file())
    return tuple(path for path in found if not _NOT_OURS & set(path.parts))


def python_files(*folders: str) -> list[Path]:
    """Every `.py` file in these folders of the repository, tracked or about to be."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@functools.cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@functools.cache
def syntax(path: Path) -> ast.Module:
    """Return what a file of Python says, parsed once for all tests."""
    gc.disable()
    try:
        return ast.parse(path.read_text("utf-8"))
    finally:
        # Else each of the collections that a thousand new nodes set off looks at all others again.
        gc.freeze()
        gc.enable()


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file, breadth first."""
    return tuple(ast.walk(syntax(path)))


@functools.cache
def functions(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """Return a file's functions; only statements are visited, which are a tenth of the nodes."""
    found, waiting = [], list[ast.AST](syntax(path).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node)
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, part, ())
            waiting.extend(inner if isinstance(inner, list) else ())
    return tuple(found)


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules() -> dict[str, Path]:
    """Return the file of each of our modules, by its dotted name."""
    return {module_name(path): path for path in python_files("src/agent")}


@functools.cache
def imports() -> dict[str, frozenset[str]]:
    """What each of our modules imports by itself, wherever in the file: dotted names."""
    return {name: _imported(path, frozenset(modules())) for name, path in modules().items()}


def _imported(path: Path, ours: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(path, node)
            inner = {f"{base}.{alias.name}" for alias in node.names} & ours
            found.update(inner or {base})
    return frozenset(found)


def _base(path: Path, node: ast.ImportFrom) -> str:
    """The module that is imported from; a relative import is counted from its package."""
    if not node.level:
        return node.module or ""
    package = path.relative_to(SOURCE).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])
