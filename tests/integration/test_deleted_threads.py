"""A thread that a client removed is never continued: its rows close before the client knows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langgraph_sdk import get_client

from agent.outbox import RunOutbox
from agent.recording import RecordRuns
from agent.recovery import RunWatch
from tests.support.run_fixtures import a_run


async def deleted(watch: RunWatch, path: str, status: int) -> list[int]:
    """DELETE on a server that answers `status`; open rows at the moment the reply leaves."""
    open_rows: list[int] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            open_rows.append(len(await watch._outbox.working()))

    scope = {
        "type": "http", "method": "DELETE", "path": path,
        "app": SimpleNamespace(state=SimpleNamespace(watch=watch)),
    }  # fmt: skip
    await RecordRuns(server)(scope, receive, send)
    return open_rows


async def test_the_rows_of_a_deleted_thread_are_closed_before_the_reply(tmp_path: Path) -> None:
    outbox = RunOutbox(tmp_path, "server")
    async with get_client(url="http://127.0.0.1:1") as client:
        watch = RunWatch(outbox, client)
        gone, kept = a_run(), a_run()
        await outbox.accept(gone)
        await outbox.accept(kept)
        assert await deleted(watch, f"/threads/{gone.thread_id}", 204) == [1]
        assert await deleted(watch, f"/threads/{kept.thread_id}", 409) == [1]
        (left,) = await outbox.working()
    await outbox.aclose()
    assert left.run_id == kept.run_id
