"""Keep what a person asks of a run while it goes on, until its turn ends.

A wish is written by whoever serves the person and read by the process that works on the run, at
each of its steps; both survive a killed process.
"""

import time
from collections.abc import Callable
from typing import Literal

from typing_extensions import TypedDict

from agent.core.errors import InputError
from agent.runs.sql import KEEP_SECONDS, Place, Tables, open_database

MOST_WISHES = 10
"""Of one turn."""
LONGEST_WISH = 500
"""Characters."""
SCHEMA = """CREATE TABLE IF NOT EXISTS wishes (
    turn_id TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, thread_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL, PRIMARY KEY (turn_id, kind, text)
)"""


class Wish(TypedDict):
    """One thing that a person asks of a run: to look at something as well, or no more."""

    kind: Literal["wish", "drop"]
    text: str


class WishBox:
    """Keep the wishes of turns that go on, at most seven days."""

    def __init__(self, where: Place, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._database = open_database(where, self._prepare)

    def _prepare(self, tables: Tables) -> None:
        tables.execute(SCHEMA)
        tables.execute("DELETE FROM wishes WHERE at < ?", (self._clock() - KEEP_SECONDS,))

    async def put(self, thread_id: str, turn_id: str, wish: Wish) -> int:
        """Keep a wish, once; return how many more the turn takes.

        Raises InputError where there are too many, StoreFailed where it cannot be kept.
        """
        row = (turn_id, wish["kind"], wish["text"], thread_id, self._clock())

        def work(db: Tables) -> int:
            earlier = _wishes(db, turn_id)
            if wish in earlier:
                return MOST_WISHES - len(earlier)
            if len(earlier) >= MOST_WISHES:
                raise InputError(
                    wish["kind"], f"there are {MOST_WISHES} already, the most of a run"
                )
            db.execute("INSERT INTO wishes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            return MOST_WISHES - len(earlier) - 1

        return await self._database.run(work)

    async def of(self, turn_id: str) -> list[Wish]:
        """Return the wishes of a turn in the order in which they came."""
        return await self._database.run(lambda db: _wishes(db, turn_id))

    async def forget(self, turn_id: str) -> None:
        """Forget a turn that has ended."""
        await self._database.run(
            lambda db: db.execute("DELETE FROM wishes WHERE turn_id = ?", (turn_id,))
        )

    async def aclose(self) -> None:
        await self._database.aclose()


def _wishes(db: Tables, turn_id: str) -> list[Wish]:
    rows = db.execute("SELECT kind, text FROM wishes WHERE turn_id = ? ORDER BY at", (turn_id,))
    return [Wish(kind=kind, text=text) for kind, text in rows]
