"""How long a prompt is for a model, by the estimate on the safe side."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from agent.evidence.lengths import estimated_tokens

_PER_MESSAGE = 8
_PER_TOOL = 20


def prompt_tokens(messages: Sequence[BaseMessage]) -> int:
    """The estimated tokens of a prompt: texts, tool calls and what separates them."""
    return sum(_message_tokens(message) for message in messages)


def tools_tokens(tools: Sequence[BaseTool]) -> int:
    """The estimated tokens that the descriptions of tools add to a prompt."""
    return sum(_tool_tokens(tool) for tool in tools)


def _tool_tokens(tool: BaseTool) -> int:
    asked = json.dumps(tool.args, ensure_ascii=False)
    return estimated_tokens(tool.name + tool.description + asked) + _PER_TOOL


def _message_tokens(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    asked = json.dumps([[call["name"], call["args"]] for call in calls], ensure_ascii=False)
    content = message.content if isinstance(message.content, str) else str(message.content)
    return estimated_tokens(content) + estimated_tokens(asked if calls else "") + _PER_MESSAGE
