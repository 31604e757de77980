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
needs_redis = pytest.mark.skipif(SERVER is None, reason="no redis-server: apt install redis-server")


def url_of(port: int) -> SecretStr:
    return SecretStr(f"redis://:secret-word@127.0.0.1:{port}/0")


class Redis:
    """A server of the tests' own, in memory, with a password."""

    def __init__(self, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert SERVER is not None
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--requirepass", "secret-word", "--dir", str(self._folder)]  # fmt: skip
        self._process = subprocess.Popen([SERVER, *options], stdout=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert time.monotonic() < until, "redis-server does not listen"
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(name="redis", scope="module")
def redis_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    redis = Redis(tmp_path_factory.mktemp("redis"))
    redis.start()
    yield redis
    redis.stop()
