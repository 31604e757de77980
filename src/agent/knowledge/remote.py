"""Share addresses, errors and batches between the servers that rank and embed."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from pydantic import SecretStr

from agent.core.calls import Policy
from agent.core.concurrency import together
from agent.core.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.search.http import SearchHttp, error_message

T = TypeVar("T")
R = TypeVar("R")
AskService = Callable[[Sequence[T]], Coroutine[Any, Any, list[R]]]
MAX_REPLY = 64 << 20
"""Bytes; a hundred vectors of 3,072 numbers are some six million."""
_TOO_MUCH = (413, 422)
_FAILED = 424
_TOO_LARGE = frozenset({"too_large", "model_bad_request", "model_context"})
"""Codes of refusals that fewer texts at once may avoid."""


@dataclass(frozen=True)
class Server:
    """Hold a server by its full address; `variable` is the setting that names it."""

    provider: str
    variable: str
    url: str
    key: SecretStr | None
    timeout: float

    @property
    def policy(self) -> Policy:
        """Return the policy of a call that is not counted as a search."""
        return Policy(
            self.provider,
            spends=None,
            timeout=self.timeout,
            attempts=2,
            base_delay=0.1,
            breaker=True,
        )

    async def post(self, http: SearchHttp, body: dict[str, Any]) -> Any:
        """Return the JSON the server answers with; raise ProviderError."""
        headers = {"Authorization": f"Bearer {self.key.get_secret_value()}"} if self.key else None
        try:
            return await http.post(
                self.provider,
                self.url,
                body,
                headers=headers,
                refine=self._refine,
                only_objects=False,
            )
        except ProviderRefused as error:
            raise self._labelled(error) from None

    def _refine(self, status: int, body: Any) -> ProviderError | None:
        message = f"HTTP {status}: {error_message(body)}".rstrip(": ")
        if status in _TOO_MUCH or (status == 400 and "batch" in message.lower()):
            return ProviderRefused(self.provider, message, code="too_large")
        if status == _FAILED:
            return ProviderUnavailable(self.provider, message)
        return None

    def _labelled(self, error: ProviderRefused) -> ProviderRefused:
        """Return the same with our setting's name, in words that fit more than searches."""
        message = error.message.replace(f"{self.provider.upper()}_BASE_URL", self.variable)
        code = error.code.replace("search_", "server_")
        return ProviderRefused(self.provider, message, code=code)


class Batches:
    """Ask for many texts in batches, several at once; a batch refused as too large is halved."""

    def __init__(self, size: int, *, at_once: int = 4) -> None:
        self.size = size
        self._at_once = at_once

    async def run(self, texts: Sequence[T], ask: "AskService[T, R]") -> list[R]:
        """Return one result for each text, in their order; the first error ends it all."""
        free = asyncio.Semaphore(self._at_once)

        async def asked(batch: Sequence[T]) -> list[R]:
            async with free:
                return await self._fitting(batch, ask)

        batches = [texts[at : at + self.size] for at in range(0, len(texts), self.size)]
        results_by_batch = await together([asked(batch) for batch in batches])
        return [result for results in results_by_batch for result in results]

    async def _fitting(self, batch: Sequence[T], ask: "AskService[T, R]") -> list[R]:
        try:
            return await ask(batch)
        except ProviderRefused as error:
            if error.code not in _TOO_LARGE or len(batch) < 2:
                raise
        half = (len(batch) + 1) // 2
        results = [*await self._fitting(batch[:half], ask), *await self._fitting(batch[half:], ask)]
        # Both halves went through: it was the size, not one of the texts.
        self.size = min(self.size, half)
        return results


def sendable(text: str, limit: int) -> str:
    """Return at most `limit` characters that UTF-8 can say; half a surrogate pair becomes `?`."""
    return text[:limit].encode("utf-8", "replace").decode()


def is_number(value: Any) -> TypeGuard[float]:
    """Tell whether a value of a reply is a finite number."""
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
