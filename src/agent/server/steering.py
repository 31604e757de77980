"""Take what a person asks of their run while it goes on: `POST /threads/{thread_id}/steer`.

The body is `{"wish": "…"}` or `{"drop": "…"}`. Whose thread it is, the server's own rules say.
"""

import logging
import uuid
from collections.abc import Mapping
from typing import Any, Final

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.assistants.common.review_plan import checked_text
from agent.assistants.common.turn import turn_id_of
from agent.client.connection import status_of
from agent.core.errors import ConfigurationError, InputError, StoreFailed
from agent.runs.run_log import LONGEST_WISH, Wish, WishBox
from agent.server.auth.api_keys import client_for
from agent.server.http import json_body, private_json
from agent.services import process_services

log = logging.getLogger(__name__)
FIRST_NODES: Final = frozenset({"generate_query", "begin", "analyze", "plan"})
"""Those that open a turn, of the four assistants; until one has ended, the turn has no id yet."""
_KILOBYTES = 16


class NotTaken(Exception):
    """Signal that a wish is not taken, with a status and a reason in one line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def steer(request: Request) -> JSONResponse:
    """Keep a wish for the run that goes on; answer 202 with how many more may come."""
    try:
        thread_id = _thread_id(request.path_params["thread_id"])
        wish = wish_of(await json_body(request, _KILOBYTES))
        turn_id = await _turn_id(request, thread_id)
        left = await (await _wishes()).put(thread_id, turn_id, wish)
    except InputError as error:
        return private_json({"detail": error.message}, 422)
    except (StoreFailed, ConfigurationError) as error:
        log.error("a wish cannot be kept: %s", error)
        return private_json({"detail": "the wish cannot be kept just now"}, 503)
    except NotTaken as error:
        return private_json({"detail": str(error)}, error.status)
    return private_json({**wish, "left": left}, 202)


def wish_of(body: Any) -> Wish:
    """Return the wish in a body; raise InputError naming the field that is wrong."""
    kinds = ("wish", "drop")
    if not isinstance(body, Mapping) or len(body) != 1 or next(iter(body)) not in kinds:
        raise InputError("body", 'must be {"wish": "…"} or {"drop": "…"}')
    kind = next(each for each in kinds if each in body)
    value = body[kind]
    text = checked_text(value, kind, LONGEST_WISH)
    return Wish(kind="wish" if kind == "wish" else "drop", text=text)


def _thread_id(value: str) -> str:
    try:
        return str(uuid.UUID(value))
    except ValueError:
        raise NotTaken(404, "there is no such thread") from None


async def _turn_id(request: Request, thread_id: str) -> str:
    """Return the id of the turn that goes on, as far as the caller may see the thread."""
    try:
        async with client_for(request) as client:
            thread = await client.threads.get(thread_id)
            state: Mapping[str, Any] = await client.threads.get_state(thread_id)
    except httpx.HTTPError as error:
        if status_of(error) in (401, 403, 404, 422):
            raise NotTaken(404, "there is no such thread") from None
        raise NotTaken(503, "the thread cannot be read just now") from None
    if thread["status"] == "interrupted" and state.get("interrupts"):
        raise NotTaken(409, "the plan waits for its review; answer that")
    if thread["status"] != "busy" or not state.get("next"):
        raise NotTaken(409, "nothing runs on this thread; ask a question")
    if turn_id := turn_under_way(thread_id, state):
        return turn_id
    raise NotTaken(409, "the run has only just begun; try again in a moment")


def turn_under_way(thread_id: str, state: Mapping[str, Any]) -> str:
    """Return the id of the turn a running thread is in; empty where that is not to be told yet."""
    values, following = state.get("values") or {}, set(state.get("next") or ())
    if not following & {*FIRST_NODES, "__start__"}:
        return str((values.get("turn") or {}).get("id") or "")
    messages = values.get("messages") or []
    questions = [message for message in messages if message.get("type") == "human"]
    # What an abandoned exploration left goes before the turn is opened.
    if "__start__" in following or not questions or values.get("exploring"):
        return ""
    return turn_id_of(thread_id, questions[-1].get("id") or "", len(messages))


async def _wishes() -> WishBox:
    services = await run_in_threadpool(process_services)
    if services.wishes is None:
        raise ConfigurationError("TANLU_DATA_DIR", "keeps no wishes")
    return services.wishes
