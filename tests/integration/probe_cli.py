"""What a command line does with its threads, as a process that tests can kill.

`python -m tests.integration.probe_cli RUN_ID THREAD_ID TURN` accepts a run and works on it; without
arguments it continues what dead processes left.
"""

import asyncio
import sys

from agent.runs.run_log import AcceptedRun
from agent.runs.threads import Threads, continue_interrupted, open_threads, run_config
from agent.settings import Settings
from tests.support.probe_graph import build


async def ask(threads: Threads, run_id: str, thread_id: str, turn: str) -> None:
    run = AcceptedRun(run_id, thread_id, "probe", {"messages": [("user", turn)]})
    await threads.runs.accept(run)
    graph = build().compile(checkpointer=threads.saver)
    await graph.ainvoke(run.input, run_config(run), durability="sync")
    await threads.runs.finish(run.run_id)


async def main(arguments: list[str]) -> None:
    async with open_threads(Settings()) as threads:
        if arguments:
            await ask(threads, *arguments)
        else:
            graph = build().compile(checkpointer=threads.saver)
            await continue_interrupted(
                threads, lambda _: graph, lambda run, status: print(run.run_id, status)
            )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
