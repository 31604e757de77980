"""A public type's name means one thing in the whole tree."""

import ast
from collections.abc import Iterator

from tests.architecture.tree import SOURCE, python_files, syntax


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
