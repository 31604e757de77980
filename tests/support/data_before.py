"""Put tests/fixtures/data-7a6e667.tar.xz where a user would have it; import the fixtures."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.runs.sql import Place
from agent.sample.model.reply import SampleModel
from tests.support.command_line import CANARY
from tests.support.postgres import PostgresServer, rows
from tests.support.served import serve_in_thread
from tests.support.standin import Recorded
from tests.support.standins import GeminiService, TavilyService

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "data-7a6e667.tar.xz"
HOME = Path("/tmp/tanlu-fixture")
"""Where it was written; files of a knowledge base are known by their absolute paths."""


@dataclass(frozen=True)
class Before:
    """Name a copy of one place, with the assistant, question and messages of each thread."""

    folder: Path
    where: Place
    threads: dict[str, dict[str, Any]]

    def config(self, name: str) -> Any:
        """Return the config of a thread."""
        return {"configurable": {"thread_id": self.threads[name]["thread_id"]}}

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a process that uses this place."""
        folder = {"TANLU_DATA_DIR": str(self.folder / "data")}
        if isinstance(self.where, Path):
            return folder
        return {**folder, "DATABASE_URL": self.where.get_secret_value()}


@pytest.fixture(scope="session", name="archive")
def archive_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the archive, to be copied from."""
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(ARCHIVE) as archive:
        # Debian 12's Python 3.11.2 has no filters yet; the archive is our own.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    return folder


@pytest.fixture(name="files")
def files_fixture(monkeypatch: pytest.MonkeyPatch, archive: Path, tmp_path: Path) -> Before:
    """Copy the data folder and the lists of a server, which belongs to the folder it starts in.

    Commands of this process use them.
    """
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path / "data"))
    for name in ("data", "server"):
        shutil.copytree(archive / name, tmp_path / name)
    here = os.path.realpath(tmp_path / "server")
    runs_of(
        tmp_path / "data",
        f"UPDATE runs SET place = 'server {here}' WHERE place = 'server {HOME / 'server'}'",
    )
    return Before(tmp_path, tmp_path / "data", _manifest(archive)["files"])


@pytest.fixture(params=["files", "postgres"], name="before")
def before_fixture(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, archive: Path, tmp_path: Path
) -> Before:
    """Copy the data folder, then restore the database; commands of this process use it."""
    if request.param == "files":
        files: Before = request.getfixturevalue("files")
        return files
    postgres: PostgresServer = request.getfixturevalue("postgres")
    url = postgres.new_database()
    _restore(url, (archive / "postgres.sql").read_bytes())
    monkeypatch.setenv("DATABASE_URL", url)
    return Before(tmp_path, SecretStr(url), _manifest(archive)["postgres"])


def _manifest(archive: Path) -> dict[str, dict[str, dict[str, Any]]]:
    places: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (archive / "manifest.json").read_text("utf-8")
    )
    return places


def _restore(url: str, dump: bytes) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(dump)


def runs_of(where: Place, statement: str) -> list[Any]:
    """Run a statement on the run log and the paid replies; return its rows."""
    if isinstance(where, SecretStr):
        return rows(where, statement)
    path = where / "runs.sqlite"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        return database.execute(statement).fetchall()


@contextmanager
def documents_in_place(archive: Path) -> Iterator[Path]:
    """Put the documents where they were read, for one test run of this machine at a time."""
    import fcntl

    documents = HOME / "documents"
    with HOME.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(documents, ignore_errors=True)
        shutil.copytree(archive / "documents", documents)
        try:
            yield documents
        finally:
            shutil.rmtree(documents)
            # Only an empty one: the writer of a new fixture leaves its own there.
            with suppress(OSError):
                HOME.rmdir()


@dataclass(frozen=True)
class Keyed:
    """Name Gemini and Tavily on loopback, and the environment of somebody with keys for them."""

    gemini: GeminiService
    tavily: TavilyService
    environment: dict[str, str]

    def requests(self) -> list[Recorded]:
        """Return everything they were asked."""
        return [*self.gemini.requests, *self.tavily.requests]


@contextmanager
def keyed() -> Iterator[Keyed]:
    """Serve both until the block ends."""
    gemini, tavily = GeminiService(SampleModel(), key=CANARY), TavilyService(key=CANARY)
    with serve_in_thread(gemini.app) as one, serve_in_thread(tavily.app) as other:
        environment = {
            "GEMINI_API_KEY": CANARY, "GOOGLE_GEMINI_BASE_URL": one.url,
            "TAVILY_API_KEY": CANARY, "TAVILY_BASE_URL": other.url,
        }  # fmt: skip
        yield Keyed(gemini, tavily, environment)


def digest(body: Any) -> str:
    """Return a name of a request's body; the sample numbers its tool calls anew each time."""
    text = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


class Held:
    """Match every search but the first, which is answered."""

    def __init__(self, searching: Callable[[Any, Any], bool]) -> None:
        self._searching, self._first = searching, None
        self.requests = 0

    def __call__(self, request: Any, body: Any) -> bool:
        if not self._searching(request, body):
            return False
        self._first = self._first or body
        held = bool(body != self._first)
        self.requests += held
        return held

    def answers(self, services: list[Any]) -> int:
        """Count the calls of these services that were answered so far."""
        return sum(len(service.requests) for service in services) - self.requests


def answered(held: Held, services: list[Any]) -> list[str]:
    """Return the requests that were answered, by their digests."""
    sent = [request for service in services for request in service.requests]
    waiting = {digest(request.body) for request in sent if held(request, request.body)}
    return sorted({digest(request.body) for request in sent} - waiting)
