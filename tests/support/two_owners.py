"""Two owners of one server, and everything the second tries with what is the first's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

ALICE, BOB = "alice-key-0123456789abcdef", "bob-key-0123456789abcdefgh"
KEYS = {"TANLU_API_KEYS": f"alice:{ALICE},bob:{BOB}"}
SECRET = "ALICES-OWN-WORDS"
_ASK = {"assistant_id": "probe", "input": {"messages": "bob"}}
_BAD = {"context": {"max_research_loops": 99}}
_THREAD, _RUN = "/threads/{thread}", "/threads/{busy}/runs/{live}"


@dataclass(frozen=True)
class Attempt:
    """A request; `{thread}` and the like stand for ids."""

    name: str
    method: str
    path: str
    body: Any = None
    makes: bool = False
    """Whether with an id that nobody has, it makes something of one's own."""

    def filled(self, ids: Mapping[str, str]) -> dict[str, Any]:
        text = json.dumps([self.method, self.path, self.body])
        for name, value in ids.items():
            text = text.replace(f"{{{name}}}", value)
        method, url, body = json.loads(text)
        return {"method": method, "url": url, "json": body}


def _read(name: str, path: str) -> Attempt:
    return Attempt(name, "GET", path)


def _send(name: str, path: str, body: Any = None, *, makes: bool = False) -> Attempt:
    return Attempt(name, "POST", path, body, makes)


def _command(method: str, **params: Any) -> dict[str, Any]:
    return {"id": 1, "method": method, "params": params}


ATTEMPTS = [
    _read("read the thread", _THREAD),
    _read("read its state", f"{_THREAD}/state"),
    _read("read its history", f"{_THREAD}/history"),
    _send("search its history", f"{_THREAD}/history", {"limit": 10}),
    _send("read a checkpoint", f"{_THREAD}/state/checkpoint", {"checkpoint": {}}),
    _read("list its runs", f"{_THREAD}/runs"),
    _read("read a run", _RUN),
    _read("stream a run", f"{_RUN}/stream"),
    _read("join a run", f"{_RUN}/join"),
    _send("steer its run", "/threads/{busy}/steer", {"wish": "bob's wish"}),
    _read("stream the thread", "/threads/{busy}/stream"),
    _send("stream its events", "/threads/{busy}/stream/events", {"channels": ["values"]}),
    _send("run on it", f"{_THREAD}/runs", _ASK),
    _send("run on it and wait", f"{_THREAD}/runs/wait", _ASK),
    _send("run on it and stream", f"{_THREAD}/runs/stream", _ASK),
    _send("run on it even if it is not there", f"{_THREAD}/runs",
          {**_ASK, "if_not_exists": "create"}, makes=True),
    _send("start a run by a command", f"{_THREAD}/commands", _command("run.start", **_ASK),
          makes=True),
    _send("answer its pause", f"{_THREAD}/commands",
          _command("input.respond", interrupt_id="i", response=1)),
    _send("make it anew", "/threads", {"thread_id": "{thread}"}, makes=True),
    _send("make it anew if it is not there", "/threads",
          {"thread_id": "{thread}", "if_exists": "do_nothing"}, makes=True),
    _send("run at times on it", f"{_THREAD}/runs/crons", {**_ASK, "schedule": "0 0 1 1 *"}),
    _send("cancel a run", f"{_RUN}/cancel"),
    _send("roll a run back", f"{_RUN}/cancel?action=rollback"),
    _send("cancel runs by id", "/runs/cancel", {"thread_id": "{busy}", "run_ids": ["{live}"]}),
    Attempt("delete a run", "DELETE", _RUN),
    _send("write its state", f"{_THREAD}/state", {"values": {"calls": ["bob"]}}),
    Attempt("change its metadata", "PATCH", _THREAD, {"metadata": {"note": "bob"}}),
    _send("copy it", f"{_THREAD}/copy"),
    _send("prune it", "/threads/prune", {"thread_ids": ["{thread}"]}),
    Attempt("delete it", "DELETE", _THREAD),
    Attempt("delete it while it is busy", "DELETE", "/threads/{busy}"),
    _read("read the assistant", "/assistants/{assistant}"),
    _read("read its schemas", "/assistants/{assistant}/schemas"),
    _read("draw it", "/assistants/{assistant}/graph"),
    _send("read its versions", "/assistants/{assistant}/versions", {}),
    _send("set its version", "/assistants/{assistant}/latest", {"version": 1}),
    _send("run it", "/runs/wait", {**_ASK, "assistant_id": "{assistant}"}),
    _send("run it with what it would not take", "/runs/wait",
          {**_ASK, "assistant_id": "{variant}", **_BAD}),
    Attempt("give it what it would not take", "PATCH", "/assistants/{variant}", _BAD),
    Attempt("give the cron what it would not take", "PATCH", "/runs/crons/{cron}", _BAD),
    Attempt("change it", "PATCH", "/assistants/{assistant}", {"name": "bob"}),
    Attempt("delete the assistant", "DELETE", "/assistants/{assistant}"),
    _send("make the assistant anew", "/assistants",
          {"assistant_id": "{assistant}", "graph_id": "probe", "if_exists": "do_nothing"},
          makes=True),
    _read("read the cron", "/runs/crons/{cron}"),
    Attempt("change the cron", "PATCH", "/runs/crons/{cron}", {"enabled": False}),
    Attempt("delete the cron", "DELETE", "/runs/crons/{cron}"),
    _read("export the places", "/app/runs/{thread}/places.geojson"),
    _read("export the track", "/app/runs/{thread}/places.gpx"),
    _read("export the report", "/app/runs/{thread}/report.html"),
    _read("export the answer", "/app/runs/{thread}/answer.md"),
    _read("read the suggestions", "/app/runs/{thread}/suggestions/0"),
]  # fmt: skip

