"""A Redis of the tests' own, where redis-server is installed."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.support.ports import free_port

SERVER = shutil.which("redis-server")
MISSING = "no redis-server: apt install redis-server"
needs_redis = pytest.mark.skipif(SERVER is None, reason=MISSING)


def url_of(port: int, password: str = "secret-word") -> SecretStr:
    whose = f":{password}@" if password else ""
    return SecretStr(f"redis://{whose}127.0.0.1:{port}/0")


class Redis:
    """A server on loopback; it keeps what it is told if an option says so."""

    def __init__(self, folder: Path, *options: str, password: str = "secret-word") -> None:
        self.port = free_port()
        self.url = url_of(self.port, password).get_secret_value()
        self._options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                         "--requirepass", password, "--dir", str(folder), *options]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if SERVER is None:
            pytest.skip(MISSING)
        self._process = subprocess.Popen([SERVER, *self._options], stdout=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert time.monotonic() < until, "redis-server does not listen"
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(name="redis", scope="module")
def redis_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    redis = Redis(tmp_path_factory.mktemp("redis"))
    redis.start()
    yield redis
    redis.kill()
