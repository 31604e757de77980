"""Read a reply where it enters: its text, and the tools that it calls, whichever way they came.

A reply's text is without the model's thoughts, its wrapping and echoes of the prompt before
anything else reads it: notes, marks, JSON, tools, streams.
"""

import base64
import json
import re
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AIMessage, messages_from_dict, messages_to_dict
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.tools import BaseTool

from agent.core.outside import parse_json, parse_json_at
from agent.models.thoughts import Thoughts
from agent.models.types import Finish, ModelRequest, Response, StreamPiece
from agent.models.validation import OBJECT_BEGINS, find_object
from agent.models.wrapping import Echo, OuterFence


class SpokenText:
    """Take the text of one reply in pieces, and say what of it is said to the one who asked."""

    def __init__(self, request: ModelRequest, *, opened: bool) -> None:
        self._thoughts, self._is_prose = Thoughts(opened=opened), request.schema is None
        self._fence, self._echo = OuterFence(), Echo(request.messages if self._is_prose else ())

    @property
    def opened(self) -> bool:
        """Return whether the reply began with a thought that its template opened."""
        return self._thoughts.opened

    @property
    def echoes(self) -> bool:
        return self._echo.found > 0

    def feed(self, text: str) -> tuple[bool, str]:
        """Return whether all before was a thought, and what can be said now."""
        return self._through(*self._thoughts.feed(text))

    def finish(self, *, cut: bool) -> tuple[bool, str]:
        """Return the same of what was held back."""
        withdrawn, text = self._through(*self._thoughts.finish(cut=cut))
        if self._is_prose:
            text += self._echo.feed(self._fence.finish()) + self._echo.finish()
        return withdrawn, text

    def _through(self, withdrawn: bool, text: str) -> tuple[bool, str]:
        if withdrawn:
            self._fence = OuterFence()
            self._echo.begin_again()
        return withdrawn, self._echo.feed(self._fence.feed(text)) if self._is_prose else text

    def whole(self, text: str, *, cut: bool) -> str:
        """Return what is said in a whole text."""
        _, text_said = self.feed(text)
        withdrawn, rest = self.finish(cut=cut)
        return rest if withdrawn else text_said + rest


def read_reply(response: Response, request: ModelRequest, *, opened: bool) -> Response:
    """Return a whole reply as the rest of the house reads it.

    `opened` is for a model known to begin with thoughts that its template opens.
    """
    cut = response.finish == "length"
    spoken = SpokenText(request, opened=opened and cut)
    text = spoken.whole(response.text, cut=cut)
    message, calls = response.message, [*response.message.tool_calls]
    calls += [call for each in message.invalid_tool_calls if (call := _mend(each))]
    no_tools = response.no_tools
    if request.tools and not calls:
        calls, text = calls_in(text, request.tools)
        no_tools = no_tools or (not calls and bool(_CALL_MARKS.search(text)))
    message = _with_calls(message, _with_ids(calls, request))
    shown = str(message.text)
    if shown != response.text:
        shown = SpokenText(request, opened=opened and cut).whole(shown, cut=cut)
    else:
        shown = text
    if (content := _content(message, shown)) is not message.content:
        message = message.model_copy(update={"content": content})
    return replace(
        response,
        message=message,
        text=text,
        parts=_parts(response, text),
        no_tools=no_tools,
        opened=spoken.opened,
        echoes=spoken.echoes,
    )


async def spoken_pieces(
    pieces: AsyncGenerator[StreamPiece, None], text: SpokenText
) -> AsyncGenerator[StreamPiece, None]:
    """Yield a stream's pieces with what is said in them."""
    cut = False
    async with aclosing(pieces):
        async for piece in pieces:
            cut = cut or piece.finish == "length"
            withdrawn, text_said = text.feed(piece.text)
            yield replace(piece, text=text_said, withdraws=withdrawn)
    withdrawn, text_said = text.finish(cut=cut)
    yield StreamPiece(text=text_said, withdraws=withdrawn)


