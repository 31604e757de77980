"""A place that a page has found closed is named as closed on its card, too, and in every file."""

from agent.client.run_result import RunName, outcome_of
from agent.export.markdown import markdown_document
from agent.sample.model.request import ModelReply
from tests.integration.test_question_kept import Spoken, nearby, plan
from tests.support.lab import laboratory, told

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
    assert "out   names" in next(t.system for t in llm.turns if "<task>claim_check" in t.system)
    cards = {place["name"]: place for place in told(state)["places"]}
    [verdict] = cards["星巴克(外滩店)"]["verdicts"]
    assert (verdict["constraint"], verdict["verdict"]) == ("answer", "violated")
    assert CLOSED in verdict["text"]
    assert "verdicts" not in cards["Manner Coffee(南京东路店)"]
    finished = outcome_of(state, RunName("agent", "t", "r"), 1.0).finished()
    mark = f"✗ {verdict['text']}"
    assert mark in markdown_document(finished)
