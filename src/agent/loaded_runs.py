"""Runs that `langgraph dev` has read from its own files, before it begins those left running there.

It writes them every ten seconds only: one that ended or was cancelled since the last time would be
begun again after kill -9. The outbox knows each of these ends at once.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from agent.journal import Place
from agent.outbox import End, RunOutbox

log = logging.getLogger(__name__)

_RUN: Mapping[End, str] = {"cancelled": "interrupted", "failed": "error"}
"""What the server calls an end that it has no word of its own for."""
_THREAD: Mapping[End, str] = {
    "error": "error", "failed": "error", "timeout": "error", "interrupted": "interrupted",
}  # fmt: skip
"""What a thread is after such a run; otherwise idle."""


async def settle_ended(where: Place) -> None:
    """Gives the ends that are in the outbox to the runs that the server takes for unfinished."""
    store = _read_by_the_server()
    left = [run for run in store.get("runs", ()) if run["status"] in ("pending", "running")]
    if not left:
        return
    outbox = RunOutbox(where)
    try:
        ends = await outbox.ends({str(run["run_id"]) for run in left})
    finally:
        await outbox.aclose()
    for run in left:
        if end := ends.get(str(run["run_id"])):
            run["status"] = _RUN.get(end, end)
            _rest(store.get("threads", ()), run["thread_id"], _THREAD.get(end, "idle"))
            log.info("run=%s had ended before the server was killed: %s", run["run_id"], end)


def _rest(threads: Iterable[dict[str, Any]], thread_id: Any, status: str) -> None:
    for thread in threads:
        if thread["thread_id"] == thread_id and thread["status"] == "busy":
            thread["status"] = status


def _read_by_the_server() -> Mapping[str, list[dict[str, Any]]]:
    """Its lists, which it works on; nothing where this is another server or none."""
    try:
        from langgraph_runtime_inmem.database import (  # type: ignore[import-untyped]
            GLOBAL_STORE,
        )
    except ImportError:
        return {}
    found: Mapping[str, list[dict[str, Any]]] = GLOBAL_STORE
    return found
