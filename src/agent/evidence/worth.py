"""Rank passages by the words and figures that they share with what is to be judged."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush, nsmallest

_SHOWN, _MOST_RANKED = 0.3, 40
"""What a word or a figure is worth that another one has shown already; passages that are ranked."""


class Worth:
    """Tell what passages bring to who judges a statement: less of what is shown already."""

    def __init__(self, of: Callable[[int], float]) -> None:
        """Begin with nothing brought; `of` is what a passage's words weigh by its source."""
        self.of = of
        self._brought = list[tuple[float, Sequence[int]]]()
        self._worth = defaultdict[int, float](float)
        self._left = dict[int, list[int]]()
        """Of those that may be shown, the words and figures that each has."""

    def bring(self, weight: float, places: Sequence[int]) -> None:
        """Add a word or a figure, and the passages that have it."""
        self._brought.append((weight, places))
        for place in places:
            self._worth[place] += weight

    def rank(self, place: int) -> tuple[float, int]:
        """Return what sorts a passage: what is worth most beside those shown is the least."""
        has = self._left.get(place)
        worth = (
            self._worth.get(place, 0.0) if has is None else sum(self._brought[at][0] for at in has)
        )
        return -worth * self.of(place), place

    def most(self, picked: Sequence[int]) -> list[int]:
        """Return the passage that has most, of whichever source, unless it is picked."""
        best = min(self._worth, key=lambda place: (-self._worth[place], place), default=None)
        return [] if best is None or best in picked else [best]

    def take(self, place: int) -> None:
        """Count what a passage has as shown."""
        for at in self._left.get(place, ()):
            weight, places = self._brought[at]
            self._brought[at] = weight * _SHOWN, places

    def best_first(self, picked: Sequence[int], least: float) -> Iterator[int]:
        """Yield the passages that may decide it beside those picked; whoever shows one takes it."""
        ranked = [self.rank(place) for place in self._worth]
        least *= min(ranked, default=(0, 0))[0]
        queue = nsmallest(_MOST_RANKED, (it for it in ranked if it[1] not in picked))
        self._left = {place: [] for place in [*picked, *(place for _, place in queue)]}
        for at, (_, places) in enumerate(self._brought):
            for place in self._left.keys() & places:
                self._left[place].append(at)
        for place in picked:
            self.take(place)
        while queue:
            # Worths only fall: what is still worth as much as the next was, is the best.
            best = self.rank(heappop(queue)[1])
            if queue and best > queue[0]:
                heappush(queue, best)
            elif best[0] > least:
                return
            else:
                yield best[1]
