"""A run of an assistant over a collection, up to its writer, with the sample's model.

That model understands nothing: it asks for the question itself and writes what it is shown. So a
run tells what code lets through to the writer, and what it sends elsewhere.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from tests.support.standin import Recorded
from tests.support.standins import observe_sample

from agent.assistants.common.services import Services
from agent.assistants.registry import compiled
from agent.knowledge.files import Destination
from agent.sample.model.reply import SampleModel
from agent.services import build_services
from agent.settings import read_settings
from evals.own_documents import sets
from evals.own_documents.finder import Finder

WRITERS = {
    "agent": {"answer"},
    "deep_research": {"deep_report"},
    "plan_execute": {"dossier"},
    "team_answer": {"team_researcher", "team_verifier", "team_synthesize"},
}
"""Of each assistant the tasks whose prompts must hold what the text can say."""
_MODELS = ("gemini", "openai")
_SECRET = ("key", "api_key", "token")


@dataclass(frozen=True)
class Seen:
    """What a run showed its writer, and what it sent to services that are no models."""

    shown: str
    differences: list[str]
    sent: list[str]
    """The texts of the requests."""
    tasks: list[str]
    """Of its calls of the model, in order."""
    state: dict[str, Any]


@asynccontextmanager
async def ingested(names: Sequence[str], folder: Path) -> AsyncIterator[Services]:
    """Give the services of the sample, over a store in the folder with these collections."""
    observe_sample()
    services = build_services(
        read_settings(
            tanlu_mode="offline", tanlu_data_dir=folder / "data", knowledge_store="sqlite"
        )
    )
    try:
        for name in names:
            files = folder / "files" / name
            sets.write(name, files)
            ingest = await services.knowledge().ingest([files], target=Destination(name))
            report = await ingest.run()
            if report.failed or report.notes:
                raise RuntimeError(f"not all of {name} was read: {report.failed} {report.notes}")
        yield services
    finally:
        await services.aclose()


async def run(assistant: str, label: sets.Label, services: Services, *, only: bool) -> Seen:
    """Ask an assistant a collection's question."""
    assert services.sample
    standins: dict[str, Any] = dict(services.sample.services)
    logs: dict[str, list[Recorded]] = {name: each.requests for name, each in standins.items()}
    for log in logs.values():
        log.clear()
    standins["gemini"].llm = Finder(SampleModel(), label)
    chosen = {"sources": "own"} if only else {"geo_routing": "never"}
    graph = compiled(assistant, InMemorySaver(), lambda: services)
    state = await graph.ainvoke(
        {"messages": sets.question(label, only=only), "collections": [label["collection"]]},
        {"configurable": {"thread_id": f"{label['collection']}-{only}"}},
        context=chosen,
    )
    prompts = [_prompt(request) for name in _MODELS for request in logs.get(name, ())]
    tasks = [_task(prompt) for prompt in prompts]
    written = [p for p, task in zip(prompts, tasks, strict=True) if task in WRITERS[assistant]]
    if not written:
        raise RuntimeError(f"no call of {assistant} writes: {', '.join(tasks)}")
    shown = "\n".join(written)
    outside = [r for name, log in logs.items() if name not in _MODELS for r in log]
    searched = [r for name in _MODELS for r in logs.get(name, ()) if _searches(r)]
    sent = [" ".join(_texts(r)) for r in (*outside, *searched)]
    differences = list(dict.fromkeys(line for line in shown.splitlines() if " ≠ “" in line))
    return Seen(shown, differences, sent, tasks, state)


def _prompt(request: Recorded) -> str:
    """Return all that a model is told."""
    return "\n".join(_strings(request.body))


def _task(prompt: str) -> str:
    return _between(prompt, "task").strip()


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]


def _searches(request: Recorded) -> bool:
    tools = request.body.get("tools") if isinstance(request.body, dict) else None
    told = json.dumps(tools or []).casefold().replace("_", "")
    return "googlesearch" in told or "urlcontext" in told


def _texts(request: Recorded) -> Iterator[str]:
    """Yield what a request tells its service, its path and keys aside."""
    yield from (value for name, value in request.query.items() if name not in _SECRET)
    yield from _strings(request.body)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for name, part in value.items() if name not in _SECRET
                    for text in _strings(part))  # fmt: skip
    elif isinstance(value, list):
        yield from (text for part in value for text in _strings(part))
