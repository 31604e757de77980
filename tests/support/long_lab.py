"""What the laboratories of the long assistants share: models that answer by task, a made-up web."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import lines, task_of
from agent.sample.records import SamplePage

MODEL_KEY = "AIza-canary-0123456789abcdef"
Rule = Callable[[ModelTurn], ModelReply]


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


def says_json(**fields: Any) -> Rule:
    """A rule that replies with these fields, whatever is asked."""
    return lambda turn: ModelReply(json=fields)


no_verdicts = says_json(rulings=[])
no_edits = says_json(edits=[], inserts=[])


def accusing(figure: str, says: str) -> Rule:
    """Finds that sources say otherwise, in these words, than that something fell by a figure."""

    def rule(turn: ModelTurn) -> ModelReply:
        names = [line.split()[0] for line in lines(turn.user, "passages") if says in line]
        wrong = {"v": "x", "p": names[:1], "bad": [f"下降{figure}"], "says": says}
        told = [line.split()[0] for line in lines(turn.user, "statements") if figure in line]
        return ModelReply(json={"rulings": [{"id": number, **wrong} for number in told]})

    return rule


def mends(turn: ModelTurn) -> ModelReply:
    """Takes out what failed."""
    failed = [line.split(":")[0] for line in lines(turn.user, "failed") if ": refuted" in line]
    return ModelReply(json={"edits": [{"id": name, "text": "已更正。"} for name in failed]})


class ModelByTask:
    """Answers each task by its rule, and keeps what it was asked."""

    def __init__(self, **rules: Rule) -> None:
        self.rules: dict[str, Rule] = {
            "claim_check": no_verdicts,
            "review": says_json(parts=[], findings=[]),
            "revise": no_edits,
            "own_differences": says_json(differences=[]),
            **rules,
        }
        self.turns: list[ModelTurn] = []

    def respond(self, turn: ModelTurn) -> ModelReply:
        self.turns.append(turn)
        return self.rules[task_of(turn)](turn)

    def asked(self, task: str) -> list[ModelTurn]:
        return [turn for turn in self.turns if task_of(turn) == task]


@dataclass(kw_only=True)
class LongLab:
    """A graph and its services; `context` is what every run is configured with."""

    services: Any
    graph: Any
    context: dict[str, Any] = field(default_factory=dict)
    question: ClassVar[str]
    configuration: ClassVar[Any]
    durability: ClassVar[Any] = "async"

    async def ask(
        self,
        question: Any = "",
        thread: str = "t",
        *,
        inputs: dict[str, Any] | None = None,
        **context: Any,
    ) -> dict[str, Any]:
        """The state after a run; None goes on with the thread, `inputs` are further keys."""
        given = self._given(question, inputs)
        state: dict[str, Any] = await self.graph.ainvoke(
            given,
            self.where(thread),
            context=self.configured(**context),
            durability=self.durability,
        )
        return state

    async def events(
        self, question: Any = "", thread: str = "t", **context: Any
    ) -> list[dict[str, Any]]:
        """The custom events of a run, in order."""
        given, configured = self._given(question), self.configured(**context)
        found = self.graph.astream(
            given, self.where(thread), context=configured, stream_mode="custom"
        )
        return [told async for told in found]

    def _given(self, question: Any, inputs: dict[str, Any] | None = None) -> Any:
        asked = self.question if question == "" else question
        return None if asked is None else {"messages": asked, **(inputs or {})}

    def where(self, thread: str = "t") -> Any:
        return {"configurable": {"thread_id": thread}}

    def configured(self, **context: Any) -> Any:
        return self.configuration(**{**self.context, **context})
