"""Batches in tests: their questions and rows, and `tanlu` in this process."""

import json
import logging
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.batch.questions import Question
from agent.cli import main
from agent.cli.environment import configure_logging
from tests.support.command_line import Cli


def questions(count: int, **changes: Any) -> list[Question]:
    return [Question(f"q{n}", f"question {n}?", n + 1, **changes) for n in range(count)]


def values_of(text: str, **told: Any) -> dict[str, Any]:
    """A server's last values of a run that said this."""
    usage = {"model_calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01}
    kept = {"usage": usage, "gaps": [], **told}
    said = {"type": "ai", "content": text, "additional_kwargs": kept}
    return {"messages": [{"type": "human", "content": "?"}, said]}


def write_questions(path: Path, asked: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in asked), "utf-8")


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, whole lines only."""
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line]


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Here:
    """`tanlu` in this process, in the folder of `cli`: a process of its own takes seconds."""

    def __init__(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._cli, self._monkeypatch, self._capsys = cli, monkeypatch, capsys

    def __call__(self, *argv: str, **env: str) -> Said:
        # Logging stays as it was: pytest's own writers are on the root, too.
        before = logging.getLogger().level
        with self._monkeypatch.context() as patch:
            patch.chdir(self._cli.folder)
            for name, value in {**self._cli.env, **env}.items():
                patch.setenv(name, value)
            if "--offline" in argv:
                patch.setenv("TANLU_MODE", "offline")
            try:
                code = main(argv)
            finally:
                configure_logging(None, None)
                logging.getLogger().setLevel(before)
        told = self._capsys.readouterr()
        return Said(code, told.out, told.err)

    def resume(self, said: str, **env: str) -> Said:
        """Run the command that the last line of stderr tells to go on with."""
        words = shlex.split(said.strip().splitlines()[-1].split("Go on with: ")[1])
        assert words[0] == "tanlu"
        return self(*words[1:], **env)


@pytest.fixture(name="here")
def here_fixture(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    return Here(cli, monkeypatch, capsys)
