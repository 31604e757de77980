"""A deep research in one process: scripted models and a search of made-up pages on loopback."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.services import Services
from agent.assistants.deep_research.graph import CompiledDeep, build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.runs.reply_cache import ReplyCache
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from agent.sample.records import SamplePage
from agent.sample.services.loopback import serve
from agent.sample.services.search import KEY
from agent.services import build_services
from agent.settings import Settings
from tests.support.standins import GeminiService, TavilyService

ZH = "钠离子电池的成本、安全与应用前景"
EN = "What do sodium-ion batteries cost, and how safe are they?"
MODEL_KEY = "AIza-canary-0123456789abcdef"
Rule = Callable[[ModelTurn], ModelReply]
_TOPIC = re.compile(r"<topic [^>]*>(.*?)</topic>", re.DOTALL)
_ID = re.compile(r'(?:id="|\[\^)(w\d+-\d+)')
_NTH, _MOST = re.compile(r"\[\^t(\d+)-(\d+)\]"), 7
_URL = re.compile(r'url="([^"]+)"')


def page(number: int, query: str, text: str) -> SamplePage:
    """A page that a search of the query returns."""
    slug = "-".join(str(ord(letter)) for letter in query[:6])
    return SamplePage(
        id=f"{slug}-{number}",
        url=f"https://pages.example/{slug}/{number}",
        title=f"{query} {number}",
        text=text,
        site="pages.example",
        published="2026-10-01",
        language="zh",
        subjects=(),
        topics=(),
    )


@dataclass
class Web:
    """Pages for any query; `text` writes each one's, and every page is found by its address."""

    text: Callable[[str, int], str] = lambda query, number: (
        f"{query}的第{number}页。2025年成本为{40 + number}美元/千瓦时，同比下降{number}.5%。"
    )
    count: int = 4
    known: dict[str, SamplePage] = field(default_factory=dict)

    def __call__(self, query: str, limit: int) -> Sequence[SamplePage]:
        if limit == 50:  # an address in words: the stand-in looks a page up to extract it
            return list(self.known.values())
        made = [page(n, query, self.text(query, n)) for n in range(min(self.count, limit))]
        self.known.update({each.url: each for each in made})
        return made


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


def no_verdicts(_turn: ModelTurn) -> ModelReply:
    """Return that no sentence of an answer was judged."""
    return ModelReply(json={"rulings": []})


def no_wordings(_turn: ModelTurn) -> ModelReply:
    """Return that no sentence was said anew."""
    return ModelReply(json={"wordings": []})


def no_edits(_turn: ModelTurn) -> ModelReply:
    """Return that a draft stays as it is."""
    return ModelReply(json={"edits": [], "inserts": []})


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


class Researcher:
    """Explores `topics` one after another as told to, compresses and reports faithfully."""

    def __init__(self, *topics: str, rounds: int = 1, **rules: Rule) -> None:
        self.topics, self.rounds = topics or ("成本", "安全", "应用"), rounds
        planned = self.topics if topics or "deep_explore" not in rules else ()
        self.rules: dict[str, Rule] = {
            "deep_plan": planning(*planned),
            "deep_explore": self.explore,
            "deep_compress": compress,
            "deep_review": lambda turn: ModelReply(json={"missing": "", "topics": []}),
            "deep_report": report,
            "own_differences": lambda turn: ModelReply(json={"differences": []}),
            "claim_check": no_verdicts,
            "claim_revise": no_wordings,
            "revise": no_edits,
            **rules,
        }
        self.turns: list[ModelTurn] = []

    def respond(self, turn: ModelTurn) -> ModelReply:
        self.turns.append(turn)
        reply = self.rules[task_of(turn)](turn)
        return replace(reply, text=as_shown(turn, reply.text)) if reply.text else reply

    def asked(self, task: str) -> list[ModelTurn]:
        return [turn for turn in self.turns if task_of(turn) == task]

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
    return lambda turn: ModelReply(json={"topics": rows})


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


@dataclass
class DeepLab:
    """The graph, its services, and the stand-ins."""

    services: Services
    graph: CompiledDeep
    llm: Any
    tavily: TavilyService
    gemini: GeminiService
    web: Web

    async def ask(self, question: Any = ZH, thread: str = "t", **context: Any) -> dict[str, Any]:
        """The state after a run; None goes on with the thread.

        Small topics are compressed, too, and pages are read when their topic is closed.
        """
        context = {"small_topic_tokens": 0, "max_page_reads": 0, **context}
        given: Any = None if question is None else {"messages": question}
        state: dict[str, Any] = await self.graph.ainvoke(
            given, self.where(thread), context=self.configured(**context)
        )
        return state

    def where(self, thread: str = "t") -> Any:
        return {"configurable": {"thread_id": thread}}

    def configured(self, **context: Any) -> DeepConfiguration:
        return DeepConfiguration(**context)

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
        where = {
            "gemini_api_key": MODEL_KEY,
            "google_gemini_base_url": stack.enter_context(serve(gemini.app)).url,
            "tavily_api_key": KEY,
            "tavily_base_url": stack.enter_context(serve(tavily.app)).url,
        }
        kept = ReplyCache(reply_cache) if reply_cache else None
        services = build_services(Settings(**{**where, **settings}), reply_cache=kept)
        stack.push_async_callback(services.aclose)
        graph = build_graph(lambda: services).compile(checkpointer=saver or InMemorySaver())
        yield DeepLab(services, graph, llm, tavily, gemini, web)
