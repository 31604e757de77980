"""The engine on AG2 Classic (the package `autogen`): its agents and its selection, turn by turn.

AG2 keeps the roles, the order of replies and the choice of the next speaker with its requeries;
its agents ask through our models, so that budget, reply cache, retries and keys stay in one place.
See docs/decisions/0008-autogen-turn-by-turn.md.
"""

import contextlib
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.assistants.team_answer.engine import (
    SELECTION_RETRIES,
    Chat,
    NativeEngine,
    Selection,
    selection_problem,
)
from agent.assistants.team_answer.speakers import chosen_speaker, instruction_of, speakers_named
from agent.assistants.team_answer.state import SPEAKERS, Speaker
from agent.core.errors import MalformedReply
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import ModelAnswer

with warnings.catch_warnings():
    # AG2 imports a name that jsonschema has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from autogen import Agent, ConversableAgent, GroupChat
    from autogen.io.base import IOStream

_NOBODY = "…"
Answering = Callable[[list[dict[str, Any]]], Awaitable[str]]


class AutogenEngine:
    """Implement `GroupChatEngine`."""

    name = "autogen"

    def __init__(self) -> None:
        self._asking = NativeEngine()

    async def select(
        self, chat: Chat, prompt: Sequence[BaseMessage], candidates: Sequence[Speaker]
    ) -> Selection:
        """Return one of the candidates; see GroupChatEngine.select."""
        if len(candidates) == 1:
            return Selection(candidates[0], chosen=False)
        agents = [_agent(speaker, "") for speaker in _in_turn(candidates[0])]
        group = _Selecting(chat, prompt, agents, candidates)
        with _silence():
            picked = await group.next_after(agents[-1])
        return Selection(
            cast(Speaker, picked.name), chosen=group.resolved, instruction=group.instruction
        )

    async def follow(self, speaker: Speaker, last: Speaker | None) -> Speaker:
        """Return the choice of AG2 by its documented selector function, which names `speaker`."""
        agents = {name: _agent(name, "") for name in SPEAKERS}
        group = GroupChat(
            agents=list(agents.values()),
            messages=[],
            speaker_selection_method=lambda _last, _group: agents[speaker],
        )
        with _silence():
            picked = await group.a_select_speaker(agents[last or speaker], agents[last or speaker])
        return cast(Speaker, picked.name)

    async def speak(
        self,
        chat: Chat,
        speaker: Speaker,
        prompt: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
    ) -> AIMessage:
        """Return one message of the speaker; see GroupChatEngine.speak.

        The message itself goes past AG2's dictionaries, which have no room for a model's
        signatures of its thoughts.
        """
        replies: list[AIMessage] = []

        async def answer(_messages: list[dict[str, Any]]) -> str:
            replies.append(await self._asking.speak(chat, speaker, prompt, tools))
            return str(replies[-1].text) or _NOBODY

        agent = _agent(speaker, str(prompt[0].text))
        _answers_by(agent, answer)
        with _silence():
            await agent.a_generate_reply(messages=[_as_dict(message) for message in prompt[1:]])
        if not replies:
            raise MalformedReply("autogen", "no reply function was asked")
        return replies[-1]


class _Selecting(GroupChat):
    """Select the next speaker by AG2, with our manager model and prompt."""

    def __init__(
        self,
        chat: Chat,
        prompt: Sequence[BaseMessage],
        agents: list[ConversableAgent],
        candidates: Sequence[Speaker],
    ) -> None:
        super().__init__(
            agents=list(agents),
            messages=[_as_dict(message) for message in prompt[1:]],
            speaker_selection_method="auto",
            max_retries_for_selecting_speaker=SELECTION_RETRIES,
            select_speaker_message_template=_literal(str(prompt[0].text)),
            select_speaker_prompt_template="",
            role_for_select_speaker_messages="user",
        )
        self._chat, self._candidates = chat, list(candidates)
        self._asked: list[BaseMessage] = list(prompt)
        self._problem = ""
        self._eligible: list[Agent] = [a for a in agents if a.name in candidates]
        self.resolved, self.instruction = False, ""

    async def next_after(self, last: ConversableAgent) -> Agent:
        """Return the chosen agent, or the first candidate after `last` without a choice."""
        return await self.a_auto_select_speaker(last, last, self.messages, self._eligible)

    def _create_internal_agents(
        self, agents: Any, max_attempts: int, messages: Any, validate_speaker_name: Any,
        selector: Any = None,
    ) -> tuple[ConversableAgent, ConversableAgent]:  # fmt: skip
        """Return the pair that settles the choice; AG2's own would ask its own client."""
        checking = ConversableAgent("checking_agent", llm_config=False, human_input_mode="NEVER")
        checking.register_reply(
            [ConversableAgent, None], validate_speaker_name, remove_other_reply_funcs=True
        )
        system = self.select_speaker_msg(agents)
        selecting = ConversableAgent(
            "speaker_selection_agent", system_message=system, llm_config=False,
            human_input_mode="NEVER",
        )  # fmt: skip
        _answers_by(selecting, self._agent_choice)
        return checking, selecting

    async def _agent_choice(self, messages: list[dict[str, Any]]) -> str:
        """Return the manager model's choice in the agents' names, so that AG2 counts as we do."""
        if self._problem:  # AG2 asks again; what was wrong is said in our words
            self._asked.append(HumanMessage(self._problem))
        reply: ModelAnswer[BaseModel] = await self._chat.models.ask(
            self._chat.manager_model,
            self._asked,
            meter=self._chat.meter,
            thinking=DEFAULT_THINKING["query"],
        )
        self._asked.append(AIMessage(reply.text))
        speaker = chosen_speaker(reply.text, self._candidates)
        self.resolved, self.instruction = speaker is not None, instruction_of(reply.text)
        self._problem = selection_problem(reply.text, self._candidates, self._chat.language)
        several = len(speakers_named(reply.text)) > 1
        return speaker or (" ".join(self._candidates) if several else _NOBODY)


def _agent(speaker: Speaker, system: str) -> ConversableAgent:
    return ConversableAgent(
        speaker, system_message=system, description=speaker, llm_config=False,
        human_input_mode="NEVER", code_execution_config=False,
    )  # fmt: skip


def _answers_by(agent: ConversableAgent, answer: Answering) -> None:
    """Have the agent reply with the text of `answer`.

    AG2's own clients are synchronous and hold a thread of the pool for as long as a model takes.
    """

    async def reply(
        _self: Any, messages: list[dict[str, Any]], sender: Any, config: Any
    ) -> tuple[bool, str]:
        return True, await answer(messages)

    agent.register_reply([ConversableAgent, None], reply, remove_other_reply_funcs=True)


def _in_turn(first: Speaker) -> list[Speaker]:
    """Return everybody, so that after the last one `first` is next."""
    place = SPEAKERS.index(first)
    return [*SPEAKERS[place:], *SPEAKERS[:place]]


def _as_dict(message: BaseMessage) -> dict[str, Any]:
    """Return a message as AG2 keeps it."""
    role = "assistant" if isinstance(message, AIMessage) else "user"
    return {"role": role, "content": str(message.text)}


def _literal(text: str) -> str:
    """Return a template of AG2's that says exactly this."""
    return text.replace("{", "{{").replace("}", "}}")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence AG2's events on standard output; the graph emits ours."""
    with IOStream.set_default(_Nowhere()):
        yield


class _Nowhere:
    """Implement an IOStream that shows nothing and asks nobody."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print nothing."""

    def send(self, message: Any) -> None:
        """Send nothing."""

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Return an empty line: nobody answers."""
        return ""
