"""A LangGraph server for the page alone, with made-up threads and streams that are paced.

    python -m benchmarks.page_server PORT

A question says what comes: `200 kB in 41 s`. A thread's id says how many turns it has.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from itertools import cycle, islice
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agent.server.page_routes import page_routes

PACE_S: Final = 0.1
SOURCES: Final = 8
_TIME: Final = "2026-11-22T10:00:00+00:00"
_STAMP_MS: Final = 1_795_341_600_000
_SENTENCE: Final = "钠离子电池在低温下的容量保持率高于磷酸铁锂，成本约为 0.45 元/Wh"


def thread_of(turns: int) -> str:
    """Return the id of the thread that has so many turns."""
    return str(uuid.UUID(int=turns))


def source(number: int) -> dict[str, Any]:
    """Return a source as an answer carries it."""
    return {
        "id": f"w0-{number}", "number": number, "kind": "page", "title": f"来源 {number}",
        "url": f"https://example.org/{number}", "provider": "bench", "quotes": [f"{_SENTENCE}。"],
    }  # fmt: skip


def markdown(kilobytes: int) -> str:
    """Return a report of about so many kilobytes (UTF-8), every sentence with a citation."""
    parts: list[str] = []
    size = 0
    numbers = cycle(range(1, SOURCES + 1))
    for section in range(1, 10_000):
        sentences = (f"{_SENTENCE}[{n}](https://example.org/{n})。" for n in islice(numbers, 5))
        listed = "\n".join(f"- 第 {at} 项：{_SENTENCE}" for at in range(1, 4))
        part = f"## 第 {section} 节\n\n{''.join(sentences)}\n\n{listed}"
        parts.append(part)
        size += len(part.encode()) + 2
        if size >= kilobytes * 1000:
            break
    return "\n\n".join(parts)


def messages(number: int, question: str, text: str) -> list[dict[str, Any]]:
    """Return a turn's two messages, the second with what a finished answer carries."""
    carried = {
        "sources": [source(n) for n in range(1, SOURCES + 1)],
        "search_entry_points": ["<p>suggestions</p>"] * 3,
        "queries": [{"query": question}],
    }
    return [
        {"type": "human", "id": f"h{number}", "content": question},
        {"type": "ai", "id": f"a{number}", "content": text, "additional_kwargs": carried},
    ]


class Threads:
    """The threads and their runs, as long as the process lives."""

    def __init__(self) -> None:
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.runs: dict[str, dict[str, Any]] = {}

    def open(self, thread_id: str) -> list[dict[str, Any]]:
        """Return a thread's messages; of a new one as many as its id says."""
        if thread_id not in self.messages:
            turns = uuid.UUID(thread_id).int
            text = markdown(4)
            self.messages[thread_id] = [
                message
                for number in range(turns if turns < 1000 else 0)
                for message in messages(number, f"第 {number + 1} 个问题", text)
            ]
        return self.messages[thread_id]

    def start(self, thread_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Start a run that answers the question of `body`."""
        run_id = str(uuid.uuid4())
        self.runs[run_id] = {
            "run_id": run_id, "thread_id": thread_id, "status": "running", "created_at": _TIME,
            "updated_at": _TIME, "metadata": {"graph_id": "agent", **body["metadata"]},
            "kwargs": {"input": body["input"]},
        }  # fmt: skip
        return self.runs[run_id]

    async def stream(self, run_id: str) -> AsyncIterator[str]:
        """Yield the run's answer piece by piece, then put it into the thread."""
        run = self.runs[run_id]
        asked = run["kwargs"]["input"]["messages"][0]
        kilobytes, seconds = (int(word) for word in asked["content"].split() if word.isdigit())
        text = markdown(kilobytes)
        number = len(self.open(run["thread_id"]))
        pieces = max(1, round(seconds / PACE_S))
        step = -(-len(text) // pieces)
        yield _event(0, "custom", {"type": "answering", "node": "finalize_answer"})
        for at in range(pieces):
            chunk = {"type": "AIMessageChunk", "id": f"a{number}"}
            piece = text[at * step : (at + 1) * step]
            yield _event(at + 1, "messages", [{**chunk, "content": piece}, {}])
            await asyncio.sleep(PACE_S)
        human, ai = messages(number, asked["content"], text)
        self.messages[run["thread_id"]] += [{**human, "id": asked["id"]}, ai]
        run["status"] = "success"


def _event(number: int, event: str, data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return f"id: {_STAMP_MS + number}-0\nevent: {event}\ndata: {text}\n\n"


class Routes:
    """Answer the few routes of LangGraph's that the page asks."""

    def __init__(self) -> None:
        self._threads = Threads()

    async def nothing(self, request: Request) -> Response:
        return JSONResponse([])

    async def thread(self, request: Request) -> Response:
        return JSONResponse(_record(request.path_params["thread"]))

    async def make(self, request: Request) -> Response:
        return JSONResponse(_record((await request.json())["thread_id"]))

    async def state(self, request: Request) -> Response:
        kept = self._threads.open(request.path_params["thread"])
        return JSONResponse({"values": {"messages": kept}, "next": [], "tasks": []})

    async def start(self, request: Request) -> Response:
        thread_id = request.path_params["thread"]
        return JSONResponse(self._threads.start(thread_id, await request.json()))

    async def run(self, request: Request) -> Response:
        return JSONResponse(self._threads.runs[request.path_params["run"]])

    async def stream(self, request: Request) -> Response:
        told = self._threads.stream(request.path_params["run"])
        return StreamingResponse(told, media_type="text/event-stream")


def _record(thread_id: str) -> dict[str, Any]:
    return {
        "thread_id": thread_id, "status": "idle", "updated_at": _TIME, "interrupts": {},
        "metadata": {"graph_id": "agent", "asked_over": "page", "title": "一个问题"},
    }  # fmt: skip


def application() -> Starlette:
    """Return the page's own routes and those of LangGraph's that it asks."""
    routes = Routes()
    return Starlette(routes=[
        Route("/assistants/search", routes.nothing, methods=["POST"]),
        Route("/threads/search", routes.nothing, methods=["POST"]),
        Route("/threads", routes.make, methods=["POST"]),
        Route("/threads/{thread}", routes.thread),
        Route("/threads/{thread}/state", routes.state),
        Route("/threads/{thread}/runs", routes.nothing),
        Route("/threads/{thread}/runs", routes.start, methods=["POST"]),
        Route("/threads/{thread}/runs/{run}", routes.run),
        Route("/threads/{thread}/runs/{run}/stream", routes.stream),
        *page_routes(),
    ])  # fmt: skip


if __name__ == "__main__":
    uvicorn.run(application(), port=int(sys.argv[1]), log_level="warning")
