"""A file per question: how its answer came about."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.batch.disk import replace_file
from agent.errors import AgentError, InputError

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def safe_name(id: str) -> str:
    """The id as a file name on every system; a changed one ends with a hash, so none collide."""
    name = _UNSAFE.sub("_", id).strip(".")[:_LONGEST]
    # Upper case is hashed, too: some systems take A.json and a.json for one file.
    if name == id and name == name.lower() and name and not _RESERVED.match(name):
        return name
    return (
        f"{name or 'question'}-{hashlib.sha1(id.encode(), usedforsecurity=False).hexdigest()[:8]}"
    )


class TraceFolder:
    """DIR/<safe id>.json; the last attempt's trace stays. All methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--trace-dir", f"{folder} cannot be used: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise InputError("--trace-dir", f"{folder} cannot be written to")

    def path(self, id: str) -> Path:
        return self._folder / f"{safe_name(id)}.json"

    def write(self, id: str, trace: Mapping[str, Any]) -> None:
        """Atomically: a reader never sees half a trace. AgentError if it cannot be written."""
        path = self.path(id)
        try:
            replace_file(path, [json.dumps(trace, ensure_ascii=False, indent=1).encode()])
        except OSError as error:
            problem = f"--trace-dir: {path} cannot be written: {error.strerror}"
            raise AgentError(problem) from error

    def reasoning(self, id: str) -> str:
        """The steps of the reasoning as text, for submissions that ask for it."""
        try:
            trace = json.loads(self.path(id).read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        steps = trace.get("reasoning_trace") or []
        lines = [str(s.get("text") or "") if isinstance(s, dict) else str(s) for s in steps]
        return "\n".join(line for line in lines if line)
