"""`langgraph dev` as a process of its own, in a folder of its own, without any key or `.env`."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.ports import free_port
from tests.support.programs import REPOSITORY, Program, clean_environment

__all__ = ["REPOSITORY", "DevServer", "clean_environment", "dev_server"]


@dataclass
class DevServer:
    """A server that can be ended, killed and started again in the same folder."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    """Keys that replace those of our langgraph.json."""
    forgetful: bool = False
    """Whether it knows nothing of its last life but what we wrote down. Else it writes its own
    runs down every ten seconds, and whether that comes before a kill is chance."""
    hurried: bool = False
    """Whether it writes its own lists all the time, and soon gives a lost database up."""
    jobs: int = 10
    port: int = field(default_factory=free_port)
    cold: bool = False
    """Whether an interpreter of its own imports everything, as for a person."""
    profile: Path | None = None
    """Where a profile of its event loop goes once it has been stopped."""
    process: Program | None = None
    begins: int = 0
    """Where in the log this start begins."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def output(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def start(self, *, seconds: float = 240) -> None:
        """Start and wait for /ok; raises with the log's end if it does not come."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "langgraph.json").write_text(json.dumps(self._configuration()))
        if self.forgetful:
            shutil.rmtree(self.folder / ".langgraph_api", ignore_errors=True)
        environment = {"TANLU_DATA_DIR": str(self.folder / "threads"), **self.env}
        if self.hurried:
            environment["PYTHONPATH"] = str(REPOSITORY)
        profiler = ("-m", "cProfile", "-o", str(self.profile)) if self.profile else ()
        with self.log.open("ab") as log:
            self.begins = log.tell()
            self.process = Program(
                *profiler,
                *("-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"),
                *("--host", "127.0.0.1", "--port", str(self.port)),
                *("--n-jobs-per-worker", str(self.jobs)),
                folder=self.folder,
                env=clean_environment(**environment),
                stdout=log,
                stderr=log,
                cold=self.cold or self.profile is not None,
            )
        self._wait(seconds)

    def _configuration(self) -> dict[str, Any]:
        ours = json.loads((REPOSITORY / "langgraph.json").read_text("utf-8"))
        if self.hurried:
            ours["http"]["app"] = "tests.support.hurried_server:app"
        return {**ours, **self.config}

    def _wait(self, seconds: float) -> None:
        assert self.process is not None
        until = time.monotonic() + seconds
        with httpx.Client(trust_env=False, timeout=30) as client:
            while time.monotonic() < until and self.process.poll() is None:
                if self._moved():
                    self.kill()
                    raise RuntimeError(f"port {self.port} was taken, langgraph dev went elsewhere")
                with contextlib.suppress(httpx.HTTPError):
                    if client.get(f"{self.url}/ok").status_code == 200:
                        return
                time.sleep(0.1)
        tail = self.output()[-4000:]
        self.kill()
        raise RuntimeError(f"langgraph dev did not start:\n{tail}")

    def _moved(self) -> bool:
        """Whether the port was taken, so that LangGraph chose another one."""
        started = self.log.read_bytes()[self.begins :]
        return b"%d is already in use" % self.port in started

    def kill(self) -> None:
        """kill -9, as a crash would end it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as a person or a supervisor would."""
        # After SIGTERM the process ends by it, and writes no profile.
        self._end(signal.SIGINT if self.profile else signal.SIGTERM)

    def _end(self, how: int) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


@contextmanager
def dev_server(folder: Path, **options: Any) -> Iterator[DevServer]:
    """A started server; stopped at the end, however the test went."""
    server = DevServer(folder, **options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
