"""A deep research in one process: scripted models and a search of made-up pages on loopback."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.deep_research.graph import build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.runs.reply_cache import ReplyCache
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block
from agent.sample.services.search import KEY
from agent.services import build_services
from agent.settings import Settings
from tests.support.long_lab import MODEL_KEY, LongLab, ModelByTask, Rule, Web, says_json
from tests.support.served import serving
from tests.support.standins import GeminiService, TavilyService

ZH = "钠离子电池的成本、安全与应用前景"
EN = "What do sodium-ion batteries cost, and how safe are they?"
_TOPIC = re.compile(r"<topic [^>]*>(.*?)</topic>", re.DOTALL)
_ID = re.compile(r'(?:id="|\[\^)(w\d+-\d+)')
_NTH, _MOST = re.compile(r"\[\^t(\d+)-(\d+)\]"), 7
_URL = re.compile(r'url="([^"]+)"')


def think(text: str = "还缺成本数据，下一步搜索。") -> FunctionCall:
    return FunctionCall("think_tool", {"reflection": text})


def search(*queries: str) -> FunctionCall:
    return FunctionCall("tavily_search", {"queries": list(queries)})


def change(topic: str, urls: Sequence[str] = (), reason: str = "够了") -> FunctionCall:
    named = {"new_topic": topic, "reason": reason}
    return FunctionCall(
        "change_research_topic", {**named, "search_result_of_current_topic": list(urls)}
    )


def end(urls: Sequence[str] = ()) -> FunctionCall:
    return FunctionCall("end_of_research", {"search_result_of_current_topic": list(urls)})


def shown_urls(turn: ModelTurn) -> list[str]:
    """The URLs in the results this topic has shown the model."""
    texts = [result.text for result in turn.tool_results if result.name == "tavily_search"]
    return list(dict.fromkeys(_URL.findall("\n".join(texts))))


def done_calls(turn: ModelTurn) -> list[str]:
    """The names of the calls this topic's messages hold, in order."""
    return [call.name for past in turn.history for call in past.calls]


def page_ids(text: str) -> list[str]:
    """The ids of the workspace that a text shows, in order."""
    return list(dict.fromkeys(re.findall(r"\bw\d{3}-\d\d\b", text)))


def as_shown(turn: ModelTurn, text: str) -> str:
    """A text with the ids of the prompt: `[^t0-1]` is the second page of the first topic."""
    topics = _TOPIC.findall(turn.user) or [turn.user]
    ids = [list(dict.fromkeys(_ID.findall(topic))) for topic in topics]

    def shown(match: re.Match[str]) -> str:
        topic, page = (int(number) for number in match.groups())
        own = ids[min(topic, len(ids) - 1)]
        return f"[^{own[page]}]" if topic < _MOST and page < len(own) else match[0]

    return _NTH.sub(shown, text)


class Researcher(ModelByTask):
    """Explores `topics` one after another as told to, compresses and reports faithfully."""

    def __init__(self, *topics: str, rounds: int = 1, **rules: Rule) -> None:
        self.topics, self.rounds = topics or ("成本", "安全", "应用"), rounds
        planned = self.topics if topics or "deep_explore" not in rules else ()
        defaults: dict[str, Rule] = {
            "deep_plan": planning(*planned),
            "deep_explore": self.explore,
            "deep_compress": compress,
            "deep_review": says_json(missing=[], topics=[]),
            "deep_report": report,
        }
        super().__init__(**defaults | rules)

    def respond(self, turn: ModelTurn) -> ModelReply:
        reply = super().respond(turn)
        return replace(reply, text=as_shown(turn, reply.text)) if reply.text else reply

    def explore(self, turn: ModelTurn) -> ModelReply:
        topic = block(turn.user, "topic")
        names = done_calls(turn)
        if topic not in self.topics:
            return ModelReply(calls=(think("先定子题"), change(self.topics[0])))
        searches = names.count("tavily_search")
        if searches < self.rounds:
            return ModelReply(calls=(think(), search(f"{topic} {searches}")))
        if names[-1] == "tavily_search":
            return ModelReply(calls=(think(f"{topic}够了"),))
        place = self.topics.index(topic) + 1
        urls = shown_urls(turn)[:3]
        if place == len(self.topics):
            return ModelReply(calls=(end(urls),))
        return ModelReply(calls=(change(self.topics[place], urls),))


def planning(*topics: str) -> Rule:
    """Plans these topics."""
    rows = [{"name": topic, "what_to_find": f"{topic}的数字"} for topic in topics]
    return says_json(topics=rows)


def compress(turn: ModelTurn) -> ModelReply:
    """The first sentences of every page, with its marker."""
    found = re.findall(r'<page id="([^"]+)"[^>]*>(.*?)</page>', turn.user, re.DOTALL)
    lines = []
    for name, text in found:
        first = [part for part in text.split("。") if part.strip()][:2]
        lines += [f"{part.strip()}[^{name}]。" for part in first]
    return ModelReply(text="\n".join(lines))


def report(turn: ModelTurn) -> ModelReply:
    """Every topic as a section of its notes, or of the first sentences of its pages; documents."""
    own = re.findall(r"^\[\^([^\]]+)\] (.*)$", block(turn.user, "documents"), re.MULTILINE)
    found = re.findall(r'<topic name="([^"]+)">(.*?)</topic>', turn.user, re.DOTALL)
    noted = [
        (name, str(compress(replace(turn, user=notes)).text) if "<page " in notes else notes)
        for name, notes in found
    ]
    noted += [(name, f"{text} [^{name}]") for name, text in own]
    body = "\n\n".join(f"## {name}\n\n{notes.strip()}" for name, notes in noted)
    return ModelReply(text=f"# 报告\n\n## 摘要\n\n见下。\n\n{body}\n\n## 结论\n\n如上。")


@dataclass(kw_only=True)
class DeepLab(LongLab):
    """The graph, its services, and the stand-ins.

    Small topics are compressed, too, and pages are read when their topic is closed.
    """

    llm: Any
    tavily: TavilyService
    gemini: GeminiService
    web: Web
    question, configuration = ZH, DeepConfiguration

    async def ask(self, *given: Any, **context: Any) -> dict[str, Any]:
        return await super().ask(
            *given, **{"small_topic_tokens": 0, "max_page_reads": 0, **context}
        )

    def calls(self, path: str) -> list[Any]:
        """The bodies of the requests to the search service's path."""
        return [request.body for request in self.tavily.requests if request.path == path]


@asynccontextmanager
async def deep_laboratory(
    llm: Any = None,
    *,
    web: Web | None = None,
    reply_cache: Path | None = None,
    saver: Any = None,
    **settings: Any,
) -> AsyncIterator[DeepLab]:
    """A deployment whose models are the model and whose web is made up."""
    llm, web = llm or Researcher(), web or Web()
    tavily, gemini = TavilyService(key=KEY, pages=web), GeminiService(llm, key=MODEL_KEY)
    async with AsyncExitStack() as stack:
        where = stack.enter_context(serving(gemini, tavily)).settings
        kept = ReplyCache(reply_cache) if reply_cache else None
        services = build_services(Settings(**{**where, **settings}), reply_cache=kept)
        stack.push_async_callback(services.aclose)
        graph = build_graph(lambda: services).compile(checkpointer=saver or InMemorySaver())
        yield DeepLab(
            services=services, graph=graph, llm=llm, tavily=tavily, gemini=gemini, web=web
        )
