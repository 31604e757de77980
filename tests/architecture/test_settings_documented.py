""".env.example and the code name the same variables, with the same defaults."""

import re
from typing import Any

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agent.configuration import Configuration
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
