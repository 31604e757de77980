"""Several instances on one Postgres and one Redis (`tanlu serve --engine aegra`), as processes.

Aegra needs Python 3.12: where the tests run on an older one, an environment is made with uv, once a
session, of the first interpreter that is new enough. Skips with the reason where there is none.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.programs import REPOSITORY, clean_environment
from tests.support.redis import Redis

_EXTRAS = "aegra,postgres,redis"
_START_SECONDS = 180.0
# Beside a whole suite an instance may be seconds late with its heartbeat; with a lease as short,
# one that lives would lose its run, and the run be paid again.
_FAST_LEASES = {
    "LEASE_DURATION_SECONDS": "10",
    "HEARTBEAT_INTERVAL_SECONDS": "2",
    "REAPER_INTERVAL_SECONDS": "2",
    "STUCK_PENDING_THRESHOLD_SECONDS": "8",
}


def interpreter() -> str | None:
    """Return the first Python of 3.12 or later; None where there is none."""
    if sys.version_info >= (3, 12):
        return sys.executable
    named = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)]
    pyenv = sorted((Path.home() / ".pyenv/versions").glob("3.1[2-9].*/bin/python"))
    return next((str(path) for path in (*named, *pyenv) if path and _works(str(path))), None)


def _works(python: str) -> bool:
    # A shim of pyenv is there for versions that are not chosen, too.
    done = subprocess.run([python, "-c", "import sqlite3"], capture_output=True, check=False)
    return done.returncode == 0


def environment(folder: Path) -> str:
    """Make an environment with Aegra in a folder; return its Python.

    TANLU_AEGRA_PYTHON names one that is there already.
    """
    if named := os.environ.get("TANLU_AEGRA_PYTHON"):
        return named
    python = interpreter()
    uv = shutil.which("uv")
    if python is None:
        pytest.skip("no Python 3.12, which Aegra needs: uv python install 3.12")
    if uv is None:
        pytest.skip("no uv, which makes the environment of Aegra")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    pins = folder / "pins.txt"
    pins.write_text("\n".join(project["tool"]["uv"]["constraint-dependencies"]))
    made = folder / "venv"
    target = ["--python", str(made / "bin/python")]
    for command in (
        ["venv", "--quiet", "--no-project", "--python", python, str(made)],
        ["pip", "install", "--quiet", *target, "-c", str(pins), "-e", f"{REPOSITORY}[{_EXTRAS}]"],
    ):
        subprocess.run([uv, *command], cwd=folder, check=True, timeout=300)
    return str(made / "bin/python")


@dataclass
class Instance:
    """One server of several."""

    python: str
    folder: Path
    env: Mapping[str, str]
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def output(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", "replace")

    def start(self) -> None:
        """Start without waiting for it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.python, "-m", "agent.cli", "serve", "--engine", "aegra",
                 "--port", str(self.port)],
                cwd=self.folder, env=clean_environment(**self.env), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip

    def ready(self) -> None:
        """Wait until it answers; raise with the log's end where it does not."""
        assert self.process is not None
        until = time.monotonic() + _START_SECONDS
        with httpx.Client(trust_env=False, timeout=5) as client:
            while time.monotonic() < until and self.process.poll() is None:
                with contextlib.suppress(httpx.HTTPError):
                    if client.get(f"{self.url}/ok").status_code == 200:
                        return
                time.sleep(0.1)
        raise RuntimeError(f"the instance did not start:\n{self.output()[-4000:]}")

    def kill(self) -> None:
        """kill -9, as a crash would end it."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 60) -> None:
        """End it as a supervisor would."""
        self._end(signal.SIGTERM, seconds)

    def _end(self, how: int, seconds: float = 60) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


@dataclass
class Cluster:
    """The instances, and what they share."""

    instances: list[Instance]
    database: str
    redis: Redis

    @property
    def urls(self) -> list[str]:
        return [instance.url for instance in self.instances]


@contextlib.contextmanager
def cluster(
    folder: Path, postgres: PostgresServer, *, python: str, count: int = 2, **env: str
) -> Iterator[Cluster]:
    """Start instances on a new database and a Redis of their own; end them all at the end."""
    redis = Redis(folder, "--appendonly", "yes", password="")
    database = postgres.new_database(keeps=True)
    redis.start()
    shared = {
        "DATABASE_URL": database,
        "TANLU_REDIS_URL": redis.url,
        "TANLU_MODE": "offline",
        "WORKER_DRAIN_TIMEOUT": "20",
        **_FAST_LEASES,
        **env,
    }
    started = Cluster([], database, redis)
    try:
        for number in range(count):
            own = folder / f"instance-{number}"
            instance = Instance(python, own, {**shared, "TANLU_DATA_DIR": str(own / "data")})
            started.instances.append(instance)
            instance.start()
        for instance in started.instances:
            instance.ready()
        yield started
    finally:
        for instance in started.instances:
            with contextlib.suppress(subprocess.TimeoutExpired):
                instance.stop()
        redis.kill()


@pytest.fixture(scope="session", name="aegra_python")
def aegra_python_fixture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has Aegra and Tanlu."""
    if os.name != "posix":
        pytest.skip("instances are ended by signals")
    return environment(tmp_path_factory.mktemp("aegra"))
