"""Speak MinerU's protocol on loopback with its limits and errors; the texts are pypdf's."""

import asyncio
import io
import uuid
from typing import Any

from aiohttp import web

from agent.knowledge.markup import heading_level
from agent.sample.services.loopback import BODY, RefusedRequest, Service, check_bearer

MAX_BYTES = 200 << 20


class MineruService(Service):
    """Answer `POST /v1/file_parse` at once."""

    def __init__(self, *, key: str | None = None) -> None:
        super().__init__("mineru")
        self.key = key
        self.app.router.add_post("/v1/file_parse", self._parse)

    def check_key(self, request: web.Request) -> None:
        """Refuse a wrong key."""
        check_bearer(request, self.key, "Invalid API key")

    async def _parse(self, request: web.Request) -> web.Response:
        self.check_key(request)
        if request.content_type != "application/octet-stream":
            raise RefusedRequest("Unsupported media type", 415)
        if request.content_length is None:
            raise RefusedRequest("Content-Length is required", 411)
        if request.content_length > MAX_BYTES:
            raise RefusedRequest("The file is too large", 413)
        task = uuid.uuid4().hex
        text = await asyncio.to_thread(self.read, request[BODY])
        name = request.query.get("filename", "file.pdf")
        return self.reply(_reply(task, name, text))

    def read(self, body: Any) -> str:
        """Return the text of a PDF as Markdown."""
        return _markdown(body)

    def reply(self, result: dict[str, Any]) -> web.Response:
        """Answer with the result at once."""
        return web.json_response(result)


def _reply(task: str, name: str, text: str) -> dict[str, Any]:
    file: dict[str, Any] = {"name": name, "status": "completed", "error": None}
    file["content"] = {"markdown": text}
    if not text:
        file |= {"status": "failed", "content": None, "error": "the file could not be parsed"}
    status = "completed" if text else "failed"
    return {"task_id": task, "status": status, "tier": "basic", "files": [file]}


def _markdown(body: Any) -> str:
    """Return the pages as Markdown, headings marked; empty for what is no PDF."""
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
