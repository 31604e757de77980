"""The group chat, one turn at a time: who speaks next, and what they say.

The loop, the tools, the checkpoints, the budget and the stream are the graph's; an engine only
asks models. `native` asks them itself, `autogen` by way of AG2's GroupChat and ConversableAgents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from agent.assistants.team_answer.speakers import Speaker
from agent.budget import Meter
from agent.language import Language
from agent.models.types import Models


@dataclass(frozen=True)
class Selection:
    """Who speaks next, and whether a model chose it (else it was their turn)."""

    speaker: Speaker
    chosen: bool


@dataclass(frozen=True)
class Chat:
    """What an engine asks with: the run's models, its budget and the model of each role."""

    models: Models
    meter: Meter
    language: Language
    manager_model: str
    speaker_models: dict[Speaker, str]


class GroupChatEngine(Protocol):
    """One implementation a file; both pass the same tests."""

    name: str

    async def select(
        self, chat: Chat, prompt: Sequence[BaseMessage], candidates: Sequence[Speaker]
    ) -> Selection:
        """One of the candidates (the next in turn first): asked of the manager model, whose answer
        must name exactly one; asked again at most twice, then the first candidate.

        Raises AgentError where the model cannot be had.
        """
        ...

    async def speak(
        self,
        chat: Chat,
        speaker: Speaker,
        prompt: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
    ) -> AIMessage:
        """One message of the speaker: text, or tool calls. Raises AgentError."""
        ...


Engines = Callable[[str], GroupChatEngine]
"""By the name in `Configuration.chat_engine`; ConfigurationError where its extra is missing."""
