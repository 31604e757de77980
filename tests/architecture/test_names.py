"""A public type's name means one thing in the whole tree, and a function's says what it does."""

import ast
from collections.abc import Iterator

from tests.architecture.tree import SOURCE, python_files, syntax

VAGUE = frozenset({"run", "text", "read", "plain", "answer", "body", "work", "rest"})
"""No public function of a module is called so: one would have to look up what comes of it."""


def named_types(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the public classes and type aliases of a module: `class A`, `B = Literal[…]`."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
            yield ast.unparse(node.target)


def test_a_public_type_is_defined_in_one_module() -> None:
    modules_of: dict[str, list[str]] = {}
    for path in python_files("src"):
        for name in named_types(syntax(path).body):
            if not name.startswith("_") and not name.isupper():
                modules_of.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    assert len(modules_of) > 500
    assert {name: where for name, where in modules_of.items() if len(where) > 1} == {}


def test_the_functions_of_a_module_say_what_they_do() -> None:
    functions = [
        (str(path.relative_to(SOURCE)), node.name)
        for path in python_files("src")
        for node in syntax(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 2000
    assert [(path, name) for path, name in functions if name in VAGUE] == []
