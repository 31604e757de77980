"""A server for browsers; what its log says of the page's policy fails the module."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

from tests.support.dev_server import DevServer, dev_server


@contextmanager
def page_server(folder: Path, **options: Any) -> Iterator[DevServer]:
    """As `dev_server`; at the end no browser may have reported anything to it."""
    with dev_server(folder, **options) as server:
        yield server
        assert "the page's policy stopped something" not in server.output()


def answered_thread(server: DevServer, *questions: str, assistant: str = "agent") -> str:
    """The id of a new thread of the page on which these questions were asked and answered."""
    with get_sync_client(url=server.url) as client:
        told = {"asked_over": "page", "title": questions[0]}
        made = client.threads.create(graph_id=assistant, metadata=told)
        thread: str = made["thread_id"]
        for question in questions:
            said: Any = {"messages": [{"role": "user", "content": question}]}
            client.runs.wait(thread, assistant, input=said)
    return thread
