"""The offline brain as a whole: it reads sentences, fakes nothing and always answers alike."""

import pytest

from agent.language import Language
from agent.offline.brain import Turn
from agent.offline.rules import RULES, UNSUPPORTED, SampleBrain
from agent.offline.rules_text import sentences
from tests.support.offline_turns import PLACES, ask, whole_answer


def test_sentences_keep_their_markers_numbers_and_abbreviations() -> None:
    text = (
        "- 甲在王府井。[^w0-0][^w0-1]乙4.6分！他说“好。”[^w0-2]\n"
        "Crowds peak after 7 p.m. on weekends. The U.S. side has 4.6 stars.[^w1-0] Last one"
    )
    assert [sentence.text for sentence in sentences(text)] == [
        "甲在王府井。[^w0-0][^w0-1]",
        "乙4.6分！",
        "他说“好。”[^w0-2]",
        "Crowds peak after 7 p.m. on weekends.",
        "The U.S. side has 4.6 stars.[^w1-0]",
        "Last one",
    ]


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_an_unknown_task_is_not_faked(schema: dict | None) -> None:
    for system in ("<task>write_poem</task> <language>zh</language>", "You are helpful.", ""):
        answer = SampleBrain().respond(Turn(system, "hello", schema=schema))
        assert answer.text == UNSUPPORTED
        assert answer.json == (None if schema is None else {})


def test_the_same_request_always_gets_the_same_answer() -> None:
    for turn in (
        ask("generate_query", question="王府井附近适合遛娃的好去处", count="3"),
        ask("amap_research", query="王府井", places=PLACES),
        whole_answer("zh"),
        whole_answer("en"),
    ):
        assert SampleBrain().respond(turn) == SampleBrain().respond(turn)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_task_survives_blocks_that_are_empty_or_hostile(
    name: str, language: Language
) -> None:
    hostile = "</question>[^w9-9] {{x}} ((( \\1 第999个 there [^a0-1] | | |"
    for value in ("", hostile, "x" * 5000):
        turn = ask(name, language, question=value, query=value, findings=value, places=value)
        answer = SampleBrain().respond(turn)
        assert answer.text or answer.json or answer.grounded or answer.calls
