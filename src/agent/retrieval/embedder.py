"""What all embedders share: batches, the account, and vectors that can be relied on."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent.budget import Budget, Limits, Meter
from agent.calls import Calls, Policy
from agent.errors import AgentError, MalformedReply
from agent.retrieval.remote import Batches, sendable

MAX_TEXT = 6000
"""Characters of a text that are embedded; a chunk of the knowledge base has far fewer."""
_EMPTY = "."
"""Stands for an empty text, which services refuse."""


@dataclass(frozen=True)
class Embedded:
    """Vectors in the order of the texts; `tokens` None where the service does not say."""

    vectors: list[list[float]]
    tokens: int | None = None
    cost_usd: float | None = 0.0


@dataclass(frozen=True)
class ModelChoice:
    """A model by the service's name for it; `dimensions` None leaves their number to it."""

    service: str
    name: str
    dimensions: int | None

    @property
    def kept_as(self) -> str:
        """What is stored with the vectors; those of different ones are never compared."""
        size = f"@{self.dimensions}" if self.dimensions else ""
        return f"{self.service}:{self.name}{size}"


class BatchEmbedder(ABC):
    """Implements Embedder; a subclass asks its service for one batch."""

    batch: int

    def __init__(self, choice: ModelChoice, calls: Calls, *, timeout: float) -> None:
        self.choice = choice
        self.model = choice.kept_as
        self._calls = calls
        self._timeout = timeout
        self._batches = Batches(self.batch)
        self._dimensions = choice.dimensions

    async def embed(
        self, texts: Sequence[str], *, meter: Meter, query: bool = False
    ) -> list[list[float]]:
        """Unit vectors in the order of the texts; raises ProviderError, BudgetExceeded.

        A query is paid for once in a turn; documents are kept by the store instead.
        """
        sent = [sendable(text, MAX_TEXT).strip() or _EMPTY for text in texts]

        async def ask(batch: Sequence[str]) -> list[list[float]]:
            found = await self._query(batch, meter) if query else await self._new(batch, meter)
            return found.vectors

        return await self._batches.run(sent, ask)

    async def health(self) -> dict[str, Any]:
        """{provider, configured, works, message} after embedding one word."""
        report: dict[str, Any] = {"provider": self.model, "configured": True}
        meter = Budget("probe", Limits(0, 0, 0, 1_000_000, self._timeout, 0)).meter()
        try:
            found = await self._new(["battery"], meter)
        except AgentError as error:
            return {**report, "works": False, "message": error.message}
        return {**report, "works": True, "message": f"{len(found.vectors[0])} dimensions"}

    @abstractmethod
    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        """One request for one batch, as the service answers it; raises ProviderError."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections of every event loop."""

    @property
    def policy(self) -> Policy:
        provider = f"embed:{self.choice.service}"
        return Policy(provider, None, timeout=self._timeout, base_delay=0.2, breaker=True)

    async def _new(self, texts: Sequence[str], meter: Meter) -> Embedded:
        async def send() -> Embedded:
            found = await self.ask(texts, query=False)
            _record(found, meter)
            return Embedded(self._checked(found.vectors, len(texts)), found.tokens, found.cost_usd)

        return await self._calls.call(self.policy, send, meter=meter)

    async def _query(self, texts: Sequence[str], meter: Meter) -> Embedded:
        paid = False

        async def send() -> str:
            nonlocal paid
            found = await self.ask(texts, query=True)
            _record(found, meter)
            paid = True
            vectors = self._checked(found.vectors, len(texts))
            return json.dumps(asdict(Embedded(vectors, found.tokens, found.cost_usd)))

        request = {"model": self.model, "texts": list(texts)}
        known = Embedded(
            **json.loads(await self._calls.once(self.policy, send, meter=meter, request=request))
        )
        if not paid:
            # A step repeated after a crash still owns what its first life paid.
            _record(known, meter)
        return known

    def _checked(self, vectors: Sequence[Sequence[float]], count: int) -> list[list[float]]:
        """As many unit vectors as texts, all as long as the first this process saw."""
        if len(vectors) != count:
            raise self._malformed(f"{len(vectors)} vectors for {count} texts")
        expected = self._dimensions or len(vectors[0])
        if wrong := next((v for v in vectors if len(v) != expected), None):
            raise self._malformed(
                f"a vector has {len(wrong)} dimensions instead of {expected}", "embed_dimensions"
            )
        units = [self._unit(vector) for vector in vectors]
        self._dimensions = expected
        return units

    def _unit(self, vector: Sequence[float]) -> list[float]:
        try:
            norm = math.sqrt(math.fsum(value * value for value in vector))
        except (TypeError, OverflowError, ValueError):
            norm = math.nan
        if not math.isfinite(norm) or norm == 0:
            raise self._malformed("a vector is zero or has values that are no numbers")
        return [value / norm for value in vector]

    def _malformed(self, what: str, code: str | None = None) -> MalformedReply:
        return MalformedReply(f"embed:{self.choice.service}", f"{self.model}: {what}", code=code)


def _record(found: Embedded, meter: Meter) -> None:
    meter.record(input_tokens=found.tokens or 0, cost_usd=found.cost_usd)
