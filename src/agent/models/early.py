"""Write a reply before it is known whether it is wanted, beside the call that decides it.

LangGraph's steps end together, so what is written beside one step and read in a later one is a
task of the process, kept here by its turn. Nothing of it is in the state: a process that goes on
with a run finds none, and asks as if there had been none.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from agent.core.budget import Meter
from agent.models.streaming import ReadAhead

Texts = Callable[[Meter], AsyncGenerator[str, None]]
_KEPT_SECONDS = 60.0
"""For the next step to take a reply up: a run that was cancelled between the two never does."""


class EarlyReply:
    """Hold a reply that may be begun early: `begin` it, and `keep` it where it is wanted."""

    def __init__(self, key: str, texts: Texts, meter: Meter, has_room: Callable[[], bool]) -> None:
        self.key, self.meter = key, meter
        self.reading: ReadAhead | None = None
        self.is_kept = False
        self._texts, self._has_room = texts, has_room

    def begin(self) -> None:
        """Begin to write, once, where that takes no other call's place."""
        if self.reading is None and self._has_room():
            self.reading = ReadAhead(self._texts(self.meter))

    def keep(self) -> None:
        """Leave it to the step that asks for it."""
        self.is_kept = self.reading is not None

    async def end(self, meter: Meter) -> None:
        """End the writing where it is not over; `meter` owns what it has cost."""
        if self.reading is not None:
            await self.reading.aclose()
            meter.own(self.meter)


class EarlyReplies:
    """Hold the early replies of a process: one a turn, on the loop that it was begun on."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], EarlyReply] = {}

    @asynccontextmanager
    async def beside(self, early: EarlyReply, meter: Meter) -> AsyncIterator[EarlyReply]:
        """Hold a reply for as long as the step lasts that decides of it, longer where it is kept.

        What was begun and is not wanted ends with the step, also where that fails or is cancelled.
        """
        try:
            yield early
        except BaseException:
            early.is_kept = False
            raise
        finally:
            if early.is_kept:
                self._keep(_place(meter), early)
            else:
                await early.end(meter)

    def _keep(self, place: tuple[str, int], early: EarlyReply) -> None:
        self._kept[place] = early
        asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._drop, place, early)

    def _drop(self, place: tuple[str, int], early: EarlyReply) -> None:
        if self._kept.get(place) is early:
            del self._kept[place]
            if early.reading is not None:
                early.reading.give_up()

    async def aclose(self) -> None:
        """End what nobody has taken up on this loop."""
        here = id(asyncio.get_running_loop())
        for place in [place for place in self._kept if place[1] == here]:
            if (reading := self._kept.pop(place).reading) is not None:
                await reading.aclose()

    @asynccontextmanager
    async def taken_up(self, key: str, meter: Meter) -> AsyncIterator[ReadAhead | None]:
        """Hold the turn's early reply to this very request; None where there is none that works.

        One to another request, or one that failed, ends here: the answer is asked for anew.
        """
        early = self._kept.pop(_place(meter), None)
        if early is None:
            yield None
            return
        reading = early.reading
        if early.key != key or (reading is not None and reading.has_failed):
            await early.end(meter)
            yield None
            return
        # From here on it may spend what is kept back for the answer.
        early.meter.answering = True
        try:
            yield reading
        finally:
            await early.end(meter)


def _place(meter: Meter) -> tuple[str, int]:
    return meter.turn_id, id(asyncio.get_running_loop())
