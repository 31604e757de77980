"""Take the files that a person gives through the page, list their collections, remove files.

`POST /app/documents?collection=…&name=…` has the file itself as its body; it is written to disk as
it comes and read in a process of its own. Whose it is, the key says.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent.assistants.common.own_documents import is_own
from agent.core.errors import AgentError, InputError
from agent.knowledge.files import Destination
from agent.knowledge.sqlite import check_collection_names
from agent.knowledge.uploads import NotKept, UploadLimits, Uploads
from agent.reading.parts import note_text
from agent.server.auth.api_keys import access, identify
from agent.server.auth.audit import audit
from agent.server.auth.guard import DOCUMENTS, FILE_TYPE
from agent.server.http import NotRead, private_json
from agent.services import process_services
from agent.texts import LANGUAGES

log = logging.getLogger(__name__)
_PIECE_SECONDS: Final = 30.0
_FILE_SECONDS: Final = 1800.0
_REFUSED: Final = {
    "too_large": (413, "a file may have {file} MB here"),
    "no_room": (413, "your files may have {owner} MB together; delete some"),
    "no_name": (422, "the file needs a name"),
    "off": (403, "files are not taken here: see TANLU_UPLOAD_MEGABYTES"),
    "slow": (408, "the file came too slowly, or not whole"),
    "type": (415, f"send the file itself as {FILE_TYPE}"),
}
"""Of a file that is not taken: the status, and what is said of it."""


class DocumentsApi:
    """Answer the page's requests about a person's own documents."""

    def __init__(self) -> None:
        self._uploads: Uploads | None = None
        self._of: object = None

    async def listed(self, request: Request) -> JSONResponse:
        """List the caller's collections with their files, and what more may be given."""
        owner = identify(request.headers, access()) or ""
        try:
            uploads = await self._opened()
            collections = [one for one in await uploads.listed(owner) if is_own(one["name"])]
            used = await uploads.used(owner)
        except AgentError as error:
            return _unavailable(error)
        limits = {"file": uploads.limits.file, "owner": uploads.limits.owner, "used": used}
        return private_json({"collections": collections, "limits": limits})

    async def take(self, request: Request) -> JSONResponse:
        """Take a file into one of the caller's collections, and read it."""
        owner = identify(request.headers, access()) or ""
        try:
            target = _target(request, owner)
            if not access().upload_bytes:
                raise NotKept("off")
            if request.headers.get("content-type") != FILE_TYPE:
                raise NotKept("type")
            uploads, name = await self._opened(), request.query_params.get("name", "")
            result = await uploads.take(target, name, _pieces(request))
        except InputError as error:
            return private_json({"detail": error.message, "code": "name"}, 422)
        except (NotKept, NotRead, ClientDisconnect) as error:
            code = str(error) if isinstance(error, NotKept) else "slow"
            await audit("upload", "refused", owner, reason=code)
            return _refusal(code)
        except (AgentError, OSError) as error:
            return _unavailable(error)
        await audit("upload", "refused" if result.outcome == "failed" else "accepted", owner)
        if result.outcome == "failed":
            return private_json(
                {"detail": result.reason, "code": result.code, "name": result.path}, 422
            )
        told = {"name": result.path, "outcome": result.outcome, "reason": result.reason}
        note = {language: note_text(result.notes, language) for language in LANGUAGES}
        return private_json({**told, "passages": result.chunks, "note": note}, 201)

    async def remove(self, request: Request) -> JSONResponse:
        """Remove a file that was given through the page, with all that was read of it."""
        owner = identify(request.headers, access()) or ""
        try:
            target = _target(request, owner)
            uploads = await self._opened()
            removed = await uploads.remove(target, request.query_params.get("file", ""))
        except InputError as error:
            return private_json({"detail": error.message}, 422)
        except (AgentError, OSError) as error:
            return _unavailable(error)
        if not removed:
            return private_json({"detail": "there is no such file"}, 404)
        await audit("removal", "accepted", owner)
        return private_json({"removed": 1})

    async def _opened(self) -> Uploads:
        """Return the files beside the knowledge base of this process, which may be built anew."""
        services = await run_in_threadpool(process_services)
        if self._uploads is None or self._of is not services:
            rules = access()
            limits = UploadLimits(rules.upload_bytes, rules.owner_bytes)
            folder = services.settings.tanlu_data_dir.absolute() / "uploads"
            self._uploads, self._of = Uploads(folder, services.knowledge(), limits), services
        return self._uploads


def _target(request: Request, owner: str) -> Destination:
    collection = request.query_params.get("collection", "")
    check_collection_names(collection, owner)
    if not is_own(collection):
        raise InputError("collection", "has another use here; name another")
    return Destination(collection, owner)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the body as it comes; raise NotRead where it does not come on."""
    pieces, clock = request.stream(), asyncio.get_running_loop().time
    latest = clock() + _FILE_SECONDS
    while True:
        try:
            async with asyncio.timeout(min(_PIECE_SECONDS, max(0.0, latest - clock()))):
                piece = await anext(pieces, None)
        except TimeoutError:
            raise NotRead from None
        if piece is None:
            return
        yield piece


def _refusal(code: str) -> JSONResponse:
    status, words = _REFUSED[code]
    rules = access()
    detail = words.format(file=rules.upload_bytes >> 20, owner=rules.owner_bytes >> 20)
    return private_json({"detail": detail, "code": code}, status)


def _unavailable(error: Exception) -> JSONResponse:
    log.error("own documents cannot be reached: %s", error)
    return private_json({"detail": "own documents cannot be reached just now", "code": "away"}, 503)


def document_routes() -> list[Route]:
    """Return the routes, one a method."""
    documents = DocumentsApi()
    return [
        Route(DOCUMENTS, documents.listed, methods=["GET"]),
        Route(DOCUMENTS, documents.take, methods=["POST"]),
        Route(DOCUMENTS, documents.remove, methods=["DELETE"]),
    ]