def _parts(response: Response, text: str) -> tuple[str, ...]:
    """Return the text parts; where grounding counts in them, blanks stand for what went before."""
    whole = "".join(response.parts)
    if text == whole:
        return response.parts
    if not (response.grounding and whole.endswith(text)):
        return (text,) if text else ()
    parts, gone = list[str](), len(whole) - len(text)
    for part in response.parts:
        dropped = part[:gone]
        gone -= len(dropped)
        parts.append(" " * len(dropped.encode("utf-8", "replace")) + part[len(dropped) :])
    return tuple(parts)


def _content(message: AIMessage, text: str) -> Any:
    """Return the content of a message with `text` for its own text."""
    content = message.content
    if text == str(message.text):
        return content
    if isinstance(content, str):
        return text
    other = [b for b in content if not isinstance(b, str) and b.get("type") != "text"]
    return [*other, {"type": "text", "text": text}]


def _with_calls(message: AIMessage, calls: Sequence[ToolCall]) -> AIMessage:
    if list(calls) == message.tool_calls:
        return message
    return message.model_copy(update={"tool_calls": list(calls), "invalid_tool_calls": []})


def _with_ids(calls: Sequence[ToolCall], request: ModelRequest) -> list[ToolCall]:
    """Return the calls, each with an id that no other call of the conversation has."""
    taken = {
        call["id"] for m in request.messages if isinstance(m, AIMessage) for call in m.tool_calls
    }
    calls_with_ids = list[ToolCall]()
    for call in calls:
        if not call["id"] or call["id"] in taken:
            # Nine letters and digits: Mistral takes no others.
            call = tool_call(name=call["name"], args=call["args"], id=uuid.uuid4().hex[:9])
        taken.add(call["id"])
        calls_with_ids.append(call)
    return calls_with_ids


def _mend(call: Mapping[str, Any]) -> ToolCall | None:
    """Return a call whose arguments could not be read as they are written, if they can be."""
    args = arguments_of(call.get("args"))
    if args is None or not call.get("name"):
        return None
    return tool_call(name=str(call["name"]), args=args, id=call.get("id"))


_ENCODINGS = 3


def arguments_of(value: Any) -> dict[str, Any] | None:
    """Return a call's arguments: an object, or one encoded, even twice; None is unreadable."""
    for _ in range(_ENCODINGS):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, Mapping):
            return dict(value)
        if value is None or (isinstance(value, str) and value.strip() in ("", "null", "None")):
            return {}
        if not isinstance(value, str):
            return None
        try:
            value = parse_json(value)
        except ValueError:
            break
    try:
        return find_object(value) if isinstance(value, str) else None
    except ValueError:
        return None


_CALL_MARKS = re.compile(
    r"<[|｜]?/?tool[_▁]?calls?\b|\[/?TOOL_CALLS?\]|<\|python_tag\|>|<function[=_ ]|functools\["
    r"|<invoke ",
    re.IGNORECASE,
)
_XML_CALL = re.compile(r'<(?:function|invoke|tool_call|tool)(?:\s+name)?[=> ]\s*"?([\w.-]{1,64})"?')
_XML_ARGUMENT = re.compile(
    r'<(?:parameter|arg|param)(?:\s+name)?\s*[= ]\s*"?(\w{1,64})"?>([^<]{0,4000})</'
    r"|<arg_key>(\w{1,64})</arg_key>\s{0,9}<arg_value>([^<]{0,4000})</arg_value>"
)
_WRAPPING = re.compile(
    r"(?:[\s`>]|```\w{0,9}|<[^<>\n]{1,40}>?|\[TOOL_CALLS?\]|functools\[|\[)+$", re.IGNORECASE
)
_LONGEST_CALLS, _MOST_OBJECTS, _NAME_BEFORE = 20_000, 40, 80
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "action_input")


