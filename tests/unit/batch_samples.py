"""Files of questions and of answers that the tests of batch write."""

import base64
import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from agent.batch.answers import Row, RowFile

Write = Callable[..., Path]
CANARY = "BENCH:11111111-2222-3333-4444-555555555555"


def writer(folder: Path) -> Write:
    def write(content: str | bytes, name: str = "questions.jsonl") -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def json_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def encrypt(text: str, key: bytes) -> str:
    return base64.b64encode(
        bytes(a ^ b for a, b in zip(text.encode(), cycle(key), strict=False))
    ).decode()


def row(id: str, config: str = "c", **changes: Any) -> Row:
    made = {
        "id": id,
        "question": "who?",
        "answer": "北京",
        "status": "answered",
        "error": None,
        "sources": [{"number": 1, "title": "t", "url": "https://a.example"}],
        "usage": {"cost_usd": 0.5},
        "models": {"answer": "m"},
        "seconds": 1.5,
        "config": config,
        "attempt": 0,
    }
    return Row(**{**made, **changes})  # type: ignore[typeddict-item]


async def written(path: Path, *rows: Row) -> None:
    async with await RowFile.open(path) as file:
        for one in rows:
            await file.append(one)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
