"""A discussion in one process: scripted members, and a search of made-up pages on loopback."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.team_answer.state import TeamConfiguration
from agent.mcp.map import build_maps
from agent.runs.reply_cache import ReplyCache
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block, elements, lines
from agent.sample.services.search import KEY
from agent.services import build_services
from agent.settings import Settings
from tests.support.long_lab import MODEL_KEY, LongLab, ModelByTask, Rule, Web
from tests.support.served import serving
from tests.support.standins import AmapService, BochaService, GeminiService, SerperService

ZH = "青岚大桥是哪一年通车的？"
EN = "In which year did the Qinglan bridge open?"
ENGINES = ["native", "autogen"]
"""What the tests of behaviour run with."""
_RESULT = re.compile(r'[<‹]result id=["”]([^"”]+)')
_MARKED = re.compile(r"\[\^([\w-]+)\]")


def bridge_page(query: str, number: int) -> str:
    return f"青岚大桥于1987年9月1日通车，全长{1200 + number}米。（{query}，第{number}页）"


def google(query: str) -> FunctionCall:
    return FunctionCall("search_google", {"query": query})


def bocha(query: str) -> FunctionCall:
    return FunctionCall("search_bocha", {"query": query})


def code(program: str) -> FunctionCall:
    return FunctionCall("run_code", {"code": program})


def verdict(word: str = "AGREE", /, **fields: Any) -> FunctionCall:
    return FunctionCall("verdict", {"verdict": word, **fields})


def agrees(turn: ModelTurn, answer: str, /, **fields: Any) -> FunctionCall:
    """Agreement with an answer, by the first passage that a verifier is shown."""
    ids = [name for name, _ in _passages(turn)][:1]
    given = {
        "refuted_by": "另一个年份",
        "looked_at": ids,
        "quotes": [text for _, text in _passages(turn)][:1],
        "outcome": "answer" if ids else "not_found",
        "answer": answer if ids else "",
        "evidence": ids,
        "explanation": "".join(f"资料写明{answer}[^{name}]。" for name in ids) or "没有资料。",
    }
    if fields.get("evidence"):
        given["outcome"] = "answer"
    return verdict(**{**given, **fields})


def gives(**fields: Any) -> Rule:
    """A verifier that agrees to 1987, or to what the fields say."""
    return lambda turn: ModelReply(calls=(agrees(turn, "1987年", **fields),))


def looks_then(text: str) -> Rule:
    """A search, then these words."""
    return lambda turn: searching(turn, _question(turn)) or ModelReply(text=text)


def _passages(turn: ModelTurn) -> list[tuple[str, str]]:
    """The id and the words of each source in a verifier's evidence."""
    rows = elements(block(turn.user, "evidence"), "result")
    return [(row["id"], text) for row, text in rows]


def says(*texts: str) -> Rule:
    """A rule that says these texts one after another, the last one for ever."""
    left = list(texts)
    return lambda turn: ModelReply(text=left.pop(0) if len(left) > 1 else left[0])


def speaks_now(turn: ModelTurn) -> list[tuple[int, str]]:
    """Round and speaker of every turn in the transcript that a member was shown."""
    found = re.findall(r'<turn round="(\d+)" speaker="(\w+)"', turn.user)
    return [(int(number), speaker) for number, speaker in found]


def shown_ids(turn: ModelTurn) -> list[str]:
    """The ids of results that a member has seen: in this turn's tool results, then before."""
    texts = [result.text for result in turn.tool_results] + [turn.user]
    found = [name for text in texts for name in _RESULT.findall(text)]
    return list(dict.fromkeys(found + _MARKED.findall(turn.user)))


def offers(turn: ModelTurn, name: str) -> bool:
    return any(tool.name == name for tool in turn.tools)


def searching(turn: ModelTurn, query: str) -> ModelReply | None:
    """A search with what is offered, where this turn has not used a tool yet."""
    names = [tool.name for tool in turn.tools if tool.name.startswith("search_")]
    if turn.tool_results or not names:
        return None
    return ModelReply(calls=(FunctionCall(names[0], {"query": query}),))


