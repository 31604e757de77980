"""A server without any key, and its client; import the fixtures."""

from collections.abc import AsyncIterator, Iterator

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.dev_server import DevServer, dev_server


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """Offline: no key, no `.env`."""
    with dev_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(name="client")
async def client_fixture(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as opened:
        yield opened
