"""Conversations whose model was played by hand, and a stand-in that plays their replies again.

A fixture's first line is the conversation, every other one a reply:
{turn, task, n, query?, habit, reply, expect?}. A reply is found by its task and order within the
turn, a web or map branch's also by its query; a prompt's text decides nothing. In a reply
`{{name}}` stands for the id under which that place, route or page is shown now, `{{previous …}}`
for the one it has in the turn after. `expect` says of words of a reply what must become of them:
kept, marked (with the sign of a claim without a source) or gone; `xfail` names what fails yet.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.assistants.common.rounds import PHASE, REVIEW
from agent.configuration import Configuration
from agent.core.strings import estimated_tokens
from agent.evidence.citations import ID
from agent.sample.model.request import (
    FunctionCall,
    GroundedSentence,
    GroundingPage,
    ModelReply,
    ModelTurn,
)
from agent.sample.model.text import block, lines, task_of

FOLDER = Path(__file__).parents[1] / "fixtures" / "played"
LINK = re.compile(r"\[(\d+)\]\(([^)\s]+)\)")
NOISE = {
    "a marker": re.compile(r"\[\^"),
    "an id": re.compile(rf"[\[(（【<]\s*{ID}"),
    "a tool": re.compile(
        r"\bmaps_\w+|functionCall|\w+_tool\b|\bsearch_\w+|read_page|google_search"
    ),
    "a setting": re.compile("|".join(n for n in Configuration.model_fields if "_" in n), re.I),
}
"""What no reader may see, whichever assistant wrote it."""
_RECORD = re.compile(rf"^\[\^({ID})\] (.+)$", re.MULTILINE)
_DAY = re.compile(r"^(\S+) \d{4}-\d\d-\d\d")
_MARKERS = rf"((?:\s*\[\^{ID}\])+)"
_STATEMENT = re.compile(r"(\d+[a-z]?) (.*?)(?:   \(In: .*)?")
_SHOWN_PASSAGE = re.compile(r"(\d+\.\d+) (.*)")
_NAME = re.compile(r"\{\{(.+?)\}\}")
UNKNOWN_ID = "w99-99"
PREVIOUS = "previous "


@dataclass(frozen=True)
class Conversation:
    """One thread: its language, its time, its questions, and the replies of its model."""

    name: str
    language: str
    now: datetime
    questions: list[str]
    faults: dict[str, str]
    """What an answer still has that it must not have: test and turn → reason."""
    replies: list[dict[str, Any]]

    def expectations(self) -> Iterator[dict[str, Any]]:
        """Yield what shall become of words that were played, each with its turn and habit."""
        for row in self.replies:
            for expect in row.get("expect", []):
                yield {"turn": row["turn"], "habit": row["habit"], **expect}


def read_conversation(path: Path) -> Conversation:
    """Return the conversation of a fixture file."""
    head, *rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    now = datetime.fromisoformat(head["now"])
    faults = head.get("faults", {})
    return Conversation(path.stem, head["language"], now, head["questions"], faults, rows)


def conversations() -> list[Conversation]:
    """Return every conversation, by name."""
    return [read_conversation(path) for path in sorted(FOLDER.glob("*.jsonl"))]


def ids_shown(text: str, replies: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the ids in a request by name: records by theirs, pages by address.

    A page's id stands behind the sentence that was played with it, or before its title.
    """
    names: dict[str, str] = {}
    pages: dict[str, str] = {}
    for reply in replies:
        for sentence, addresses in grounded_sentences(reply):
            if match := re.search(re.escape(sentence.strip()) + _MARKERS, text):
                for address, name in zip(addresses, re.findall(ID, match[1]), strict=False):
                    names.setdefault(address, name)
        for address, title in (reply.get("grounded") or {}).get("sources", []):
            pages[title] = address
    for name, line in _RECORD.findall(text):
        day, title = _DAY.match(line), line.split(" — ")[0]
        key = day[1] if day else pages.get(title) or re.split(r" [|·] ", line)[0]
        names.setdefault(f"{PREVIOUS * name.startswith('p')}{key.strip()}", name)
    return names


