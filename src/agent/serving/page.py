"""The page at `/app` and what it asks besides LangGraph's own API.

Who may ask is decided before: what needs a key and what does not, `security.access` lists.
"""

from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.security.tries import Tries
from agent.serving.exports import EXPORTS, export, suggestions
from agent.serving.page_config import config_json
from agent.serving.page_files import INDEX, PageFiles
from agent.serving.page_headers import page_policy, private, unframed
from agent.serving.page_reports import PolicyReports
from agent.serving.page_sign_in import SignIn
from agent.serving.page_tiles import base_map
from agent.serving.readiness import readyz, settings_or_reason

FOLDER: Final = Path(__file__).parents[1] / "page"
FOLDERS: Final = ("style", "js", "vendor")
"""What of it is served, besides the page itself and its icon."""
_files = PageFiles(FOLDER)


async def index(request: Request) -> Response:
    """Return the page; its own script reads the address: a thread, a question."""
    settings, _ = settings_or_reason()
    tiles = base_map(settings)[0] if settings else None
    policy = page_policy(tiles, photos=bool(settings and settings.place_photos))
    return await _serve(request, unframed(policy), INDEX)


async def icon(request: Request) -> Response:
    """Return the picture that a browser shows beside the page's name."""
    return await _serve(request, unframed(), "favicon.svg")


async def asset(request: Request) -> Response:
    """Return a file that the page loads."""
    named = request.path_params
    names = [named[part] for part in ("folder", "part", "name") if part in named]
    return await _serve(request, unframed(), *(names if names[0] in FOLDERS else [""]))


async def _serve(request: Request, headers: dict[str, str], *names: str) -> Response:
    found = await run_in_threadpool(_files.find, *names)
    if found is None:
        return JSONResponse({"detail": "not found"}, 404, headers=private(unframed()))
    return found.respond(request, headers)


def page_routes(tries: Tries | None = None) -> list[Route]:
    """Return everything under `/app`, and `/readyz`; the sign-in counts wrong keys in `tries`."""
    sign_in = SignIn(tries)
    runs = "/app/runs/{thread_id}"
    return [
        Route("/readyz", readyz),
        Route("/app", index),
        Route("/app/", index),
        Route("/app/favicon.svg", icon),
        Route("/app/config.json", config_json),
        Route("/app/sign-in", sign_in.sign_in, methods=["POST"]),
        Route("/app/sign-out", sign_in.sign_out, methods=["POST"]),
        Route("/app/csp-report", PolicyReports().take, methods=["POST"]),
        *(Route(f"{runs}/{name}", export(name)) for name in EXPORTS),
        Route(f"{runs}/suggestions/{{number:int}}", suggestions),
        Route("/app/{folder}/{name}", asset),
        Route("/app/{folder}/{part}/{name}", asset),
    ]
