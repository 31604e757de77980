"""A private Postgres server of the tests, from installed binaries; fixtures to import.

One per test session, also with several workers: the first to come starts it, the last to go stops
it. Skips with the reason where there is no Postgres.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from pydantic import SecretStr

from agent.runs.sql import Place
from tests.support.ports import free_port
from tests.support.run_fixtures import whole_folder

PASSWORD = "pw@tests/äß"
ROLE = "tanlu"
_QUIET = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"

_EXISTS = "SELECT 1 FROM pg_tables WHERE schemaname = 'tanlu' AND tablename = '{}'"


def _binaries() -> Path | None:
    """The folder of initdb and pg_ctl, the newest one; None where there is none."""
    found = [Path(p).resolve().parent for p in [shutil.which("initdb")] if p]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found += sorted(Path("/opt/homebrew/opt").glob("postgresql*/bin"), reverse=True)
    return next((f for f in found if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


def _other_user() -> int | None:
    """Postgres refuses to run as root: the id of somebody harmless instead."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    pytest.skip("Postgres does not run as root, and there is no other user here")


class PostgresServer:
    """A server in a folder of its own, on loopback, with a password."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._user = _other_user()

    def create(self) -> None:
        """Make the folder's cluster and start it."""
        self.folder.mkdir(parents=True)
        secret = self.folder / "password"
        secret.write_text(PASSWORD, "utf-8")
        if self._user is not None:
            os.chown(self.folder, self._user, -1)
            os.chown(secret, self._user, -1)
        self._run(
            "initdb", "--no-sync", "--no-instructions", "-U", ROLE, "-A", "scram-sha-256",
            "--pwfile", str(secret), "-E", "UTF8", "--locale", "C",
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        options = f"{_QUIET} -c listen_addresses=127.0.0.1 -p {self.port} -k ''"
        self._run("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def url(self, database: str = "postgres") -> str:
        quoted = quote(PASSWORD, safe="")
        return f"postgresql://{ROLE}:{quoted}@127.0.0.1:{self.port}/{database}"

    def new_database(self, *, keeps: bool = False) -> str:
        """The address of a fresh database; one that `keeps` loses no commit by `stop`."""
        import psycopg

        name = f"test_{uuid4().hex[:12]}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
            if keeps:
                connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = on".encode())
        return self.url(name)

    def _run(self, program: str, *arguments: str) -> None:
        folder = _binaries()
        assert folder is not None
        command = [str(folder / program), "-D", str(self.folder / "cluster"), *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            user=self._user,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            timeout=240,
        )
        if done.returncode:
            log = self.folder / "log"
            said = (done.stdout or b"").decode() + (log.read_text() if log.exists() else "")
            raise RuntimeError(f"{program} failed: {said[-2000:]}")


def _skip_without_postgres() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if os.name != "posix":
        pytest.skip("the tests' server is started on Unix only")
    if _binaries() is None:
        pytest.skip("no initdb and pg_ctl: apt install postgresql")


@contextmanager
def _users(file: Path) -> Iterator[list[int]]:
    """The numbers in a file that nobody else reads or writes meanwhile."""
    import fcntl

    with file.open("a+", encoding="utf-8") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        opened.seek(0)
        numbers = [int(number) for number in opened.read().split()]
        yield numbers
        opened.seek(0)
        opened.truncate()
        opened.write("\n".join(map(str, numbers)))


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


@pytest.fixture(scope="session", name="postgres")
def postgres_fixture(testrun_uid: str) -> Iterator[PostgresServer]:
    """The session's server. Its file holds the port, then the processes that use it."""
    _skip_without_postgres()
    folder = Path(tempfile.gettempdir()) / f"pg-{testrun_uid}"
    folder.mkdir(exist_ok=True)
    # Postgres, as another user, has to get through; a umask would take that from the mode.
    folder.chmod(0o711)
    with _users(folder / "users") as numbers:
        server = PostgresServer(folder / "shared", numbers[0] if numbers else None)
        if not numbers:
            server.create()
            numbers.append(server.port)
        numbers.append(os.getpid())
    try:
        yield server
    finally:
        with _users(folder / "users") as numbers:
            numbers.remove(os.getpid())
            if not any(map(_lives, numbers[1:])):
                server.stop()
                shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", name="database")
def database_fixture(postgres: PostgresServer) -> SecretStr:
    """The address of a database of this module."""
    return SecretStr(postgres.new_database())


@pytest.fixture(params=["files", "postgres"], name="where")
def where_fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for threads and runs: a folder, then a database."""
    if request.param == "files":
        return tmp_path / "new" / "folder"
    database: SecretStr = request.getfixturevalue("database")
    rows(database, "DROP SCHEMA IF EXISTS tanlu CASCADE")
    return database


def rows(database: SecretStr, query: str) -> list[Any]:
    """What a query finds, in our schema."""
    import psycopg

    with psycopg.connect(database.get_secret_value(), autocommit=True) as connection:
        connection.execute("SET search_path TO tanlu")
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def runs_of(where: Place, statement: str) -> list[Any]:
    """Run a statement on the run log and the paid replies; return its rows."""
    if isinstance(where, SecretStr):
        return rows(where, statement)
    path = where / "runs.sqlite"
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as database, database:
        return database.execute(statement).fetchall()


def written_down(where: Place) -> bytes:
    """Everything that is written down of runs, replies and what was read."""
    if isinstance(where, Path):
        return whole_folder(where)
    tables = ("runs", "replies", "workspace")
    found = [rows(where, f"SELECT * FROM {t}") for t in tables if rows(where, _EXISTS.format(t))]
    return repr(found).encode()


def cut_off(database: SecretStr, *, for_good: bool = False) -> None:
    """End every connection of others to a database, and let nobody in again if that is wanted."""
    address = database.get_secret_value()
    name = address.rpartition("/")[2]
    beside = SecretStr(f"{address.removesuffix(name)}postgres")
    if for_good:
        rows(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname ="
    rows(beside, f"{ended} '{name}'")


def let_in(database: SecretStr) -> None:
    """Undo `cut_off(for_good=True)`."""
    address = database.get_secret_value()
    name = address.rpartition("/")[2]
    beside = SecretStr(f"{address.removesuffix(name)}postgres")
    rows(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
