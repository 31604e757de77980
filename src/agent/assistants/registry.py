"""The assistants this installation can run by itself, compiled over a process's threads."""

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # bad usage is told before anything large is imported
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.pregel import Pregel

Graph: TypeAlias = "Pregel[Any, Any, Any, Any]"

ASSISTANTS: Mapping[str, str] = {
    "agent": "agent.graph:graph",
    "deep_research": "agent.assistants.deep_research.graph:graph",
    "team_answer": "agent.assistants.team_answer.graph:graph",
    "plan_execute": "agent.assistants.plan_execute.graph:graph",
}
"""The id and where its graph is; beside each stands `build_graph(get_services)`."""
TAKE_FORMAT = frozenset({"team_answer"})
"""Those that take the form an answer must have (`format_requirement`)."""


def compiled(
    assistant: str,
    saver: "BaseCheckpointSaver[Any]",
    get_services: Callable[[], Any] | None = None,
) -> Graph:
    """Compile the assistant's graph over these threads; its services are the process's by default.

    Raises KeyError for an id that is not in ASSISTANTS.
    """
    loaded, own = _loaded(assistant)
    builder = own.builder if get_services is None else loaded.build_graph(get_services)
    graph: Graph = builder.compile(checkpointer=saver, name=assistant)
    return graph


@cache
def schemas_of(assistant: str) -> Mapping[str, Any]:
    """Return the JSON schemas of what the assistant takes, made once for the process.

    Raises KeyError for an id that is not in ASSISTANTS.
    """
    return schemas_of_graph(_loaded(assistant)[1])


def schemas_of_graph(graph: "Graph") -> Mapping[str, Any]:
    """Return the JSON schemas of a graph's input and settings, without those of its state."""
    return {
        "input_schema": graph.get_input_jsonschema(),
        "context_schema": graph.get_context_jsonschema(),
    }


def _loaded(assistant: str) -> tuple[Any, Any]:
    """Return the module of an assistant and its graph there."""
    module, _, name = ASSISTANTS[assistant].partition(":")
    loaded = importlib.import_module(module)
    return loaded, getattr(loaded, name)
