"""Where our modules read environment variables, and which by name."""

import ast

from tests.architecture.tree import module_name, nodes, python_files, syntax


def read_at_import() -> list[str]:
    """Places where importing a module reads a variable."""
    found = []
    for path in python_files("src/agent"):
        for node in _at_import(syntax(path)):
            if _is_environ(node):
                found.append(f"{module_name(path)}:{node.lineno}")
    return found


def variables_read() -> dict[str, str]:
    """Name → module of every variable read under a literal or constant name."""
    found: dict[str, str] = {}
    for path in python_files("src/agent"):
        constants = _constants(syntax(path))
        for node in nodes(path):
            if (key := _key(node)) is None:
                continue
            name = key.value if isinstance(key, ast.Constant) else constants.get(_id(key), "")
            if isinstance(name, str) and name:
                found[name] = module_name(path)
    return found


def _at_import(tree: ast.Module) -> list[ast.expr]:
    waiting: list[ast.AST] = list(tree.body)
    found: list[ast.expr] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.expr):
            found.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _is_environ(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("environ", "getenv")
        and _id(node.value) == "os"
    )


def _key(node: ast.AST) -> ast.expr | None:
    """The name in `os.environ[…]`, `os.environ.get(…)` or `os.getenv(…)`, where it is read."""
    if isinstance(node, ast.Subscript) and _is_environ(node.value):
        return node.slice if isinstance(node.ctx, ast.Load) else None
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = node.func
    getter = isinstance(function, ast.Attribute) and (
        _is_environ(function) or (function.attr == "get" and _is_environ(function.value))
    )
    return node.args[0] if getter else None


def _constants(tree: ast.Module) -> dict[str, str]:
    return {
        _id(node.targets[0]): node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _id(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
