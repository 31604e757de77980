"""A place, and what it is far from, has one name in all prompts of a conversation."""

import re
from typing import Any

import pytest

from agent.assistants.common.listed_places import found_lines
from agent.evidence.said import words_before
from agent.evidence.types import Distance, FoundPlaces, MapTask, Place
from agent.sample.model.request import ModelReply
from agent.sample.model.text import block, task_of
from agent.texts import Language, say
from tests.integration.test_question_kept import Spoken, plan
from tests.support.lab import laboratory
from tests.unit.test_constraints import record

BUND = {"de": "der Bund", "en": "the Bund", "ru": "набережная Вайтань"}
FIRST = {
    "de": "Welche Cafés am Bund in Shanghai haben bis 20 Uhr offen?",
    "en": "Which cafés by the Bund in Shanghai are open until 8 pm?",
    "ru": "Какие кафе у набережной Вайтань в Шанхае открыты до 20?",
}
THEN = {
    "de": "Welches davon liegt am nächsten?", "en": "Which of them is nearest?",
    "ru": "Какое из них ближе?",
}  # fmt: skip


async def prompts(language: Language) -> dict[tuple[str, int], str]:
    """Return what each task of two turns was shown, by task and turn."""
    task: dict[str, Any] = {"intent": "nearby", "keywords": ["咖啡馆"], "country": "cn"}
    asked = [
        plan({"query": question, "map": {**task, "place": place}, "web": False},
             question=question, language=language)
        for question, place in (
            (FIRST[language], f"外滩 ({BUND[language]})"), (THEN[language], "外滩")
        )
    ]  # fmt: skip
    named = ModelReply(text="星巴克(外滩店) [^a0-0], Manner Coffee [^a0-2].")
    async with laboratory() as lab:
        lab.gemini.llm = llm = Spoken(generate_query=asked, answer=[named])
        await lab.ask(FIRST[language], "t")
        await lab.ask(THEN[language], "t")
    found = dict[tuple[str, int], str]()
    for turn in llm.turns:
        at = (task_of(turn), 0)
        found[at if at not in found else (at[0], 1)] = turn.user
    return found


@pytest.mark.parametrize("language", [*BUND])
async def test_what_was_named_by_its_asker_is_so_named_in_the_next_turn(
    language: Language,
) -> None:
    """The second turn's places were "306 m from 外滩", those of the first "from the Bund"."""
    shown = await prompts(language)
    for task in ("reflection", "answer", "claim_check"):
        for turn in (0, 1):
            told = shown[task, turn]
            lines = block(told, "places") or block(told, "passages")
            assert BUND[language] in lines, (task, turn)
            assert "外滩 " not in lines, (task, turn)


@pytest.mark.parametrize("language", [*BUND])
async def test_all_prompts_of_a_turn_tell_its_records_in_one_language(language: Language) -> None:
    """To a reader of German reflection was shown "täglich 09:00–20:00 | meets: open until"."""
    shown = await prompts(language)
    assert block(shown["reflection", 0], "places") == block(shown["answer", 0], "places")
    again = block(shown["answer", 1], "previous_places")
    names = re.findall(r"^\[\S+\] ([^|]+) \|", block(shown["answer", 1], "places"), re.MULTILINE)
    assert names
    assert all(name in again for name in names)
    assert "上海市" not in block(shown["answer", 0], "places")


TEAHOUSE = {"name": "老舍茶馆", "name_en": "Lao She Teahouse"}
LAKE = {"further": [Distance(origin="西湖", origin_en="West Lake", metres=9)]}


@pytest.mark.parametrize(
    ("known", "language", "words"),
    [
        ({"distance_from": "外滩", "distance_from_en": "the Bund"}, "de", {"外滩": "the Bund"}),
        ({"distance_from": "外滩", "distance_from_en": "вокзал"}, "ru", {"外滩": "вокзал"}),
        ({"distance_from": "외탄", "distance_from_en": "外灘"}, "de", {}),
        (TEAHOUSE, "en", {"老舍茶馆": "Lao She Teahouse"}),
        (LAKE, "en", {"西湖": "West Lake"}),
    ],
)
def test_words_of_before_hold_for_who_reads_them(
    known: dict[str, Any], language: Language, words: dict[str, str]
) -> None:
    plain: dict[str, Any] = {"name": "甲", "distance_from": None}
    # What was found since without a word for it takes none away.
    found = [{**plain, **known}, plain, {**plain, "distance_from": "外滩"}]
    assert words_before([record(**each) for each in found], language) == words


@pytest.mark.parametrize(
    ("word", "language", "told"),
    [
        ("餐厅", "en", "restaurant"), ("餐厅", "de", "Restaurant"), ("餐厅", "zh", "餐厅"),
        ("亲子乐园", "en", "indoor playground"), ("cafe", "de", "Café"),
    ],
)  # fmt: skip
def test_of_how_many_places_some_are_listed_is_told_in_the_words_of_their_lines(
    word: str, language: Language, told: str
) -> None:
    palace = {"distance_from": "故宫博物院", "distance_from_en": "the Palace Museum"}
    listed: list[Place] = [record("A", keywords=[word], **palace)]
    found = FoundPlaces(words=word, where="故宫博物院", count=5, is_cut=False)
    line = found_lines([MapTask(intent="nearby", found=[found])], listed, language)
    where = "故宫博物院" if language == "zh" else "the Palace Museum"
    values = {"listed": 1, "count": 5, "words": told, "where": where}
    assert line.splitlines()[0] == say("map.listed_of", language, **values)
