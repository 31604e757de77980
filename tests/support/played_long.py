"""Conversations with the long assistants, played by hand, and stand-ins that play them again.

A fixture's first line is the conversation: {assistant, language, now, questions, pages, context,
expect}; every other one a reply {turn, task, query?, n, habit, reply}. A reply is found by its
task, its topic and its order; a prompt's text decides nothing. A row of task `search` is what the
web search brought for a query, `pages` is what it reads under an address, and `expect` is what
each turn must come to.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.sample.model.request import ModelTurn
from agent.sample.model.text import block
from agent.sample.records import SamplePage
from tests.support.played import Conversation, PlayedModel

FOLDER = Path(__file__).parents[1] / "fixtures" / "played_long"


@dataclass(frozen=True)
class LongConversation(Conversation):
    """One thread of one assistant, with the web it saw."""

    assistant: str
    pages: dict[str, str]
    context: dict[str, Any]
    expect: list[dict[str, Any]]


def long_conversations() -> list[LongConversation]:
    """Return every conversation, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*.jsonl"))]


def _read(path: Path) -> LongConversation:
    head, *rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return LongConversation(
        name=path.stem,
        language=head["language"],
        now=datetime.fromisoformat(head["now"]),
        questions=head["questions"],
        faults={},
        replies=rows,
        assistant=head["assistant"],
        pages=head["pages"],
        context=head["context"],
        expect=head["expect"],
    )


class LongModel(PlayedModel):
    """Answer from a conversation by task, topic and order; count what it does not hold."""

    def _key(self, task: str, turn: ModelTurn) -> str:
        """Return the topic where topics are explored side by side; all else comes in turn."""
        return block(turn.user, "topic") if task == "deep_explore" else ""


@dataclass
class PlayedWeb:
    """Bring the results that a conversation's searches brought; an unknown query brings none."""

    conversation: LongConversation
    unknown: list[str] = field(default_factory=list)

    def __call__(self, query: str, limit: int) -> list[SamplePage]:
        """Return the results of a query."""
        rows = [row for row in self.conversation.replies if row["task"] == "search"]
        for row in rows:
            if row["query"] == query:
                return [_page(n, each) for n, each in enumerate(row["reply"]["results"][:limit])]
        self.unknown.append(query)
        return []

    def text(self, url: str) -> str:
        """Return the page under an address; empty where it could not be read."""
        return self.conversation.pages.get(url, "")


def _page(number: int, result: dict[str, Any]) -> SamplePage:
    return SamplePage(
        id=f"played-{number}",
        url=result["url"],
        title=result["title"],
        text=result["content"],
        site="",
        published=result.get("published_date", ""),
        language="",
        subjects=(),
        topics=(),
    )
