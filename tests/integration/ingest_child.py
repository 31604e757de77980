"""A run for each line, in a fork to be killed: its arguments are folders, DATA DOCS.

The forks spare a start of Python for each run. Says `begun PID` as a run begins, `done` at its end.
"""

import asyncio
import os
import sys
from pathlib import Path

from agent.core.calls import Calls
from agent.knowledge.base import open_knowledge_base
from agent.knowledge.files import Destination
from agent.settings import Settings


async def run_once() -> None:
    data, docs = map(Path, sys.argv[1:3])
    base = open_knowledge_base(Settings(tanlu_data_dir=data), Calls())
    run = await base.ingest([docs], target=Destination("documents"))
    print("begun", os.getpid(), flush=True)
    await run.run()
    await base.aclose()


def main() -> None:
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(run_once())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if status else "done", flush=True)


if __name__ == "__main__":
    main()
