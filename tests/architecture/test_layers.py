"""The import rules of pyproject.toml, checked without import-linter (`make check` runs that)."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.architecture.tree import imports, pyproject

CONTRACTS: list[dict[str, Any]] = pyproject()["tool"]["importlinter"]["contracts"]
LAYERS = [
    [name.strip(" ()") for name in layer.split("|")]
    for contract in CONTRACTS
    if contract["type"] == "layers"
    for layer in contract["layers"]
]
FORBIDDEN = [contract for contract in CONTRACTS if contract["type"] == "forbidden"]


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def place(module: str) -> tuple[int, str] | None:
    """How far down a module's layer is, and its part of the layer; None outside of all layers."""
    for depth, layer in enumerate(LAYERS):
        for part in layer:
            if within(module, part):
                return depth, part
    return None


def reached(start: str, passes: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Modules that `start` imports, by itself or through modules that `passes` lets through."""
    seen, waiting = {start}, deque([(start, start)])
    while waiting:
        module, way = waiting.popleft()
        for imported in sorted(imports().get(module, ())):
            if imported in seen:
                continue
            seen.add(imported)
            yield imported, f"{way} → {imported}"
            if passes(imported):
                waiting.append((imported, f"{way} → {imported}"))


def test_a_module_imports_only_its_own_layer_and_those_below() -> None:
    wrong = []
    for module in imports():
        here = place(module)
        for imported, way in reached(module, lambda name: place(name) is None):
            there = place(imported)
            if here is None or there is None or here[1] == there[1]:
                continue
            if there[0] <= here[0]:
                wrong.append(way)
    assert wrong == []


@pytest.mark.parametrize("contract", FORBIDDEN, ids=lambda contract: contract["name"])
def test_a_forbidden_module_is_not_imported(contract: dict[str, Any]) -> None:
    direct = contract.get("allow_indirect_imports", False)
    wrong = [
        way
        for module in imports()
        if any(within(module, source) for source in contract["source_modules"])
        for imported, way in reached(module, lambda _: not direct)
        if any(within(imported, forbidden) for forbidden in contract["forbidden_modules"])
    ]
    assert wrong == []


def test_every_layer_exists_or_is_named_by_the_design() -> None:
    planned = {"agent.assistants"}
    known = set(imports())
    assert {part for layer in LAYERS for part in layer} - known <= planned


def test_importing_a_module_reads_no_environment() -> None:
    """`os.environ` at module level would make an import depend on keys."""
    from tests.architecture.environment import read_at_import

    assert read_at_import() == []
