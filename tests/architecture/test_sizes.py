"""Files, functions and parameters stay readable, and no file is a splinter of its neighbour."""

import ast
from pathlib import Path

from tests.architecture.tree import (
    ROOT,
    functions,
    imports,
    modules,
    nodes,
    python_files,
    syntax,
    tracked_files,
)

PRODUCT = ("src", "tools", "examples", "evals", "benchmarks")
FOLDERS = (*PRODUCT, "tests")
FILE_LINES = 600
FUNCTION_LINES = 60
SPLINTER_LINES = 80
PARAMETERS = 5
PAGE_COLUMNS = 110


def named(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def line_count(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_file_is_longer_than_600_lines() -> None:
    lengths = {str(p.relative_to(ROOT)): line_count(p) for p in python_files(*FOLDERS)}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def page_lines() -> dict[str, list[str]]:
    """Return the lines of the page's files by their names, without what is vendored."""
    kinds = {".js", ".mjs", ".ts", ".css", ".html"}
    written = [p for p in tracked_files() if p.suffix in kinds and "vendor" not in p.parts]
    return {str(p.relative_to(ROOT)): p.read_text("utf-8").splitlines() for p in written}


def test_no_file_of_the_page_is_longer_than_600_lines() -> None:
    """Look at its tests, too."""
    lengths = {path: len(lines) for path, lines in page_lines().items()}
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_line_of_the_page_s_modules_is_longer_than_110_characters() -> None:
    wide = {
        f"{path}:{number}": len(line)
        for path, lines in page_lines().items()
        if path.startswith("src/") and path.endswith((".js", ".ts"))
        for number, line in enumerate(lines, 1)
        if len(line) > PAGE_COLUMNS
    }
    assert wide == {}


def test_a_short_module_that_only_its_neighbour_imports_belongs_into_the_neighbour() -> None:
    """Except what a graph, a registry or the table of commands lists: each entry has its file."""
    importers_of: dict[str, list[str]] = {module: [] for module in imports()}
    for name, imported in imports().items():
        for module in imported & imports().keys() - {name}:
            importers_of[module].append(name)
    splinters = []
    for module, importers in importers_of.items():
        path = modules()[module]
        if path.name == "__init__.py" or line_count(path) >= SPLINTER_LINES:
            continue
        if len(importers) == 1 and _same_folder(module, importers[0]) and not _lists(importers[0]):
            splinters.append(f"{module} (only {importers[0]} imports it)")
    assert splinters == []


def _same_folder(module: str, other: str) -> bool:
    return modules()[module].parent == modules()[other].parent


def _lists(module: str) -> bool:
    """Say whether a module lists others: it builds a graph, or it holds a registry of services."""
    path = modules()[module]
    builds = any(isinstance(n, ast.Name) and n.id == "StateGraph" for n in nodes(path))
    tables = {
        target.id
        for node in syntax(path).body
        for target in (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if isinstance(target, ast.Name)
    }
    return builds or bool(tables & {"REGISTRY", "COMMANDS"})


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        named(path, node): lines
        for path in python_files(*FOLDERS)
        for node in functions(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    }
    assert lengths == {}


def test_beyond_five_parameters_they_are_keyword_only() -> None:
    counts = {
        named(path, node): len([*node.args.posonlyargs, *node.args.args])
        for path in python_files("src")
        for node in functions(path)
    }
    own = {"self", "cls"}
    methods = {
        named(path, node)
        for path in python_files("src")
        for node in functions(path)
        if node.args.args and node.args.args[0].arg in own
    }
    counted = {name: count - (name in methods) for name, count in counts.items()}
    assert {name: count for name, count in counted.items() if count > PARAMETERS} == {}
