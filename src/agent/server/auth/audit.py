"""Write down who began, was refused, signed in, exported, shared and deleted what.

A line of JSON each, synced before the answer goes out; the file is only ever appended to, may be
that of several processes, and may be moved away between two lines. Neither questions, answers nor
keys are in it. Where it cannot be written the log says so, and the server goes on.
"""

import asyncio
import json
import logging
import os
import re
import sys
import threading
from datetime import UTC, datetime
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Literal

from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

from agent.batch.disk import append_line
from agent.core.errors import ConfigurationError
from agent.core.private_files import FILE
from agent.core.redaction import scrub
from agent.server.auth.api_keys import access, identify
from agent.settings import read_access_settings

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)
AuditEvent = Literal[
    "run",
    "sign_in",
    "sign_out",
    "export",
    "share",
    "withdrawal",
    "upload",
    "removal",
    "connect",
    "memory",
    "deletion",
]
AuditOutcome = Literal["accepted", "refused"]
_LONGEST = 100
_ID = r"[0-9a-fA-F-]{1,64}"
_DELETED = re.compile(rf"/threads/(?P<thread>{_ID})(?:/runs/(?P<run>{_ID}))?")
_PRUNED = "/threads/prune"


class AuditLog:
    """Append to one file."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        self._lock = threading.Lock()

    def append(self, fields: dict[str, object]) -> None:
        """Write a line with the time; raise OSError where it cannot be. Blocking."""
        row = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}
        line = f"{scrub(json.dumps(row, ensure_ascii=False))}\n".encode(errors="replace")
        with self._lock, FileIO(self._path, "a+", opener=_private) as file:
            if sys.platform != "win32":
                fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                line = b"\n" + line  # a crash cut the last one short
            append_line(file, line)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE)


@lru_cache(maxsize=1)
def _audit_log() -> AuditLog | None:
    try:
        path = read_access_settings().tanlu_audit_log
    except ConfigurationError:
        return None  # nobody is let in
    return AuditLog(path) if path else None


async def audit(event: AuditEvent, outcome: AuditOutcome, owner: str, **fields: object) -> None:
    """Write down what the owner did ("" where no keys are set); fields that are empty are not."""
    if (file := _audit_log()) is None:
        return
    details = {name: _short(value) for name, value in fields.items() if value}
    row: dict[str, object] = {"event": event, "outcome": outcome, "owner": owner, **details}
    try:
        await asyncio.to_thread(file.append, row)
    except OSError as error:
        log.error("TANLU_AUDIT_LOG cannot be written: %s; not in it: %s", error.strerror, row)


def _short(value: object) -> object:
    return value if isinstance(value, int) else str(value)[:_LONGEST]


def auditing_deletions(scope: Scope, send: Send) -> Send:
    """Have deletions of threads and runs written down, with the status that answers them."""
    path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
    method, bare = scope.get("method"), f"/{path.strip('/')}"
    match = _DELETED.fullmatch(bare) if method == "DELETE" else None
    if match is None and (method, bare) != ("POST", _PRUNED):
        return send
    what = match.groupdict() if match else {}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = dict(Headers(scope=scope).items())
            owner = identify(headers, access())
            outcome: AuditOutcome = "accepted" if status < 400 else "refused"
            await audit("deletion", outcome, owner or "", status=status, **what)
        await send(message)

    return sent
