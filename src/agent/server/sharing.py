"""Share one answer as a page that needs no key: made and withdrawn by its thread's owner.

`POST /threads/{id}/share` writes the page, `GET` lists what is shared, `DELETE` withdraws; whoever
has the address reads `GET /shared/{token}`. The page is the export of the answer, without script,
and without the thread behind it.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from agent.core.errors import InputError, StoreFailed
from agent.export.html import export_policy
from agent.runs.shares import SharedAnswer, Shares
from agent.runs.threads import memory_place
from agent.server.auth.api_keys import SHARED, access, identify
from agent.server.auth.audit import audit
from agent.server.exports import NoAnswer, answer_of, html_of, photo_hosts, readable_thread
from agent.server.http import json_body, private, private_json, security_headers
from agent.texts import LANGUAGES, say

log = logging.getLogger(__name__)
USUAL_DAYS: Final = 30
MOST_DAYS: Final = 365
_KILOBYTES = 4
_NOT_INDEXED: Final = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}


@lru_cache(maxsize=1)
def _shares() -> Shares:
    return Shares(memory_place())


async def close_shares() -> None:
    """Close what this process has opened; it opens anew where it is needed again."""
    if _shares.cache_info().currsize:
        await _shares().aclose()
        _shares.cache_clear()


async def share(request: Request) -> Response:
    """Share the answer that the body names, the last one by default, until its end date."""
    owner, thread_id = identify(request.headers, access()) or "", request.path_params["thread_id"]
    try:
        _refuse_if_off()
        wanted = await _wanted(request)
        answer = await answer_of(request, wanted["message"])
        page = await html_of(answer.finished, owner)
        made = await _shares().put(answer.thread_id, answer.message_id, page, days=wanted["days"])
        await _withdraw_if_deleted(request, made, answer.thread_id)
    except InputError as error:
        return _refusal(422, error.message)
    except NoAnswer as error:
        await audit("share", "refused", owner, status=error.status, thread=thread_id)
        return _refusal(error.status, str(error))
    except StoreFailed as error:
        log.error("an answer cannot be shared: %s", error)
        return _refusal(503, "the answer cannot be shared just now")
    await audit("share", "accepted", owner, thread=answer.thread_id, days=wanted["days"])
    told = {**_told(made), "this_machine_only": access().open and not access().is_exposed}
    return private_json({**told, "shows": answer.shows}, 201)


async def _withdraw_if_deleted(request: Request, made: SharedAnswer, thread_id: str) -> None:
    """Raise NoAnswer where the thread was deleted while its page was written: that goes, too."""
    try:
        await answer_of(request, made.message_id)
    except NoAnswer as error:
        if error.status == 404:
            await _shares().forget(thread_id)
        raise


async def shared(request: Request) -> Response:
    """List what of a thread is shared."""
    try:
        thread_id = await readable_thread(request)
        rows = await _shares().of(thread_id)
    except NoAnswer as error:
        return _refusal(error.status, str(error))
    except StoreFailed:
        return _refusal(503, "what is shared cannot be read just now")
    return private_json({"shares": [_told(row) for row in rows]})


async def withdraw(request: Request) -> Response:
    """Withdraw one answer, or all of the thread: their addresses lead nowhere from now on."""
    owner = identify(request.headers, access()) or ""
    try:
        thread_id = await readable_thread(request)
        count = await _shares().withdraw(thread_id, request.query_params.get("message"))
    except NoAnswer as error:
        return _refusal(error.status, str(error))
    except StoreFailed:
        return _refusal(503, "the answer cannot be withdrawn just now")
    await audit("withdrawal", "accepted", owner, thread=thread_id)
    return private_json({"withdrawn": count})


async def page(request: Request) -> Response:
    """Return a shared answer to whoever has its address."""
    found = None
    if access().sharing:
        try:
            found = await _shares().page(request.path_params["token"])
        except StoreFailed as error:
            log.error("a shared answer cannot be read: %s", error)
            return HTMLResponse(_no_page(), 503, headers=private(security_headers()))
    if found is None:
        return HTMLResponse(_no_page(), 404, headers=private(security_headers()))
    policy = f"{export_policy(photo_hosts())}; frame-ancestors 'none'"
    headers = {**private(security_headers(policy)), **_NOT_INDEXED}
    return HTMLResponse(found, headers=headers)


def _no_page() -> str:
    lines = "".join(f'<p lang="{one}">{say("share.gone", one)}</p>' for one in LANGUAGES)
    return f"<!doctype html><meta charset=utf-8><title>404</title>{lines}"


def _refuse_if_off() -> None:
    if not access().sharing:
        raise NoAnswer(403, "sharing is off on this server: see TANLU_SHARING")


async def _wanted(request: Request) -> dict[str, Any]:
    """Return {message, days}; raise InputError naming the field that is wrong."""
    body = await json_body(request, _KILOBYTES, usual=b"{}")
    if not isinstance(body, Mapping) or body.keys() - {"message", "days"}:
        raise InputError("body", 'must be {"message": "…", "days": 30}, both optional')
    message, days = body.get("message"), body.get("days", USUAL_DAYS)
    if not isinstance(message, str | None):
        raise InputError("message", "must be the id of an answer")
    if type(days) is not int or not 1 <= days <= MOST_DAYS:
        raise InputError("days", f"must be 1 to {MOST_DAYS}")
    return {"message": message, "days": days}


def _told(row: SharedAnswer) -> dict[str, Any]:
    ends = datetime.fromtimestamp(row.ends, UTC).isoformat(timespec="seconds")
    return {"path": f"{SHARED}{row.token}", "message": row.message_id, "ends_at": ends}


def _refusal(status: int, reason: str) -> Response:
    return private_json({"detail": reason}, status)


def share_routes() -> list[Route]:
    """Return the routes of the owner, and the one of everybody."""
    owners = "/threads/{thread_id}/share"
    return [
        Route(owners, share, methods=["POST"]),
        Route(owners, shared, methods=["GET"]),
        Route(owners, withdraw, methods=["DELETE"]),
        Route(f"/{SHARED}{{token}}", page),
    ]