BY_OWN_THREAD = [
    _read("read a run", _RUN),
    _read("join a run", f"{_RUN}/join"),
    _read("join a run and cancel it when gone", f"{_RUN}/join?cancel_on_disconnect=true"),
    _read("stream a run", f"{_RUN}/stream?cancel_on_disconnect=true"),
    _send("cancel a run", f"{_RUN}/cancel?wait=true"),
    _send("roll a run back", f"{_RUN}/cancel?action=rollback&wait=true"),
    _send("cancel runs by id", "/runs/cancel", {"thread_id": "{busy}", "run_ids": ["{live}"]}),
    Attempt("delete a run", "DELETE", _RUN),
    Attempt("delete a run that has ended", "DELETE", "/threads/{busy}/runs/{run}"),
]

LISTS = [
    _send("search threads", "/threads/search", {"limit": 100}),
    _send("search threads by id", "/threads/search", {"ids": ["{thread}", "{busy}"]}),
    _send("search threads by words", "/threads/search", {"metadata": {"note": SECRET}}),
    _send("search threads as the owner", "/threads/search", {"metadata": {"tanlu_owner": "alice"}}),
    _send("search assistants", "/assistants/search", {"metadata": {"note": SECRET}}),
    _send("search crons", "/runs/crons/search", {}),
    _send("search all items", "/store/items/search", {"namespace_prefix": []}),
    _send("search items", "/store/items/search", {"namespace_prefix": ["notes"]}),
    _send("search items as the owner", "/store/items/search",
          {"namespace_prefix": ["owner:alice", "notes"]}),
    _send("list namespaces", "/store/namespaces", {}),
    _send("list namespaces as the owner", "/store/namespaces", {"prefix": ["owner:alice"]}),
    _read("get an item", "/store/items?namespace=notes&key=k"),
    _read("get an item as the owner", "/store/items?namespace=owner:alice.notes&key=k"),
    _send("cancel all runs", "/runs/cancel", {"status": "all"}),
    Attempt("delete an item", "DELETE", "/store/items", {"namespace": ["notes"], "key": "k"}),
    Attempt("delete an item as the owner", "DELETE", "/store/items",
            {"namespace": ["owner:alice", "notes"], "key": "k"}),
    Attempt("put an item as the owner", "PUT", "/store/items",
            {"namespace": ["owner:alice", "notes"], "key": "k", "value": {"v": "bob"}}),
]  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What came back, without the ids that were asked for."""

    status: int
    text: str


async def answer_to(http: httpx.AsyncClient, attempt: Attempt, ids: Mapping[str, str]) -> Answer:
    reply = await http.request(**attempt.filled(ids))
    text = reply.text
    for name, value in ids.items():
        text = text.replace(value, f"<{name}>")
    return Answer(reply.status_code, text)


def _question(words: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": words}]}


@dataclass
class Belongings:
    """What one owner has on a server."""

    client: LangGraphClient
    ids: dict[str, str] = field(default_factory=dict)

    async def make(self) -> None:
        """A thread with words on it, one where a run is held, an assistant, an item, a cron."""
        client, metadata = self.client, {"note": SECRET}
        ask = _question(SECRET)
        thread = await client.threads.create(metadata=metadata)
        run = await client.runs.create(thread["thread_id"], "probe", input=ask)
        await client.runs.join(thread["thread_id"], run["run_id"])
        assistant = await client.assistants.create("probe", name=SECRET, metadata=metadata)
        await client.store.put_item(["notes"], "k", {"v": SECRET})
        ours = await client.assistants.create("agent", name=SECRET, metadata=metadata)
        variant = ours["assistant_id"]
        cron: Any = await client.crons.create(variant, schedule="0 0 1 1 *", input=ask)
        self.ids.update(
            thread=thread["thread_id"],
            run=run["run_id"],
            assistant=assistant["assistant_id"],
            variant=variant,
            cron=cron["cron_id"],
        )

    async def hold(self, words: str) -> None:
        """A run that the probe service holds."""
        ask = _question(words)
        busy = await self.client.threads.create()
        live = await self.client.runs.create(busy["thread_id"], "probe", input=ask)
        self.ids.update(busy=busy["thread_id"], live=live["run_id"])

    async def all(self) -> dict[str, Any]:
        """Everything of it, as its owner sees it."""
        client, ids = self.client, self.ids
        threads = [ids["thread"], ids["busy"]]
        return {
            "threads": await client.threads.search(limit=100, sort_by="thread_id"),
            "states": [await client.threads.get_state(thread) for thread in threads],
            "history": [await client.threads.get_history(thread, limit=50) for thread in threads],
            "runs": [await client.runs.list(thread, limit=50) for thread in threads],
            "versions": await client.assistants.get_versions(ids["assistant"]),
            "items": await client.store.search_items(["notes"]),
            "crons": await client.crons.search(),
        }
