"""How long a prompt is for a model, by the estimate on the safe side."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from agent.evidence.lengths import estimated_tokens

_PER_MESSAGE = 8


def prompt_tokens(messages: Sequence[BaseMessage]) -> int:
    """The estimated tokens of a prompt: texts, tool calls and what separates them."""
    return sum(_message_tokens(message) for message in messages)


def _message_tokens(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    asked = json.dumps([[call["name"], call["args"]] for call in calls], ensure_ascii=False)
    content = message.content if isinstance(message.content, str) else str(message.content)
    return estimated_tokens(content) + estimated_tokens(asked if calls else "") + _PER_MESSAGE
