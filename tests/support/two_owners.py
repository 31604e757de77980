"""Two owners of one server, and everything the second tries with what is the first's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

from tests.support.rows import rows

ALICE, BOB = "alice-key-0123456789abcdef", "bob-key-0123456789abcdefgh"
KEYS = {"TANLU_API_KEYS": f"alice:{ALICE},bob:{BOB}"}
SECRET = "ALICES-OWN-WORDS"


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


def _attempts(name: str) -> list[Attempt]:
    own = [row for row in rows("two_owners") if row.pop("list") == name]
    return [Attempt(**row) for row in own]


ATTEMPTS, BY_OWN_THREAD, LISTS = map(_attempts, ("attempts", "by_own_thread", "lists"))


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
