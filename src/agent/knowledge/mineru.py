"""Convert PDF to Markdown by a MinerU server (`MINERU_URL`), tables, formulas and scans too.

`POST /v1/file_parse` answers with the text, or with 202 and a task that is asked for until it is
done. Its Markdown names no pages; `placed` finds them with the help of what pypdf reads.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx
from pydantic import SecretStr

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy, retry_after_seconds
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.outside import parse_json
from agent.core.proxies import proxy_for
from agent.knowledge.split import Stretch
from agent.models.connections import tls
from agent.search.http import error_message

T = TypeVar("T")
PROVIDER = "mineru"
MAX_BYTES = 200 << 20
"""Of a PDF; the server takes no larger ones."""
_MAX_REPLY = 128 << 20
_WAIT_SECONDS = 300
_SECONDS = 1800.0
_PART = 1 << 18
_SHINGLE = 12
_DONE, _FAILED = ("completed", "done", "success", "succeeded"), ("failed", "error", "cancelled")


class MinerU:
    """Ask one server; usable from any event loop (a connection of its own for each file)."""

    def __init__(
        self, url: str, key: SecretStr | None, calls: Calls, *, poll_seconds: float = 2.0
    ) -> None:
        self._url, self._key, self._calls = url.rstrip("/"), key, calls
        self._poll = poll_seconds
        self._policy = Policy(PROVIDER, None, timeout=_SECONDS, attempts=2, breaker=True)

    async def markdown(self, path: Path, *, meter: Meter) -> str:
        """Return the text of a PDF of at most MAX_BYTES; raises ProviderError, BudgetExceeded."""
        return await self._calls.call(self._policy, lambda: self._read(path), meter=meter)

    async def health(self) -> dict[str, Any]:
        """Return {provider, configured, works, message} after asking for a missing task."""
        report = {"provider": PROVIDER, "configured": True}
        try:
            await self._request(self._probe)
        except ProviderError as error:
            return {**report, "works": False, "message": f"{error.message}; pypdf serves instead"}
        return {**report, "works": True, "message": f"answers at {self._url}"}

    async def _probe(self, client: httpx.AsyncClient) -> None:
        response = await client.get(f"{self._url}/v1/tasks/probe", timeout=10)
        if response.status_code in (401, 403) or response.status_code >= 500:
            raise _refusal(response, "")

    async def _read(self, path: Path) -> str:
        return await self._request(lambda client: self._parse(client, path))

    async def _request(self, ask: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
        """Run a request with a connection of its own, and raise our errors."""
        context = await asyncio.to_thread(tls)
        timeout = httpx.Timeout(60.0, read=_WAIT_SECONDS + 60.0)
        try:
            async with httpx.AsyncClient(
                verify=context,
                timeout=timeout,
                headers=self._headers(),
                proxy=proxy_for(self._url),
                trust_env=False,
            ) as client:
                return await ask(client)
        except httpx.TimeoutException:
            raise ProviderUnavailable(PROVIDER, "no answer in time", code="timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ProviderUnavailable(
                PROVIDER, f"connection failed ({type(error).__name__})"
            ) from None

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}

    async def _parse(self, client: httpx.AsyncClient, path: Path) -> str:
        size = (await asyncio.to_thread(os.stat, path)).st_size
        query = {
            "filename": "document.pdf",
            "output_formats": "markdown",
            "tier": "basic",
            "wait_timeout": str(_WAIT_SECONDS),
        }
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        request = client.build_request(
            "POST",
            f"{self._url}/v1/file_parse",
            params=query,
            headers=headers,
            content=_parts(path),
        )
        status, reply = await self._reply(client, request)
        if status == 202:
            reply = await self._wait_for_task(client, reply)
        return _markdown(reply)

    async def _wait_for_task(
        self, client: httpx.AsyncClient, task: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the result of a task, asked for until it is there; the policy's time ends this."""
        name = str(task.get("task_id", ""))
        status_url = self._own(task.get("status_url"), f"/v1/tasks/{name}")
        result_url = self._own(task.get("result_url"), f"/v1/tasks/{name}/result")
        while True:
            _, state = await self._reply(client, client.build_request("GET", status_url))
            word = str(state.get("status", "")).lower()
            if word in _FAILED:
                raise ProviderRefused(
                    PROVIDER, f"could not read it: {error_message(state)}", code="page_unreadable"
                )
            if word in _DONE:
                _, reply = await self._reply(client, client.build_request("GET", result_url))
                return reply
            await asyncio.sleep(self._poll)

    def _own(self, url_in_reply: Any, otherwise: str) -> str:
        """Return an address on the configured server: the key is sent nowhere else."""
        usual = self._url + otherwise
        if not isinstance(url_in_reply, str) or not url_in_reply:
            return usual
        url = urljoin(self._url + "/", url_in_reply)
        here, there = urlsplit(self._url), urlsplit(url)
        return url if (here.scheme, here.netloc) == (there.scheme, there.netloc) else usual

    async def _reply(
        self, client: httpx.AsyncClient, request: httpx.Request
    ) -> tuple[int, dict[str, Any]]:
        response = await client.send(request, stream=True)
        try:
            raw = bytearray()
            async for part in response.aiter_bytes():
                raw += part
                if len(raw) > _MAX_REPLY:
                    raise MalformedReply(PROVIDER, "the reply is too large", code="too_large")
        finally:
            await response.aclose()
        reply = await asyncio.to_thread(_json, bytes(raw))
        if not response.is_success:
            raise _refusal(response, error_message(reply))
        if not isinstance(reply, dict):
            raise MalformedReply(PROVIDER, "the reply is not a JSON object")
        return response.status_code, reply


