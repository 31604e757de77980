"""Send requests to Gemini over its client's connections, in the form in which they go out.

The library writes each request out three times, field by field, and makes models of all that a
piece of a stream has; together they took a fifth of a run's time.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from google.genai.types import Content, GenerateContentConfig
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from pydantic import BaseModel

_APART = ("systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent")
"""What a configuration holds that stands beside it in a request."""
_UNSENT = {"http_options", "automatic_function_calling", "labels"}
_MODELS = "models/"


def body_of(contents: list[Content], config: GenerateContentConfig) -> dict[str, Any]:
    """Return a request's body: what was said, and how to reply."""
    given = config.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_UNSENT)
    apart = {name: given.pop(name) for name in _APART if name in given}
    # LangChain puts words where a signature's bytes belong, for calls that no model has signed.
    said = [
        each.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
        for each in contents
    ]
    return {**apart, "contents": said, "generationConfig": given}


async def sent(client: Any, request: Mapping[str, Any]) -> str:
    """Send a request as LangChain prepares it; return the body of the reply."""
    path, body = (
        f"{_path(request)}:generateContent",
        body_of(request["contents"], request["config"]),
    )
    options = request["config"].http_options
    reply = await client._api_client.async_request("post", path, body, options)
    return str(reply.body or "")


async def streamed(
    client: Any, request: Mapping[str, Any]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Send such a request; yield the pieces of its reply as they come."""
    path, api = f"{_path(request)}:streamGenerateContent?alt=sse", client._api_client
    body, options = body_of(request["contents"], request["config"]), request["config"].http_options
    call = api._build_request("post", path, body, options)
    reply = await api._async_request(http_request=call, http_options=options, stream=True)
    async for piece in reply:
        yield piece


def _path(request: Mapping[str, Any]) -> str:
    model = str(request["model"])
    return model if "/" in model else f"{_MODELS}{model}"


class _Part(BaseModel):
    text: str | None = None
    thought: bool | None = None


class _Content(BaseModel):
    parts: list[_Part] | None = None


class _Candidate(BaseModel):
    content: _Content | None = None
    finishReason: str | None = None  # noqa: N815 - as it is sent


class _Usage(BaseModel):
    promptTokenCount: int | None = None  # noqa: N815
    toolUsePromptTokenCount: int | None = None  # noqa: N815
    candidatesTokenCount: int | None = None  # noqa: N815
    thoughtsTokenCount: int | None = None  # noqa: N815


class _Feedback(BaseModel):
    blockReason: str | None = None  # noqa: N815


class _Piece(BaseModel):
    """What is read of one piece of a stream."""

    candidates: list[_Candidate] | None = None
    modelVersion: str | None = None  # noqa: N815
    usageMetadata: _Usage | None = None  # noqa: N815
    promptFeedback: _Feedback | None = None  # noqa: N815


@dataclass
class Used:
    """Count the tokens that a stream has told: each piece tells those up to it."""

    input: int = 0
    output: int = 0

    def more(self, told: _Usage | None) -> UsageMetadata | None:
        """Return what a piece adds; less input than before takes back what was too much."""
        if told is None:
            return None
        read = (told.promptTokenCount or 0) + (told.toolUsePromptTokenCount or 0)
        written = (told.candidatesTokenCount or 0) + (told.thoughtsTokenCount or 0)
        if not read + written:
            return None
        more = read - self.input, max(0, written - self.output)
        self.input, self.output = read, self.output + more[1]
        return UsageMetadata(input_tokens=more[0], output_tokens=more[1], total_tokens=sum(more))


def chunk_of(reply: Mapping[str, Any], used: Used) -> AIMessageChunk:
    """Return a piece of a stream as a message: its words, why it ends, what it has cost."""
    piece = _Piece.model_validate(reply)
    candidate = piece.candidates[0] if piece.candidates else _Candidate()
    parts = (candidate.content.parts if candidate.content else None) or []
    told = dict[str, Any]()
    if reason := candidate.finishReason:
        told |= {"finish_reason": reason, "model_name": piece.modelVersion or ""}
    if piece.promptFeedback:
        told["prompt_feedback"] = {"block_reason": piece.promptFeedback.blockReason}
    return AIMessageChunk(
        content="".join(part.text or "" for part in parts if not part.thought),
        response_metadata=told,
        usage_metadata=used.more(piece.usageMetadata),
    )
