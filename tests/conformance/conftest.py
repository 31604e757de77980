"""The servers that have to behave alike: `langgraph dev`, and two instances of Aegra."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.conformance.cluster import Instance, aegra_python_fixture, cluster
from tests.conformance.paid_calls import PaidModel
from tests.support.command_line import CANARY
from tests.support.dev_server import dev_server
from tests.support.postgres import PostgresServer, postgres_fixture
from tests.support.served import serve_in_thread
from tests.support.two_owners import ALICE, BOB, KEYS

__all__ = ["aegra_python_fixture", "postgres_fixture"]


@dataclass
class Served:
    """One server, by one or more addresses, with keys of two owners."""

    engine: str
    urls: list[str]
    model: PaidModel
    """What all instances ask."""
    instances: list[Instance] = field(default_factory=list)
    """Of Aegra."""
    postgres: PostgresServer | None = None
    """Of Aegra, where it may be stopped: nobody else is using it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """With which it was started."""

    def client(self, number: int = 0, key: str = ALICE) -> LangGraphClient:
        return get_client(url=self.urls[number % len(self.urls)], api_key=key)

    def http(self, number: int = 0, key: str = ALICE) -> httpx.AsyncClient:
        headers = {"x-api-key": key} if key else {}
        url = self.urls[number % len(self.urls)]
        return httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60)


@contextmanager
def _dev(folder: Path, model: PaidModel, env: dict[str, str]) -> Iterator[Served]:
    with dev_server(folder, env=env) as server:
        yield Served("dev", [server.url], model, env=env)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on the engine that was asked for, in the ordinary suite on `langgraph dev`."""
    if "engine" in metafunc.fixturenames:
        engine = metafunc.config.getoption("--engine") or "dev"
        metafunc.parametrize("engine", [engine], scope="session")


@pytest.fixture(scope="session", name="served")
def served_fixture(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """The engine's server, for all tests."""
    folder, model = tmp_path_factory.mktemp(engine), PaidModel()
    with serve_in_thread(model.app) as running:
        model_keys = {"GEMINI_API_KEY": CANARY, "GOOGLE_GEMINI_BASE_URL": running.url}
        env = {**KEYS, "TANLU_SHARING": "on", **model_keys}
        if engine == "dev":
            with _dev(folder, model, env) as served:
                yield served
            return
        python: str = request.getfixturevalue("aegra_python")
        postgres: Any = request.getfixturevalue("postgres")
        # What is younger stays, so that it is in nobody's way.
        more = {"TANLU_MODE": "auto", "TANLU_KEEP_DAYS": "30"}
        with cluster(folder, postgres, python=python, **more, **env) as started:
            yield Served(
                "aegra", started.urls, model, started.instances, postgres, started.instances[0].env
            )


@pytest.fixture(name="anna")
async def anna_fixture(served: Served) -> AsyncIterator[LangGraphClient]:
    """The first owner's client of the first address."""
    async with served.client() as client:
        yield client


@pytest.fixture(name="bo")
async def bo_fixture(served: Served) -> AsyncIterator[LangGraphClient]:
    """The second owner's client."""
    async with served.client(key=BOB) as client:
        yield client
