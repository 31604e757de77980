"""Pass on the steps that lead to the answer."""

from langgraph.runtime import Runtime

from agent.assistants.common.review import waiting
from agent.assistants.common.services import GetServices
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry, configuration_of
from agent.configuration import Configuration
from agent.core.progress import event

NODE = "decompose"


async def decompose(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Return the steps that `analyze` wrote; the question itself where it wrote none."""
    steps = state["analysis"]["steps"] or [state["analysis"]["asked"]]
    services, configuration = get_services(), configuration_of(runtime)
    text = "\n".join(steps)
    runtime.stream_writer(event("sub_questions", NODE, text=text, count=len(steps)))
    return TeamUpdate(
        turn=waiting(state["turn"], configuration, services),
        sub_questions=steps,
        reasoning_trace=[TraceEntry(step=NODE, text=text)],
    )
