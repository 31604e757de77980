"""Keep a fault where it happens: one page, one reply, one file, one step after an answer.

A fault is an exception that nobody meant, such as a KeyError on a reply of an unknown form. It is
logged with its traceback here, and nowhere else. Cancellation passes, and what the house raises on
purpose.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from agent.core.errors import AgentError, MalformedReply, StoreFailed

T = TypeVar("T")
log = logging.getLogger(__name__)
MEANT = (AgentError, StoreFailed, TimeoutError)


def malformed(part: str, problem: str) -> AgentError:
    """Return a fault in reading what a service sent as its failure."""
    return MalformedReply(part, problem)


@contextmanager
def contained(part: str, failure: Callable[[str, str], AgentError] = malformed) -> Iterator[None]:
    """Raise a fault within as `failure` of (part, problem), by default as its MalformedReply."""
    try:
        yield
    except MEANT:
        raise
    except Exception as error:
        log.exception("%s broke", part)
        raise failure(part, f"it could not be read ({type(error).__name__})") from error


def or_else(part: str, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return what the work does; where it fails, what to go on with. StoreFailed passes."""
    try:
        return work()
    except StoreFailed:
        raise
    except Exception as error:  # noqa: BLE001 - what is done already must survive it
        _told(part, error)
        return otherwise()


async def await_or_else(part: str, work: Awaitable[T], otherwise: Callable[[], T]) -> T:
    """Return what comes of the work, as `or_else` does."""
    try:
        return await work
    except StoreFailed:
        raise
    except Exception as error:  # noqa: BLE001 - what is done already must survive it
        _told(part, error)
        return otherwise()


def _told(part: str, error: Exception) -> None:
    if isinstance(error, MEANT):
        log.warning("%s failed: %s", part, error)
    else:
        log.exception("%s broke", part)
