"""What a run may choose: its context, checked against the assistant's own Configuration.

The graph would refuse a bad value, too, but only in the run, which is then accepted, queued and
failed; and of a run at times nobody would hear it.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from agent.configuration import Configuration
from agent.errors import ConfigurationError
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


@cache
def _schema(graph_id: str) -> type[Configuration] | None:
    """The context schema of one of our graphs; None of any other."""
    module, _, name = ASSISTANTS.get(graph_id, "").partition(":")
    if not module:
        return None
    schema = getattr(importlib.import_module(module), name).context_schema
    return schema if isinstance(schema, type) and issubclass(schema, Configuration) else None
