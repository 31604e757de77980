"""A client in front of the loopback Gemini, for its tests; import the fixtures."""

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel

from agent.models.client import ModelClient
from tests.support.meters import meter
from tests.support.scripted import ASK, KEY, Scripted, client_for
from tests.support.standins import GeminiService

FLASH, LITE = "gemini-3.8-flash", "gemini-3.5-flash-lite"


class Plan(BaseModel):
    queries: list[str]
    rationale: str


PLAN = {"queries": ["故宫 开放时间", "故宫 门票"], "rationale": "r"}


@pytest.fixture(name="llm")
def llm_fixture() -> Scripted:
    return Scripted()


@pytest.fixture(name="gemini")
def gemini_fixture(llm: Scripted) -> GeminiService:
    return GeminiService(llm, key=KEY)


@pytest.fixture(name="client")
async def client_fixture(gemini: GeminiService) -> AsyncIterator[ModelClient]:
    async with client_for(gemini) as client:
        yield client


async def said(client: ModelClient, model: str = FLASH, fallback: str | None = None) -> str:
    return "".join([t async for t in client.stream(model, ASK, meter=meter(), fallback=fallback)])
