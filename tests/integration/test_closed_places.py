"""A place that a page has found closed is named as closed on its card, too, and in every file."""

from agent.client.run_result import RunName, outcome_of
from agent.export.markdown import markdown_document
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from tests.integration.test_question_kept import Spoken, nearby, plan
from tests.support.lab import answer_of, at_noon, laboratory, told

CLOSED = "星巴克(外滩店)已经永久停业"
ANSWER = f"建议去 Manner Coffee(南京东路店)，07:30 开门 [^a0-2]。\n\n{CLOSED} [^a0-0]。"


async def test_a_place_that_is_closed_for_good_has_no_card_as_if_it_were_open() -> None:
    rulings = {"rulings": [{"r": "1 s 1.1"}, {"r": "2 s 1.1", "out": ["星巴克(外滩店)"]}]}
    async with laboratory() as lab:
        lab.gemini.llm = llm = Spoken(
            generate_query=[plan(nearby("外滩", "咖啡馆", web=False))],
            answer=[ModelReply(text=ANSWER)],
            claim_check=[ModelReply(json=rulings)],
        )
        state = await lab.ask("外滩附近喝咖啡去哪家？")
    assert "out  names" in next(t.system for t in llm.turns if "<task>claim_check" in t.system)
    cards = {place["name"]: place for place in told(state)["places"]}
    [verdict] = cards["星巴克(外滩店)"]["verdicts"]
    assert (verdict["constraint"], verdict["verdict"]) == ("answer", "violated")
    assert CLOSED in verdict["text"]
    assert "verdicts" not in cards["Manner Coffee(南京东路店)"]
    finished = outcome_of(state, RunName("agent", "t", "r"), 1.0).finished()
    mark = f"✗ {verdict['text']}"
    assert mark in markdown_document(finished)


class Supporting(Spoken):
    """Judges that every statement stands in the passages of one page."""

    page = ""

    def respond(self, turn: ModelTurn) -> ModelReply:
        if task_of(turn) != "claim_check":
            return super().respond(turn)
        passages, statements = (block(turn.user, name) for name in ("passages", "statements"))
        of_page = [line for line in passages.splitlines() if self.page in line]
        names = " ".join(line.partition(" ")[0] for line in of_page)
        asked = [line.partition(" ")[0] for line in statements.splitlines()]
        return ModelReply(json={"rulings": [{"r": f"{name} s {names}"} for name in asked]})


async def test_a_day_no_more_asks_what_a_page_that_the_answer_cites_tells_of_its_stop() -> None:
    """ "Please check whether it suits children" stood under a page that says so."""
    day = plan(nearby("王府井", "博物馆"), nearby("王府井", "景点"), outing={}, day="2026-11-28",
               constraints={"suits": ["children"]})  # fmt: skip
    async with laboratory() as lab:
        lab = at_noon(lab, "2026-11-25")
        lab.gemini.llm = Spoken(generate_query=[day])
        state = await lab.ask("周六带孩子在王府井逛一天", "first")
        church, *others = told(state)["outing"]["open"]
        page = next(s for s in state["sources_gathered"] if s["kind"] == "page")
        said = f"{church['name']}有给孩子的讲解 [^{page['id']}]。"
        lab.gemini.llm = llm = Supporting(generate_query=[day], answer=[ModelReply(text=said)])
        llm.page = page["title"]
        state = await lab.ask("周六带孩子在王府井逛一天", "second")
    assert told(state)["outing"]["open"] == others
    (note,) = [line for line in str(answer_of(state).text).splitlines() if church["text"] in line]
    asked = note.partition(church["text"])[2]
    assert church["name"] not in asked
    assert others[0]["name"] in asked
