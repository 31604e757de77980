"""Export a thread's answer as a file of each kind, its sources, and its suggestions."""

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import quote

import httpx
from starlette.requests import Request
from starlette.responses import Response

from agent.assistants.common.toolbox import CODE
from agent.client.asked_again import changes_since
from agent.client.connection import status_of
from agent.client.run_result import RunName, RunResult, outcome_of, values_of_answer
from agent.core.errors import AgentError
from agent.core.faults import contained
from agent.core.processor import in_turns
from agent.evidence.types import Source
from agent.export import EXPORT_FAILED, export_failed
from agent.export.bibliography import bibtex, ris
from agent.export.finished import FinishedAnswer
from agent.export.geojson import answer_geojson
from agent.export.gpx import answer_gpx
from agent.export.html import html_page, policy_of, suggestions_document
from agent.export.markdown import markdown_document
from agent.export.outing import calendar, pocket_map
from agent.mcp.amap.records import PHOTO_HOSTS
from agent.server.auth.api_keys import access, client_for, identify
from agent.server.auth.audit import audit
from agent.server.health import settings_or_problem
from agent.server.http import private, private_json, security_headers, suggestions_headers

_FORBIDDEN = str.maketrans(dict.fromkeys('\\/:*?"<>|', " "))
_LONGEST = 60
_SECONDS = 60.0
"""The processor's time for one file; other owners go on meanwhile."""


def disposition(kind: Literal["attachment", "inline"], name: str, question: str) -> str:
    """Return the Content-Disposition of `name` (ASCII) for an answer to `question`."""
    ending = name.rpartition(".")[2]
    title = "".join(c if c.isprintable() else " " for c in question)
    title = " ".join(title.translate(_FORBIDDEN).split()).strip(" .")[:_LONGEST].strip(" .")
    header = f'{kind}; filename="{name}"'
    if not title:
        return header
    # Whatever the question holds, only %XX and letters, digits, -._~ get into the header.
    encoded = quote(f"{title}.{ending}", safe="")
    return f"{header}; filename*=UTF-8''{encoded}"


Disposition = Literal["attachment", "inline"]


@dataclass(frozen=True)
class _Format:
    write: Callable[[FinishedAnswer], str | bytes]
    media_type: str
    kind: Disposition = "attachment"
    policy: Callable[[FinishedAnswer], str] = lambda _: "default-src 'none'"


def _word(answer: FinishedAnswer) -> bytes:
    from agent.export.word import word_document

    return word_document(answer)


def _pdf(answer: FinishedAnswer, *, pocket: bool = False) -> bytes:
    try:
        from agent.export.pdf import pdf_document, pocket_document
    except ImportError:
        raise NoAnswer(501, "PDF needs the extra tanlu[pdf] on the server") from None
    return pocket_document(answer) if pocket else pdf_document(answer)


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXPORTS: Final[Mapping[str, _Format]] = {
    "places.geojson": _Format(answer_geojson, "application/geo+json"),
    "places.gpx": _Format(answer_gpx, "application/gpx+xml"),
    "report.html": _Format(html_page, "text/html; charset=utf-8", "inline", policy_of),
    "outing.ics": _Format(calendar, "text/calendar; charset=utf-8"),
    "outing.svg": _Format(pocket_map, "image/svg+xml"),
    "outing.pdf": _Format(partial(_pdf, pocket=True), "application/pdf"),
    "report.pdf": _Format(_pdf, "application/pdf"),
    "answer.md": _Format(markdown_document, "text/markdown; charset=utf-8"),
    "answer.docx": _Format(_word, _WORD),
    "sources.bib": _Format(bibtex, "application/x-bibtex; charset=utf-8"),
    "sources.ris": _Format(ris, "application/x-research-info-systems; charset=utf-8"),
}
"""By the last part of the address."""


