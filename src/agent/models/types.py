"""What a model is asked and what it answers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.budget import Meter

S = TypeVar("S", bound=BaseModel)
Thinking = Literal["minimal", "low", "medium", "high"]


@dataclass(frozen=True)
class Reply(Generic[S]):
    """One answer of a model. `message` goes back unchanged in a tool loop."""

    text: str
    message: AIMessage
    model: str
    parsed: S | None = None
    parts: tuple[str, ...] = ()
    """The text parts as the service sent them; grounding offsets count within them."""
    grounding: Mapping[str, Any] | None = None
    """Grounding metadata in snake_case, where the model searched."""
    truncated: bool = False
    """Whether the text ends at the model's output limit; never so with `parsed`."""


class Models(Protocol):
    """The one way to ask a model. Names are `provider:model`; a bare name is Google's."""

    async def ask(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        schema: type[S] | None = None,
        tools: Sequence[BaseTool] = (),
        search: bool = False,
        thinking: Thinking | None = None,
    ) -> Reply[S]:
        """One reply, never streamed to clients. With `schema`, `parsed` is validated (one repair).

        `search` asks for Google Search grounding; `tools` are bound for calling. Raises
        ProviderError or BudgetExceeded; ConfigurationError for a name or key that cannot work.
        """
        ...

    def stream(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        fallback: str | None,
        thinking: Thinking | None = None,
    ) -> AsyncIterator[str]:
        """The reply's text as it comes; `fallback` answers if the model fails before any text.

        A reply cut off half-way is continued once; cut off again, ProviderUnavailable with code
        `model_cut_off` is raised after the text there is.
        """
        ...

    def is_google(self, model: str) -> bool:
        """Whether the model can search with Google itself."""
        ...
