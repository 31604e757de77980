"""A server for browsers whose calls of Gemini can be held; import the fixtures."""

from collections.abc import Iterator

import pytest

from tests.support.dev_server import DevServer
from tests.support.page_gemini import HeldGemini, held_gemini
from tests.support.page_server import page_server


@pytest.fixture(scope="module", name="service")
def service_fixture() -> Iterator[HeldGemini]:
    with held_gemini() as started:
        yield started


@pytest.fixture(scope="module", name="server")
def server_fixture(
    service: HeldGemini, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """With a Gemini key and no map."""
    with page_server(tmp_path_factory.mktemp("server"), env=service.environment) as started:
        yield started