class NoAnswer(AgentError):
    """Signal that there is nothing to export, with a status and a reason in one line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def export(name: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the route of one format."""
    format = EXPORTS[name]

    async def route(request: Request) -> Response:
        owner = identify(request.headers, access()) or ""
        what = {"file": name, "thread": request.path_params["thread_id"]}
        try:
            answer = (await answer_of(request, request.query_params.get("message"))).finished
            written = await _written(format, answer, owner)
        except NoAnswer as error:
            await audit("export", "refused", owner, status=error.status, **what)
            return _refusal(error)
        await audit("export", "accepted", owner, **what)
        headers = private(security_headers(f"{format.policy(answer)}; frame-ancestors 'none'"))
        # A calendar or a map for the pocket is looked for by its day, and is no second "report".
        day = answer.outing["day"] if answer.outing and name.startswith("outing.") else ""
        title = f"{day} {answer.question}"
        headers["Content-Disposition"] = disposition(format.kind, name, title)
        content = written if isinstance(written, bytes) else written.encode("utf-8", "replace")
        return Response(content, headers=headers, media_type=format.media_type)

    return route


async def _written(format: _Format, answer: FinishedAnswer, owner: str) -> str | bytes:
    """Return the file; raise NoAnswer where the answer has nothing of the kind."""
    try:
        with contained(format.media_type, export_failed):
            return await in_turns(lambda: format.write(answer), owner, seconds=_SECONDS)
    except NoAnswer:
        raise
    except TimeoutError:
        raise NoAnswer(503, "this file takes too long to write") from None
    except AgentError as error:
        raise NoAnswer(500 if error.code == EXPORT_FAILED else 404, str(error)) from None


def photo_hosts() -> Sequence[str]:
    """Return from where pages may load photos of places: from nowhere where they are off."""
    settings, _ = settings_or_problem()
    return PHOTO_HOSTS if settings and settings.place_photos else ()


async def changes(request: Request) -> Response:
    """Say what an answer tells otherwise than the one before it on its thread.

    `since` names another thread, whose last answer is then compared; `message` and `since_message`
    name other answers.
    """
    query = request.query_params
    owner = identify(request.headers, access()) or ""
    try:
        after = await answer_of(request, query.get("message"))
        since, earlier = query.get("since"), query.get("since_message")
        earlier = earlier if since or earlier else _answer_before(after)
        before = await _answer_on(request, since or after.thread_id, earlier)
        with contained("what changed", export_failed):
            work = partial(changes_since, before.result, after.result)
            told = await in_turns(work, owner, seconds=_SECONDS)
    except NoAnswer as error:
        return _refusal(error)
    except TimeoutError:
        return _refusal(NoAnswer(503, "comparing the answers takes too long"))
    except AgentError as error:
        return _refusal(NoAnswer(500, str(error)))
    body = {"since": before.finished.generated_at, "at": after.finished.generated_at, **told}
    return private_json(body)


async def suggestions(request: Request) -> Response:
    """Serve Google's search suggestions, counted from 0, exactly as Google sent them."""
    try:
        answer = (await answer_of(request, request.query_params.get("message"))).finished
        number: int = request.path_params["number"]
        if number >= len(answer.search_entry_points):
            raise NoAnswer(404, "the answer has no such search suggestions")
    except NoAnswer as error:
        return _refusal(error)
    document = suggestions_document(answer.search_entry_points[number])
    content = document.encode("utf-8", "replace")
    return Response(content, headers=suggestions_headers(), media_type="text/html; charset=utf-8")


def _refusal(error: NoAnswer) -> Response:
    return private_json({"detail": str(error)}, error.status)


@dataclass(frozen=True)
class ThreadAnswer:
    """Hold an answer of a thread that the caller may read, and where it stands."""

    result: RunResult
    finished: FinishedAnswer
    thread_id: str
    message_id: str
    shows: Sequence[str]
    """What of its owner's the answer may show: `position` and `documents`."""


