"""Build the embedder of a process from EMBEDDING_MODEL; none unless it is set."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from google.genai.types import Content, EmbedContentConfig, Part
from pydantic import SecretStr

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import PerLoop
from agent.core.errors import AgentError, ConfigurationError, MalformedReply
from agent.core.strings import estimated_tokens, number_behind
from agent.knowledge.remote import MAX_REPLY, Batches, Server, sendable
from agent.models.catalogue import GOOGLE_EMBEDDINGS
from agent.models.connections import ClientPool, open_pool
from agent.models.errors import translate_errors
from agent.models.google import DEFAULT_URL
from agent.search.http import SearchHttp

MAX_TEXT = 6000
"""Characters of a text that are embedded; a chunk of the knowledge base has far fewer."""
_EMPTY = "."
"""Stands for an empty text, which services refuse."""


@dataclass(frozen=True)
class Embedded:
    """Hold vectors in the order of the texts; `tokens` None where the service does not say."""

    vectors: list[list[float]]
    tokens: int | None = None
    cost_usd: float | None = 0.0


@dataclass(frozen=True)
class ModelChoice:
    """Name an embedding model of a service.

    `dimensions` is the length of its vectors; None leaves that to the model.
    """

    service: str
    name: str
    dimensions: int | None

    @property
    def kept_as(self) -> str:
        """Return the name that is stored with the vectors.

        Those of different ones are never compared.
        """
        size = f"@{self.dimensions}" if self.dimensions else ""
        return f"{self.service}:{self.name}{size}"


class BatchEmbedder(ABC):
    """Turn texts into vectors; a subclass asks its service for one batch.

    `model` is kept with the vectors, so that those of two models are never mixed.
    """

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
        """Return unit vectors in the order of the texts; raise ProviderError, BudgetExceeded.

        A query is paid for once in a turn; documents are kept by the store instead.
        """
        prepared = [sendable(text, MAX_TEXT).strip() or _EMPTY for text in texts]

        async def ask(batch: Sequence[str]) -> list[list[float]]:
            embedded = await self._query(batch, meter) if query else await self._new(batch, meter)
            return embedded.vectors

        return await self._batches.run(prepared, ask)

    async def health(self) -> dict[str, Any]:
        """Return {provider, configured, works, message} after embedding one word."""
        report: dict[str, Any] = {"provider": self.model, "configured": True}
        meter = Budget("probe", Limits(0, 0, 0, 1_000_000, self._timeout, 0)).meter()
        try:
            embedded = await self._new(["battery"], meter)
        except AgentError as error:
            return {**report, "works": False, "message": error.message}
        return {**report, "works": True, "message": f"{len(embedded.vectors[0])} dimensions"}

    @abstractmethod
    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        """Return one request for one batch, as the service answers it; raises ProviderError."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections of every event loop."""

    @property
    def policy(self) -> Policy:
        provider = f"embed:{self.choice.service}"
        return Policy(provider, None, timeout=self._timeout, base_delay=0.2, breaker=True)

    async def _new(self, texts: Sequence[str], meter: Meter) -> Embedded:
        async def send() -> Embedded:
            embedded = await self.ask(texts, query=False)
            _record(embedded, meter)
            return Embedded(
                self._check_vectors(embedded.vectors, len(texts)),
                embedded.tokens,
                embedded.cost_usd,
            )

        return await self._calls.call(self.policy, send, meter=meter)

    async def _query(self, texts: Sequence[str], meter: Meter) -> Embedded:
        charged = False

        async def send() -> str:
            nonlocal charged
            embedded = await self.ask(texts, query=True)
            _record(embedded, meter)
            charged = True
            vectors = self._check_vectors(embedded.vectors, len(texts))
            return json.dumps(asdict(Embedded(vectors, embedded.tokens, embedded.cost_usd)))

        request = {"model": self.model, "texts": list(texts)}
        stored = Embedded(
            **json.loads(await self._calls.once(self.policy, send, meter=meter, request=request))
        )
        if not charged:
            # A step repeated after a crash still owns what its first life paid.
            _record(stored, meter)
        return stored

    def _check_vectors(self, vectors: Sequence[Sequence[float]], count: int) -> list[list[float]]:
        """Return as many unit vectors as texts, as long as the first of this process."""
        if len(vectors) != count:
            raise self._malformation(f"{len(vectors)} vectors for {count} texts")
        expected = self._dimensions or len(vectors[0])
        if wrong := next((v for v in vectors if len(v) != expected), None):
            raise self._malformation(
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
            raise self._malformation("a vector is zero or has values that are no numbers")
        return [value / norm for value in vector]

    def _malformation(self, what: str, code: str | None = None) -> MalformedReply:
        return MalformedReply(f"embed:{self.choice.service}", f"{self.model}: {what}", code=code)


def _record(embedded: Embedded, meter: Meter) -> None:
    meter.record(input_tokens=embedded.tokens or 0, cost_usd=embedded.cost_usd)


DIMENSIONS = 768
"""Of the 3,072 they have the first 768 do nearly as well, at a quarter of the space."""


class GoogleEmbedder(BatchEmbedder):
    """Call batchEmbedContents, with documents and queries told apart, as the models want it."""

    batch = 64

    def __init__(
        self, choice: ModelChoice, calls: Calls, *, url: str, key: SecretStr, timeout: float
    ) -> None:
        super().__init__(choice, calls, timeout=timeout)
        self._url, self._key = url, key
        self._pools: PerLoop[ClientPool] = PerLoop(self._open, ClientPool.aclose, ClientPool.drop)

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        inputs = [_input_of(self.choice.name, text, query=query) for text in texts]
        with translate_errors("embed:google", self.choice.name):
            pool = await self._pools.get()
            response = await pool.client.aio.models.embed_content(
                model=self.choice.name,
                # One content for each text: newer models make one vector of a list of strings.
                contents=[Content(parts=[Part(text=text)]) for text in inputs],
                config=_config(self.choice, query=query),
            )
        vectors = [embedding.values or [] for embedding in response.embeddings or ()]
        # The service does not say how many tokens it counted.
        tokens = sum(map(estimated_tokens, inputs))
        price = GOOGLE_EMBEDDINGS.get(self.choice.name)
        return Embedded(vectors, tokens, None if price is None else tokens * price / 1_000_000)

    async def aclose(self) -> None:
        await self._pools.aclose()

    async def _open(self) -> ClientPool:
        return await open_pool(self._url, self._key)


def _config(choice: ModelChoice, *, query: bool) -> EmbedContentConfig:
    task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
    return EmbedContentConfig(
        output_dimensionality=choice.dimensions,
        task_type=None if _takes_prefixes(choice.name) else task,
    )


def _input_of(model: str, text: str, *, query: bool) -> str:
    """Return the text, with its task in front where the model knows no task types."""
    if not _takes_prefixes(model):
        return text
    return f"task: search result | query: {text}" if query else f"title: none | text: {text}"


def _takes_prefixes(model: str) -> bool:
    """Tell whether a model takes prefixes (from gemini-embedding-2 on) instead of task types."""
    return (number_behind(model, "gemini-embedding-") or 0) > 1


_TEI_BATCH = 32
_OPENAI_BATCH = 64


class HttpEmbedder(BatchEmbedder):
    """Embed by one POST to a service; a subclass knows the body and the place of the vectors."""

    def __init__(self, choice: ModelChoice, calls: Calls, server: Server) -> None:
        super().__init__(choice, calls, timeout=server.timeout)
        self._server = server
        self._http = SearchHttp(timeout=server.timeout, max_bytes=MAX_REPLY)

    async def aclose(self) -> None:
        await self._http.aclose()

    def _vectors(self, reply: Any) -> list[list[float]]:
        if not isinstance(reply, list) or not all(isinstance(row, list) for row in reply):
            raise MalformedReply(self._server.provider, "the reply is no list of vectors")
        return reply


class OpenAIEmbedder(HttpEmbedder):
    """POST {base}/embeddings; only the bill says the cost."""

    batch = _OPENAI_BATCH

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        size = {"dimensions": self.choice.dimensions} if self.choice.dimensions else {}
        body = {"model": self.choice.name, "input": list(texts), "encoding_format": "float", **size}
        reply = await self._server.post(self._http, body)
        fields = reply if isinstance(reply, Mapping) else {}
        cost = None if self._server.key else 0.0
        return Embedded(self._vectors(self._in_order(fields.get("data"))), _tokens(fields), cost)

    def _in_order(self, rows: Any) -> Any:
        """Return the vectors by their `index`; services need not keep the order."""
        try:
            by_index = {int(row["index"]): row["embedding"] for row in rows}
            return [by_index[at] for at in range(len(rows))]
        except (TypeError, KeyError, ValueError):
            raise MalformedReply(
                self._server.provider, "the reply has no vector for each text"
            ) from None


class TeiEmbedder(HttpEmbedder):
    """POST {url}/embed; the server has one model, whatever its name here."""

    batch = _TEI_BATCH

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        body = {"inputs": list(texts), "normalize": True, "truncate": True}
        return Embedded(self._vectors(await self._server.post(self._http, body)))


def _tokens(fields: Mapping[str, Any]) -> int | None:
    usage = fields.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if type(total) is int and total >= 0 else None


_OPENAI_URL = "https://api.openai.com/v1"
_SERVICES = {"google": "google", "gemini": "google", "openai": "openai", "tei": "tei"}
_VARIABLE = "EMBEDDING_MODEL"


def build_embedder(settings: Any, calls: Calls) -> BatchEmbedder | None:
    """Build the configured embedder, or None; raise ConfigurationError that names the setting."""
    if not settings.embedding_model.strip():
        return None
    choice = parse_choice(settings.embedding_model, settings.embedding_dimensions)
    match choice.service:
        case "google":
            return _google(choice, settings, calls)
        case "tei":
            return _tei(choice, settings, calls)
    return _openai(choice, settings, calls)


def parse_choice(model: str, dimensions: int = 0) -> ModelChoice:
    """Return the parts of `service:name`; a bare name is Google's, TEI needs none."""
    prefix, colon, name = model.strip().partition(":")
    if not colon:
        prefix, name = "google", prefix
    service = _SERVICES.get(prefix.lower())
    if service is None:
        raise ConfigurationError(_VARIABLE, "must be google:NAME, openai:NAME or tei:NAME")
    name = name.strip().removeprefix("models/")
    if not name and service != "tei":
        raise ConfigurationError(_VARIABLE, f"needs the name of a model of {service}")
    if service == "google":
        return ModelChoice(service, name, dimensions or DIMENSIONS)
    # A TEI server cannot be asked for fewer; the number is then what its vectors must have.
    return ModelChoice(service, name or "default", dimensions or None)


def _google(choice: ModelChoice, settings: Any, calls: Calls) -> GoogleEmbedder:
    if (key := settings.google_key) is None:
        raise ConfigurationError("GEMINI_API_KEY", f"is not set; {_VARIABLE} needs it")
    url = (settings.google_gemini_base_url or DEFAULT_URL).rstrip("/")
    timeout = settings.embedding_timeout_seconds
    return GoogleEmbedder(choice, calls, url=url, key=key, timeout=timeout)


def _openai(choice: ModelChoice, settings: Any, calls: Calls) -> OpenAIEmbedder:
    own = settings.embedding_base_url
    base = own or settings.openai_base_url or _OPENAI_URL
    # A key goes only to the address it was given for.
    key = settings.embedding_api_key or (None if own else settings.openai_api_key)
    variable = "EMBEDDING_BASE_URL" if own else "OPENAI_BASE_URL"
    url = base.rstrip("/") + "/embeddings"
    timeout = settings.embedding_timeout_seconds
    return OpenAIEmbedder(choice, calls, Server("embed:openai", variable, url, key, timeout))


def _tei(choice: ModelChoice, settings: Any, calls: Calls) -> TeiEmbedder:
    if not settings.tei_embed_url:
        raise ConfigurationError("TEI_EMBED_URL", f"is not set; {_VARIABLE} needs it")
    url = settings.tei_embed_url.rstrip("/").removesuffix("/embed") + "/embed"
    timeout = settings.embedding_timeout_seconds
    server = Server("embed:tei", "TEI_EMBED_URL", url, settings.tei_api_key, timeout)
    return TeiEmbedder(choice, calls, server)
