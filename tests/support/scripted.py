"""A Model that says what a test tells it to, and the client in front of it."""

import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from agent.core.calls import Calls
from agent.models.client import ModelClient
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.services.loopback import Service
from agent.settings import Settings
from tests.support.served import serve_in_thread

KEY = "AIza-canary-0123456789abcdef"
ASK: list[BaseMessage] = [SystemMessage("You answer."), HumanMessage("故宫几点开门?")]
Step = ModelReply | Callable[[ModelTurn], ModelReply]


@tool
def maps_geo(address: str) -> str:
    """Coordinates of an address."""
    return address


class Scripted:
    """Answers from a queue, then by `otherwise`; keeps the turns it was asked."""

    def __init__(self, *steps: Step, otherwise: Step = ModelReply(text="Scripted answer.")) -> None:  # noqa: B008
        self._steps, self._otherwise = deque(steps), otherwise
        self.turns: list[ModelTurn] = []
        self._lock = threading.Lock()

    def then(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def respond(self, turn: ModelTurn) -> ModelReply:
        with self._lock:
            self.turns.append(turn)
            step = self._steps.popleft() if self._steps else self._otherwise
        return step(turn) if callable(step) else step


@asynccontextmanager
async def client_for(
    service: Service, *, calls: Calls | None = None, **settings: Any
) -> AsyncIterator[ModelClient]:
    """A client whose provider is the service: Gemini's protocol, or OpenAI's at /v1."""
    with serve_in_thread(service.app) as running:
        where: dict[str, Any] = (
            {"gemini_api_key": KEY, "google_gemini_base_url": running.url}
            if service.name == "gemini"
            else {"openai_api_key": KEY, "openai_base_url": f"{running.url}/v1"}
        )
        client = ModelClient(Settings(**where | settings), calls or Calls())
        try:
            yield client
        finally:
            await client.aclose()
