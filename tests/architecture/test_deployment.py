"""What langgraph.json, pyproject.toml and the package files promise."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.tree import ROOT, pyproject, tracked_files

CONFIG: dict[str, Any] = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
PATHS = [
    *(graph["path"] for graph in CONFIG["graphs"].values()),
    CONFIG["http"]["app"],
    CONFIG["checkpointer"]["path"],
]
IMPORT = """
import importlib, sys, agent.graph
print(sorted({"mcp", "jsonschema"} & sys.modules.keys()))
for path in sys.argv[1:]:
    module, _, name = path.rpartition(":" if ":" in path else ".")
    print(type(getattr(importlib.import_module(module), name)).__name__)
"""
LOCKS = [path for path in tracked_files() if path.name == "package-lock.json"]


def imported_in_a_bare_process(home: Path) -> list[str]:
    """What a process without any key, setting or home tells that imports what is named.

    First which heavy packages came with the graph, then the kinds of what langgraph.json names.
    """
    kept = {n: os.environ[n] for n in ("PATH", "SYSTEMROOT", "LANG") if n in os.environ}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT, *PATHS],
        cwd=home,
        env={**kept, "HOME": str(home), "USERPROFILE": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_all_that_is_named_imports_without_a_key_and_the_graph_without_the_protocol_of_maps(
    tmp_path: Path,
) -> None:
    """The protocol is 190 modules, an eighth of the graph's import: a first session loads it."""
    of_the_protocol, *kinds = imported_in_a_bare_process(tmp_path)
    assert of_the_protocol == "[]"
    assert kinds[: len(CONFIG["graphs"])] == ["CompiledStateGraph"] * len(CONFIG["graphs"])
    assert list(tmp_path.iterdir()) == []


def test_graphs_and_app_are_named_by_module_so_that_services_are_shared() -> None:
    assert [path for path in PATHS if "/" in path or ".py" in path] == []


def test_aegra_serves_what_langgraph_json_lists() -> None:
    path = ROOT / "src/agent/engines/aegra/aegra.json"
    aegra: dict[str, Any] = json.loads(path.read_text("utf-8"))
    described = {name: graph["description"] for name, graph in CONFIG["graphs"].items()}
    assert {name: graph["description"] for name, graph in aegra["graphs"].items()} == described
    assert [g["path"] for g in aegra["graphs"].values()] == [f"./graphs.py:{n}" for n in described]
    factories = (path.parent / "graphs.py").read_text("utf-8")
    assert [name for name in described if f'_factory("{name}", ' not in factories] == []
    assert aegra["auth"]["path"] == CONFIG["auth"]["path"]
    assert aegra["checkpointer"] == {"durability": "sync"}


def test_every_assistant_tells_clients_what_it_does() -> None:
    assert all(len(graph["description"]) > 40 for graph in CONFIG["graphs"].values())


def test_the_command_line_knows_the_assistants_of_langgraph_json() -> None:
    from agent.assistants.registry import ASSISTANTS

    assert {name: graph["path"] for name, graph in CONFIG["graphs"].items()} == ASSISTANTS


def test_every_file_the_image_copies_exists() -> None:
    copied = [
        name
        for line in CONFIG["dockerfile_lines"]
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).is_file()] == []


def test_every_dependency_is_pinned_to_one_version() -> None:
    project = pyproject()["project"]
    groups = pyproject()["dependency-groups"]
    wanted = [
        *project["dependencies"],
        *(need for extra in project["optional-dependencies"].values() for need in extra),
        *(need for group in groups.values() for need in group),
    ]
    pins = {pin.partition("==")[0] for pin in pyproject()["tool"]["uv"]["constraint-dependencies"]}
    names = {re.split(r"[\[<>=~! ]", need, maxsplit=1)[0].lower() for need in wanted}
    # The extra `all` names the package itself.
    assert names - {"tanlu"} <= pins


def test_the_extra_all_has_every_other_one() -> None:
    extras = pyproject()["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("tanlu[").removesuffix("]").split(",")
    assert sorted(named) == sorted(extras.keys() - {"all"})


def test_no_lock_with_addresses_is_tracked() -> None:
    assert [path for path in tracked_files() if path.name == "uv.lock"] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_lock_names_versions_and_hashes_but_no_addresses(lock: Path) -> None:
    packages = json.loads(lock.read_text("utf-8"))["packages"]
    installed = {name: entry for name, entry in packages.items() if name}
    assert installed
    assert [name for name, entry in installed.items() if "resolved" in entry] == []
    assert [name for name, entry in installed.items() if "integrity" not in entry] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_file_asks_for_exact_versions(lock: Path) -> None:
    asked = json.loads(lock.with_name("package.json").read_text("utf-8"))["dependencies"]
    assert [
        version for version in asked.values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)
    ] == []
