"""Define the requests and answers of a model, whatever wire it speaks.

The services of Gemini and OpenAI read a `Turn`, ask a `Model`, and write its `Answer`.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionCall:
    """Hold a tool the model wants called; an empty `id` is filled in by the service."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class GroundingPage:
    """Hold a web page a grounded sentence rests on."""

    uri: str
    title: str


@dataclass(frozen=True)
class GroundedSentence:
    """Hold a stretch of an answer, its spaces included, and the pages behind it, if any."""

    text: str
    pages: tuple[GroundingPage, ...] = ()


@dataclass(frozen=True)
class PastMessage:
    """Hold an earlier message of the conversation; `role` is user or model."""

    role: str
    text: str
    calls: tuple[FunctionCall, ...] = ()


@dataclass(frozen=True)
class ToolResult:
    """Hold the result of a tool call as text (JSON text where it was an object)."""

    name: str
    text: str
    id: str = ""


@dataclass(frozen=True)
class Tool:
    """Hold a function the model may call; `parameters` is its JSON schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelTurn:
    """Hold a request: the last message of a person, what came before it, the results after it."""

    system: str
    user: str
    history: tuple[PastMessage, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    schema: dict[str, Any] | None = None
    """JSON schema of the answer; None for text, {} where only the prompt says it."""
    search: bool = False
    """True if the model may search the web itself (Google Search grounding)."""
    since: str = ""
    """The ISO date from which on pages are searched; empty without a filter."""
    model: str = ""


@dataclass(frozen=True)
class ModelReply:
    """Hold a reply: the first that is set of grounded sentences, JSON, text; or tool calls.

    `queries` are the web searches it claims to have run. `finish` is Gemini's finishReason, or
    PROMPT_BLOCKED (the prompt is refused), or NONE (a reply without any candidate).
    """

    text: str | None = None
    json: Any = None
    calls: tuple[FunctionCall, ...] = ()
    grounded: tuple[GroundedSentence, ...] | None = None
    queries: tuple[str, ...] = ()
    finish: str = "STOP"


class Model(Protocol):
    """Answer requests, without I/O and from any thread: the sample's model, or a test's script."""

    def respond(self, turn: ModelTurn) -> ModelReply: ...
