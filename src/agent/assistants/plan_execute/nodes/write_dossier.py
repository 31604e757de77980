"""The last node: the dossier with numbered citations, and everything a client wants beside it."""

from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.plan_execute.dossier_writer import DossierWriter
from agent.assistants.plan_execute.nodes.execute import sources_off
from agent.assistants.plan_execute.state import PlanState, PlanUpdate
from agent.assistants.plan_execute.steps.run import OPTIONAL
from agent.assistants.plan_execute.toolbox import PlanServices, settings_of
from agent.assistants.plan_execute.wording import ASSISTANT
from agent.configuration import Configuration
from agent.nodes.finishing import Ending, close
from agent.nodes.toolbox import meter_of

NODE = "write_dossier"


async def write_dossier(
    state: PlanState, runtime: Runtime[Configuration], *, services: PlanServices
) -> PlanUpdate:
    """Writes the dossier; where nothing was found it says so, with every reason."""
    given, configuration = services(), settings_of(runtime)
    meter = meter_of(state, configuration, given, answering=True)
    off = sources_off(given, configuration)
    optional = {name: off[name] for name in OPTIONAL if name in off}
    writer = DossierWriter(state, configuration, given, meter, off=optional)
    ending = Ending(NODE, ASSISTANT, given, configuration, meter, runtime.stream_writer)
    closing = await close(state, writer, ending)
    dossier = str(closing["messages"][-1].text).removeprefix(writer.lead)
    return cast(PlanUpdate, {**closing, "dossier": dossier})
