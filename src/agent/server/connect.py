"""Take the keys of live data on the page: tried, kept as `tanlu config set` does, used at once.

`POST /app/connect` is there only while a server that answers this machine alone has sample data to
answer from. No key is ever sent back.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.configuration import Configuration, configure
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.redaction import hide, scrub
from agent.mcp.map import probe_map
from agent.models.probe import probe
from agent.server.auth.api_keys import access
from agent.server.auth.audit import audit
from agent.server.auth.guard import of_own_page
from agent.server.http import json_body, private_json
from agent.services import build_services, close_process_services
from agent.settings import Settings, keep_user_setting, read_settings
from agent.texts import LANGUAGES, Language, reason_of

log = logging.getLogger(__name__)
FIELDS: Final = (
    "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "TANLU_MODEL", "AMAP_MAPS_API_KEY",
)  # fmt: skip
_KILOBYTES, _LONGEST_VALUE = 8, 1000
_TRY_SECONDS: Final = 90.0
_trying = asyncio.Lock()


class NotConnected(Exception):
    """Signal that something was tried and does not work: the field, and why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


def can_connect(settings: Settings | None) -> bool:
    """Tell whether keys may be given on the page."""
    rules = access()
    here_only = rules.open and not rules.is_exposed
    sample = settings is not None and settings.mode == "offline" and settings.tanlu_mode == "auto"
    return here_only and sample


async def connect(request: Request) -> JSONResponse:
    """Try what was sent, keep it, and answer from live data from now on."""
    try:
        # Studio's page may call an open server, and could have later questions sent anywhere.
        if not of_own_page(request):
            return private_json({"detail": "keys are taken from the server's own page only"}, 403)
        given = await _given(request)
        async with _trying, asyncio.timeout(_TRY_SECONDS):
            if not can_connect(read_settings()):
                return private_json(
                    {"detail": "keys are not taken here: use tanlu config set"}, 403
                )
            spoken = request.query_params.get("language")
            await _try(given, next((one for one in LANGUAGES if one == spoken), "en"))
    except InputError as error:
        return private_json({"detail": error.message}, 422)
    except (NotConnected, ConfigurationError) as error:
        field = error.field if isinstance(error, NotConnected) else error.name
        return private_json({"detail": scrub(str(error)), "field": field.upper()}, 422)
    except TimeoutError:
        return private_json({"detail": "there was no answer in time", "field": ""}, 504)
    try:
        for name, value in given.items():
            await asyncio.to_thread(keep_user_setting, name, value)
    except OSError as error:
        log.error("the keys cannot be kept: %s", error)
        return private_json({"detail": "the keys cannot be kept on this machine", "field": ""}, 503)
    os.environ.update(given)
    await close_process_services()
    await audit("connect", "accepted", "")
    log.info("connected: %s", ", ".join(given))
    return private_json({"connected": list(given)})


async def _given(request: Request) -> dict[str, str]:
    """Return the fields that were sent; raise InputError naming what is wrong."""
    body = await json_body(request, _KILOBYTES)
    if not isinstance(body, Mapping) or body.keys() - set(FIELDS):
        raise InputError("body", f"must have keys of {', '.join(FIELDS)}")
    given = dict[str, str]()
    for name, value in body.items():
        if not isinstance(value, str) or len(value) > _LONGEST_VALUE or not value.isprintable():
            raise InputError(name, "must be one line of text")
        if name.endswith("_KEY"):
            hide(value.strip())
        if value.strip():
            given[name] = value.strip()
    if not given.keys() & {"GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"}:
        raise InputError("GEMINI_API_KEY", "is needed: without a model nothing can be answered")
    if "TANLU_MODEL" in given and ":" not in given["TANLU_MODEL"]:
        given["TANLU_MODEL"] = f"openai:{given['TANLU_MODEL']}"
    return given


async def _try(given: Mapping[str, str], language: Language) -> None:
    """Ask the model, and the map where its key was sent, for one small thing each."""
    settings = read_settings(**{name.lower(): value for name, value in given.items()})
    configuration: Configuration = configure({})
    model = given.get("TANLU_MODEL") or configuration.answer_model
    services = await asyncio.to_thread(build_services, settings)
    try:
        seen = await probe(services.models, model)
        if seen.error:
            field = next(name for name in FIELDS if name in given)
            raise NotConnected(field, reason_of(seen.error, language))
        if "AMAP_MAPS_API_KEY" in given:
            result = await probe_map(services.maps.of("amap"), language)
            if result.gaps:
                raise NotConnected("AMAP_MAPS_API_KEY", result.gaps[0]["message"])
    except AgentError as error:
        raise NotConnected("", reason_of(error, language)) from None
    finally:
        await services.aclose()
