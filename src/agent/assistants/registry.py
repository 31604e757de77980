"""The assistants this installation can run by itself, compiled over a process's threads."""

import importlib
from collections.abc import Callable, Mapping
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
"""The id and where its graph is; beside each stands `build_graph(services)`."""
TAKE_FORMAT = frozenset({"team_answer"})
"""Those that take the form an answer must have (`format_requirement`)."""
TAKE_COLLECTIONS = frozenset({"plan_execute"})
"""Those that read own documents (`collections`)."""

REVIEW_PLANS = frozenset({"agent"})
"""Those that pause for a person where `review_plan` is set."""


def compiled(
    assistant: str,
    saver: "BaseCheckpointSaver[Any]",
    services: Callable[[], Any] | None = None,
) -> Graph:
    """The assistant's graph over these threads; over other services than the process's, if given.

    Raises KeyError for an id that is not in ASSISTANTS.
    """
    module, _, name = ASSISTANTS[assistant].partition(":")
    found = importlib.import_module(module)
    builder = getattr(found, name).builder if services is None else found.build_graph(services)
    graph: Graph = builder.compile(checkpointer=saver, name=assistant)
    return graph
