"""Accepted runs for tests, and what a folder holds."""

from pathlib import Path
from typing import Any
from uuid import uuid4

from agent.runs.run_log import AcceptedRun


def a_run(**changes: Any) -> AcceptedRun:
    given: dict[str, Any] = {
        "run_id": str(uuid4()),
        "thread_id": str(uuid4()),
        "assistant": "agent",
        "input": {"messages": [{"role": "user", "content": "王府井附近有什么"}]},
    }
    return AcceptedRun(**{**given, **changes})


def whole_folder(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
