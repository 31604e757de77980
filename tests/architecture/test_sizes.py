"""Files and functions stay small enough to be read at once."""

import ast
from pathlib import Path

from tests.architecture.tree import ROOT, python_files, tracked_files

PRODUCT = ("src", "tools", "examples", "evals", "benchmarks")
FOLDERS = (*PRODUCT, "tests")
FILE_LINES = 600
FUNCTION_LINES = 40
PARAMETERS = 5
PAGE_COLUMNS = 110


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text("utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def named(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def too_long(*folders: str) -> dict[str, int]:
    lengths = {p: len(p.read_text("utf-8").splitlines()) for p in python_files(*folders)}
    return {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > FILE_LINES}


def page_lines() -> dict[str, list[str]]:
    """Return the lines of the page's files by their names, without what is vendored."""
    kinds = {".js", ".mjs", ".ts", ".css", ".html"}
    written = [p for p in tracked_files() if p.suffix in kinds and "vendor" not in p.parts]
    return {str(p.relative_to(ROOT)): p.read_text("utf-8").splitlines() for p in written}


def test_no_file_is_longer_than_600_lines() -> None:
    assert too_long(*PRODUCT) == {}


def test_no_file_of_tests_is_longer_than_600_lines() -> None:
    assert too_long("tests") == {}


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


def test_no_function_is_longer_than_40_lines() -> None:
    lengths = {
        named(path, node): (node.end_lineno or 0) - node.lineno + 1
        for path in python_files(*FOLDERS)
        for node in functions(path)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


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
