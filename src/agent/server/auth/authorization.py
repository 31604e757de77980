"""Rule whose threads, runs, assistants, crons and store items are; the server asks each time.

With keys set, everything belongs to the owner of the key it was made with, and what no rule allows
is refused. On an open server everything is everybody's; what a run may ask is checked there, too.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias, cast
from urllib.parse import quote

from langgraph_sdk import Auth
from langgraph_sdk.errors import APIStatusError, NotFoundError

from agent.assistants.common.review_plan import check_waiting
from agent.assistants.registry import ASSISTANTS
from agent.core.errors import ConfigurationError, InputError
from agent.runs.engine import OWNER, RunRequest, ThreadBusy, engine, store_label
from agent.runs.threads import askers_of
from agent.server.auth.admission import (
    check_choices,
    check_command,
    check_run,
    check_settings,
    chosen_settings,
    goes_to_node,
    needs_thread,
)
from agent.server.auth.api_keys import access, identify, needs_no_key
from agent.server.auth.audit import audit
from agent.server.auth.owner_limits import TooMany, owner_limits, question_language

auth = Auth()

Value: TypeAlias = Any
"""What is asked, as the server shows it: a dict of its own making, which rules may change."""
Filter: TypeAlias = dict[str, Any] | None
"""What the metadata of a thing must say for the caller to have it; None: nothing in particular."""

NOBODY = "?"
"""Who sent no key that we know; no owner can have this name."""
SYSTEM = {"created_by": "system"}
"""The metadata of the assistants that the server makes of its graphs."""


@auth.authenticate
async def authenticate(headers: Mapping[Any, Any], path: str = "") -> Auth.types.MinimalUserDict:
    """Identify the caller by key; `path` where the server passes it.

    The guard has refused strangers before, except on the few paths that need no key; every rule
    below refuses them, too."""
    rules, texts = access(), _texts(headers)
    owner = engine().calling_owner(texts)
    if owner is None:
        owner = identify(texts, rules)
    if owner is None and not (needs_no_key(path) or rules.problem):
        raise Auth.exceptions.HTTPException(401, "A key is needed.")
    if owner is None:
        return {"identity": NOBODY, "is_authenticated": False}
    return {"identity": engine().identity(owner)}


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Value) -> bool:
    """Refuse what has no rule of its own; a new kind of resource is closed with keys."""
    _caller(ctx)
    return access().open


@auth.on.threads
async def threads(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow own ones, whatever is done with them or with their runs and state."""
    return _own(ctx, value)


