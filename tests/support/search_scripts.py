"""Models that answer from a script, and what search tests share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from agent.core.budget import Meter
from agent.models.types import ModelAnswer
from agent.search.hits import WebTask

GOOGLE = "gemini-3.5-flash-lite"
OTHER = "openai:deepseek-chat"


def task(query: str = "故宫门票", **changes: Any) -> WebTask:
    given = {"prefix": "w0", "language": "zh", "today": "2026-11-21", "model": OTHER}
    return WebTask(query=query, **{**given, **changes})


def text_reply(text: str) -> ModelAnswer[Any]:
    return ModelAnswer(text=text, message=AIMessage(text), model="scripted", parts=(text,))


def searched_reply(text: str, *queries: str) -> ModelAnswer[Any]:
    """Return what a search that brought no source writes."""
    metadata = {"web_search_queries": list(queries)}
    message = AIMessage(text)
    return ModelAnswer(
        text=text, message=message, model="scripted", parts=(text,), grounding=metadata
    )


def grounded_reply(
    text: str = "故宫周一闭馆。", uri: str = "https://www.dpm.org.cn/visit", *queries: str
) -> ModelAnswer[Any]:
    """Its whole text rests on one page."""
    support = {
        "segment": {"end_index": len(text.encode()), "text": text},
        "grounding_chunk_indices": [0],
    }
    metadata = {
        "web_search_queries": list(queries or ("故宫 开放时间",)),
        "search_entry_point": {"rendered_content": "<div>suggestions</div>"},
        "grounding_chunks": [{"web": {"uri": uri, "title": "dpm.org.cn"}}],
        "grounding_supports": [support],
    }
    message = AIMessage(text)
    return ModelAnswer(
        text=text, message=message, model="scripted", parts=(text,), grounding=metadata
    )


@dataclass
class ScriptedModels:
    """Answers in order; an exception is raised; afterwards the last one again."""

    script: Sequence[ModelAnswer[Any] | Exception] = ()
    asked: list[tuple[str, list[BaseMessage], bool]] = field(default_factory=list)
    ranges: list[Any] = field(default_factory=list)

    async def ask(
        self, model: str, messages: Sequence[BaseMessage], *, meter: Meter, **options: Any
    ) -> ModelAnswer[Any]:
        meter.reserve("model_calls")
        self.asked.append((model, list(messages), bool(options.get("search"))))
        self.ranges.append(options.get("search_range"))
        answer = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("searches do not stream")

    def is_google(self, model: str) -> bool:
        return not model.startswith("openai:")

    def prompt(self, index: int = -1) -> str:
        return self.asked[index][1][-1].text
