"""Define the interface between the client and a service of models."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel

S = TypeVar("S", bound=BaseModel)
Thinking = Literal["minimal", "low", "medium", "high"]


@dataclass(frozen=True)
class ModelAnswer(Generic[S]):
    """Hold one answer of a model. `message` goes back unchanged in a tool loop."""

    text: str
    message: AIMessage
    model: str
    parsed: S | None = None
    parts: tuple[str, ...] = ()
    """The text parts as the service sent them; grounding offsets count within them."""
    grounding: Mapping[str, Any] | None = None
    """Grounding metadata in snake_case, where the model searched."""
    truncated: bool = False
    """True if the text ends at the model's output limit; never so with `parsed`."""
    no_tools: bool = False
    """True if tools were offered to a service that takes or calls none."""


Finish = Literal["stop", "length", "blocked", "bad_call", "none"]
"""Reason for a reply's end; `none` is a reply that gave none."""

_BLOCKED = ("filter", "safety", "block", "sensitive", "refus", "prohibit", "policy", "recitation",
            "spii", "inspection", "risk")  # fmt: skip
_CUT = ("length", "max_", "limit", "window", "error", "abort", "cancel", "insufficient", "timeout",
        "timed_out", "overload", "interrupt")  # fmt: skip


def finish_of(reason: str) -> Finish:
    """Return what a service's own word for an end means.

    The field is open: what names neither a limit, a fault nor a block is a natural end, such as
    `stop_sequence`, `end_turn`, `eos`, `COMPLETE`.
    """
    word = reason.strip().lower()
    if not word or word in ("null", "none", "other", "finish_reason_unspecified"):
        return "none"
    if any(part in word for part in _BLOCKED):
        return "blocked"
    return "length" if any(part in word for part in _CUT) else "stop"


LISTING = "models"
"""Stands for a model's name where a service is asked which it has."""

# Inner calls stay out of LangGraph's message streams; tracing still finds its parent by context.
QUIET: RunnableConfig = {"tags": ["nostream", "langsmith:nostream"], "callbacks": []}


@dataclass(frozen=True)
class ModelRequest:
    """Hold one request to one model; `model` is the id on the wire."""

    model: str
    messages: Sequence[BaseMessage]
    schema: type[BaseModel] | None = None
    tools: Sequence[BaseTool] = ()
    search: bool = False
    thinking: Thinking | None = None
    search_range: tuple[str, str] | None = None
    """From when to when the pages that it searches may be, RFC 3339."""
    max_tokens: int = 0
    """Tokens that the reply may have; 0 leaves it to the service."""
    text_tokens: int = 0
    """Tokens that its text may have, thoughts apart; 0 is what replies of its kind need."""
    sent: Callable[[], None] | None = field(default=None, compare=False)
    """Told when it goes out: not where its reply is there already."""
    watch: Callable[[str], None] | None = field(default=None, compare=False)
    """Hears what comes of a reply, piece by piece, where its service sends it so."""


@dataclass(frozen=True)
class Response:
    """Hold a reply as it came, before it is validated."""

    message: AIMessage
    text: str
    parts: tuple[str, ...]
    finish: Finish
    reason: str = ""
    """The service's own word for the end, such as SAFETY."""
    grounding: Mapping[str, Any] | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    served_by: str = ""
    """The model that answered, as the service names it."""
    no_tools: bool = False
    """True if tools were offered to a service that takes or calls none."""
    opened: bool = False
    """True if the text began with a thought that the model's template opened."""
    echoes: bool = False
    """True if the text repeated our prompt."""


@dataclass
class StreamPiece:
    """Hold a piece of a stream: text, and at the end why it ended; token counts are increments."""

    text: str = ""
    hidden: str = ""
    """What came besides: thoughts in a field of their own, a tool's arguments."""
    finish: Finish | None = None
    reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    served_by: str = ""
    withdraws: bool = False
    """True if all text before this piece was a thought."""


class Withdrawal(str):
    """Stand, empty, in a stream's texts where all text before it was a thought."""

    __slots__ = ()


class Vendor(Protocol):
    """Raise ProviderError or ConfigurationError, nothing of any library's."""

    async def complete(self, request: ModelRequest) -> Response:
        """Return one whole reply."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPiece]:
        """Yield the reply as it comes."""
        ...

    async def list_models(self) -> list[str]:
        """Return the ids the service knows."""
        ...

    async def window(self, model: str) -> int | None:
        """Return the tokens of a model's window, where the service tells."""
        ...

    async def aclose(self) -> None: ...
