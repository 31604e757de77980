"""What the page has to know before it asks: `/app/config.json`."""

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from agent import __version__
from agent.installed import REVIEW_PLANS
from agent.language import Language
from agent.nodes.conversation import MAX_QUESTION
from agent.offline.endpoints import sample_notice
from agent.progress_words import EVENTS, SPEAKERS, STARTING
from agent.security.access import access, identify
from agent.services import LOOKED_FOR
from agent.serving.page_headers import private, unframed
from agent.serving.page_tiles import base_map
from agent.serving.readiness import settings_or_reason
from agent.settings import Settings

log = logging.getLogger(__name__)
_LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")
_EXAMPLES: Final[Mapping[Language, tuple[str, ...]]] = {
    "zh": (
        "王府井附近适合遛娃的好去处",
        "杭州西湖怎么玩，附近哪里喝茶？",
        "外滩附近有哪些咖啡馆？",
    ),
    "en": (
        "Where can children play near Wangfujing, Beijing?",
        "Coffee near the Bund",
        "How do sodium-ion batteries work?",
    ),
}
"""Questions that the sample answers, too."""


async def config_json(request: Request) -> JSONResponse:
    """The configuration, as far as this caller may know it."""
    settings, reason = settings_or_reason()
    found = public_config(settings)
    user = identify(request.headers, access())
    if user is not None:
        found |= {"user": user or None, **caller_config(settings, reason)}
    return JSONResponse(found, headers=private(unframed()))


def public_config(settings: Settings | None) -> dict[str, Any]:
    """What anybody sees: enough for the sign-in, and that this is sample data where it is."""
    return {
        "version": __version__,
        "keys": not access().open,
        "user": None,
        "mode": settings.mode if settings else "broken",
        "notice": _notice(settings),
    }


def caller_config(settings: Settings | None, reason: str) -> dict[str, Any]:
    """What the page needs to work with; `reason` says why nothing can be answered."""
    tiles, why_not = base_map(settings) if settings else (None, "")
    _warn_once(why_not)
    # The policy's part of it is told in the policy.
    shown = {key: value for key, value in tiles.items() if key != "hosts"} if tiles else None
    return {
        "reason": reason or None,
        "tiles": shown,
        "photos": bool(settings and settings.place_photos),
        "max_question": MAX_QUESTION,
        "events": EVENTS,
        "starting": STARTING,
        "speakers": SPEAKERS,
        "review": sorted(REVIEW_PLANS),
        "examples": _EXAMPLES,
    }


def _notice(settings: Settings | None) -> dict[str, str] | None:
    if settings is None or settings.mode != "offline":
        return None
    forced = settings.model_configured
    return {one: sample_notice(one, LOOKED_FOR, forced=forced) for one in _LANGUAGES}


@lru_cache(maxsize=8)
def _warn_once(problem: str) -> None:
    if problem:
        log.warning("%s", problem)
