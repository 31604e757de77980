"""AkShare (Chinese listed companies), called in a process that is killed when its time is up."""

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.budget import Meter
from agent.calls import Calls, Policy
from agent.errors import MalformedReply, ProviderRefused, ProviderUnavailable
from agent.evidence.queries import clean_text
from agent.reading.hosts import Turnstile
from agent.search.akshare_tables import company_documents
from agent.search.akshare_worker import NAMES, TABLES, find_company
from agent.search.documents import Document
from agent.search.hits import MAX_QUERY
from agent.strings import parse_json

log = logging.getLogger(__name__)
EXTRA = 'pip install "tanlu[finance]"'
_WORKERS = 2
_ROWS = 4
_MAX_LINE = 4 << 20
_MAX_LINES = 64
_NAMES_SECONDS = 24 * 3600.0
_ENVIRONMENT = (
    "PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TEMP", "TMP", "VIRTUAL_ENV", "SSL_CERT_FILE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
)  # fmt: skip


@dataclass
class Answer:
    """What a worker told before it ended or was ended."""

    company: list[str] | None = None
    names: list[list[str]] | None = None
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    asked: bool = False
    """Whether it came as far as to say which company is meant."""
    done: bool = False


class AkShare:
    """Figures, profile, business and news of the company that a query names."""

    name = "akshare"

    def __init__(self, calls: Calls, *, timeout: float, folder: str | None = None) -> None:
        self._calls = calls
        self._timeout = timeout
        self._folder = folder
        # One attempt: what took all its time once would take it again.
        self._policy = Policy(
            self.name, spends="searches", timeout=timeout * 2 + 10, attempts=1, breaker=True
        )
        self._workers = Turnstile(_WORKERS)
        self._names: list[list[str]] | None = None
        self._names_at = 0.0

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Document]:
        """At most `count` documents on the company named; none where no listed one is.

        Raises ProviderError where nothing could be had, BudgetExceeded.
        """
        asked = clean_text(query, MAX_QUERY)
        names = self._known_names()
        if asked and names is not None:
            company = find_company(asked, names)
            names = [company] if company else []
        if not asked or names == []:
            return []

        async def send() -> str:
            found = await self._documents(asked, names)
            return json.dumps(found, ensure_ascii=False)

        reply = await self._calls.once(self._policy, send, meter=meter, request={"query": asked})
        documents: list[Document] = json.loads(reply)
        return documents[:count] if count else documents

    async def health(self) -> str:
        """Says that the library can be imported in its process; raises ProviderError."""
        answer = await self._ask({"query": "", "names": [], "tables": []})
        if answer.missing or not answer.done:
            raise ProviderUnavailable(self.name, answer.missing or "the worker ended early")
        return "the library can be loaded; its sites were not asked"

    async def _documents(self, query: str, names: list[list[str]] | None) -> list[Document]:
        """`names` is the company that is meant, or None where the list is yet to be had."""
        tables = list(TABLES)
        request = {"query": query, "names": names, "tables": tables, "rows": _ROWS}
        answer = await self._ask(request)
        if answer.names:
            self._names, self._names_at = answer.names, time.monotonic()
        if answer.missing:
            raise ProviderRefused(
                self.name, f"AkShare cannot be loaded: {answer.missing}", code="library_broken"
            )
        if not answer.asked or (NAMES in answer.errors and answer.company is None):
            raise _unavailable(self._timeout, answer.errors.get(NAMES))
        if answer.company is None:
            return []
        absent = {name: answer.errors.get(name, "not in time") for name in tables}
        absent = {name: why for name, why in absent.items() if name not in answer.tables}
        documents = company_documents(answer.company, answer.tables, absent)
        if not documents and absent:
            raise _unavailable(self._timeout, next(iter(absent.values())))
        return documents

    def _known_names(self) -> list[list[str]] | None:
        fresh = time.monotonic() - self._names_at <= _NAMES_SECONDS
        return self._names if fresh else None

    async def _ask(self, request: Mapping[str, Any]) -> Answer:
        """What the worker tells within the time limit; it never outlives this call."""
        async with self._workers.turn():
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agent.search.akshare_worker"),
                str(int(self._timeout) + 1),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=_environment(self._folder),
                limit=_MAX_LINE,
            )
            answer = Answer()
            try:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._timeout):
                        await _listen(process, request, answer)
            finally:
                await _end(process)
        return answer


def why_off(folder: str | None = None) -> str | None:
    """Why the library cannot be used here; None where it is installed, or in the folder."""
    if folder is None and importlib.util.find_spec("akshare") is None:
        return f"AkShare is not installed: {EXTRA}"
    return None


async def _listen(
    process: asyncio.subprocess.Process, request: Mapping[str, Any], answer: Answer
) -> None:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker has no pipes")
    with contextlib.suppress(ConnectionError):
        process.stdin.write(json.dumps(request).encode("ascii"))
        await process.stdin.drain()
        process.stdin.close()
    for _ in range(_MAX_LINES):
        try:
            line = await process.stdout.readline()
        except ValueError:
            raise MalformedReply("akshare", "a line is too long", code="too_large") from None
        if not line:
            await process.wait()
            return
        _take(line, answer)


def _take(line: bytes, answer: Answer) -> None:
    """One line of the worker's; see its module for what lines there are."""
    try:
        told = parse_json(line)
    except ValueError:
        told = None
    match told:
        case {"names": list(names)}:
            answer.names = names
        case {"company": company}:
            answer.company, answer.asked = company, True
        case {"table": str(table), "rows": list(rows)}:
            answer.tables[table] = rows
        case {"table": str(table), "error": str(error)}:
            answer.errors[table] = error
            log.info("akshare %s: %s", table, error)
        case {"missing": str(why)}:
            answer.missing = why
        case {"done": True}:
            answer.done = True
        case _:
            log.warning("akshare's worker said something else than its lines")


def _environment(folder: str | None) -> dict[str, str]:
    """No key of ours is where a library of this size runs."""
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    path = os.pathsep.join(entry for entry in (folder, *sys.path) if entry)
    return {**kept, "PYTHONPATH": path}


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await asyncio.shield(process.wait())


def _unavailable(seconds: float, said: str | None) -> ProviderUnavailable:
    if said and said != "not in time":
        return ProviderUnavailable("akshare", said)
    return ProviderUnavailable("akshare", f"no answer within {seconds:g} s", code="timeout")
