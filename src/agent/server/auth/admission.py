"""Check what a request asks of a run, whoever asks, before anything is stored.

command to a thread, checked against its graph.

The graph would refuse a bad value, too, but only in the run, which is then accepted, queued and
failed; and of a run at times nobody would hear it.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from langchain_core.messages import convert_to_messages
from langgraph.constants import END
from pydantic import TypeAdapter, ValidationError
from typing_extensions import get_type_hints

from agent.assistants.registry import ASSISTANTS
from agent.configuration import Configuration
from agent.core.errors import ConfigurationError, InputError
from agent.core.redaction import is_secret


def chosen_settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a Configuration that a request sets, in context or configurable.

    Other names are none of ours: the server drops them.
    """
    config = request.get("config")
    parts = (
        config.get("configurable") if isinstance(config, Mapping) else None,
        request.get("context"),
    )
    settings = {
        name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()
    }
    return {name: value for name, value in settings.items() if name in Configuration.model_fields}


def check_choices(graph_id: str, choices: Mapping[str, Any]) -> None:
    """Raise ConfigurationError naming the field whose value the graph would not take."""
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


def needs_thread(command: Mapping[str, Any]) -> bool:
    """Return whether a command says nothing where no run has begun yet."""
    return command.get("resume") is not None or not command.get("goto")


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
        check_update(graph_id, "command.update", update)


def _targets(command: Mapping[str, Any]) -> list[Any]:
    goto = command.get("goto") or []
    return goto if isinstance(goto, list) else [goto]


def check_update(graph_id: str, where: str, update: Any) -> None:
    """Raise InputError naming the key below `where` that is none of the graph's state."""
    if graph_id not in ASSISTANTS:
        return
    if depth(update) > MAX_DEPTH:
        raise InputError(where, f"is nested deeper than {MAX_DEPTH} levels")
    fields = _fields(graph_id)
    try:
        changes = dict(update)
    except (TypeError, ValueError):
        raise InputError(where, "must be an object with keys of the state") from None
    for name, value in changes.items():
        if name not in fields:
            names = ", ".join(fields)
            raise InputError(where, f"must have keys of the state only: {names}")
        if value is None:
            continue
        if name == "messages":
            _check_messages(f"{where}.messages", value)
            continue
        try:
            fields[name].validate_python(value)
        except ValidationError as error:
            problem = ConfigurationError.of(error).problem
            raise InputError(f"{where}.{name}", problem) from None


def _check_messages(where: str, value: Any) -> None:
    """Raise InputError for what no conversation can be read from."""
    try:
        convert_to_messages(value if isinstance(value, list) else [value])
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        text = "must be messages: {role, content}, whose content is a text or a list of blocks"
        raise InputError(where, text) from None


@cache
def _schema(graph_id: str) -> type[Configuration] | None:
    """Return the context schema of one of our graphs; None of any other."""
    if graph_id not in ASSISTANTS:
        return None
    schema = _graph(graph_id).context_schema
    return schema if isinstance(schema, type) and issubclass(schema, Configuration) else None


@cache
def _fields(graph_id: str) -> dict[str, TypeAdapter[Any]]:
    """Return the keys of a graph's state, each with its type; reducers do not count."""
    hints = get_type_hints(_graph(graph_id).builder.state_schema)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}


def _graph(graph_id: str) -> Any:
    module, _, name = ASSISTANTS[graph_id].partition(":")
    return getattr(importlib.import_module(module), name)


MAX_INPUT = 24_000
"""Characters of an input or an answer to a pause: the longest question and what goes with it."""
MAX_SETTINGS = 8_000
"""Characters of a context, of a config and of metadata."""
MAX_DEPTH = 64
"""Levels of each of them; the server cannot write a list down where one entry has more than 254."""
MAX_STEPS = 1_000
"""Steps of the graph; the longest deep research a Configuration allows takes fewer."""
_ALIKE = 0.85
"""How alike (0 to 1) a name is to one of ours that it is taken for a slip."""
LONGEST_DELAY = 30 * 24 * 3600
"""Seconds a run may be put off; and none may be begun before those that have waited longer."""

_AUTHENTICATED = "langgraph_auth_"
_SERVERS_OWN = frozenset(_AUTHENTICATED + name for name in ("user", "user_id", "permissions"))
"""Names in `config.configurable` that the server itself has set before it asks us."""
_JSON = (str, int, float, list, dict)
_LONGEST_PATH = 120


def check_run(request: Mapping[str, Any]) -> None:
    """Raise InputError naming the field of a run's request that cannot be let in.

    `request` has the names of the API (input, command, context, config, metadata, webhook …),
    all of them optional and none of them checked yet.
    """
    for name in ("input", "command"):
        _check_size(name, request.get(name), MAX_INPUT)
    _check_input(request.get("input"))
    for name in ("interrupt_before", "interrupt_after"):
        _check_size(name, request.get(name), MAX_SETTINGS)
    if (delay := request.get("after_seconds")) is not None:
        _check_number("after_seconds", delay, 0, LONGEST_DELAY)
    if request.get("webhook"):
        raise InputError("webhook", "is not served; join the run or its stream instead")
    if request.get("feedback_keys"):
        raise InputError("feedback_keys", "is not served; the run would ask LangSmith for them")
    check_settings(request)


