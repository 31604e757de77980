"""What an offline model is asked and answers, whatever wire it speaks.

The Gemini and OpenAI stand-ins turn a request into a `Turn`, ask a `Brain`, and write the `Answer`
in their own protocol.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionCall:
    """A tool the model wants called; `id` is filled in by the service where empty."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Page:
    """A web page a grounded sentence rests on."""

    uri: str
    title: str


@dataclass(frozen=True)
class GroundedSentence:
    """A stretch of the answer's text and the pages behind it; without pages it is plain text.

    The answer's text is the sentences put together as they are, so spaces belong to them.
    """

    text: str
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True)
class Past:
    """An earlier message of the conversation; `role` is user or model."""

    role: str
    text: str
    calls: tuple[FunctionCall, ...] = ()


@dataclass(frozen=True)
class ToolResult:
    """What a called tool returned, as text (JSON text where it was an object)."""

    name: str
    text: str
    id: str = ""


@dataclass(frozen=True)
class Tool:
    """A function the model may call; `parameters` is its JSON schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """One request, free of its wire format.

    `user` is the text of the last human message; `history` is everything before it (and, in a tool
    loop, the calls after it); `tool_results` are all results that came after `user`, in order.
    """

    system: str
    user: str
    history: tuple[Past, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    schema: dict[str, Any] | None = None
    """JSON schema of the wanted answer; None where text is wanted.

    For a model that is told the schema in its prompt only, it is {} (any JSON object).
    """
    search: bool = False
    """Whether the model may search the web itself (Google Search grounding)."""
    model: str = ""


@dataclass(frozen=True)
class Answer:
    """What the model says: text, JSON, tool calls or grounded sentences (the first one given).

    `queries` are the web searches it claims to have run. `finish` is Gemini's finishReason, or
    PROMPT_BLOCKED (the prompt is refused), or NONE (a reply without any candidate).
    """

    text: str | None = None
    json: Any = None
    calls: tuple[FunctionCall, ...] = ()
    grounded: tuple[GroundedSentence, ...] | None = None
    queries: tuple[str, ...] = ()
    finish: str = "STOP"


class Brain(Protocol):
    """Whatever answers: the rules over the sample, or a script in a test."""

    def respond(self, turn: Turn) -> Answer:
        """The answer to one request; quick, pure of I/O, callable from any thread."""
        ...