@auth.on.threads.create
async def create_thread(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Give a new thread to its maker; the filter refuses an id that is somebody else's."""
    owned = _check_new(ctx, value, check_settings)
    if not await _is_claimable(_caller(ctx), value.get("thread_id")):
        raise Auth.exceptions.HTTPException(409, "Conflict")
    return owned


@auth.on.threads.update
async def update_thread(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow changes of metadata, state or status; a thread cannot be given away."""
    return _check_change(ctx, value, check_settings)


@auth.on.threads.delete
async def delete_thread(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow to delete a thread or a run: the server removes a run by its id alone, whatever thread
    it is on, and only then looks whether there is such a run."""
    own = _own(ctx, value)
    if run_id := value.get("run_id"):
        async with engine().client(_caller(ctx)) as client:
            try:
                await client.runs.get(str(value["thread_id"]), str(run_id))
            except NotFoundError:
                raise Auth.exceptions.HTTPException(404, "Not Found") from None
    return own


@auth.on.threads.create_run
async def create_run(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Check every run, however asked for: over REST, by the event protocol, of a cron, alone."""
    request = engine().request_of(value)
    names = ("thread_id", "run_id")
    what = {name.removesuffix("_id"): value.get(name) for name in names}
    what["assistant"] = request.assistant
    owner = "" if access().open else ctx.user.identity
    try:
        owned = await _admit_run(ctx, value, request)
    except Auth.exceptions.HTTPException as refusal:
        await audit("run", "refused", owner, status=refusal.status_code, **what)
        raise
    await audit("run", "accepted", owner, **what)
    return owned


async def _admit_run(ctx: Auth.types.AuthContext, value: Value, request: RunRequest) -> Filter:
    """Check a run and take a place for it; raise HTTPException with what is in the way."""

    def check(_: Mapping[str, Any]) -> None:
        _check_run(request)

    owned, owner = _check_new(ctx, value, check), _caller(ctx)
    await _check_choices(owner, request.settings, request.assistant)
    if request.command:
        await _check_command(owner, request, value.get("thread_id"))
    if not await _is_claimable(owner, value.get("thread_id")):
        raise Auth.exceptions.HTTPException(404, "Thread or assistant not found.")
    try:
        await owner_limits().admit(owner, str(value.get("thread_id") or ""))
    except TooMany as too_many:
        words = too_many.words(question_language(request.fields))
        raise Auth.exceptions.HTTPException(
            429, words, headers={"Retry-After": str(too_many.retry_after)}
        ) from None
    try:
        await engine().admit(value)
    except ThreadBusy as busy:
        raise Auth.exceptions.HTTPException(409, str(busy)) from None
    return owned


@auth.on.assistants
async def assistants(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow to read and search one's own and the server's."""
    own = _own(ctx, value)
    return own and {"$or": [own, SYSTEM]}


@auth.on.assistants.create
async def create_assistant(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Check a saved variant of one of the graphs."""
    owned = _check_new(ctx, value, _check_assistant)
    await _check_choices(_caller(ctx), value, value.get("graph_id"))
    return owned


@auth.on.assistants.update
async def update_assistant(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow own ones; with keys, nobody can change the server's."""
    owned = _check_change(ctx, value, _check_assistant)
    await _check_choices(_caller(ctx), value, value.get("graph_id") or value.get("assistant_id"))
    return owned


@auth.on.assistants.delete
async def delete_assistant(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Return the filter that leaves a caller's own assistants."""
    return _own(ctx, value)


@auth.on.crons
async def crons(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Return the filter that leaves a caller's own scheduled runs, to read or delete."""
    return _own(ctx, value)


@auth.on.crons.create
async def create_cron(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Check now what it asks, and again each time it runs."""
    owned, request = _check_new(ctx, value, _check_cron), engine().request_of(value)
    await _check_choices(_caller(ctx), request.settings, request.assistant)
    return owned


@auth.on.crons.update
async def update_cron(ctx: Auth.types.AuthContext, value: Value) -> Filter:
    """Allow own ones; which assistant one runs cannot be changed."""
    owned, request = _check_change(ctx, value, _check_cron), engine().request_of(value)
    if chosen_settings(request.settings):
        cron = await _visible(_caller(ctx), f"/runs/crons/{value['cron_id']}")
        await _check_choices(_caller(ctx), request.settings, cron.get("assistant_id"))
    return owned


@auth.on.store
async def store(ctx: Auth.types.AuthContext, value: Value) -> None:
    """Keep each owner's items below a name of the owner's, put before the others."""
    owner = _caller(ctx)
    if owner and not access().open:
        label = store_label(owner)
        namespace = tuple(value.get("namespace") or ())
        value["namespace"] = namespace if namespace[:1] == (label,) else (label, *namespace)


def _caller(ctx: Auth.types.AuthContext) -> str:
    """Return who asks; 401 for strangers, and for those whose key was taken away since."""
    rules, owner = access(), ctx.user.identity
    if rules.problem:
        raise Auth.exceptions.HTTPException(503, rules.problem)
    if owner == NOBODY or (not rules.open and owner not in rules.keys.values()):
        raise Auth.exceptions.HTTPException(401, "A key is needed.")
    return "" if rules.open else owner


def _own(ctx: Auth.types.AuthContext, _: Value) -> Filter:
    """Return the filter for what the caller has made."""
    owner = _caller(ctx)
    return {OWNER: owner} if owner else None


def _check_new(ctx: Auth.types.AuthContext, value: Value, check: Callable[[Value], None]) -> Filter:
    """Check what is being made and note whose it is.

    In place: the server keeps the very object that it shows here.
    """
    owner = _caller(ctx)
    _check(value, owner, check)
    if owner:
        if value.get("metadata") is None:
            value["metadata"] = {}
        value["metadata"][OWNER] = owner
    return {OWNER: owner} if owner else None


def _check_change(
    ctx: Auth.types.AuthContext, value: Value, check: Callable[[Value], None]
) -> Filter:
    """Check what is being changed; whose it is stays as it was."""
    owner = _caller(ctx)
    _check(value, owner, check)
    if owner and value.get("metadata"):
        value["metadata"][OWNER] = owner
    return {OWNER: owner} if owner else None


async def _is_claimable(owner: str, thread_id: Any) -> bool:
    """Return whether a thread may become the owner's that this server does not list, but whose
    steps another server or an earlier one has written."""
    if not owner or thread_id is None:
        return True
    askers = await askers_of(str(thread_id))
    if not askers or owner in askers:
        return True
    async with engine().client(owner) as client:
        try:
            await client.threads.get(str(thread_id))
        except NotFoundError:
            return False
    return True


def _check(value: Value, owner: str, check: Callable[[Value], None]) -> None:
    """Answer 422 with the field that cannot be let in."""
    claimed = (value.get("metadata") or {}).get(OWNER, owner)
    if claimed != owner:
        raise Auth.exceptions.HTTPException(422, f"metadata.{OWNER} is the server's to set.")
    with _as_422():
        check(value)


@contextmanager
def _as_422() -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        raise Auth.exceptions.HTTPException(422, error.message) from None


async def _check_choices(owner: str, request: Mapping[str, Any], assistant: Any) -> None:
    """Answer 422 with the field that the assistant, a graph's name or an id, would not take.

    Somebody else's assistant is none, so what it would say to that is not told.
    """
    if choices := chosen_settings(request):
        graph_id = await _graph_of(owner, assistant)
        with _as_422():
            check_choices(graph_id, choices)


async def _check_command(owner: str, request: RunRequest, thread_id: Any) -> None:
    """Answer 422 with the part of a command that the graph would fail on or has no start for."""
    graph_id = await _graph_of(owner, request.assistant)
    with _as_422():
        check_command(graph_id, request.command)
    if graph_id in ASSISTANTS:
        values = await _state(owner, thread_id) if thread_id else {}
        turn = values.get("turn")
        goes, needs = goes_to_node(request.command), needs_thread(request.command)
        if (goes and turn is None) or (needs and not values):
            problem = "There is no earlier run on this thread; send an input."
            where = "command.goto: " if goes else "command: "
            raise Auth.exceptions.HTTPException(422, where + problem)
        if thread_id and request.command.get("resume") is not None:
            with _as_422():
                check_waiting(turn or {}, graph_id)


async def _graph_of(owner: str, assistant: Any) -> str:
    """Return the graph of an assistant that the owner sees; its name may be the graph's."""
    if (graph_id := str(assistant)) in ASSISTANTS:
        return graph_id
    row = await _visible(owner, f"/assistants/{quote(graph_id, safe='')}")
    return str(row.get("graph_id"))


async def _state(owner: str, thread_id: Any) -> Mapping[str, Any]:
    """Return the values of a thread that the owner sees; not every server tells them with it."""
    if not await _visible(owner, f"/threads/{thread_id}"):
        return {}
    async with engine().client(owner) as client:
        try:
            state: Mapping[str, Any] = await client.http.get(f"/threads/{thread_id}/state")
        except APIStatusError:
            return {}
    return state.get("values") or {}


async def _visible(owner: str, path: str) -> Mapping[str, Any]:
    """Return what the server has there if it is the owner's or everybody's; else nothing."""
    async with engine().client(owner) as client:
        try:
            row: Mapping[str, Any] = await client.http.get(path)
        except APIStatusError:
            return {}
    metadata = row.get("metadata") or {}
    own = not owner or metadata.get(OWNER) == owner or metadata.items() >= SYSTEM.items()
    return row if own else {}


def _check_assistant(value: Mapping[str, Any]) -> None:
    check_settings(value)
    if (value.get("metadata") or {}).items() >= SYSTEM.items():
        raise ConfigurationError("metadata.created_by", "is the server's to set")


def _check_cron(value: Mapping[str, Any]) -> None:
    _check_run(engine().request_of(value))


def _check_run(request: RunRequest) -> None:
    check_run(request.fields)
    for name in engine().ignored_fields:
        if request.fields.get(name):
            raise InputError(name, "is not served here; begin the run when it is due")


def _texts(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return headers as text; servers give them as bytes or as text."""
    return {_text(name).lower(): _text(value) for name, value in headers.items()}


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else cast(str, value)
