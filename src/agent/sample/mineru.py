"""A MinerU server on loopback: its protocol, limits and errors; the texts are pypdf's.

A PDF that holds no text, as a scan does, gets `scanned` as its text where that is set.
"""

import asyncio
import io
import uuid
from typing import Any

from aiohttp import web

from agent.knowledge.markup import heading_level
from agent.sample.service import BODY, Service

MAX_BYTES = 200 << 20


class MineruService(Service):
    """`POST /v1/file_parse` answers at once, or after `polls` questions for the task's state."""

    def __init__(self, *, key: str | None = None, polls: int = 0, scanned: str = "") -> None:
        super().__init__("mineru")
        self.key, self.polls, self.scanned = key, polls, scanned
        self._tasks: dict[str, tuple[int, dict[str, Any]]] = {}
        self.app.router.add_post("/v1/file_parse", self._parse)
        self.app.router.add_get("/v1/tasks/{id}", self._state)
        self.app.router.add_get("/v1/tasks/{id}/result", self._result)

    def _refusal(self, request: web.Request) -> web.Response | None:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"detail": "Invalid API key"}, status=401)
        if request.method != "POST":
            return None
        if request.content_type != "application/octet-stream":
            return web.json_response({"detail": "Unsupported media type"}, status=415)
        if request.content_length is None:
            return web.json_response({"detail": "Content-Length is required"}, status=411)
        if request.content_length > MAX_BYTES:
            return web.json_response({"detail": "The file is too large"}, status=413)
        return None

    async def _parse(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        task = uuid.uuid4().hex
        text = await asyncio.to_thread(_markdown, request[BODY]) or self.scanned
        name = request.query.get("filename", "file.pdf")
        reply = _reply(task, name, text)
        if not self.polls:
            return web.json_response(reply)
        self._tasks[task] = (self.polls, reply)
        urls = {"status_url": f"/v1/tasks/{task}", "result_url": f"/v1/tasks/{task}/result"}
        return web.json_response({"task_id": task, "status": "pending", **urls}, status=202)

    async def _state(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        task = request.match_info["id"]
        if task not in self._tasks:
            return web.json_response({"detail": "No such task"}, status=404)
        left, reply = self._tasks[task]
        self._tasks[task] = (left - 1, reply)
        status = "processing" if left > 1 else reply["status"]
        return web.json_response({"task_id": task, "status": status})

    async def _result(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        _, reply = self._tasks.pop(request.match_info["id"], (0, None))
        if reply is None:
            return web.json_response({"detail": "No such task"}, status=404)
        return web.json_response(reply)


def _reply(task: str, name: str, text: str) -> dict[str, Any]:
    file: dict[str, Any] = {"name": name, "status": "completed", "error": None}
    file["content"] = {"markdown": text}
    if not text:
        file |= {"status": "failed", "content": None, "error": "the file could not be parsed"}
    status = "completed" if text else "failed"
    return {"task_id": task, "status": status, "tier": "basic", "files": [file]}


def _markdown(body: Any) -> str:
    """The pages as Markdown, headings marked; empty for what is no PDF."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    if not isinstance(body, bytes):
        return ""
    try:
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(body)).pages]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ""
    lines = [line.strip() for page in pages for line in page.splitlines()]
    marked = [f"{'#' * heading_level(line)} {line}".strip() for line in lines]
    return "\n".join(line for line in marked if line)