class Team(ModelByTask):
    """Answers for every member; any rule can be replaced by its task's name."""

    def __init__(self, answer: str = "1987年", **rules: Rule) -> None:
        self.answer = answer
        defaults: dict[str, Rule] = {
            "team_analyze": self.analyze,
            "team_select": lambda turn: ModelReply(text=lines(turn.user, "candidates")[0]),
            "team_researcher": self.researcher,
            "team_analyst": self.analyst,
            "team_verifier": self.verifier,
            "team_synthesize": self.synthesize,
            "team_format": lambda turn: ModelReply(json={"answer": block(turn.user, "answer")}),
        }
        super().__init__(**defaults | rules)

    def analyze(self, turn: ModelTurn) -> ModelReply:
        required = block(turn.user, "format_requirement")
        return ModelReply(json={"asked": _question(turn), "format_requirement": required})

    def researcher(self, turn: ModelTurn) -> ModelReply:
        """One search, then a claim with its marker."""
        spoken = any(speaker == "researcher" for _, speaker in speaks_now(turn))
        search = None if spoken else searching(turn, _question(turn))
        return search or ModelReply(text=f"答案是{self.answer}{_mark(turn)}。")

    def analyst(self, turn: ModelTurn) -> ModelReply:
        return ModelReply(
            text=f"H1 [0.8] {self.answer}{_mark(turn)}\nH2 [0.1] 另有说法（剪枝）\n证据一致。"
        )

    def verifier(self, turn: ModelTurn) -> ModelReply:
        """Agreement with the words of the evidence, where there is any."""
        return ModelReply(calls=(agrees(turn, self.answer),))

    def synthesize(self, turn: ModelTurn) -> ModelReply:
        ids = [name for name, _ in _passages(turn)][:1]
        return ModelReply(
            json={
                "outcome": "answer" if ids else "not_found",
                "answer": self.answer if ids else "",
                "evidence": ids,
                "explanation": "".join(f"资料写明{self.answer}[^{name}]。" for name in ids),
            }
        )


def _question(turn: ModelTurn) -> str:
    return block(turn.user, "question")


def _mark(turn: ModelTurn) -> str:
    return "".join(f"[^{name}]" for name in shown_ids(turn)[:1])


@dataclass(kw_only=True)
class TeamLab(LongLab):
    """The graph, its services, and the stand-ins."""

    llm: Any
    serper: SerperService
    bocha: BochaService
    gemini: GeminiService
    amap: AmapService
    web: Web
    question, configuration = ZH, TeamConfiguration

    def where(self, thread: str = "t") -> Any:
        return super().where(thread) | {"recursion_limit": 500}

    def queries(self) -> list[str]:
        """What was sent to the search services, in order of service and arrival."""
        sent = [request.body.get("q") for request in self.serper.requests]
        return sent + [request.body.get("query") for request in self.bocha.requests]


@asynccontextmanager
async def team_laboratory(
    llm: Any = None,
    *,
    web: Web | None = None,
    engine: str = "native",
    reply_cache: Path | None = None,
    saver: Any = None,
    amap: bool = False,
    **settings: Any,
) -> AsyncIterator[TeamLab]:
    """A deployment whose models are the model and whose web is made up; the map is the sample's.

    Serper and Bocha are both configured; `serper_api_key=None` takes one away.
    """
    from agent.assistants.team_answer.graph import build_graph

    llm, web = llm or Team(), web or Web(text=bridge_page)
    standins = (
        SerperService(key=KEY, pages=web),
        BochaService(key=KEY, pages=web),
        GeminiService(llm, key=MODEL_KEY),
        AmapService(key=KEY),
    )
    async with AsyncExitStack() as stack:
        served = stack.enter_context(serving(*standins))
        mapped = {"amap_maps_api_key": KEY, "amap_qps": 1000.0} if amap else {}
        used = Settings(**{**served.settings, "model_rpm": 0, **mapped, **settings})
        kept = ReplyCache(reply_cache) if reply_cache else None
        services = build_services(used, reply_cache=kept)
        if amap:
            maps = build_maps(used, services.calls, redirect=served.urls["amap"])
            services = replace(services, maps=maps)
        stack.push_async_callback(services.aclose)
        graph = build_graph(lambda: services).compile(checkpointer=saver or InMemorySaver())
        context = {"chat_engine": engine, **({} if amap else {"geo_routing": "never"})}
        named = {**served.services, "context": context}
        yield TeamLab(services=services, graph=graph, llm=llm, web=web, **named)
