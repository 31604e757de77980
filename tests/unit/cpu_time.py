"""The CPU time of a piece of work, whatever else this machine and this test run do."""

import gc
import time
from collections.abc import Callable, Iterator

TRIES = 3


def takes_less(work: Callable[[], object], seconds: float) -> bool:
    """Return whether one of three tries takes less CPU time than this; the others are left out."""
    return any(taken < seconds for taken in _tries(work))


def _tries(work: Callable[[], object]) -> Iterator[float]:
    """Yield the CPU seconds of each try, without the garbage of the test run."""
    for _ in range(TRIES):
        gc.disable()
        try:
            began = time.thread_time()
            work()
            taken = time.thread_time() - began
        finally:
            gc.enable()
        yield taken
