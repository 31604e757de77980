"""Show what one question asks the sample's model: each request by task, and the reply it gets.

    uv run python -m tools.record_sample calls.jsonl "王府井附近适合遛娃的好去处"
    uv run python -m tools.record_sample calls.jsonl --assistant team_answer "What is 15% of 1453?"

All words after the file are those of `tanlu ask --offline`; a row is a request. Whoever adds a
question to the sample reads here what to record for it (docs/sample_questions.md).
"""

import json
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from agent.cli import main as run_command
from agent.sample.model.reply import SampleModel
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import task_of

_WRITING = threading.Lock()


def record_to(path: Path) -> None:
    """Let the sample's model write each request and its reply to a file of JSON lines."""
    reply_to = SampleModel.respond

    def respond(model: SampleModel, turn: ModelTurn) -> ModelReply:
        answer = reply_to(model, turn)
        row = {"task": task_of(turn), **asdict(turn), "reply": asdict(answer)}
        with _WRITING, path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        return answer

    SampleModel.respond = respond  # type: ignore[method-assign]


def main() -> None:
    """Ask one question in sample mode and write down its requests."""
    path, *words = sys.argv[1:]
    Path(path).unlink(missing_ok=True)
    record_to(Path(path))
    run_command(["ask", "--offline", *words])


if __name__ == "__main__":
    main()
