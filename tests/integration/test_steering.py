"""A person adds a wish or drops a part while a run goes on, in every assistant."""

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.runs.run_log import Wish, WishBox
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block
from tests.integration.faults import MoodyModel
from tests.integration.team_lab import ZH, Team, team_laboratory
from tests.support.deep_lab import Researcher, deep_laboratory
from tests.support.lab import EN, laboratory, told
from tests.support.plan_knowledge import With
from tests.support.plan_lab import Planner, plan_laboratory, planned

MORE = "also what they cost"


class Arriving(WishBox):
    """Wishes that arrive while the run goes on, as soon as something has happened."""

    def __init__(
        self, folder: Path, *wishes: Wish, when: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__(folder)
        self.wishes, self.forgotten = list(wishes), 0
        self.when = when

    async def of(self, turn_id: str) -> list[Wish]:
        """Keep them as a server would, and return what is kept."""
        for wish in self.wishes if self.when() else []:
            await self.put("t", turn_id, wish)
        return await super().of(turn_id)

    async def forget(self, turn_id: str) -> None:
        self.forgotten += 1
        await super().forget(turn_id)


def steered(lab: Any, build_graph: Callable[..., Any], box: WishBox) -> None:
    """The lab's graph over services that read this box."""
    given = lab.services
    services: Any = replace(given, wishes=box) if is_dataclass(given) else With(given, wishes=box)
    lab.graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())


def requests(lab: Any, task: str) -> list[str]:
    """The bodies of the model calls for a task."""
    bodies = [str(request.body) for request in lab.gemini.requests]
    return [body for body in bodies if f"<task>{task}</task>" in body]


async def test_a_wish_reaches_reflection_with_a_round_more_and_the_answer(tmp_path: Path) -> None:
    from agent.graph import build_graph

    async with laboratory() as lab:
        box = Arriving(tmp_path, Wish(kind="wish", text=MORE))
        steered(lab, build_graph, box)
        llm = MoodyModel(lab.gemini.llm)
        lab.gemini.llm = llm
        more = {"is_sufficient": False, "knowledge_gap": "cost", "follow_up_queries": [
            {"query": "sodium-ion battery price per kWh"}]}  # fmt: skip
        llm.say("reflection", ModelReply(json=more), None)
        state = await lab.ask(EN, context={"max_research_loops": 1})
        (asked,) = requests(lab, "reflection")
        assert MORE in asked
        assert [q["query"] for q in state["queries"] if q["round"] == 2] == [
            "sodium-ion battery price per kWh"
        ]
        assert MORE in requests(lab, "answer")[-1]
        assert state["wishes"] == [{"kind": "wish", "text": MORE}]
        assert box.forgotten == 1
        assert told(state)["sources"]
        box.wishes = []
        assert (await lab.ask(EN))["wishes"] == []
        await box.aclose()


async def test_what_is_dropped_is_not_asked_as_a_follow_up(tmp_path: Path) -> None:
    from agent.graph import build_graph

    async with laboratory() as lab:
        box = Arriving(tmp_path, Wish(kind="drop", text="sodium-ion battery price"))
        steered(lab, build_graph, box)
        lab.gemini.llm = llm = MoodyModel(lab.gemini.llm)
        asked = [{"query": "sodium-ion battery price"}, {"query": "sodium-ion recycling plants"}]
        more = {"is_sufficient": False, "knowledge_gap": "cost", "follow_up_queries": asked}
        llm.say("reflection", ModelReply(json=more), None)
        state = await lab.ask(EN, context={"max_research_loops": 2})
        second = [query["query"] for query in state["queries"] if query["round"] == 2]
        assert second == ["sodium-ion recycling plants"]
        assert "No longer wanted: sodium-ion battery price" in requests(lab, "answer")[-1]
        await box.aclose()


async def test_a_team_takes_up_a_wish_and_leaves_out_a_step(tmp_path: Path) -> None:
    from agent.assistants.team_answer.graph import build_graph

    steps = ["青岚大桥在哪里？", "青岚大桥哪一年通车？", "造价多少？"]
    llm = Team(team_analyze=lambda turn: ModelReply(json={"asked": ZH, "steps": steps}))
    wishes = (Wish(kind="drop", text="3"), Wish(kind="wish", text="以官方公告为准"))
    async with team_laboratory(llm) as lab:
        box = Arriving(tmp_path, *wishes, when=lambda: bool(llm.asked("team_researcher")))
        steered(lab, build_graph, box)
        events = await lab.events(ZH)
        first, *others = llm.asked("team_researcher")
        assert "以官方公告为准" not in first.user
        assert "造价" in first.user
        for turn in [*others, *llm.asked("team_verifier"), *llm.asked("team_synthesize")]:
            assert "- 以官方公告为准" in block(turn.user, "wishes")
            assert "造价" not in block(turn.user, "sub_questions")
        state = (await lab.graph.aget_state(lab.where())).values
        assert state["sub_questions"] == steps[:2]
        assert state["wishes"] == list(wishes)
        steering = [each for each in events if each["type"] in ("wish", "drop")]
        assert [each["text"] for each in steering] == ["3", "以官方公告为准"]
        await box.aclose()


