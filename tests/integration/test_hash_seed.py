"""What a model is asked does not depend on the order of sets, which differs by process.

A run that goes on in another process would pay again for a prompt in another order.
"""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.registry import compiled
from agent.core.telemetry import Event, Exchange, listening
from agent.evidence.claims.judging import passages_block
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from agent.services import build_services
from agent.settings import read_settings

QUESTIONS = {
    "agent": ("王府井附近适合遛娃的好去处", "第二个地方的门票要多少钱"),
    "deep_research": ("钠离子电池与磷酸铁锂电池相比如何",),
    "team_answer": ("Which company makes the Naxtra battery?",),
    "plan_execute": ("How do sodium-ion batteries work?",),
}
RARE = {"zinc": 3, "iron": 5, "lead": 7, "gold": 11, "tin": 13, "cobalt": 17}


def claims() -> list[str]:
    """Return what a judge is shown of a statement that many passages bear alike.

    Each has words that are as rare as those of the others: only in what order their weights are
    added could tell the passages apart.
    """
    groups = ["a", "b", "c", "d", "e", "f", "g", "h"]
    lines = [" ".join(f"{group}{word}" for word in RARE) for group in groups]
    lines += [f"{g}{word} alone" for g in groups for word, n in RARE.items() for _ in range(n - 1)]
    evidence = Evidence({f"w{at}-0": Record([line]) for at, line in enumerate(lines)})
    text = f"No {' '.join(lines[: len(groups)])} is at Foo Bar."
    return [passages_block(statements(text, MARKED), evidence)]


async def prompts_sent(folder: Path) -> list[str]:
    """Return what a judge is shown, and every prompt in an order of its own."""
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    services = replace(services, clock=lambda: datetime(2026, 3, 4, 12, tzinfo=UTC))
    prompts = list[str]()

    def note(event: Event) -> None:
        if isinstance(event, Exchange) and isinstance(event.request, dict):
            prompts.append(json.dumps([event.provider, event.request], ensure_ascii=False))

    with listening(note):
        for assistant, questions in QUESTIONS.items():
            graph = compiled(assistant, InMemorySaver(), lambda: services)
            for question in questions:
                thread: Any = {"configurable": {"thread_id": assistant}}
                await graph.ainvoke({"messages": question}, thread)
    await services.aclose()
    # Branches of one step are asked at the same time.
    return [*claims(), *sorted(prompts)]


@pytest.mark.node
@pytest.mark.slow
def test_a_process_with_another_hash_seed_sends_the_same_prompts(tmp_path: Path) -> None:
    # This process has a seed by chance, which is never the other's.
    assert os.environ.get("PYTHONHASHSEED", "random") == "random"
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name, str(tmp_path / "other")],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        own = asyncio.run(prompts_sent(tmp_path / "own"))
        other = process.communicate(timeout=300)[0]
    one = "\n".join(own).splitlines()
    assert one == other.splitlines()
    assert len(one) > 50


if __name__ == "__main__":
    sys.stdout.write("\n".join(asyncio.run(prompts_sent(Path(sys.argv[1])))))
