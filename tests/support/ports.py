"""Ports that nobody else takes between the moment they are chosen and the moment they are used.

A port of the system's own choosing may be given away again at once, to any connection: a server
that starts seconds later, or again after kill -9, would find it taken and go to another.
"""

import contextlib
import itertools
import os
import random
import socket
import time

_FIRST = 11_000
"""Above Chromium's forbidden ports, below what Linux gives to connections."""
_BLOCK = 400
_BLOCKS = 10


def _block() -> range:
    """The ports of this worker of the test run."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = _FIRST + worker % _BLOCKS * _BLOCK
    return range(first, first + _BLOCK)


def _in_turn() -> "itertools.cycle[int]":
    ports = list(_block())
    start = random.Random(os.getpid() ^ time.time_ns()).randrange(_BLOCK)
    return itertools.cycle(ports[start:] + ports[:start])


_ports = _in_turn()


def free_port() -> int:
    """A free port of the loopback; the same one comes again only after all others."""
    for port in itertools.islice(_ports, _BLOCK):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free for this worker")
