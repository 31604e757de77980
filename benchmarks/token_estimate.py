"""How far our estimate of tokens is from a real tokenizer, on prompts as the assistants send them.

    uv run python -m benchmarks.token_estimate TOKENIZER.json [--assistant agent]

The file is that of any model on Hugging Face (`tokenizer.json`); nothing is bundled. The four
assistants answer the sample's questions in Chinese and English. A rate of 1.10 means that the
tokenizer counts ten in a hundred more than we estimate.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from tokenizers import Tokenizer

from agent.assistants.registry import compiled
from agent.core.strings import estimated_tokens
from agent.core.telemetry import Event, Exchange, listening
from agent.services import close_process_services
from benchmarks.table import Line, header, show

QUESTIONS = {
    "zh": ("王府井附近适合遛娃的好去处", "钠离子电池的前景如何", "从王府井步行到故宫怎么走"),
    "en": ("Where can children play near Wangfujing, Beijing?", "What is a sodium-ion battery?",
           "How do I walk from Wangfujing to the Forbidden City?"),
}  # fmt: skip
ASSISTANTS = ("agent", "deep_research", "team_answer", "plan_execute")
_MOST, _LEAST = 1.10, 0.90
_SHORTEST = 50
"""Tokens; of less a single sign makes ten in a hundred."""


class Counts:
    """Add up prompts, by language and by what they ask for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.language = ""
        self.by_row: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])

    def hear(self, event: Event) -> None:
        """Count the prompt of a call to a model."""
        if not isinstance(event, Exchange) or not event.provider.startswith("model:"):
            return
        texts = [_text(message[1]) for message in event.request["messages"]]
        estimate = sum(map(estimated_tokens, texts))
        real = sum(len(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts)
        if estimate < _SHORTEST:
            return
        task = texts[0].partition("<task>")[2].partition("</task>")[0] or "other"
        for name in (task, "all prompts"):
            row = self.by_row[self.language, name]
            row[0], row[1], row[2] = row[0] + 1, row[1] + estimate, row[2] + real


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))


async def measure(counts: Counts, assistants: Sequence[str]) -> None:
    """Ask every assistant every question."""
    try:
        for assistant in assistants:
            graph = compiled(assistant, InMemorySaver())
            for counts.language, questions in QUESTIONS.items():
                for number, question in enumerate(questions):
                    thread = {"configurable": {"thread_id": f"{counts.language}-{number}"}}
                    await graph.ainvoke({"messages": [HumanMessage(question)]}, thread)
    finally:
        await close_process_services()


def lines_of(counts: Counts) -> list[Line]:
    lines = []
    for (language, task), (calls, estimate, real) in sorted(counts.by_row.items()):
        whole = task == "all prompts"
        note = f"{calls} prompts, {estimate} estimated, {real} real"
        rate = real / estimate
        lines.append(
            Line(language, f"real / estimated, {task}", rate, _MOST if whole else None, note)
        )
        if whole:
            lines.append(Line(language, "the same, at least", rate, _LEAST, least=True))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", help="a tokenizer.json")
    parser.add_argument("--assistant", choices=ASSISTANTS, action="append")
    options = parser.parse_args(arguments)
    counts = Counts(Tokenizer.from_file(options.tokenizer))
    with tempfile.TemporaryDirectory() as folder, listening(counts.hear):
        os.environ |= {"TANLU_MODE": "offline", "TANLU_DATA_DIR": folder}
        asyncio.run(measure(counts, options.assistant or ASSISTANTS))
    lines = lines_of(counts)
    print(header())
    show(lines)
    return 0 if all(line.holds is not False for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
