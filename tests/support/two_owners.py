"""Two owners of one server, and the requests that the second tries with what is the first's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

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
