"""Define the requests and answers of a model, whatever wire it speaks.

The Gemini and OpenAI stand-ins turn a request into a `Turn`, ask a `Model`, and write the `Answer`
in their own protocol.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionCall:
    """Hold a tool the model wants called; `id` is filled in by the service where empty."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Page:
    """Hold a web page a grounded sentence rests on."""

    uri: str
    title: str


@dataclass(frozen=True)
class GroundedSentence:
    """Hold a stretch of the answer's text and the pages behind it; without pages it is plain text.

    The answer's text is the sentences put together as they are, so spaces belong to them.
    """

    text: str
    pages: tuple[Page, ...] = ()


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
class Turn:
    """Hold one request, free of its wire format.

    `user` is the text of the last human message; `history` is everything before it (and, in a tool
    loop, the calls after it); `tool_results` are all results that came after `user`, in order.
    """

    system: str
    user: str
    history: tuple[PastMessage, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    schema: dict[str, Any] | None = None
    """JSON schema of the wanted answer; None where text is wanted.

    For a model that is told the schema in its prompt only, it is {} (any JSON object).
    """
    search: bool = False
    """True if the model may search the web itself (Google Search grounding)."""
    model: str = ""


@dataclass(frozen=True)
class Answer:
    """Hold a reply: text, JSON, tool calls or grounded sentences (the first one that is set).

    Words may stand beside tool calls.

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
    """Answer requests: the sample's own model, or a script in a test."""

    def respond(self, turn: Turn) -> Answer:
        """Return the answer to one request; quick, pure of I/O, callable from any thread."""
        ...