def _json(raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except ValueError:
        return None


def _refusal(response: httpx.Response, detail: str) -> ProviderError:
    status = response.status_code
    message = f"HTTP {status}" + (f": {detail}" if detail else "")
    if status == 429:
        wait = retry_after_seconds(response.headers.get("retry-after"))
        return RateLimited(PROVIDER, message, retry_after=wait)
    if status >= 500 or status == 408:
        return ProviderUnavailable(PROVIDER, message)
    return ProviderRefused(PROVIDER, message)


def _markdown(reply: dict[str, Any]) -> str:
    files = reply.get("files")
    first = files[0] if isinstance(files, list) and files else None
    if not isinstance(first, dict):
        raise MalformedReply(PROVIDER, "the reply has no file")
    content = first.get("content")
    text = content.get("markdown") if isinstance(content, dict) else None
    if first.get("error") or not isinstance(text, str):
        raise ProviderRefused(
            PROVIDER,
            f"could not read it: {error_message(first)}".rstrip(": "),
            code="page_unreadable",
        )
    return text


async def _parts(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(open, path, "rb")
    try:
        while part := await asyncio.to_thread(file.read, _PART):
            yield part
    finally:
        await asyncio.to_thread(file.close)


def place_on_pages(pieces: Iterable[Stretch], own: Sequence[Stretch]) -> list[Stretch]:
    """Return the pieces with the page of `own` that has most of their wording, where any does."""
    pages: dict[str, int] = {}
    for page_piece in own:
        text = _bare(page_piece.text)
        if page_piece.page is not None:
            for at in range(0, len(text) - _SHINGLE + 1, _SHINGLE):
                pages.setdefault(text[at : at + _SHINGLE], page_piece.page)
    return [Stretch(p.text, p.headings, _page(_bare(p.text), pages) or p.page) for p in pieces]


def _page(text: str, pages: dict[str, int]) -> int | None:
    shingles = (text[at : at + _SHINGLE] for at in range(len(text) - _SHINGLE + 1))
    votes = Counter(pages[shingle] for shingle in shingles if shingle in pages)
    return min(votes, key=lambda page: (-votes[page], page)) if votes else None


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
