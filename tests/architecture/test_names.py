"""Docstrings begin with a verb, and names say what a thing is, not what happened to it."""

import ast
from collections.abc import Iterator

from tests.architecture.tree import ROOT, nodes, python_files

NO_BEGINNINGS = {"What", "Whether", "Where", "How", "That"}
PARTICIPLES = frozenset(
    {
        "found",
        "asked",
        "given",
        "known",
        "told",
        "wanted",
        "said",
        "kept",
        "shown",
        "done",
        "seen",
        "held",
    }
)
BINDINGS_SHARE, FUNCTIONS_SHARE = 0.003, 0.04


def all_nodes() -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of our modules with the file it stands in."""
    for path in python_files("src/agent"):
        file = str(path.relative_to(ROOT))
        for node in nodes(path):
            yield file, node


def bindings(node: ast.AST) -> Iterator[str]:
    """Yield the local names that a node binds."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg


def docstring(node: ast.AST) -> str:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return (ast.get_docstring(node) or "") if isinstance(node, kinds) else ""


def test_no_docstring_opens_with_a_question_word() -> None:
    wrong = [
        f"{file}: {text.splitlines()[0]}"
        for file, node in all_nodes()
        if (text := docstring(node)) and text.split()[0].strip(",:") in NO_BEGINNINGS
    ]
    assert wrong == []


def test_hardly_a_local_is_named_by_a_bare_participle() -> None:
    names = [(file, name) for file, node in all_nodes() for name in bindings(node)]
    wrong = [(file, name) for file, name in names if name in PARTICIPLES]
    assert len(names) > 1000
    assert len(wrong) <= BINDINGS_SHARE * len(names), wrong


def test_few_functions_are_named_by_a_bare_participle() -> None:
    names = [
        (file, node.name.strip("_"))
        for file, node in all_nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    wrong = [
        (file, name)
        for file, name in names
        if name in PARTICIPLES or (name.endswith("ed") and "_" not in name)
    ]
    assert len(names) > 500
    assert len(wrong) <= FUNCTIONS_SHARE * len(names), wrong
