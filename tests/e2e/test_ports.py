"""Servers of tests start where they were told to, or say that they did not."""

import socket
from pathlib import Path

import pytest

from tests.support.dev_server import DevServer
from tests.support.ports import free_port


def test_a_port_is_not_given_twice_nor_one_that_connections_get() -> None:
    ports = [free_port() for _ in range(20)]
    assert len(set(ports)) == len(ports)
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if given.exists():
        lowest, highest = map(int, given.read_text().split())
        assert lowest <= 11_000 or not [port for port in ports if lowest <= port <= highest]


@pytest.mark.server
def test_a_server_that_went_to_another_port_is_not_waited_for(tmp_path: Path) -> None:
    port = free_port()
    server = DevServer(tmp_path, port=port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(RuntimeError, match=f"port {port} was taken"):
            server.start()
    assert server.process is None
