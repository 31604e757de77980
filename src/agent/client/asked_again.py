"""Ask a thread's last question anew, on a thread of its own, and compare the two answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import httpx
from langchain_core.runnables import RunnableConfig

from agent.assistants.common.conversation import EXTENT, KEPT_MESSAGES, within
from agent.client.connection import connected, server_refusal, status_of
from agent.client.run_result import RunName, RunResult, outcome_of, spoken
from agent.core.errors import AgentError, InputError
from agent.evidence.changes import AnswerChanges, answer_changes
from agent.runs.threads import open_threads
from agent.settings import read_settings

SaidBy = Literal["user", "assistant"]
_MOST_WITH_QUESTION = 22_000
"""Characters of a question with what was said before; an input may have 24,000 of all kinds."""
_LONGEST: Mapping[SaidBy, int] = {"user": 2_000, "assistant": 4_000}
"""Of an earlier message, as much as the next turn reads of it."""


@dataclass(frozen=True)
class Said:
    """Hold one message of a conversation as plain text."""

    role: SaidBy
    text: str


def history(question: str, earlier: Sequence[Said]) -> list[dict[str, str]]:
    """Return the messages of a run that begins a thread with what was said elsewhere."""
    fitting = list(islice(_fitting(earlier, _MOST_WITH_QUESTION - len(question)), KEPT_MESSAGES))
    return [*reversed(fitting), {"role": "user", "content": question}]


def _fitting(earlier: Sequence[Said], room: int) -> Iterator[dict[str, str]]:
    """Yield the last messages, the newest first, as long as there is room."""
    for message in reversed(earlier):
        text = message.text[: _LONGEST[message.role]].strip()
        room -= len(text)
        if room < 0:
            return
        if text:
            yield {"role": message.role, "content": text}


def input_again(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input that asks a thread's last question anew; raise AgentError without one.

    What was said before it goes along, and the place and the collections it was asked with.
    """
    said = [Said("user" if role == "human" else "assistant", text) for role, text in spoken(values)]
    last = next((n for n in reversed(range(len(said))) if said[n].role == "user"), None)
    if last is None or last == len(said) - 1:
        raise AgentError("There is no answer on this thread to compare with.")
    again: dict[str, Any] = {"messages": history(said[last].text, said[:last])}
    turn, previous = values.get("turn") or {}, values.get("previous") or {}
    if near := turn.get("near") or previous.get("near"):
        again["user_location"] = dict(near)
    if collections := turn.get("collections"):
        again["collections"] = list(collections)
    return again


def changes_since(before: RunResult, after: RunResult) -> AnswerChanges:
    """Return what the later of two answers says otherwise, without the blocks around its text."""
    texts = [within(one.answer, one.further.get(EXTENT)) for one in (before, after)]
    return answer_changes(*texts)


@dataclass(frozen=True)
class AnsweredBefore:
    """Hold what is asked again: the run's input, the answer it had, and when that was written."""

    input: dict[str, Any]
    result: RunResult
    at: str
    """ISO 8601."""


async def read_before(thread_id: str, url: str | None) -> AnsweredBefore:
    """Return the last question of a thread, here or on a server; raise AgentError without one."""
    values, at = await (_on_server(thread_id, url) if url else _here(thread_id))
    result = outcome_of(values, RunName("agent", thread_id, ""), 0.0)
    return AnsweredBefore(input_again(values), result, at)


async def _here(thread_id: str) -> tuple[Mapping[str, Any], str]:
    async with open_threads(read_settings()) as threads:
        config = RunnableConfig(configurable={"thread_id": thread_id})
        saved = await threads.saver.aget_tuple(config)
    if saved is None:
        raise InputError("--again", f"There is no thread {thread_id} here")
    return saved.checkpoint["channel_values"], saved.checkpoint["ts"]


async def _on_server(thread_id: str, url: str) -> tuple[Mapping[str, Any], str]:
    async with connected(url) as client:
        try:
            state: Mapping[str, Any] = await client.threads.get_state(thread_id)
        except httpx.HTTPError as error:
            if status_of(error) in (404, 422):
                raise InputError("--again", f"The server has no {thread_id}") from None
            raise server_refusal(url, error) from None
    return state["values"] or {}, str(state.get("created_at") or "")
