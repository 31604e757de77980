"""Embeddings of OpenAI-compatible services and of text-embeddings-inference."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.calls import Calls
from agent.errors import MalformedReply
from agent.retrieval.embedder import BatchEmbedder, Embedded, ModelChoice
from agent.retrieval.remote import MAX_REPLY, Server
from agent.search.http import SearchHttp

_TEI_BATCH = 32
_OPENAI_BATCH = 64


class HttpEmbedder(BatchEmbedder):
    """A service asked by one POST; a subclass knows the body and where the vectors are."""

    def __init__(self, choice: ModelChoice, calls: Calls, server: Server) -> None:
        super().__init__(choice, calls, timeout=server.timeout)
        self._server = server
        self._http = SearchHttp(timeout=server.timeout, max_bytes=MAX_REPLY)

    async def aclose(self) -> None:
        await self._http.aclose()

    def _vectors(self, found: Any) -> list[list[float]]:
        if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
            raise MalformedReply(self._server.provider, "the reply is no list of vectors")
        return found


class OpenAIEmbedder(HttpEmbedder):
    """POST {base}/embeddings; what it costs only its bill says."""

    batch = _OPENAI_BATCH

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        size = {"dimensions": self.choice.dimensions} if self.choice.dimensions else {}
        body = {"model": self.choice.name, "input": list(texts), "encoding_format": "float", **size}
        reply = await self._server.post(self._http, body)
        fields = reply if isinstance(reply, Mapping) else {}
        cost = None if self._server.key else 0.0
        return Embedded(self._vectors(self._in_order(fields.get("data"))), _tokens(fields), cost)

    def _in_order(self, rows: Any) -> Any:
        """The vectors by their `index`; services need not keep the order."""
        try:
            by_index = {int(row["index"]): row["embedding"] for row in rows}
            return [by_index[at] for at in range(len(rows))]
        except (TypeError, KeyError, ValueError):
            raise MalformedReply(
                self._server.provider, "the reply has no vector for each text"
            ) from None


class TeiEmbedder(HttpEmbedder):
    """POST {url}/embed; the server has one model, whatever name it was given here."""

    batch = _TEI_BATCH

    async def ask(self, texts: Sequence[str], *, query: bool) -> Embedded:
        body = {"inputs": list(texts), "normalize": True, "truncate": True}
        return Embedded(self._vectors(await self._server.post(self._http, body)))


def _tokens(fields: Mapping[str, Any]) -> int | None:
    usage = fields.get("usage")
    said = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return said if type(said) is int and said >= 0 else None
