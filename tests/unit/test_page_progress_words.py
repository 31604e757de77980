"""The page says of a run's events what the terminal says: the same words from the same table."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from agent.core.progress import EventType
from agent.texts import LANGUAGES, event_line
from tests.unit.page_node import page_environment

NODE = shutil.which("node")
PAGE = Path(__file__).parents[2] / "src/agent/page/js/answer"

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node")

_SCRIPT = """
import { eventLine } from %s;
const { events } = JSON.parse(await new Response(process.stdin).text());
const both = (told) => ["zh", "en"].map((language) => eventLine(told, language));
const lines = events.map(both);
console.log(JSON.stringify(lines));
"""
_TOLD: list[dict[str, Any]] = [
    {},
    {"text": "王府井 亲子", "count": 3, "id": "w0", "seconds": 0.05},
    {"text": "one\ntwo\r\nthree\n", "count": 1, "speaker": "researcher", "seconds": 12},
    {"text": "a\u2028b\x0bc\x1dd", "count": 0, "speaker": "somebody"},
    {"text": "\n\n", "speaker": "verifier"},
    {"text": " tabs\tand\xa0spaces\u200b zero-width \ud800 ", "count": 12},
    {"text": "{count} {speaker} {text} $& $1", "count": 2, "speaker": "{text}"},
    {"text": "长" * 700, "count": 2, "seconds": 3.25},
    {"text": "😀" * 200, "seconds": 0.25},
    {"text": "x", "seconds": 0.75},
    {"text": "x", "seconds": 1.15},
    {"text": "x", "seconds": 0.0},
]


def test_the_page_and_the_terminal_have_the_same_line_for_every_event() -> None:
    kinds = (*get_args(EventType), "enough", "short", "unknown")
    events = [{"type": kind, "node": "n", **told} for kind in kinds for told in _TOLD]
    expected = [[event_line(told, language) for language in LANGUAGES] for told in events]

    lines = _lines_of_the_page(events)

    differing = [
        (told, ours, theirs)
        for told, ours, theirs in zip(events, expected, lines, strict=True)
        if ours != theirs
    ]
    assert differing == []
    assert any(line for pair in expected for line in pair)


def _lines_of_the_page(events: list[dict[str, Any]]) -> list[list[str]]:
    module = (PAGE / "progress_line.js").as_uri()
    ran = subprocess.run(
        [str(NODE), "--input-type=module", "-e", _SCRIPT % json.dumps(module)],
        input=json.dumps({"events": events}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=page_environment(),
    )
    assert ran.returncode == 0, ran.stderr
    found: list[list[str]] = json.loads(ran.stdout)
    return found
