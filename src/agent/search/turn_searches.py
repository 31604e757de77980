"""Pay for a search once in a turn, however it is worded."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from agent.core.budget import Budget, Meter
from agent.core.concurrency import SingleFlight
from agent.evidence.queries import same_search

T = TypeVar("T")


class TurnSearches:
    """Send a search once in a turn: one that asks the same in other words gets its result.

    A failed search is none; whoever asks again sends the words of the first.
    """

    def __init__(self, *, operators: bool = True) -> None:
        self._operators = operators
        self._flights = SingleFlight()
        self._of_turns: WeakKeyDictionary[Budget, dict[str, dict[int, Any]]] = WeakKeyDictionary()

    async def do(
        self, query: str, count: int, meter: Meter, send: Callable[[str], Coroutine[Any, Any, T]]
    ) -> T:
        """Return what `send` brings for these words, or for those of an equal search before."""
        searches = self._of_turns.setdefault(meter.budget, {})
        words = next((each for each in searches if self._same(each, query)), query)
        results = searches.setdefault(words, {})
        if count not in results:
            key = f"{id(meter.budget)} {count} {words}"
            results[count] = await self._flights.do(key, lambda: send(words))
        result: T = results[count]
        return result

    def _same(self, one: str, other: str) -> bool:
        return one == other or same_search(one, other, operators=self._operators)