async def answer_of(request: Request, message_id: str | None) -> ThreadAnswer:
    """Return an answer of the thread in the path, its last one by default; raise NoAnswer."""
    return await _answer_on(request, request.path_params["thread_id"], message_id)


async def _answer_on(request: Request, thread: str, message_id: str | None) -> ThreadAnswer:
    thread_id = _thread_id(thread)
    state = await _state(request, thread_id)
    try:
        with contained("the answer of a thread", export_failed):
            outcome, is_last = _outcome(state, thread_id, message_id)
            when = _when(outcome, state, is_last=is_last)
            values = state["values"]
            memories = (values.get("turn"), values.get("previous"))
            return ThreadAnswer(
                outcome,
                replace(outcome.finished(), generated_at=when, photo_hosts=photo_hosts()),
                thread_id,
                str(outcome.state["messages"][-1].get("id") or ""),
                shows=_private(outcome.sources, memories),
            )
    except NoAnswer:
        raise
    except AgentError as error:
        raise NoAnswer(500, str(error)) from None


def _answer_before(answer: ThreadAnswer) -> str:
    """Return the id of the answer before one on its thread; raise NoAnswer for the first."""
    *earlier, _ = answer.result.state["messages"]
    ids = [str(message.get("id")) for message in earlier if message.get("type") == "ai"]
    if not ids:
        raise NoAnswer(409, "there is no earlier answer on this thread")
    return ids[-1]


def _private(
    sources: Sequence[Source], memories: Iterable[Mapping[str, Any] | None]
) -> Sequence[str]:
    """Return what an answer may show that is its owner's: where they are, what they wrote."""
    is_near = any((memory or {}).get("near") for memory in memories)
    has_own = any(source["kind"] == "document" and source["provider"] != CODE for source in sources)
    return [name for name, is_so in (("position", is_near), ("documents", has_own)) if is_so]


async def html_of(answer: FinishedAnswer, owner: str) -> str:
    """Return an answer as a page of its own; raise NoAnswer where it cannot be written."""
    page = await _written(EXPORTS["report.html"], answer, owner)
    assert isinstance(page, str)
    return page


async def readable_thread(request: Request) -> str:
    """Return the id of the thread in the path; raise NoAnswer where the caller has none such."""
    thread_id = _thread_id(request.path_params["thread_id"])
    await _state(request, thread_id)
    return thread_id


def _thread_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise NoAnswer(404, "there is no such thread") from None


async def _state(request: Request, thread_id: str) -> Mapping[str, Any]:
    """Return the thread's last state; whose it is, is not told to others."""
    try:
        async with client_for(request) as client:
            return await client.threads.get_state(thread_id)
    except httpx.HTTPError as error:
        if status_of(error) in (401, 403, 404, 422):
            raise NoAnswer(404, "there is no such thread") from None
        raise NoAnswer(503, "the thread cannot be read just now") from None


def _outcome(
    state: Mapping[str, Any], thread_id: str, message_id: str | None
) -> tuple[RunResult, bool]:
    """Return the outcome of the turn that ended with this message, and if it is the last."""
    values = state.get("values")
    turn, is_last = values_of_answer(values if isinstance(values, Mapping) else {}, message_id)
    if turn is None:
        if message_id is None:
            raise NoAnswer(409, "there is no answer on this thread yet")
        raise NoAnswer(404, "there is no such answer on this thread")
    run_id = str((state.get("metadata") or {}).get("run_id") or "")
    try:
        return outcome_of(turn, RunName("agent", thread_id, run_id), 0.0), is_last
    except AgentError as error:
        raise NoAnswer(409, str(error)) from None


def _when(outcome: RunResult, state: Mapping[str, Any], *, is_last: bool) -> str:
    """Return the time of the answer, ISO 8601; of earlier ones only map records tell it."""
    times = [place["fetched_at"] for place in outcome.places]
    saved = state.get("created_at")
    if saved and (is_last or not times):
        return str(saved)
    return max(times) if times else outcome.finished().generated_at
