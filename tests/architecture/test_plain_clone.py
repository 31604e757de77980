"""The second of README's commands passes with what `uv run` installs, and nothing else."""

import ast
import functools
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT, nodes, pyproject, python_files, syntax

_OURS = {"agent", "tests", "tools", "benchmarks", "evals", "examples"}


def _installed_by_uv_run() -> set[str]:
    """Return the distributions of the project and its group `dev`, with all they require."""
    declared = pyproject()
    lines = declared["project"]["dependencies"] + declared["dependency-groups"]["dev"]
    waiting = [(Requirement(line), "") for line in lines]
    found: set[tuple[str, str]] = set()
    while waiting:
        required, wanted = waiting.pop()
        if required.marker and not required.marker.evaluate({"extra": wanted}):
            continue
        for extra in ("", *required.extras):
            one = (canonicalize_name(required.name), extra)
            if one not in found:
                found.add(one)
                waiting += [(Requirement(line), extra) for line in _requirements(required.name)]
    return {name for name, _ in found}


def _requirements(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def _imports_at_the_top(tree: ast.Module) -> Iterator[str]:
    """Yield what a file needs to be collected: imports behind a guard of their own are none."""
    guarded = set()
    for node in tree.body:
        if (skipped := _import_or_skip(node)) is not None:
            guarded.add(skipped)
        elif isinstance(node, ast.Import):
            yield from {alias.name.partition(".")[0] for alias in node.names} - guarded
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from {node.module.partition(".")[0]} - guarded


def _import_or_skip(node: ast.AST) -> str | None:
    """Return the package of a statement `pytest.importorskip("package.module")`."""
    call = getattr(node, "value", None)
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.importorskip"):
        return None
    return str(ast.literal_eval(call.args[0])).partition(".")[0]


def _unguarded(path: Path, provided: set[str]) -> list[str]:
    return sorted({name for name in _imports_at_the_top(syntax(path)) if name not in provided})


@functools.cache
def _provided() -> set[str]:
    """Return the modules that a plain clone can import."""
    installed = _installed_by_uv_run()
    provided = {
        module
        for module, names in packages_distributions().items()
        if {canonicalize_name(name) for name in names} & installed
    }
    return provided | _OURS | set(sys.stdlib_module_names)


def test_no_test_imports_at_its_top_what_a_plain_clone_lacks() -> None:
    files = [*python_files("tests"), ROOT / "test_mcp_integration.py"]
    lacking = {str(path.relative_to(ROOT)): _unguarded(path, _provided()) for path in files}
    assert {name: modules for name, modules in lacking.items() if modules} == {}


def test_ci_runs_again_what_a_plain_clone_had_no_package_for() -> None:
    script = (ROOT / ".ci/run").read_text("utf-8")
    skips = {
        str(path.relative_to(ROOT))
        for folder in (ROOT / "tests").iterdir()
        if any(folder.glob("test_*.py"))
        for path in python_files(f"tests/{folder.name}")
        if "importorskip" in path.read_text("utf-8")
        if {name for node in nodes(path) if (name := _import_or_skip(node))} - _provided()
    }
    assert skips
    last = set(script[script.rindex("\ntry ") :].split())
    assert {"tests/browser", *skips} <= last


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import playwright", ["playwright"]),
        ("from playwright.sync_api import Page", ["playwright"]),
        ("import pytest\npytest.importorskip('playwright.x')\nimport playwright", ["pytest"]),
        ("import playwright\npytest.importorskip('playwright')", ["playwright"]),
        ("def test():\n    import playwright", []),
    ],
)
def test_an_import_counts_unless_a_guard_stands_before_it(source: str, needs: list[str]) -> None:
    assert list(_imports_at_the_top(ast.parse(source))) == needs