class Exploring(Researcher):
    """A researcher of whom it is known what it has looked into."""

    def has_explored(self, topic: str) -> bool:
        return any(block(turn.user, "topic") == topic for turn in self.asked("deep_explore"))


async def test_a_report_leaves_a_dropped_topic_and_takes_up_a_wish(tmp_path: Path) -> None:
    from agent.assistants.deep_research.graph import build_graph

    llm = Exploring("成本", "安全", "应用", "回收")
    wishes = (Wish(kind="drop", text="安全"), Wish(kind="drop", text="T4"),
              Wish(kind="wish", text="写明数据年份"))  # fmt: skip
    async with deep_laboratory(llm) as lab:
        box = Arriving(tmp_path, *wishes, when=lambda: llm.has_explored("安全"))
        steered(lab, build_graph, box)
        llm.topics = ("成本", "安全", "应用")
        state = await lab.ask()
        assert {topic["name"]: topic["status"] for topic in state["plan"]} == {
            "成本": "done", "安全": "dropped", "应用": "done", "回收": "dropped",
        }  # fmt: skip
        assert [entry["topic"] for entry in state["search_results"]] == ["成本", "应用"]
        (report,) = llm.asked("deep_report")
        assert "- 写明数据年份" in block(report.user, "wishes")
        assert "不再需要：安全" in block(report.user, "wishes")
        assert "安全" not in block(report.user, "topics")
        assert state["wishes"] == list(wishes)
        await box.aclose()


async def test_a_dossier_skips_a_dropped_task_and_adds_one_for_a_wish(tmp_path: Path) -> None:
    from agent.assistants.plan_execute.graph import build_graph

    def more(turn: ModelTurn) -> ModelReply:
        return planned(("T1", "钠离子电池 回收", []), ("T2", "钠离子电池 正极", []))

    llm = Planner("钠离子电池 正极", "钠离子电池 价格", "钠离子电池 安全", wish_tasks=more)
    wishes = (Wish(kind="drop", text="T3"), Wish(kind="wish", text="再看看回收"))
    async with plan_laboratory(llm) as lab:
        lab.context["max_executors"] = 1
        box = Arriving(tmp_path, *wishes, when=lambda: lab.world.asked("wikipedia") > 0)
        steered(lab, build_graph, box)
        events = await lab.events()
        state = (await lab.graph.aget_state(lab.where())).values
        (turn,) = llm.asked("wish_tasks")
        assert block(turn.user, "wishes") == "- 再看看回收"
        assert [(r["task"], r["query"], r["status"]) for r in state["executor_result"]] == [
            ("T1", "钠离子电池 正极", "done"), ("T2", "钠离子电池 价格", "done"),
            ("T3", "钠离子电池 安全", "skipped"), ("T4", "钠离子电池 回收", "done"),
        ]  # fmt: skip
        assert [task["id"] for task in state["tasks"]] == ["T1", "T2", "T3", "T4"]
        assert not any("安全" in str(request.query) for request in lab.world.wikipedia.requests)
        assert "- 再看看回收" in block(llm.asked("dossier")[0].user, "wishes")
        steering = [each["text"] for each in events if each["type"] in ("wish", "drop")]
        assert steering == ["T3", "再看看回收"]
        assert state["wishes"] == list(wishes)
        await box.aclose()


async def test_a_wish_that_no_model_can_plan_is_a_task_in_its_own_words(tmp_path: Path) -> None:
    from agent.assistants.plan_execute.graph import build_graph

    llm = Planner("钠离子电池 正极", wish_tasks=lambda turn: ModelReply(finish="PROMPT_BLOCKED"))
    async with plan_laboratory(llm) as lab:
        box = Arriving(tmp_path, Wish(kind="wish", text="钠离子电池 回收"))
        steered(lab, build_graph, box)
        state = await lab.ask()
        assert [task["query"] for task in state["tasks"]] == ["钠离子电池 正极", "钠离子电池 回收"]
        assert told(state)["sources"]
        await box.aclose()
