"""What a run may choose: its context, checked against the assistant's own Configuration, and a
command to a thread, checked against its graph.

The graph would refuse a bad value, too, but only in the run, which is then accepted, queued and
failed; and of a run at times nobody would hear it.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from langchain_core.messages import convert_to_messages
from langgraph.constants import END
from pydantic import TypeAdapter, ValidationError
from typing_extensions import get_type_hints

from agent.configuration import Configuration
from agent.errors import ConfigurationError, InputError
from agent.installed import ASSISTANTS


def chosen(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Configuration that a request sets, in its context or `config.configurable`.

    Other names are none of ours: the server drops them.
    """
    config = asked.get("config")
    given = (
        config.get("configurable") if isinstance(config, Mapping) else None,
        asked.get("context"),
    )
    found = {
        name: value for part in given if isinstance(part, Mapping) for name, value in part.items()
    }
    return {name: value for name, value in found.items() if name in Configuration.model_fields}


def check_choices(graph_id: str, choices: Mapping[str, Any]) -> None:
    """Raises ConfigurationError naming the field whose value the graph would not take."""
    schema = _schema(graph_id)
    if schema is None:
        return
    try:
        schema(**choices)
    except ConfigurationError as error:
        # A bad default of the environment is not the caller's; each run tells that.
        if error.name.partition(".")[0] in choices:
            raise


def goes_to_node(command: Mapping[str, Any]) -> bool:
    """Return whether a command goes on at a node, which reads what an earlier run has left."""
    return any(node != END for node in _targets(command))


def check_command(graph_id: str, command: Mapping[str, Any]) -> None:
    """Raise InputError naming the part of a command that fails in one of our graphs."""
    if graph_id not in ASSISTANTS:
        return
    if not any(command.get(part) for part in ("goto", "update")) and command.get("resume") is None:
        raise InputError("command", "must have resume, goto or update")
    builder = _graph(graph_id).builder
    nodes = [n for n, node in builder.nodes.items() if node.input_schema is builder.state_schema]
    for target in _targets(command):
        if not isinstance(target, str):
            raise InputError("command.goto", "must be a node's name; no node takes other input")
        if target not in (*nodes, END):
            raise InputError("command.goto", f"must be one of {', '.join([*nodes, END])}")
    if update := command.get("update"):
        _check_update(graph_id, update)


def _targets(command: Mapping[str, Any]) -> list[Any]:
    goto = command.get("goto") or []
    return goto if isinstance(goto, list) else [goto]


def _check_update(graph_id: str, update: Any) -> None:
    fields = _fields(graph_id)
    try:
        changes = dict(update)
    except (TypeError, ValueError):
        raise InputError("command.update", "must be an object with keys of the state") from None
    for name, value in changes.items():
        if name not in fields:
            known = ", ".join(fields)
            raise InputError("command.update", f"must have keys of the state only: {known}")
        if value is None:
            continue
        try:
            if name == "messages":
                convert_to_messages(value if isinstance(value, list) else [value])
            else:
                fields[name].validate_python(value)
        except ValidationError as error:
            problem = ConfigurationError.of(error).problem
            raise InputError(f"command.update.{name}", problem) from None
        except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
            raise InputError(
                f"command.update.{name}", "must be messages: {role, content}"
            ) from None


@cache
def _schema(graph_id: str) -> type[Configuration] | None:
    """The context schema of one of our graphs; None of any other."""
    if graph_id not in ASSISTANTS:
        return None
    schema = _graph(graph_id).context_schema
    return schema if isinstance(schema, type) and issubclass(schema, Configuration) else None


@cache
def _fields(graph_id: str) -> dict[str, TypeAdapter[Any]]:
    """The keys of a graph's state, each with what it takes; its reducers do not count."""
    hints = get_type_hints(_graph(graph_id).builder.state_schema)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}


def _graph(graph_id: str) -> Any:
    module, _, name = ASSISTANTS[graph_id].partition(":")
    return getattr(importlib.import_module(module), name)