def calls_in(text: str, tools: Sequence[BaseTool]) -> tuple[list[ToolCall], str]:
    """Return the calls that a model wrote as text, and the text before them.

    Servers without a parser for a model's own form leave them there: as objects with a name and
    arguments in any tags or fence, as a name before its arguments, or as one tag an argument.
    """
    offered = {tool.name: frozenset(tool.args) for tool in tools}
    calls_here = [*_objects(text[:_LONGEST_CALLS], offered)] or [
        *_elements(text[:_LONGEST_CALLS], offered)
    ]
    if not calls_here:
        return [], text
    calls = [tool_call(name=name, args=args, id=None) for _, name, args in calls_here]
    before = text[: calls_here[0][0]]
    if mark := _CALL_MARKS.search(before):
        before = before[: mark.start()]
    return calls, _WRAPPING.sub("", before)


_Found = tuple[int, str, dict[str, Any]]


def _objects(text: str, offered: Mapping[str, frozenset[str]]) -> Iterator[_Found]:
    at = 0
    for begin in [match.start() for match in OBJECT_BEGINS.finditer(text)][:_MOST_OBJECTS]:
        if begin < at:
            continue
        try:
            value, end = parse_json_at(text, begin)
        except ValueError:
            continue
        before, at = text[max(at, begin - _NAME_BEFORE) : begin], end
        if named := [*_calls_of(value, offered)]:
            yield from ((begin, name, args) for name, args in named)
        elif (name := _last_name(before, offered)) and value.keys() <= offered[name]:
            yield text.rindex(name, 0, begin), name, value


def _calls_of(value: Any, offered: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that an object stands for."""
    if isinstance(value, list):
        for each in value:
            yield from _calls_of(each, offered)
    if not isinstance(value, Mapping):
        return
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is not None and name in offered:
        args = next((value[key] for key in _ARGUMENTS if key in value), None)
        if (arguments := arguments_of(args)) is not None:
            yield name, arguments
        return
    for key, inner in value.items():
        if key in ("function", "tool_calls", "calls", "tool_call", "function_call"):
            yield from _calls_of(inner, offered)
        elif key in offered and len(value) == 1 and isinstance(inner, Mapping):
            yield key, dict(inner)


def _last_name(text: str, offered: Mapping[str, Any]) -> str | None:
    plain = "".join(char if char.isalnum() or char in "_-" else " " for char in text)
    names = [word for word in plain.split() if word in offered]
    return names[-1] if names else None


def _elements(text: str, offered: Mapping[str, frozenset[str]]) -> Iterator[_Found]:
    """Yield calls with a tag for each argument."""
    begun = [match for match in _XML_CALL.finditer(text) if match[1] in offered]
    ends = [*(match.start() for match in begun), len(text)][1:]
    for match, end in zip(begun, ends, strict=True):
        arguments = {
            each[1] or each[3]: _value((each[2] if each[1] else each[4]).strip())
            for each in _XML_ARGUMENT.finditer(text, match.end(), end)
        }
        if arguments or not offered[match[1]]:
            yield match.start(), match[1], arguments


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def to_text(response: Response) -> str:
    """Return JSON; bytes in a message (thought signatures) become {"__bytes__": base64}."""
    return json.dumps(
        {
            "message": messages_to_dict([response.message])[0],
            "text": response.text,
            "parts": list(response.parts),
            "finish": response.finish,
            "reason": response.reason,
            "grounding": response.grounding,
            "input_tokens": response.input_tokens,
            "output_tokens": response.output_tokens,
            "served_by": response.served_by,
            "no_tools": response.no_tools,
        },
        ensure_ascii=False,
        default=_plain,
    )


def from_text(text: str) -> Response:
    """Return the response that `to_text` wrote, in valid text."""
    data = parse_json(text, _bytes)
    return Response(
        message=cast(AIMessage, messages_from_dict([data["message"]])[0]),
        text=data["text"],
        parts=tuple(data["parts"]),
        finish=cast(Finish, data["finish"]),
        reason=data["reason"],
        grounding=data["grounding"],
        input_tokens=data["input_tokens"],
        output_tokens=data["output_tokens"],
        served_by=data["served_by"],
        no_tools=data.get("no_tools", False),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"__bytes__": base64.b64encode(value).decode()}
    if hasattr(value, "model_dump"):
        return value.model_dump()
    return str(getattr(value, "value", value))


def _bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["__bytes__"]) if set(value) == {"__bytes__"} else value
