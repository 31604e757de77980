"""Correct what `langgraph dev` has read from its own files, before it begins the runs in them.

It writes them every ten seconds only. After kill -9 a run that ended or was cancelled since the
last time would be begun again, and a deleted thread would be back. The run log knows each of these
ends at once, `DeletedThreads` each deletion.
"""

import contextlib
import hashlib
import inspect
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent.core.errors import ConfigurationError
from agent.runs.run_log import End, RunLog
from agent.runs.sql import Place

log = logging.getLogger(__name__)

_RUN: Mapping[End, str] = {"cancelled": "interrupted", "failed": "error"}
"""What the server calls an end that it has no word of its own for."""
_THREAD: Mapping[End, str] = {
    "error": "error", "failed": "error", "timeout": "error", "interrupted": "interrupted",
}  # fmt: skip
"""What a thread is after such a run; otherwise idle."""

_WRITTEN_FOR = "0.36."
_FLUSH_SECONDS = 60.0
"""The server has written its lists anew well within this time."""
_MAX_BYTES = 100_000


class DeletedThreads:
    """Keep the threads deleted of late in a file beside the server's own. All methods block."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tanlu-deleted-threads"
        self._lock = threading.Lock()

    def add(self, thread_id: str) -> None:
        """Write a deletion down; kill -9 does not lose it."""
        with self._lock:
            if self._path.exists() and self._path.stat().st_size > _MAX_BYTES:
                self._shorten()
            with self._path.open("a", encoding="utf-8") as file:
                # On a line of its own, whatever kill -9 has left of the one before.
                file.write(f"\n{thread_id} {time.time()}\n")

    def read(self) -> dict[str, float]:
        """Return the time at which each thread was deleted, in seconds since 1970."""
        deleted = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._path.read_text("utf-8").splitlines():
                # A line may be cut off by kill -9, or empty: its deletion was not reported.
                with contextlib.suppress(ValueError):
                    thread_id, at = line.split()
                    deleted[thread_id] = float(at)
        return deleted

    def drop(self) -> None:
        """Take the deleted threads out of what the server has read, and out of its file."""
        if not (deleted := self.read()):
            return
        store = _read_by_the_server()
        for name in ("threads", "runs", "crons"):
            rows = store.get(name, [])
            rows[:] = [row for row in rows if not _is_older(row, deleted)]
        _write(store)
        self._path.unlink(missing_ok=True)

    def _shorten(self) -> None:
        """Leave what the server's file may not have yet."""
        since = time.time() - _FLUSH_SECONDS
        left = [f"{name} {at}\n" for name, at in self.read().items() if at > since]
        shorter = self._path.with_suffix(".new")
        shorter.write_text("".join(left), "utf-8")
        shorter.replace(self._path)


def _is_older(row: Mapping[str, Any], deleted: Mapping[str, float]) -> bool:
    """Return whether a row is of a deleted thread; one made later under the same id is another."""
    at = deleted.get(str(row.get("thread_id")))
    # A run that is to begin later was created, says the server, when it begins.
    return at is not None and min(row["created_at"], row["updated_at"]).timestamp() <= at


def _write(store: Any) -> None:
    """Write the server's lists at once; its own thread that does so has a file of its own."""
    if not store:
        return
    path = Path(store.filename)
    cleaned = path.with_suffix(".cleaned")
    with cleaned.open("wb") as file:
        store.dump(file)
    os.replace(cleaned, path)


async def settle_ended(where: Place) -> None:
    """Give the ends in the run log to the runs that the server takes for unfinished."""
    store = _read_by_the_server()
    left = [run for run in store.get("runs", ()) if run["status"] in ("pending", "running")]
    if not left:
        return
    run_log = RunLog(where)
    try:
        ends = await run_log.ends({str(run["run_id"]) for run in left})
    finally:
        await run_log.aclose()
    for run in left:
        if end := ends.get(str(run["run_id"])):
            run["status"] = _RUN.get(end, end)
            _rest(store.get("threads", ()), run["thread_id"], _THREAD.get(end, "idle"))
            log.info("run=%s had ended before the server was killed: %s", run["run_id"], end)


def _rest(threads: Iterable[dict[str, Any]], thread_id: Any, status: str) -> None:
    for thread in threads:
        if thread["thread_id"] == thread_id and thread["status"] == "busy":
            thread["status"] = status


def check_runtime(functions: Callable[[], Iterable[Any]], digest: str, does: str) -> None:
    """Raise ConfigurationError unless the in-memory runtime is the one that we patch.

    `digest` is that of the sources of `functions()`; `does` says what they do, for people.
    """
    number = version("langgraph-runtime-inmem")
    try:
        source = "".join(inspect.getsource(function) for function in functions())
    except AttributeError:
        source = ""
    is_as_tested = hashlib.sha256(source.encode()).hexdigest()[:16] == digest
    if not (is_as_tested and number.startswith(_WRITTEN_FOR)):
        raise ConfigurationError(
            "langgraph-runtime-inmem",
            f"Version {number} {does} in another way than 0.36.7, which this version of tanlu "
            "corrects so that nothing is lost: install 0.36.7",
        )


def _read_by_the_server() -> Mapping[str, list[dict[str, Any]]]:
    """Return the lists that the server works on; nothing where this is another server or none."""
    try:
        from langgraph_runtime_inmem.database import (  # type: ignore[import-untyped]
            GLOBAL_STORE,
        )
    except ImportError:
        return {}
    store: Mapping[str, list[dict[str, Any]]] = GLOBAL_STORE
    return store
