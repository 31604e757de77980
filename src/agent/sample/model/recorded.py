"""Give the replies that were recorded for the bundled questions: a model played by hand.

A line of `data/recordings/*.jsonl` is one reply: its task, the question it was given for, what else
the request must have, and the reply. A prompt's wording decides nothing. `{{name}}` in a reply
stands for the id under which the request shows that place, route or source, `{{day+1}}` for
tomorrow's date. A reply that names what the request does not show is not given: what it says would
have no source in this run.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Any

from agent.core.patterns import Linear
from agent.core.strings import letters_of
from agent.evidence.language import words
from agent.evidence.references import CITATION
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block, ids_shown, numbered_in_block, task_of
from agent.sample.records import DATA
from agent.texts import detect_language

FOLDER = DATA / "recordings"
REPORTS = frozenset({"answer", "deep_report", "dossier", "team_verifier"})
"""The tasks whose reply is what the person reads."""
_NAME = Linear(r"\{\{([^{}]+)\}\}")
_DAY = Linear(r"\{\{(?:day\+(\d+)|sunday)\}\}")


@dataclass(frozen=True)
class Recording:
    """Hold a recorded reply: text, json, calls or rulings."""

    task: str
    question: str
    reply: Mapping[str, Any]
    when: Mapping[str, str | None] = field(default_factory=dict)
    """What tagged blocks of the request must hold: a text, `*part` of one, None for any at all."""
    after: tuple[str, ...] = ()
    """The tools whose results the request brings, in the order of the alphabet."""

    def fits(self, turn: ModelTurn) -> bool:
        """Return whether a request is the one that this replies to, in the question's language."""
        asked, told = block(turn.user, "question"), block(turn.user, "answer_language")
        if told and (detect_language(self.question) == "zh") != ("(zh" in told):
            return False
        if asked and "query" not in self.when and letters_of(asked) != letters_of(self.question):
            return False
        if self.after != tuple(sorted({result.name for result in turn.tool_results})):
            return False
        texts = {tag: block(turn.user, tag) for tag in self.when}
        return all(_holds(texts[tag], held) for tag, held in self.when.items())


def _holds(text: str, held: str | None) -> bool:
    if held is None:
        return bool(text)
    asked = letters_of(text)
    return letters_of(held) in asked if held.startswith("*") else letters_of(held) == asked


@cache
def recordings() -> Mapping[str, tuple[Recording, ...]]:
    """Return all recordings by task, those that say most about their request first."""
    rows: dict[str, list[Recording]] = {}
    # `Path.iterdir` of Python 3.13 is a call that `langgraph dev` refuses on its loop: the first
    # question to a server in sample mode failed there.
    for file in sorted(os.listdir(str(FOLDER))):
        for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            own = {name: row.pop(name) for name in ("task", "question")}
            when, after = row.pop("when", {}), tuple(sorted(row.pop("after", ())))
            recording = Recording(**own, reply=row, when=when, after=after)
            rows.setdefault(recording.task, []).append(recording)
    return {task: tuple(sorted(own, key=lambda r: -len(r.when))) for task, own in rows.items()}


def is_recorded(question: str) -> bool:
    """Return whether the answer to a question is a recording."""
    answers = (row for task in REPORTS for row in recordings().get(task, ()))
    return any(letters_of(row.question) == letters_of(question) for row in answers)


def recorded_reply(turn: ModelTurn) -> ModelReply | None:
    """Return the recorded reply to a request; None where there is none, or what it says is new."""
    rows = [row for row in recordings().get(task_of(turn), ()) if row.fits(turn)]
    if block(turn.user, "wishes") or not rows:
        return None
    if "rulings" in rows[0].reply:
        return ModelReply(json={"rulings": list(_rulings(rows, turn))})
    return next(filter(None, (_filled_in(row.reply, turn) for row in rows)), None)


def _filled_in(reply: Mapping[str, Any], turn: ModelTurn) -> ModelReply | None:
    """Return a reply with the ids and days of the request; None where it shows one of them not."""
    results = "\n".join(result.text for result in turn.tool_results)
    names, lost = ids_shown(f"{turn.user}\n{results}"), set[str]()

    def named(match: Any) -> str:
        own = [name for name, text in names if text.startswith(match[1])]
        own += [name for name, text in names if match[1] in text]
        if not own:
            lost.add(match[1])
        return own[0] if own else ""

    own = _replaced(_dated(reply, turn), _NAME, named)
    calls = tuple(FunctionCall(**call, id=_call_id(call)) for call in own.get("calls", ()))
    lost |= {call.name for call in calls} - {tool.name for tool in turn.tools}
    return None if lost else ModelReply(text=own.get("text"), json=own.get("json"), calls=calls)


def _call_id(call: Mapping[str, Any]) -> str:
    """Return the same id for the same call, so that a run that is taken up asks the same again."""
    return f"call-{zlib.crc32(json.dumps(call, sort_keys=True).encode()):08x}"


def _dated(reply: Mapping[str, Any], turn: ModelTurn) -> dict[str, Any]:
    """Return a reply with the days that are counted from today."""
    today = block(turn.user, "today")[: len("2026-11-28")]

    def day(match: Any) -> str:
        begin = date.fromisoformat(today) if today else date.min
        # The next Sunday, today where it is one.
        days = int(match[1]) if match[1] else 7 - begin.isoweekday()
        return (begin + timedelta(days=days)).isoformat()

    own: dict[str, Any] = _replaced(dict(reply), _DAY, day)
    return own


def _replaced(value: Any, pattern: Linear, by: Callable[[Any], str]) -> Any:
    """Return a value of JSON with a pattern replaced in each of its texts."""
    if isinstance(value, str):
        return pattern.sub(by, value)
    if isinstance(value, list):
        return [_replaced(inner, pattern, by) for inner in value]
    if isinstance(value, dict):
        return {name: _replaced(inner, pattern, by) for name, inner in value.items()}
    return value


def _rulings(rows: list[Recording], turn: ModelTurn) -> Iterator[dict[str, Any]]:
    """Yield the recorded ruling of each statement; one that nobody judged has none.

    A ruling points to the nearest passage of each source that its statement cites.
    """
    passages = numbered_in_block(turn.user, "passages")
    judged = [each for row in rows for each in _dated(row.reply, turn)["rulings"]]
    own = {letters_of(text): rest for text, *rest in judged}
    for number, statement in numbered_in_block(turn.user, "statements"):
        if ruling := own.get(letters_of(CITATION.sub("", statement))):
            verdict, *calc = ruling
            cited = [match[1] for match in CITATION.finditer(statement)] or [""]
            nearest = (_nearest(statement, name, passages) for name in cited if verdict != "o")
            names = list(dict.fromkeys(filter(None, nearest)))
            told = {"r": " ".join([number, verdict, *names])}
            yield told | ({"calc": calc[0]} if calc else {})


def _nearest(statement: str, source: str, passages: list[tuple[str, str]]) -> str:
    """Return the number of the passage, of a source or of any, that shares most words with it."""
    wanted = words(statement)
    own = [
        (len(wanted & words(text)), name)
        for name, text in passages
        if source in ("", name.split(".")[0])
    ]
    return max(own, default=(0, ""))[1]
