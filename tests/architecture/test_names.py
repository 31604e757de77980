"""A public name means one thing in the whole tree, and a function's says what it does."""

import ast
from collections.abc import Iterator

from tests.architecture.tree import SOURCE, python_files, syntax

VAGUE = frozenset({"run", "text", "read", "plain", "answer", "body", "work", "rest"})
"""No public function of a module is called so: one would have to look up what comes of it."""

OF_INTERFACES = frozenset(
    {
        *("main", "run_command"),  # a process begins; a subcommand of `tanlu` does its work
        *("build_graph", "configuration_of", "planned_calls", "reads_left"),  # of each assistant
        *("generate_query", "reflection", "web_research"),  # nodes, and the sample's reply to them
        *("clean_arguments", "failure", "location_of"),  # of each map server
        *("lifespan", "serve", "shorten"),  # of each engine
        "run_program",  # of each sandbox
    }
)
"""Functions that do one thing in several ways: whoever imports one chooses the way."""


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


def test_a_public_function_is_defined_in_one_module_or_is_one_thing_in_several_ways() -> None:
    modules_of: dict[str, list[str]] = {}
    for path in python_files("src"):
        for node in syntax(path).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                modules_of.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    shared = {name: where for name, where in modules_of.items() if len(where) > 1}
    assert {name: shared[name] for name in shared.keys() - OF_INTERFACES} == {}
    assert shared.keys() >= OF_INTERFACES, "a name of one module needs no exception"
