"""What the tests of Gemini share: a desk in front of the loopback service; import the fixtures."""

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel

from agent.models.client import ModelDesk
from tests.support.scripted import ASK, KEY, Scripted, desk_for, meter
from tests.support.standins import GeminiService

FLASH, LITE = "gemini-3.8-flash", "gemini-3.5-flash-lite"


class Plan(BaseModel):
    queries: list[str]
    rationale: str


PLAN = {"queries": ["故宫 开放时间", "故宫 门票"], "rationale": "r"}


@pytest.fixture(name="brain")
def brain_fixture() -> Scripted:
    return Scripted()


@pytest.fixture(name="gemini")
def gemini_fixture(brain: Scripted) -> GeminiService:
    return GeminiService(brain, key=KEY)


@pytest.fixture(name="desk")
async def desk_fixture(gemini: GeminiService) -> AsyncIterator[ModelDesk]:
    async with desk_for(gemini) as desk:
        yield desk


async def said(desk: ModelDesk, model: str = FLASH, fallback: str | None = None) -> str:
    return "".join([t async for t in desk.stream(model, ASK, meter=meter(), fallback=fallback)])
