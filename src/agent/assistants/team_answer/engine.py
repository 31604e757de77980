"""The group chat, one turn at a time: choosing who speaks next, and letting them speak.

The loop, the tools, the checkpoints, the budget and the stream are the graph's; an engine only
asks models. `native` asks them itself, `autogen` by way of AG2's GroupChat and ConversableAgents.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.assistants.team_answer.speakers import chosen_speaker, instruction_of, speakers_named
from agent.assistants.team_answer.state import Speaker
from agent.core.budget import Meter
from agent.core.errors import ConfigurationError
from agent.models.catalogue import DEFAULT_THINKING, Role
from agent.models.client import ModelClient
from agent.models.types import ModelAnswer
from agent.texts import Language, say


@dataclass(frozen=True)
class Selection:
    """Hold who speaks next, and whether a model chose it (else it was their turn)."""

    speaker: Speaker
    chosen: bool
    instruction: str = ""
    """The model's instruction to the speaker, in one line."""


@dataclass(frozen=True)
class Chat:
    """Hold the run's models, its budget and the model of each role."""

    models: ModelClient
    meter: Meter
    language: Language
    manager_model: str
    speaker_models: dict[Speaker, str]


class GroupChatEngine(Protocol):
    """Hold a group chat; each implementation has a file, both pass the same tests."""

    name: str

    async def select(
        self, chat: Chat, prompt: Sequence[BaseMessage], candidates: Sequence[Speaker]
    ) -> Selection:
        """Return the candidate that the manager model names, with its instruction.

        The answer's first line must name exactly one; the model is asked again at most twice, then
        it is the first candidate, the next in turn. Raises AgentError where the model fails.
        """
        ...

    async def follow(self, speaker: Speaker, last: Speaker | None) -> Speaker:
        """Return the speaker that the rules in code name, after `last`; no model is asked."""
        ...

    async def speak(
        self,
        chat: Chat,
        speaker: Speaker,
        prompt: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
    ) -> AIMessage:
        """Return one message of the speaker: text, or tool calls. Raises AgentError."""
        ...


SELECTION_RETRIES = 2
THINKING: dict[Speaker, Role] = {
    "researcher": "research",
    "analyst": "reflection",
    "verifier": "reflection",
}
"""Whose model a speaker uses, and so how hard it thinks."""


class NativeEngine:
    """Implement `GroupChatEngine`."""

    name = "native"

    async def select(
        self, chat: Chat, prompt: Sequence[BaseMessage], candidates: Sequence[Speaker]
    ) -> Selection:
        """Return one of the candidates; see GroupChatEngine.select."""
        messages = list(prompt)
        for _ in range(1 + SELECTION_RETRIES):
            reply: ModelAnswer[BaseModel] = await chat.models.ask(
                chat.manager_model,
                messages,
                meter=chat.meter,
                thinking=DEFAULT_THINKING["query"],
            )
            if speaker := chosen_speaker(reply.text, candidates):
                return Selection(speaker, chosen=True, instruction=instruction_of(reply.text))
            problem = selection_problem(reply.text, candidates, chat.language)
            messages += [AIMessage(reply.text), HumanMessage(problem)]
        return Selection(candidates[0], chosen=False)

    async def follow(self, speaker: Speaker, last: Speaker | None) -> Speaker:
        """Return the speaker; see GroupChatEngine.follow."""
        return speaker

    async def speak(
        self,
        chat: Chat,
        speaker: Speaker,
        prompt: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
    ) -> AIMessage:
        """Return the speaker's message; see GroupChatEngine.speak."""
        reply: ModelAnswer[BaseModel] = await chat.models.ask(
            chat.speaker_models[speaker],
            prompt,
            meter=chat.meter,
            tools=tools,
            thinking=DEFAULT_THINKING[THINKING[speaker]],
        )
        return reply.message


def selection_problem(text: str, candidates: Sequence[Speaker], language: Language) -> str:
    """Return the problem of a selection, for the model that made it."""
    named = speakers_named(text)
    kind = "nobody" if not named else "several" if len(named) > 1 else "not_now"
    return say(
        f"team_answer.selection_{kind}",
        language,
        named=", ".join(named),
        candidates=", ".join(candidates),
    )


AUTOGEN = "agent.assistants.team_answer.engine_autogen"


def group_chat_engine(name: str) -> GroupChatEngine:
    """Return the engine of that name; importing AG2's takes a second of CPU the first time.

    Raises ConfigurationError where it is unknown or its extra is missing.
    """
    if name == NativeEngine.name:
        return NativeEngine()
    if name != "autogen":
        raise ConfigurationError("chat_engine", f"must be native or autogen, not {name!r}")
    try:
        module = importlib.import_module(AUTOGEN)
    except ImportError as error:
        problem = "needs the extra for autogen: `pip install 'tanlu[autogen]'`"
        raise ConfigurationError("chat_engine", problem) from error
    return cast(GroupChatEngine, module.AutogenEngine())
