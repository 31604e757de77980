"""Whose what is: the rules that the server asks, without the server."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk import Auth

from agent.engines.langgraph.app import LangGraphServer
from agent.runs import engine
from agent.runs.engine import OWNER
from agent.server.auth import auth
from agent.server.auth.api_keys import access
from agent.server.auth.authorization import NOBODY, authenticate

KEYS = {"alice": "alice-key-0123456789", "bob.b": "bob-key-0123456789abc"}
Refused = Auth.exceptions.HTTPException


@pytest.fixture(autouse=True)
def langgraph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask as LangGraph's own server does."""
    monkeypatch.setattr(engine, "_engine", LangGraphServer())


@pytest.fixture(params=[True, False], ids=["keys", "open"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether keys are set."""
    yield from _with_keys(monkeypatch, set_=request.param)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    yield from _with_keys(monkeypatch, set_=True)


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    yield from _with_keys(monkeypatch, set_=False)


def _with_keys(monkeypatch: pytest.MonkeyPatch, *, set_: bool) -> Iterator[bool]:
    if set_:
        entries = ",".join(f"{name}:{key}" for name, key in KEYS.items())
        monkeypatch.setenv("TANLU_API_KEYS", entries)
    access.cache_clear()
    yield set_
    access.cache_clear()


class User:
    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.display_name = identity
        self.is_authenticated = identity != NOBODY
        self.permissions: list[str] = []


async def ask(who: str, resource: Any, action: Any, value: dict[str, Any]) -> Any:
    """What the server would be told, by its own order of rules."""
    user: Any = User(who)
    context = Auth.types.AuthContext([], user, resource, action)
    for key in ((resource, action), (resource, "*")):
        if found := auth._handlers.get(key):
            return await found[-1](ctx=context, value=value)
    return await auth._global_handlers[-1](ctx=context, value=value)


async def refused(who: str, resource: str, action: str, value: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        await ask(who, resource, action, value)
    return caught.value


async def identity(**headers: str) -> str:
    sent = {name.replace("_", "-").encode(): text.encode() for name, text in headers.items()}
    return str((await authenticate(headers=sent))["identity"])


async def test_a_key_tells_whose_it_is(keys: bool) -> None:
    assert await identity(x_api_key=KEYS["alice"]) == "alice"
    assert await identity(authorization=f"Bearer {KEYS['bob.b']}") == "bob.b"


async def test_on_an_open_server_everybody_is_the_same(no_keys: bool) -> None:
    assert await identity(x_api_key="anything") == await identity() == ""


@pytest.mark.parametrize("sent", ["", "alice-key-0123456788", "alice"])
async def test_a_stranger_is_told_so(keys: bool, sent: str) -> None:
    with pytest.raises(Refused) as caught:
        await identity(x_api_key=sent)
    assert caught.value.status_code == 401


RESOURCES = [
    ("threads", action)
    for action in ("create", "create_run", "read", "update", "delete", "search", "new")
] + [
    (resource, action)
    for resource in ("assistants", "crons", "store", "planets")
    for action in ("create", "read", "update", "delete", "search", "put", "get", "list_namespaces")
]


@pytest.mark.parametrize(("resource", "action"), RESOURCES)
async def test_strangers_and_those_whose_key_was_taken_away_have_nothing(
    keys: bool, resource: str, action: str
) -> None:
    for who in (NOBODY, "", "carol"):
        assert (await refused(who, resource, action, {})).status_code == 401


async def test_a_setting_that_cannot_be_used_closes_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", "alice:short")
    access.cache_clear()
    try:
        answer = await refused("", "threads", "read", {})
    finally:
        access.cache_clear()
    assert (answer.status_code, "TANLU_API_KEYS" in answer.detail) == (503, True)


@pytest.mark.parametrize("action", ["read", "delete", "search", "update"])
@pytest.mark.parametrize("resource", ["threads", "crons"])
async def test_only_one_s_own_is_read_changed_deleted_and_found(
    either: bool, resource: str, action: str
) -> None:
    assert await ask("alice" if either else "", resource, action, {}) == (
        {OWNER: "alice"} if either else None
    )


@pytest.mark.parametrize(
    ("resource", "action"),
    [("threads", "create"), ("threads", "create_run"), ("assistants", "create"),
     ("crons", "create")],
)  # fmt: skip
async def test_what_is_made_is_marked_in_the_server_s_own_object(
    keys: bool, resource: str, action: str
) -> None:
    metadata: dict[str, Any] = {"topic": "x"}
    assert await ask("alice", resource, action, {"metadata": metadata}) == {OWNER: "alice"}
    assert metadata == {"topic": "x", OWNER: "alice"}
    bare: dict[str, Any] = {"metadata": None}
    await ask("alice", resource, action, bare)
    assert bare["metadata"] == {OWNER: "alice"}


@pytest.mark.parametrize("resource", ["threads", "assistants", "crons"])
async def test_nothing_can_be_given_away_or_claimed(either: bool, resource: str) -> None:
    who = "alice" if either else ""
    for action in ("create", "update"):
        answer = await refused(who, resource, action, {"metadata": {OWNER: "bob.b"}})
        assert (answer.status_code, OWNER in answer.detail) == (422, True)
        await ask(who, resource, action, {"metadata": {OWNER: who}})


async def test_the_server_s_assistants_are_read_by_all_and_changed_by_nobody(keys: bool) -> None:
    seen = {"$or": [{OWNER: "alice"}, {"created_by": "system"}]}
    assert await ask("alice", "assistants", "read", {}) == seen
    assert await ask("alice", "assistants", "search", {}) == seen
    assert await ask("alice", "assistants", "update", {}) == {OWNER: "alice"}
    assert await ask("alice", "assistants", "delete", {}) == {OWNER: "alice"}


@pytest.mark.parametrize("action", ["create", "update"])
async def test_an_assistant_cannot_pass_for_the_server_s(either: bool, action: str) -> None:
    value = {"metadata": {"created_by": "system"}}
    answer = await refused("alice" if either else "", "assistants", action, value)
    assert (answer.status_code, "created_by" in answer.detail) == (422, True)


@pytest.mark.parametrize(
    ("who", "asked", "given"),
    [
        ("alice", ("notes",), ("owner:alice", "notes")),
        ("alice", (), ("owner:alice",)),
        ("alice", None, ("owner:alice",)),
        ("alice", ("owner:alice", "notes"), ("owner:alice", "notes")),
        ("alice", ("owner:bob:b", "notes"), ("owner:alice", "owner:bob:b", "notes")),
        ("bob.b", ("notes",), ("owner:bob:b", "notes")),
    ],
)
@pytest.mark.parametrize("action", ["put", "get", "search", "delete", "list_namespaces"])
async def test_store_items_are_below_their_owner(
    keys: bool, who: str, asked: Any, given: tuple[str, ...], action: str
) -> None:
    value = {"namespace": asked}
    await ask(who, "store", action, value)
    assert value["namespace"] == given


async def test_on_an_open_server_the_store_is_as_it_was(no_keys: bool) -> None:
    value = {"namespace": ("notes",)}
    await ask("", "store", "put", value)
    assert value["namespace"] == ("notes",)


async def test_every_run_on_a_thread_is_durable_whatever_was_asked(either: bool) -> None:
    kwargs: dict[str, Any] = {"durability": "exit"}
    await ask("alice" if either else "", "threads", "create_run", {"kwargs": kwargs})
    assert kwargs["durability"] == "sync"


@pytest.mark.parametrize(
    ("field", "kwargs"),
    [
        ("input", {"input": {"messages": "x" * 30_000}}),
        ("config.recursion_limit", {"config": {"recursion_limit": 10**9}}),
        ("webhook", {"webhook": "http://10.0.0.1/"}),
        ("context.api_key", {"context": {"api_key": "CANARY"}}),
    ],
)
async def test_what_no_run_may_ask_is_refused_however_it_is_asked(
    either: bool, field: str, kwargs: dict[str, Any]
) -> None:
    who = "alice" if either else ""
    for answer in (
        await refused(who, "threads", "create_run", {"kwargs": kwargs}),
        await refused(who, "crons", "create", {"payload": kwargs}),
        await refused(who, "crons", "update", {"payload": kwargs}),
    ):
        assert answer.status_code == 422
        assert answer.detail.startswith(f"{field} ")
        assert "CANARY" not in answer.detail


@pytest.mark.parametrize("action", ["create", "update"])
async def test_an_assistant_keeps_no_secret_no_endless_run_and_no_endless_text(
    either: bool, action: str
) -> None:
    who = "alice" if either else ""
    config: dict[str, Any] = {"configurable": {"apiKey": "CANARY"}}
    assert (await refused(who, "assistants", action, {"config": config})).status_code == 422
    config = {"recursion_limit": 10**9}
    assert (await refused(who, "assistants", action, {"config": config})).status_code == 422
    endless = {"description": "x" * 9_000}
    assert (await refused(who, "assistants", action, endless)).detail.startswith("description ")


async def test_a_new_kind_of_resource_is_closed_until_it_has_a_rule(either: bool) -> None:
    allowed = await ask("alice" if either else "", "planets", "read", {})
    assert allowed is not either


async def test_whether_a_thread_may_be_changed_is_said_without_a_pause(keys: bool) -> None:
    """The server keeps the thread's place in its list meanwhile, and then changes what is there."""
    with pytest.raises(StopIteration) as said:
        ask("alice", "threads", "update", {"metadata": {"title": "t"}}).send(None)
    assert said.value.value == {OWNER: "alice"}
