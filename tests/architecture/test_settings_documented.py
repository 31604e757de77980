""".env.example and the code name the same variables, with the same defaults."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agent.assistants.registry import ASSISTANTS
from agent.configuration import OF_A_RUN, OF_SOME, Configuration
from agent.settings import Settings
from tests.architecture.environment import variables_read
from tests.architecture.tree import ROOT

LINE = re.compile(r"^(?P<off># )?(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>.*)$", re.MULTILINE)
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
LINES = [match.groupdict() for match in LINE.finditer(EXAMPLE)]
WRITTEN = {line["name"]: line["value"] for line in LINES}
FIELDS: dict[str, FieldInfo] = {
    name.upper(): field
    for model in (Settings, Configuration)
    for name, field in model.model_fields.items()
}
SERVER = {
    "LANGSMITH_TRACING", "LANGSMITH_API_KEY", "LANGGRAPH_STRICT_MSGPACK",
    "LANGGRAPH_NO_VERSION_CHECK", "LANGGRAPH_CHECKPOINTER",
}  # fmt: skip
OUR_OTHERS = {"TANLU_API_KEY", "TANLU_CACHE_DIR"}
FOREIGN = {"LANGGRAPH_RUNTIME_EDITION", "SSL_CERT_FILE", "SSL_CERT_DIR"}
"""Set by the platform or the system, not by whoever writes a `.env`."""


def default_text(field: FieldInfo) -> str:
    """A default as `.env` would say it; empty where there is none or it depends on the machine."""
    value: Any = field.default
    if value is None or value is PydanticUndefined:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_setting_is_in_the_example_and_nothing_else_is() -> None:
    assert set(WRITTEN) == set(FIELDS) | SERVER | OUR_OTHERS


def test_no_variable_is_named_twice() -> None:
    assert len(LINES) == len(WRITTEN)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_the_example_shows_the_default(name: str) -> None:
    assert WRITTEN[name] == default_text(FIELDS[name])


def test_only_the_server_is_told_something_and_no_key_is_written() -> None:
    decided = {line["name"]: line["value"] for line in LINES if not line["off"]}
    assert decided == {"LANGSMITH_TRACING": "false", "LANGGRAPH_CHECKPOINTER": ""}
    assert [name for name in WRITTEN if name.endswith("_KEY") and WRITTEN[name]] == []


def test_every_variable_the_code_reads_is_in_the_example() -> None:
    read = {name: where for name, where in variables_read().items() if name not in FOREIGN}
    assert {name: where for name, where in read.items() if name not in WRITTEN} == {}


def test_no_configuration_field_is_called_like_a_setting() -> None:
    assert not set(Settings.model_fields) & set(Configuration.model_fields)


def test_every_variable_is_explained_on_the_operations_page() -> None:
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    assert [name for name in sorted(WRITTEN) if f"`{name}`" not in page] == []


ROOMS = {"agent": "nodes"} | {name: f"assistants/{name}" for name in ASSISTANTS if name != "agent"}
OF_A_TURN = {"number_of_initial_queries", "max_research_loops", "outing"}
"""Those of `agent` that are read for it when its turn begins, in a room that all share."""


def readers(setting: str) -> set[str]:
    """The assistants in whose own rooms code reads a setting."""
    read = re.compile(rf"\.{setting}\b")
    files = {name: (ROOT / "src/agent" / room).glob("*.py") for name, room in ROOMS.items()}
    found = {
        name
        for name, paths in files.items()
        if any(read.search(path.read_text("utf-8")) for path in paths)
    }
    return {"agent"} if setting in OF_A_TURN else found


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_a_form_has_an_assistant_s_own_settings_at_nodes_that_exist(assistant: str) -> None:
    module, _, name = ASSISTANTS[assistant].partition(":")
    graph = getattr(importlib.import_module(module), name)
    shown = graph.get_context_jsonschema()["properties"]
    assert all({"title", "description", "default"} <= field.keys() for field in shown.values())
    nodes = {setting: set(field.get("langgraph_nodes", ())) for setting, field in shown.items()}
    assert all(at <= set(graph.builder.nodes) for at in nodes.values())
    assert {setting for setting, at in nodes.items() if not at} == OF_A_RUN
    own = {setting for setting in OF_SOME if assistant in readers(setting)}
    assert shown.keys() & OF_SOME == own
    assert shown.keys() - OF_SOME == Configuration.model_fields.keys() - OF_SOME


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_what_an_assistant_s_form_shows_is_read_by_its_code(assistant: str) -> None:
    code = "\n".join(path.read_text("utf-8") for path in modules_of(assistant))
    module, _, name = ASSISTANTS[assistant].partition(":")
    shown = getattr(importlib.import_module(module), name).get_context_jsonschema()["properties"]
    assert [each for each in shown if not re.search(rf"\.{each}\b", code)] == []


def modules_of(assistant: str) -> set[Path]:
    """The files of an assistant's room, and those that these import of what assistants share."""
    found = set((ROOT / "src/agent" / ROOMS[assistant]).glob("*.py"))
    waiting = [*found]
    while waiting:
        text = waiting.pop().read_text("utf-8")
        for name in re.findall(
            r"^from agent\.((?:assistants\.common|search)\.\w+) import", text, re.M
        ):
            path = ROOT / f"src/agent/{name.replace('.', '/')}.py"
            if path not in found:
                found.add(path)
                waiting.append(path)
    return found


def test_each_setting_is_in_a_form_and_taken_by_every_assistant() -> None:
    assert all(readers(setting) for setting in OF_SOME)
    assert not any(len(readers(setting)) == len(ASSISTANTS) for setting in OF_SOME)
