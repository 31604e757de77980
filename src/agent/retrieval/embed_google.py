"""Embeddings of the Gemini API, over a pool of connections per event loop."""

import re
from collections.abc import Sequence

from google.genai.types import Content, EmbedContentConfig, Part
from pydantic import SecretStr

from agent.calls import Calls
from agent.evidence.lengths import estimated_tokens
from agent.models.catalogue import GOOGLE_EMBEDDINGS
from agent.models.loops import PerLoop
from agent.models.pool import Pool, open_pool
from agent.models.translate import translated
from agent.retrieval.embedder import BatchEmbedder, Embedded, ModelChoice

DIMENSIONS = 768
"""Of the 3,072 they have the first 768 do nearly as well, at a quarter of the space."""


class GoogleEmbedder(BatchEmbedder):
    """batchEmbedContents; documents and queries are told apart, as the models want it."""

    batch = 64

    def __init__(
        self, choice: ModelChoice, calls: Calls, *, url: str, key: SecretStr, timeout: float
    ) -> None:
        super().__init__(choice, calls, timeout=timeout)
        self._url, self._key = url, key
        self._pools: PerLoop[Pool] = PerLoop(self._open, Pool.aclose, Pool.drop)

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        said = [_told(self.choice.name, text, query=query) for text in texts]
        with translated("embed:google", self.choice.name):
            pool = await self._pools.get()
            response = await pool.client.aio.models.embed_content(
                model=self.choice.name,
                # One content for each text: newer models make one vector of a list of strings.
                contents=[Content(parts=[Part(text=text)]) for text in said],
                config=_config(self.choice, query=query),
            )
        vectors = [found.values or [] for found in response.embeddings or ()]
        # The service does not say how many tokens it counted.
        tokens = sum(map(estimated_tokens, said))
        price = GOOGLE_EMBEDDINGS.get(self.choice.name)
        return Embedded(vectors, tokens, None if price is None else tokens * price / 1_000_000)

    async def aclose(self) -> None:
        await self._pools.aclose()

    async def _open(self) -> Pool:
        return await open_pool(self._url, self._key)


def _config(choice: ModelChoice, *, query: bool) -> EmbedContentConfig:
    task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
    return EmbedContentConfig(
        output_dimensionality=choice.dimensions,
        task_type=None if _takes_prefixes(choice.name) else task,
    )


def _told(model: str, text: str, *, query: bool) -> str:
    """The text, with its task in front where the model knows no task types."""
    if not _takes_prefixes(model):
        return text
    return f"task: search result | query: {text}" if query else f"title: none | text: {text}"


def _takes_prefixes(model: str) -> bool:
    """From gemini-embedding-2 on; the others take task types."""
    numbered = re.match(r"gemini-embedding-(\d+)", model)
    return numbered is not None and int(numbered[1]) > 1
