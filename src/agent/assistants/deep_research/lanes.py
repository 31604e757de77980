"""How many topics of a turn are read and compressed at once."""

import asyncio
import threading


class Lanes:
    """One gate a turn and event loop, shared by parallel branches; gone with the report."""

    def __init__(self) -> None:
        self._gates: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._lock = threading.Lock()

    def of(self, turn_id: str, width: int) -> asyncio.Semaphore:
        """The gate of this turn; it lets `width` branches in."""
        key = (turn_id, id(asyncio.get_running_loop()))
        with self._lock:
            return self._gates.setdefault(key, asyncio.Semaphore(width))

    def close(self, turn_id: str) -> None:
        with self._lock:
            for key in [key for key in self._gates if key[0] == turn_id]:
                del self._gates[key]
