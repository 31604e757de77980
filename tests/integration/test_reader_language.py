"""The reader's language as the model names it: code's own sentences, thanks, the clock."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from blockbuster import blockbuster_ctx
from langgraph.checkpoint.memory import InMemorySaver

from agent.evidence.references import strip_references
from agent.graph import build_graph
from agent.sample.model.text import block, task_of
from agent.services import build_services
from agent.settings import read_settings
from agent.texts import Language, _names_converter, _traditional, say
from tests.integration.test_question_kept import nearby, plan, scripted
from tests.support.lab import Lab, answer_of, at_noon, laboratory, told, with_clock
from tests.support.rows import by_examples

pytestmark = pytest.mark.node


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


@pytest.mark.parametrize(
    ("question", "tag", "reply"),
    [("Danke!", "de", "Gern geschehen!"), ("謝謝！", "zh-Hant", "不客氣！")],
)
async def test_thanks_are_replied_to_in_the_one_call_that_reads_them(
    lab: Lab, question: str, tag: str, reply: str
) -> None:
    thanked = plan(question=question, language=tag, needs_search=False, reply=reply)
    llm = scripted(lab, generate_query=[thanked])
    state = await lab.ask(question)
    assert str(answer_of(state).text).endswith(reply)
    assert [task_of(turn) for turn in llm.turns] == ["generate_query"]
    assert told(state)["usage"]["searches"] == 0
    assert not told(state)["degraded"]


async def test_a_reply_beside_queries_is_not_the_answer(lab: Lab) -> None:
    asked = plan(nearby("王府井", "博物馆"), language="en", reply="You are welcome!")
    scripted(lab, generate_query=[asked])
    state = await lab.ask("Thanks! And which museums are near Wangfujing?")
    assert "You are welcome" not in str(answer_of(state).text)
    assert told(state)["places"]


@by_examples
async def test_code_says_its_own_in_the_language_that_the_model_read(
    lab: Lab, question: str, tag: str, language: Language
) -> None:
    scripted(lab, generate_query=[plan(question=question, language=tag, needs="place")])
    state = await lab.ask(question)
    assert str(answer_of(state).text).endswith(say("answer.needs_place", language))


@pytest.mark.parametrize(
    ("question", "tag"), [("Museen nahe Wangfujing?", "de"), ("왕푸징 근처 박물관", "ko")]
)
async def test_an_answer_has_headings_and_footers_in_its_own_language(
    lab: Lab, question: str, tag: Language
) -> None:
    lab = at_noon(lab, "2026-11-27")
    there = plan(nearby("王府井", "博物馆"), question=question, language=tag, outing={})
    scripted(lab, generate_query=[there])
    state = await lab.ask(question)
    text = str(answer_of(state).text)
    for key in ("answer.sources", "outing.columns.stop", "outing.stays_estimated"):
        assert say(key, tag) in text
        assert say(key, "en") not in text
    credit = say("answer.map_data", tag, maps="Amap", time="")
    assert credit in text
    assert strip_references(text).endswith("*")
    assert state["turn"]["language"] == "en"


async def test_what_an_earlier_place_fails_is_told_in_the_answer_s_language(lab: Lab) -> None:
    """It read "passt nicht: closed Sun 19:00"."""
    demands = plan(constraints={"open_at": "23:30"}, language="de")
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "书店"), language="de"), demands])
    await lab.ask("Buchläden nahe Wangfujing?")
    await lab.ask("Welcher davon hat um 23:30 noch offen?")
    shown = block(llm.prompts("answer")[-1], "previous_places")
    assert "23:30" in shown
    assert "closed" not in shown


async def test_a_place_written_in_other_letters_is_asked_about_on_its_own_clock(lab: Lab) -> None:
    services = with_clock(lab.services, lambda: datetime(2026, 11, 28, 20, 30, tzinfo=UTC))
    there = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
    llm = scripted(there, generate_query=[plan(nearby("外滩", "博物馆"), language="ko")])
    await there.ask("상하이 와이탄 근처 박물관은 일요일에 열어요?")
    (prompt,) = llm.prompts("answer")
    assert block(prompt, "today") == "2026-11-29 Sun 04:30 (UTC+8)"


@by_examples
async def test_a_plan_is_told_both_days_where_the_place_or_the_asker_may_have_another(
    lab: Lab, question: str, offset: int | None, told: str
) -> None:
    services = with_clock(lab.services, lambda: datetime(2026, 11, 29, 18, 51, tzinfo=UTC))
    there = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
    llm = scripted(there, generate_query=[plan()])
    await there.ask(question, utc_offset=offset)
    (prompt,) = llm.prompts("generate_query")
    assert block(prompt, "today") == told


async def test_traditional_characters_block_no_event_loop() -> None:
    _traditional.cache_clear()
    _names_converter.cache_clear()
    services = build_services(read_settings(tanlu_mode="offline"))
    graph = build_graph(lambda: services).compile()
    try:
        with blockbuster_ctx():
            state = await graph.ainvoke({"messages": "王府井附近有什麼咖啡館？"})
    finally:
        await services.aclose()
    assert say("answer.sources", "zh-Hant") in str(answer_of(state).text)
