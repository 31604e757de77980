"""A server for browsers; what its log says of the page's policy fails the module."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

from agent.texts import Language
from agent.texts.card_words import spoken_fields
from tests.support.dev_server import DevServer, dev_server
from tests.support.rows import FOLDER


@contextmanager
def page_server(folder: Path, **options: Any) -> Iterator[DevServer]:
    """As `dev_server`; at the end no browser may have reported anything to it."""
    with dev_server(folder, **options) as server:
        yield server
        assert "the page's policy stopped something" not in server.output()


def answered_thread(server: DevServer, *questions: str, assistant: str = "agent") -> str:
    """The id of a new thread of the page on which these questions were asked and answered."""
    with get_sync_client(url=server.url) as client:
        told = {"asked_over": "page", "title": questions[0]}
        made = client.threads.create(graph_id=assistant, metadata=told)
        thread: str = made["thread_id"]
        for question in questions:
            said: Any = {"messages": [{"role": "user", "content": question}]}
            client.runs.wait(thread, assistant, input=said)
    return thread


QUESTIONS: dict[Language, str] = {
    "ar": "أين يلعب الأطفال قرب وانغفوجينغ (Wangfujing) في بكين؟",
    "de": "Wo können Kinder bei Wangfujing in Peking spielen?",
}


def thread_in(server: DevServer, language: Language, english: str) -> str:
    """The id of a new thread with an answer in one of these languages.

    Its places and sources are those of the English one, its text is in `looks`.
    """
    question = QUESTIONS[language]
    with get_sync_client(url=server.url) as client:
        values: Any = client.threads.get_state(english)["values"]
        kept = values["messages"][-1]["additional_kwargs"]
        page, place, *_ = (f"[{source['number']}]({source['url']})" for source in kept["sources"])
        first, second, third, *_ = (each["name_en"] for each in kept["places"])
        text = (
            (FOLDER / f"looks/answer_{language}.md")
            .read_text("utf-8")
            .format(page=page, place=place, first=first, second=second, third=third)
        )
        told = {**kept, **spoken_fields(language), "next_questions": []}
        messages = [
            {"type": "human", "content": question, "id": "q"},
            {"type": "ai", "content": text, "id": "a", "additional_kwargs": told},
        ]
        metadata = {"asked_over": "page", "title": question}
        thread: str = client.threads.create(graph_id="agent", metadata=metadata)["thread_id"]
        client.threads.update_state(thread, {"messages": messages}, as_node="finalize_answer")
    return thread
