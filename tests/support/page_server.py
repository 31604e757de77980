"""A server for browsers; what its log says of the page's policy fails the module."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.dev_server import DevServer, dev_server


@contextmanager
def page_server(folder: Path, **options: Any) -> Iterator[DevServer]:
    """As `dev_server`; at the end no browser may have reported anything to it."""
    with dev_server(folder, **options) as server:
        yield server
        assert "the page's policy stopped something" not in server.output()