def grounded_sentences(reply: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each sentence of a grounded reply that has sources, with their addresses."""
    grounded = reply.get("grounded") or {}
    for sentence, numbers in grounded.get("sentences", []):
        if numbers:
            yield sentence, [grounded["sources"][number][0] for number in numbers]


def tokens_of(turn: ModelTurn) -> int:
    """Return the estimated tokens of all that a request sends."""
    tools = [asdict(tool) for tool in turn.tools]
    calls = [asdict(call) for past in turn.history for call in past.calls]
    structures = json.dumps([tools, calls, turn.schema or {}], ensure_ascii=False)
    return estimated_tokens(f"{turn.system}\n{text_of(turn)}\n{structures}")


def text_of(turn: ModelTurn) -> str:
    """Return everything that a request shows: prompt, earlier messages, results of tools."""
    past = [message.text for message in turn.history]
    return "\n".join([*past, turn.user, *(result.text for result in turn.tool_results)])


@dataclass
class PlayedModel:
    """Answer from a conversation; what it does not hold gets the honest minimum and is counted."""

    conversation: Conversation
    turn: int = 0
    unknown: list[str] = field(default_factory=list)
    """The requests without a reply: task and query."""
    lost: list[str] = field(default_factory=list)
    """What replies cite and no request shows."""
    used: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    tokens: int = 0
    """Of all requests but the judge's."""
    judge_tokens: int = 0
    _lost_before: int = 0
    """How many replies had lost something before the answer."""

    def respond(self, turn: ModelTurn) -> ModelReply:
        """Return the reply that was played to this request."""
        task = task_of(turn)
        if task == "claim_check":
            self.judge_tokens += tokens_of(turn)
            return self._rulings(turn)
        if task == REVIEW:
            return ModelReply(json={"parts": [], "findings": []})
        if task == PHASE:
            return ModelReply(json={"edits": [], "inserts": []})
        self.tokens += tokens_of(turn)
        key = self._key(task, turn)
        place = (self.turn, task, key)
        self.used[place] += 1
        rows = [row for row in self._rows(task) if row.get("query", "") == key]
        number = self.used[place]
        if task == "answer" and rows and number > rows[-1]["n"]:
            # One that was begun early is asked for again where more was looked up.
            number = rows[-1]["n"]
            del self.lost[self._lost_before :]
        elif task == "answer":
            self._lost_before = len(self.lost)
        for row in rows:
            if row["n"] == number:
                return self._answer(row["reply"], turn)
        self.unknown.append(f"{task} {key}".strip())
        return minimum(turn, key)

    def _key(self, task: str, turn: ModelTurn) -> str:
        """Return what tells apart requests of a task that are made side by side."""
        return block(turn.user, "query") if task.endswith("_research") else ""

    def _rows(self, task: str) -> list[dict[str, Any]]:
        replies = self.conversation.replies
        return [row for row in replies if row["turn"] == self.turn and row["task"] == task]

    def _answer(self, reply: dict[str, Any], turn: ModelTurn) -> ModelReply:
        reply = self._with_ids(reply, ids_shown(text_of(turn), self._replies_so_far()))
        if "grounded" in reply:
            return _grounded(reply["grounded"])
        calls = (
            FunctionCall(call["name"], call.get("args", {})) for call in reply.get("calls", [])
        )
        return ModelReply(text=reply.get("text"), json=reply.get("json"), calls=tuple(calls))

    def _replies_so_far(self) -> list[dict[str, Any]]:
        return [row["reply"] for row in self.conversation.replies if row["turn"] <= self.turn]

    def _with_ids(self, value: Any, names: dict[str, str]) -> Any:
        """Return a reply with the ids of today."""
        if isinstance(value, str):
            return _NAME.sub(lambda match: self._id(match[1], names), value)
        if isinstance(value, list):
            return [self._with_ids(inner, names) for inner in value]
        if isinstance(value, dict):
            return {key: self._with_ids(inner, names) for key, inner in value.items()}
        return value

    def _id(self, name: str, names: dict[str, str]) -> str:
        shown = names.get(name) or names.get(name.removeprefix(PREVIOUS))
        if not shown:
            self.lost.append(name)
        return shown or UNKNOWN_ID

    def _rulings(self, turn: ModelTurn) -> ModelReply:
        """Judge each statement as it was judged, and what nothing bears by what is expected.

        One that nobody judged gets no ruling.
        """
        passages = [_SHOWN_PASSAGE.fullmatch(line) for line in lines(turn.user, "passages")]
        shown = {match[1]: match[2] for match in passages if match}
        rulings = []
        for line in lines(turn.user, "statements"):
            match = _STATEMENT.fullmatch(line)
            if match and (ruling := self._ruling(match[2], shown)):
                rulings.append({"id": match[1], **ruling})
            elif match:
                self.unknown.append(f"claim_check {match[2]}")
        return ModelReply(json={"rulings": rulings})

    def _ruling(self, statement: str, passages: dict[str, str]) -> dict[str, Any] | None:
        letters = _letters(statement)
        for expect in self.conversation.expectations():
            fix, quote = expect.get("fix", ""), expect.get("quote", "")
            if expect["turn"] != self.turn or (expect["is"] == "kept" and not quote):
                continue
            names = [n for n, text in passages.items() if (quote or fix) and (quote or fix) in text]
            is_there = _letters(expect["words"]) in letters
            if (fix and fix in statement) or (is_there and expect["is"] == "kept"):
                return {"v": "s", "p": names[:1]}
            if is_there:
                wording = statement.replace(expect["words"], fix) if fix else ""
                letter = "p" if names else "n"
                return {"v": letter, "bad": [expect["words"]], "p": names[:1], "fix": wording}
        for row in self._rows("claim_check"):
            for verdict in row["reply"]["json"]["verdicts"]:
                if _letters(verdict["sentence"]) == letters:
                    quote = _letters(verdict.get("quote", ""))
                    names = [n for n, text in passages.items() if quote and quote in _letters(text)]
                    return _RULINGS.get(verdict["verdict"].lower(), {}) | {"p": names[:1]}
        return None


_RULINGS = {"supported": {"v": "s"}, "nothing_to_check": {"v": "o"}}


def _grounded(reply: dict[str, Any]) -> ModelReply:
    sources = [GroundingPage(address, title) for address, title in reply.get("sources", [])]
    sentences = tuple(
        GroundedSentence(text, tuple(sources[number] for number in numbers))
        for text, numbers in reply["sentences"]
    )
    return ModelReply(grounded=sentences, queries=tuple(reply.get("queries", [])))


def minimum(turn: ModelTurn, query: str) -> ModelReply:
    """Return what a model says that has nothing to add, in the form that was asked for."""
    fields = (turn.schema or {}).get("properties", {})
    if "query" in fields:
        question = block(turn.user, "question")
        return ModelReply(json={"question": question, "query": [{"query": question}]})
    if "is_sufficient" in fields:
        empty = {"knowledge_gap": "", "follow_up_queries": []}
        return ModelReply(json={"is_sufficient": True, **empty})
    if turn.schema is not None:
        return ModelReply(json={})
    if turn.search:
        return ModelReply(grounded=(GroundedSentence("没有查到。"),), queries=(query,))
    return ModelReply(text="没有更多资料。")


def _letters(text: str) -> str:
    """Return the letters and digits of a sentence."""
    return "".join(re.findall(r"\w", text))
