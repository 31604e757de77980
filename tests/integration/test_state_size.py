"""What a thread's state weighs after ten reports: what was read is in its workspace, not in it."""

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.support.deep_lab import Researcher, deep_laboratory
from tests.support.long_lab import Web

pytestmark = pytest.mark.node
REPORTS, MOST = 10, 3_000_000
LONG = "这一段说的是电池的制造、运输、回收和市场，每一页都很长。" * 12


def long_page(query: str, number: int) -> str:
    lines = (f"{query}的第{number}页第{n}段，2025年为{n + number}美元。{LONG}" for n in range(40))
    return "\n\n".join(lines)


async def test_the_state_of_a_thread_after_ten_reports_is_small() -> None:
    web = Web(text=long_page, count=6)
    async with deep_laboratory(Researcher("成本", "安全"), web=web) as lab:
        for n in range(REPORTS):
            await lab.ask(f"钠离子电池的第{n}个问题：成本和安全如何？")
        state = await lab.graph.aget_state(lab.where())
    read = sum(len(page.text.encode()) for page in web.known.values())
    size = len(JsonPlusSerializer().dumps_typed(state.values)[1])
    assert read > 100_000
    assert size <= MOST * 0.5, size
