"""The engine of our own: it asks the models itself."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.assistants.team_answer.engine import Chat, Selection
from agent.assistants.team_answer.speakers import Speaker, chosen, speakers_named, spoken
from agent.assistants.team_answer.wording import say
from agent.language import Language
from agent.models.catalogue import DEFAULT_THINKING, Role
from agent.models.types import Reply

SELECTION_RETRIES = 2
THINKING: dict[Speaker, Role] = {
    "researcher": "research",
    "analyst": "reflection",
    "verifier": "reflection",
}
"""Whose model a speaker uses, and so how hard it thinks."""


class NativeEngine:
    """Implements `GroupChatEngine`."""

    name = "native"

    async def select(
        self, chat: Chat, prompt: Sequence[BaseMessage], candidates: Sequence[Speaker]
    ) -> Selection:
        """One of the candidates; see GroupChatEngine.select."""
        messages = list(prompt)
        for _ in range(1 + SELECTION_RETRIES):
            reply: Reply[BaseModel] = await chat.models.ask(
                chat.manager_model,
                messages,
                meter=chat.meter,
                thinking=DEFAULT_THINKING["query"],
            )
            if speaker := chosen(reply.text, candidates):
                return Selection(speaker, chosen=True)
            problem = selection_problem(reply.text, candidates, chat.language)
            messages += [AIMessage(reply.text), HumanMessage(problem)]
        return Selection(candidates[0], chosen=False)

    async def speak(
        self,
        chat: Chat,
        speaker: Speaker,
        prompt: Sequence[BaseMessage],
        tools: Sequence[BaseTool],
    ) -> AIMessage:
        """What the speaker's model says; see GroupChatEngine.speak."""
        reply: Reply[BaseModel] = await chat.models.ask(
            chat.speaker_models[speaker],
            prompt,
            meter=chat.meter,
            tools=tools,
            thinking=DEFAULT_THINKING[THINKING[speaker]],
        )
        return reply.message


def selection_problem(text: str, candidates: Sequence[Speaker], language: Language) -> str:
    """What is wrong with a selection, told to the model that made it."""
    named = speakers_named(spoken(text))
    kind = "nobody" if not named else "several" if len(named) > 1 else "not_now"
    return say(
        f"selection_{kind}",
        language,
        named=", ".join(named),
        candidates=", ".join(candidates),
    )
