"""A chat model whose reply is finished text: what streams to a client is what is stored.

LangGraph streams what chat models say inside nodes. The models we ask are hidden from it (they
write internal ids); this one wraps the pieces that code has already made clean.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, SkipValidation

Pieces = Callable[[], AsyncIterator[str]]


class FinishedText(BaseChatModel):
    """Says what `pieces` yields; call it with `ainvoke([], config)` inside a node."""

    pieces: SkipValidation[Pieces] = Field(exclude=True, repr=False)

    @property
    def _llm_type(self) -> str:
        return "finished-text"

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for piece in self.pieces():
            if piece:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join([piece async for piece in self.pieces()])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise TypeError("finished text is written asynchronously: use ainvoke")
