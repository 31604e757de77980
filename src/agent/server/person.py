"""Show, set and forget what a person prefers: `GET`, `PATCH` and `DELETE /memory`.

`PATCH` has the fields that change. Each key's owner has their own.
"""

import logging
from collections.abc import Mapping
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent.core.errors import AgentError, InputError, StoreFailed
from agent.evidence.types import Diet
from agent.runs.person import LONGEST, Person, PersonMemory
from agent.runs.threads import memory_place
from agent.server.auth.api_keys import access, identify
from agent.server.auth.audit import audit
from agent.server.http import json_body, private_json

log = logging.getLogger(__name__)
_KILOBYTES = 4
_OFF = "nothing is kept of a person here: see TANLU_MEMORY"


def memory_form() -> dict[str, Any] | None:
    """Return what the page needs for its form; None where nothing is kept."""
    return {"diet": get_args(Diet), "longest": LONGEST} if access().memory else None


async def memory(request: Request) -> JSONResponse:
    """Answer the one who asks with what they prefer, as it is from now on."""
    owner = identify(request.headers, access()) or ""
    # What was kept before it was switched off can still be deleted.
    if not access().memory and request.method != "DELETE":
        return private_json({"detail": _OFF}, 403)
    kept = PersonMemory(memory_place())
    try:
        person = await _done(request, kept, owner)
    except InputError as error:
        return private_json({"detail": error.message}, 422)
    except (AgentError, StoreFailed) as error:
        log.error("what a person prefers cannot be kept or read: %s", error)
        return private_json({"detail": "what you prefer cannot be kept or read just now"}, 503)
    return private_json(person.model_dump())


async def _done(request: Request, kept: PersonMemory, owner: str) -> Person:
    if request.method == "PATCH":
        await kept.change(owner, await _sent(request))
    elif request.method == "DELETE":
        await kept.forget(owner)
    if request.method in ("PATCH", "DELETE"):
        await audit("memory", "accepted", owner)
    return await kept.of(owner)


async def _sent(request: Request) -> Mapping[str, Any]:
    told = await json_body(request, _KILOBYTES)
    if not isinstance(told, Mapping):
        raise InputError("body", "must be an object of fields")
    return told


def person_routes() -> list[Route]:
    """Return the routes; what needs a key is decided before."""
    return [Route("/memory", memory, methods=["GET", "PATCH", "DELETE"])]
