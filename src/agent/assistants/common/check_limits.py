"""What the limits of a check leave undone: how long it takes, and what nobody judged, and why."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.statements import Key, Statement
from agent.texts import Language, say

log = logging.getLogger(__name__)
_LATE = 4
"""How many times as long as a reader waits for the judge its verdicts still correct the message."""
Cause = Literal["late", "beyond", "unanswered", "unpaid"]
CAUSES: tuple[Cause, ...] = ("late", "beyond", "unanswered", "unpaid")
"""Why nobody judged a statement: too slow, too much text, no word of the model, no budget."""


@dataclass
class Judged:
    """How far the judging of a text has come, by the keys of its statements."""

    asked: set[Key] = field(default_factory=set)
    heard: set[Key] = field(default_factory=set)
    """Of these a call has come back, with a ruling or without."""
    failed: set[Key] = field(default_factory=set)
    """What no judge could be asked about."""
    unpaid: set[Key] = field(default_factory=set)
    """Of those, for want of budget."""

    def forget(self, keys: Collection[Key]) -> None:
        """Have statements asked about anew."""
        for every in (self.asked, self.heard, self.failed, self.unpaid):
            every.difference_update(keys)

    @property
    def is_nothing(self) -> bool:
        """Return whether no call has come to anything."""
        return bool(self.asked) and self.asked <= self.failed

    def left(self, statements: Sequence[Statement], outcomes: Sequence[Outcome],
             ruled: Collection[Key]) -> dict[Cause, int]:  # fmt: skip
        """Return how many statements nobody judged, by the cause; no cause that there is not."""
        pairs = zip(statements, outcomes, strict=False)
        open_ = [one.key for one, its in pairs if its.verdict == "unchecked"]
        left = [key for key in open_ if key not in ruled]
        if not ruled:
            # A model that has ruled on nothing is none that judges.
            left = [key for key in left if key not in self.heard or key in self.failed]
        causes = Counter[Cause](map(self._cause, left))
        # What a record proves otherwise was judged by nobody, either.
        causes["late"] = sum(one.key in self.asked - self.heard for one in statements)
        return {cause: causes[cause] for cause in CAUSES if causes[cause]}

    def _cause(self, key: Key) -> Cause:
        if key in self.unpaid:
            return "unpaid"
        if key not in self.asked:
            return "beyond"
        return "unanswered" if key in self.failed | self.heard else "late"


def unchecked_note(left: dict[Cause, int], language: Language) -> str:
    """Return how many statements were not checked, and why."""
    causes = (say(f"answer.unchecked_{cause}", language) for cause in left)
    why = say("punctuation.comma", language).join(causes)
    return say("answer.some_not_checked", language, n=sum(left.values()), why=why) if left else ""


async def ended(
    work: Iterable["asyncio.Task[None]"],
    seconds: float,
    late: Callable[[], None],
    *,
    longer: bool,
) -> None:
    """Wait for work, tell when it is late, and give it up when it is far too late."""
    left: set[asyncio.Task[None]] = set(work)
    if left:
        left = (await asyncio.wait(left, timeout=seconds))[1]
    if left:
        late()
        if not longer:
            return
        left = (await asyncio.wait(left, timeout=seconds * (_LATE - 1)))[1]
    for task in left:
        task.cancel()
    if left:
        log.info("%d calls of the judge were too slow", len(left))
