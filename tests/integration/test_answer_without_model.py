"""An answer whose model writes nothing, or nothing that can be checked."""

from collections.abc import AsyncIterator

import pytest

from agent.sample.model.request import ModelReply
from agent.texts import Language, say
from tests.integration.test_question_kept import plan, scripted
from tests.support.lab import ZH, Lab, answer_of, laboratory, told
from tests.support.rows import by_examples

EN = "When was the Palace Museum in Beijing founded?"
INVENTED = "Sodium-ion batteries are lithium-ion batteries. They were invented on 10 October 2057."


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


@pytest.mark.parametrize(("question", "language"), [(ZH, "zh"), (EN, "en")])
async def test_what_code_quotes_has_no_sign_and_is_no_statement(
    lab: Lab, question: str, language: Language
) -> None:
    lab.gemini.fail("status", status=503, times=None)
    state = await lab.ask(question)
    text, checks = str(answer_of(state).text), told(state)["checks"]
    lead = say("answer.extractive", language, reason="\0").split("\0")[0]
    assert text.count(lead) == 1
    assert "†" not in text
    assert "‡" not in text
    assert checks["claims"]["total"] == 0
    assert checks["cited"] > 0
    assert told(state)["degraded"]
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines
    assert len(set(lines)) == len(lines)
    begin, end = answer_of(state).additional_kwargs["own_text"]
    assert lead in text[begin:end]


async def test_a_fluent_answer_that_cites_nothing_is_announced_with_excerpts_below(
    lab: Lab,
) -> None:
    scripted(lab, answer=[ModelReply(text=f"{INVENTED} [*w01]")])
    state = await lab.ask(EN)
    text = str(answer_of(state).text)
    own, lead, quoted = text.partition(say("answer.uncited", "en"))
    assert lead
    assert "w01" not in text
    assert "2057" in own
    assert "2057" not in quoted
    assert told(state)["degraded"]
    assert told(state)["sources"]
    assert say("answer.sources", "en") in quoted
    assert "answer_uncited" in [gap["code"] for gap in told(state)["gaps"]]
    claims = told(state)["checks"]["claims"]
    assert claims["own"] == 0
    assert claims["unchecked"] + claims["marked"] == claims["total"] == 2


async def test_what_a_model_said_in_circles_stands_once_with_excerpts_below(lab: Lab) -> None:
    said = "The museum is old[^w0-0].\n"
    scripted(lab, answer=[ModelReply(text=said + "Please answer:\n" * 200)])
    state = await lab.ask(EN)
    text = str(answer_of(state).text)
    own, lead, quoted = text.partition(say("answer.weak", "en"))
    assert own.count("The museum is old") == own.count("Please answer") == 1
    assert lead
    assert "1925" in quoted
    assert told(state)["degraded"]


@by_examples
async def test_what_needs_no_source_is_not_blamed_for_citing_none(
    lab: Lab, question: str, reply: str, ruling: dict[str, str]
) -> None:
    scripted(
        lab,
        generate_query=[plan(question=question, needs_search=False)],
        answer=[ModelReply(text=reply)],
        claim_check=[ModelReply(json={"rulings": [ruling]})],
    )
    state = await lab.ask(question)
    assert not told(state)["degraded"]
    claims = told(state)["checks"]["claims"]
    assert claims["own"] + claims["computed"] == claims["total"] == 1
    assert str(answer_of(state).text).endswith(reply)


async def test_a_way_is_told_once_where_no_model_writes(lab: Lab) -> None:
    lab.gemini.fail("status", status=503, times=None)
    state = await lab.ask("How do I walk from Wangfujing to the Forbidden City?")
    text = str(answer_of(state).text)
    assert text.split(say("answer.sources", "en"))[0].count("1.7 km ·") == 1
    assert say("answer.routes", "en") not in text


async def test_who_says_honestly_that_nothing_was_found_cites_nothing(lab: Lab) -> None:
    honest = "No source that was found says when it was founded. Ask the museum itself."
    scripted(lab, answer=[ModelReply(text=honest)])
    state = await lab.ask(EN)
    assert say("answer.uncited", "en") not in str(answer_of(state).text)
    assert not told(state)["degraded"]


REFUSALS = [
    "В источниках не сказано, когда он основан[^none]. Спросите сам музей.",
    "設立された年はどの資料にもありません[^none]。",
    "لا يذكر أي مصدر متى تأسس المتحف [^none].",
    "找不到它的創立年份［^none］。",
    "Kein Treffer nennt das Gründungsjahr [^None].",
]


@pytest.mark.parametrize("honest", REFUSALS)
async def test_a_marked_refusal_in_any_language_is_not_blamed_for_citing_nothing(
    lab: Lab, honest: str
) -> None:
    scripted(lab, answer=[ModelReply(text=honest)])
    state = await lab.ask(EN)
    text = str(answer_of(state).text)
    assert honest.split("[^")[0].split("［^")[0].strip() in text
    assert "none" not in text.lower()
    assert say("answer.uncited", "en") not in text
    assert not told(state)["degraded"]
    assert told(state)["checks"]["unknown_ids_removed"] == 0


async def test_a_long_text_of_claims_is_no_refusal_for_one_mark(lab: Lab) -> None:
    claims = "The museum has many halls and a great wall around them. " * 15
    scripted(lab, answer=[ModelReply(text=f"The year was not given[^none]. {claims}")])
    state = await lab.ask(EN)
    assert say("answer.uncited", "en") in str(answer_of(state).text)
