"""Read a thread: the question, what was said before, what the last answer cited; its length."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool

from agent.core.errors import InputError
from agent.core.outside import objects
from agent.core.strings import estimated_tokens
from agent.evidence.claims.statements import statements
from agent.evidence.language import whole_sentences
from agent.evidence.notation import CONTRADICTED, LINKED, MARK, with_words_for_signs
from agent.evidence.queries import clean_text
from agent.evidence.references import renumber_for_prompt
from agent.evidence.types import Source
from agent.texts import Language, detect_language, say

MAX_QUESTION = 20_000
EXTENT = "own_text"
"""Key of a message's additional_kwargs: [start, end] in characters of what the model wrote."""
KEPT_MESSAGES = 6
_QUESTION_CHARACTERS, _LAST_CHARACTERS, _OLDER_CHARACTERS = 2000, 4000, 600
_LINE_BREAK = " / "


def last_question(messages: Sequence[AnyMessage]) -> HumanMessage:
    """Return the message that asks; raise InputError where there is none."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message
    raise InputError("messages", "There is no question: send a human message")


def get_research_topic(messages: Sequence[AnyMessage]) -> str:
    """Return the present question as clean text; raise InputError if it is empty or too long."""
    raw = str(last_question(messages).text)
    if len(raw) > MAX_QUESTION:
        raise InputError("messages", f"The question is longer than {MAX_QUESTION} characters")
    question = clean_text(raw, MAX_QUESTION)
    if not question:
        if attachments_of(last_question(messages)):
            problem = "Attachments are not read; please ask in words"
            raise InputError("messages", problem, fault="attachments_only")
        raise InputError("messages", "The question is empty")
    return question


def attachments_of(message: HumanMessage) -> int:
    """Return how many pictures, files and the like a message has beside its words."""
    blocks = message.content if isinstance(message.content, list) else []
    return sum(isinstance(block, dict) and block.get("type") != "text" for block in blocks)


def conversation(
    messages: Sequence[AnyMessage], cited: Sequence[Source], *, longest: int = _LAST_CHARACTERS
) -> str:
    """Return the turns before the present question, one line each; `cited` under new ids.

    The last answer is kept up to `longest` characters, so that "the second one" is in it. Of turns
    that are left out their number is said: whoever is asked about them can say that they are gone.
    """
    question = last_question(messages)
    earlier = messages[: next(at for at, m in enumerate(messages) if m is question)]
    last_answer = next((m for m in reversed(earlier) if isinstance(m, AIMessage)), None)
    language, lines, left_out = detect_language(str(question.text)), list[str](), 0
    for message in reversed(earlier):
        if len(lines) == KEPT_MESSAGES:
            left_out += isinstance(message, HumanMessage | AIMessage)
            continue
        if isinstance(message, HumanMessage):
            who, limit = "user", _QUESTION_CHARACTERS
        elif isinstance(message, AIMessage):
            who = "assistant"
            limit = longest if message is last_answer else min(_OLDER_CHARACTERS, longest // 4)
        else:
            continue
        text = _message_text(message, language)
        text = renumber_for_prompt(text, cited, _own_sources(message))
        if excerpt := _excerpt(text, limit):
            lines.append(f"{who}: {excerpt}")
    if left_out:
        lines.append(f"({left_out} messages before these are not shown)")
    return "\n".join(reversed(lines))


def _own_sources(message: AnyMessage) -> list[dict[str, Any]]:
    """Return the sources that a message carries, whoever wrote it."""
    return objects(message.additional_kwargs.get("sources"))


def _excerpt(text: str, limit: int) -> str:
    """Return a text on one line; of one that is too long the whole lines and tables that fit."""
    lines = [line for row in text.splitlines() if (line := clean_text(row, len(row)))]
    whole = _LINE_BREAK.join(lines)
    if len(whole) <= limit:
        return whole
    count = 0
    while count < len(lines) and len(_LINE_BREAK.join(lines[: count + 1])) <= limit:
        count += 1
    if not count:
        return f"{whole_sentences(lines[0], limit) or lines[0][:limit]} …"
    table = count
    while table and lines[table - 1].startswith("|") and lines[count].startswith("|"):
        table -= 1
    before, rows = _LINE_BREAK.join(lines[:table]), _LINE_BREAK.join(lines[:count])
    return f"{before if 2 * len(before) >= limit else rows} …"


def own_text(message: AnyMessage) -> str:
    """Return what a model wrote of an answer, without the blocks that code put around it."""
    return within(str(message.text), message.additional_kwargs.get(EXTENT))


def within(text: str, extent: Any) -> str:
    """Return the part of a text that an extent names; all of it where that names none."""
    if isinstance(extent, list) and len(extent) == 2 and all(type(at) is int for at in extent):
        return text[max(0, extent[0]) : max(0, extent[1])] or text
    return text


def _message_text(message: AnyMessage, language: Language) -> str:
    """Return what the next turn sees of a message; no sign, but words say what no source bears."""
    text = own_text(message)
    if not isinstance(message, AIMessage):
        return text
    unsourced, contradicted = (
        say(f"answer.{key}", language) for key in ("unsourced", "contradicted")
    )
    return with_words_for_signs(text, {MARK: unsourced, CONTRADICTED: contradicted})


_PROVED = ("supported", "computed", "revised")


def known_words(messages: Sequence[AnyMessage]) -> list[str]:
    """Return what an answer may say without a source: the user's words, the last answer's facts.

    Those are its statements that its check has shown to be borne out, or rightly worked out: what
    nobody has shown is no proof of the next answer.
    """
    questions = [
        clean_text(str(m.text), MAX_QUESTION) for m in messages if isinstance(m, HumanMessage)
    ]
    answer = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return [*questions[-KEPT_MESSAGES:], *(_proved(answer) if answer else ())]


def _proved(answer: AIMessage) -> list[str]:
    """Return the statements of an answer that its check has borne out."""
    checks = answer.additional_kwargs.get("checks")
    rows = objects(checks.get("statements") if isinstance(checks, Mapping) else None)
    proved = [
        range(begin, end)
        for row in rows
        if row.get("verdict") in _PROVED
        and isinstance(begin := row.get("start"), int)
        and isinstance(end := row.get("end"), int)
    ]
    own = own_text(answer)
    offset = max(0, str(answer.text).find(own))
    stated = statements(own, LINKED) if proved else ()
    return [one.said for one in stated if any(offset + one.start in part for part in proved)]


_PER_MESSAGE = 8
_PER_TOOL = 20


def prompt_tokens(messages: Sequence[BaseMessage]) -> int:
    """Return the estimated tokens of a prompt: texts, tool calls and what separates them."""
    return sum(_message_tokens(message) for message in messages)


def tools_tokens(tools: Sequence[BaseTool]) -> int:
    """Return the estimated tokens that the descriptions of tools add to a prompt."""
    return sum(_tool_tokens(tool) for tool in tools)


def _tool_tokens(tool: BaseTool) -> int:
    arguments = json.dumps(tool.args, ensure_ascii=False)
    return estimated_tokens(tool.name + tool.description + arguments) + _PER_TOOL


def _message_tokens(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    rows = json.dumps([[call["name"], call["args"]] for call in calls], ensure_ascii=False)
    content = message.content if isinstance(message.content, str) else str(message.content)
    return estimated_tokens(content) + estimated_tokens(rows if calls else "") + _PER_MESSAGE
