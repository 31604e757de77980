"""docs/reference.md names state keys, events and codes of the code; architecture.md its tree."""

import ast
import re
import typing

import pytest

from agent.assistants.deep_research.state import DeepState
from agent.assistants.plan_execute.state import PlanState
from agent.assistants.team_answer.state import TeamState
from agent.core.progress import EventType
from agent.state import OverallState
from tests.architecture.tree import ROOT, SOURCE, nodes, python_files

PAGE = (ROOT / "docs/reference.md").read_text("utf-8")
TREE = (ROOT / "docs/architecture.md").read_text("utf-8")
QUOTED = set(re.findall(r"`([^`\n]+)`", PAGE))
_CODE = re.compile(r"(map|model|search|budget)_[a-z_]+|[a-z]+(_[a-z]+)*")
_CODE_GIVEN = re.compile(r"\bcode\b[^=\n]{0,40}=")
NOT_GAPS = {"unexpected"}


def codes() -> set[str]:
    """Every `code` our errors and gaps are given: literals of `code=` and class attributes."""
    found: set[str] = set()
    for path in python_files("src/agent"):
        if not _CODE_GIVEN.search(path.read_text("utf-8")):
            continue
        for node in nodes(path):
            if (isinstance(node, ast.keyword) and node.arg == "code") or (
                isinstance(node, ast.Assign) and _names(node) == ["code"] and "errors" in path.stem
            ):
                found |= _texts(node.value)
    return {code for code in found if _CODE.fullmatch(code)}


def _texts(node: ast.AST) -> set[str]:
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("state", [OverallState, DeepState, TeamState, PlanState])
def test_every_state_key_is_explained(state: type) -> None:
    assert [key for key in typing.get_type_hints(state) if key not in QUOTED] == []


def test_every_progress_event_is_explained() -> None:
    assert [kind for kind in typing.get_args(EventType) if kind not in QUOTED] == []


def test_every_error_code_is_explained() -> None:
    assert len(codes()) > 30
    assert sorted(codes() - QUOTED - NOT_GAPS) == []


def test_every_part_of_the_tree_is_explained() -> None:
    here = SOURCE / "agent"
    parts = {
        path.name
        for path in here.iterdir()
        if (path.suffix == ".py" or path.is_dir()) and not path.name.startswith("__")
    }
    assert [part for part in sorted(parts) if f"`{part}" not in TREE] == []


def test_the_architecture_page_stays_short() -> None:
    assert len(TREE.splitlines()) <= 200
