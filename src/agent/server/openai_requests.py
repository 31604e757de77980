"""Read what clients of OpenAI's API send to `/v1/chat/completions` and `/v1/responses`.

What only shapes a model's writing (temperature, max_tokens, the client's own tools) is of no use
to an assistant that looks things up, and is left aside: clients send it with every question. What
would change what the reply is, and cannot be given, is refused in words.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agent.client.asked_again import Said, SaidBy
from agent.core.errors import InputError
from agent.models.thoughts import Thoughts

_ROLES: Mapping[str, SaidBy] = {"user": "user", "assistant": "assistant"}
_TEXTS = ("text", "input_text", "output_text")
_RESPONSE = "resp_"
_EFFORTS = {
    "none": (1, 1), "minimal": (1, 1), "low": (1, 1), "high": (5, 10), "xhigh": (5, 10),
}  # fmt: skip
"""Searches at first and rounds of them, as front ends of LangGraph have it for low and high."""


@dataclass(frozen=True)
class ClientQuestion:
    """Hold what a client asks, by whichever of the two routes."""

    model: str
    question: str
    earlier: Sequence[Said] = ()
    """What was said before, the oldest first."""
    thread_id: str = ""
    """The client's own, which it may have made up."""
    previous: str = ""
    """The response that the question follows up."""
    stream: bool = False
    include_usage: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of ours, by the names that the tools of MCP have for them."""
    effort: tuple[int, int] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


class _Message(BaseModel):
    type: str = "message"
    role: str = ""
    content: Any = None


class _Body(BaseModel):
    """Read what both routes have in common; other fields are left aside."""

    model: str = Field(min_length=1, max_length=200)
    stream: bool | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    tanlu: dict[str, Any] | None = None

    def refuse_tools(self) -> None:
        """Raise InputError where the reply would have to be a call of the client's tool."""
        if self.tool_choice not in (None, "auto", "none"):
            raise InputError(
                "tool_choice", "The assistants call no tools of yours; leave it out, or auto"
            )

    def asked(self, messages: Sequence[_Message], **more: Any) -> ClientQuestion:
        """Return what is asked; the last message has to be the user's."""
        self.refuse_tools()
        metadata = {str(name): str(value) for name, value in (self.metadata or {}).items()}
        arguments = dict(self.tanlu or {})
        named = metadata.pop("thread_id", None) or arguments.pop("thread_id", None)
        if self.user:
            metadata["user"] = self.user
        if not messages or messages[-1].role != "user":
            raise InputError("messages", "The last one must be the user's question")
        said = [Said(_ROLES[m.role], _text(m)) for m in messages if m.role in _ROLES]
        return ClientQuestion(
            model=self.model,
            question=_question(messages[-1]),
            earlier=said[:-1],
            thread_id=_uuid(named) if named else "",
            stream=bool(self.stream),
            arguments=arguments,
            metadata=metadata,
            **more,
        )


class _StreamOptions(BaseModel):
    include_usage: bool | None = None


class _Format(BaseModel):
    type: str = "text"


class _Chat(_Body):
    messages: list[_Message]
    stream_options: _StreamOptions | None = None
    n: int | None = None
    reasoning_effort: str | None = None
    response_format: _Format | None = None


class _Reasoning(BaseModel):
    effort: str | None = None


class _TextOptions(BaseModel):
    format: _Format | None = None


class _Response(_Body):
    input: str | list[_Message]
    previous_response_id: str | None = None
    conversation: Any = None
    background: bool | None = None
    reasoning: _Reasoning | None = None
    text: _TextOptions | None = None


def read_chat(body: Any) -> ClientQuestion:
    """Return what is asked of `/v1/chat/completions`; raise InputError naming the field."""
    chat = _read(_Chat, body)
    if chat.n not in (None, 1):
        raise InputError("n", "One answer is given to a question")
    _refuse_format("response_format", chat.response_format)
    options = chat.stream_options
    return chat.asked(
        chat.messages,
        include_usage=bool(options and options.include_usage),
        effort=_EFFORTS.get(chat.reasoning_effort or ""),
    )


def read_response(body: Any) -> ClientQuestion:
    """Return what is asked of `/v1/responses`; raise InputError naming the field."""
    response = _read(_Response, body)
    if response.background:
        raise InputError("background", "is not served; ask with stream, or on LangGraph's own API")
    if response.conversation:
        raise InputError("conversation", "is not served; follow up by previous_response_id")
    _refuse_format("text.format", response.text.format if response.text else None)
    given = response.input
    items = [_Message(role="user", content=given)] if isinstance(given, str) else given
    effort = response.reasoning.effort if response.reasoning else None
    return response.asked(
        [item for item in items if item.type == "message"],
        previous=response.previous_response_id or "",
        effort=_EFFORTS.get(effort or ""),
    )


B = TypeVar("B", bound=BaseModel)


def _read(kind: type[B], body: Any) -> B:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise InputError.of(error) from None


def _refuse_format(name: str, format: _Format | None) -> None:
    if format and format.type != "text":
        raise InputError(name, "Answers are Markdown with citations; leave it out")


def _uuid(value: Any) -> str:
    """Return a thread's id, a UUID everywhere: anything else could be part of a path."""
    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise InputError("thread_id", "must be a UUID") from None


def thread_of_response(response_id: str) -> str:
    """Return the thread of one of our responses; raise InputError for any other id."""
    try:
        return str(uuid.UUID(hex=response_id.removeprefix(_RESPONSE)[:32]))
    except ValueError:
        raise InputError("previous_response_id", "There is no such response") from None


def response_id(thread_id: str) -> str:
    """Return an id for the next response on a thread, which is to be found in it again."""
    return f"{_RESPONSE}{uuid.UUID(thread_id).hex}{uuid.uuid4().hex[:16]}"


def _question(message: _Message) -> str:
    parts = message.content if isinstance(message.content, list) else []
    others = {str(part.get("type")) for part in parts if isinstance(part, Mapping)} - {*_TEXTS}
    if others:
        problem = f"has {', '.join(sorted(others))}: attachments are not read; please ask in words"
        raise InputError("messages", problem)
    return _text(message)


def _text(message: _Message) -> str:
    content = message.content
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, Mapping))
        content = "\n".join(text for text in texts if isinstance(text, str))
    text = content if isinstance(content, str) else ""
    return _without_thoughts(text) if message.role == "assistant" else text


def _without_thoughts(text: str) -> str:
    """Return an answer without the progress of its run, which some clients write into it."""
    thoughts, said = Thoughts(), ""
    for withdrawn, piece in (thoughts.feed(text), thoughts.finish(cut=False)):
        said = piece if withdrawn else said + piece
    return said


def conversation_key(asked: ClientQuestion, said: Sequence[Said]) -> str:
    """Return what a conversation is found by once more, however its spaces are; "" for none.

    Whose it is and what it is asked with belong to it: people who share a key may say the same
    words, and the one's thread has a position or collections that are not the other's.
    """
    if not said:
        return ""
    whose = [asked.model, asked.metadata.get("user"), asked.arguments]
    digest = hashlib.sha256(json.dumps(whose, sort_keys=True).encode())
    for message in said:
        digest.update(f"\n{message.role}:{' '.join(message.text.split())}".encode())
    return digest.hexdigest()
