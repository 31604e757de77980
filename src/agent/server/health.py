"""Report if this server can answer: settings, models, map. Nothing is started or paid."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.assistants.common.services import no_model
from agent.core.errors import ConfigurationError
from agent.mcp.servers import is_set_up
from agent.server.auth.api_keys import access
from agent.services import started_services
from agent.settings import Settings, read_settings


def settings_or_problem() -> tuple[Settings | None, ConfigurationError | None]:
    """Return the settings, or why they cannot be used; never raises."""
    try:
        settings = read_settings()
    except ConfigurationError as error:
        return None, error
    if settings.mode == "online" and not settings.model_configured:
        return None, no_model()
    return settings, None


def settings_or_reason() -> tuple[Settings | None, str]:
    """Return the same with the problem in one line for logs and programs."""
    settings, problem = settings_or_problem()
    return settings, str(problem or "")


async def readyz(_: Request) -> JSONResponse:
    """Answer 200 where questions can be answered, 503 with the reason where they cannot."""
    report = readiness()
    return JSONResponse(report, 200 if report["ok"] else 503, {"Cache-Control": "no-store"})


def readiness() -> dict[str, Any]:
    """Return {ok, mode, models, map} or {ok, reason}; names of settings, never their values."""
    settings, reason = settings_or_reason()
    reason = reason or access().problem
    if settings is None or reason:
        return {"ok": False, "reason": reason}
    return {
        "ok": True,
        "mode": settings.mode,
        "models": {
            "google": settings.google_key is not None,
            "openai": bool(settings.openai_api_key or settings.openai_base_url),
        },
        "map": _map(settings),
    }


def _map(settings: Settings) -> dict[str, Any]:
    """Return the state of the map, which does not decide: the web works without a map."""
    if settings.mode == "online" and not is_set_up(settings):
        return {"state": "off", "code": "map_key_missing"}
    services = started_services()
    if services is None:
        return {"state": "not started", "code": None}
    if services.maps.running:
        return {"state": "running", "code": None}
    failed = services.maps.problem
    return {"state": "failed" if failed else "not started", "code": failed}