def _check_input(value: Any) -> None:
    """Raise InputError for an input of another shape; none goes on with what a thread waits for."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InputError("input", "must be an object: {messages: [{role, content}]}")
    if "messages" in value:
        _check_messages("input.messages", value["messages"])


def check_settings(request: Mapping[str, Any]) -> None:
    """Check as `check_run` does what assistants and threads keep as well."""
    config, context = _object(request, "config"), _object(request, "context")
    settings = {
        "config": _without_servers_own(config, context),
        "context": context,
        "metadata": _object(request, "metadata"),
    }
    texts = {name: request.get(name) for name in ("name", "description")}
    for where, value in {**settings, **texts}.items():
        _check_size(where, value, MAX_SETTINGS)
    if "recursion_limit" in config:
        _check_number("config.recursion_limit", config["recursion_limit"], 1, MAX_STEPS)
    for name, value in context.items():
        # A cron brings its user along, as an object; what a client sends is JSON.
        if str(name).startswith(_AUTHENTICATED) and isinstance(value, _JSON):
            raise InputError(f"context.{name}"[:_LONGEST_PATH], "is the server's to set")
    for where, value in settings.items():
        refuse_secret_names(where, value)
    _check_spelling("context", context)
    _check_spelling("config.configurable", config.get("configurable"))


def _check_spelling(where: str, values: Any) -> None:
    """Raise InputError for a name that is one of our settings but for a slip.

    Other names are let through: clients send what is theirs along.
    """
    names = Configuration.model_fields
    for name in values if isinstance(values, Mapping) else ():
        if name not in names and (near := get_close_matches(str(name), names, 1, _ALIKE)):
            path = f"{where}.{name}"[:_LONGEST_PATH]
            raise InputError(path, f"is not known; do you mean {near[0]}?")


def refuse_secret_names(where: str, value: Any) -> None:
    """Raise InputError for a name below `where` that looks like a secret's.

    What is sent there is stored and shown again; keys belong into the server's environment.
    """
    for path, name in _names(where, value):
        if is_secret(name):
            problem = "looks like a secret, and would be stored; keys are the server's settings"
            raise InputError(path[:_LONGEST_PATH], problem)


def characters_in(value: Any) -> int:
    """Count the characters of all texts and names in a value, plus one for each of its parts."""
    total, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        total += 1 + (len(part) if isinstance(part, str) else 0)
        waiting += _parts(part)
    return total


def depth(value: Any) -> int:
    """Count the levels of a value: 1 for a text, 2 for a list of texts."""
    levels, level = 0, [value]
    while level:
        levels += 1
        level = [inner for part in level for inner in _parts(part)]
    return levels


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return (*value, *value.values())
    return value if isinstance(value, (list, tuple)) else ()


def _check_size(name: str, value: Any, most: int) -> None:
    if characters_in(value) > most:
        hint = "; attachments are not read, ask in words" if _has_attachments(value) else ""
        raise InputError(name, f"is longer than {most} characters{hint}")
    if depth(value) > MAX_DEPTH:
        raise InputError(name, f"is nested deeper than {MAX_DEPTH} levels")


def _has_attachments(value: Any) -> bool:
    """Tell whether an input has messages with more than text in them, as a picture's bytes."""
    messages = value.get("messages") if isinstance(value, Mapping) else None
    listed = messages if isinstance(messages, list) else []
    contents = [m.get("content") for m in listed if isinstance(m, Mapping)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(isinstance(block, Mapping) and block.get("type") != "text" for block in blocks)


def _check_number(name: str, value: Any, least: int, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InputError(name, f"must be between {least} and {most}")


def _object(request: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = request.get(name)
    return part if isinstance(part, Mapping) else {}


def _without_servers_own(config: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a config a client can have sent; the server repeats the context in it.

    Only what is the same there: a checkpoint's names are put among them, whatever they are.
    """
    configurable = _object(config, "configurable")
    repeated = context if configurable.get("__context_provided__") else {}
    sent = {
        name: value
        for name, value in configurable.items()
        if name not in _SERVERS_OWN and not (name in repeated and repeated[name] == value)
    }
    return {**config, "configurable": sent}


def _names(where: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every name in a value, with the path to it."""
    waiting = [(where, value)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, Mapping):
            for name, inner in part.items():
                yield f"{path}.{name}", str(name)
                waiting.append((f"{path}.{name}", inner))
        elif isinstance(part, (list, tuple)):
            waiting += [(path, inner) for inner in part]
