"""An answer is worded in its own language, by one rule of the page and of everything else."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.assistants.common.shown_records import places_as_shown
from agent.client.run_result import RunName, outcome_of, values_of_answer
from agent.evidence.records import forecast_told
from agent.evidence.types import Weather, WeatherDay
from agent.export.bullet_names import name_in
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.export.place_cards import card_of
from agent.texts import detect_language, prepare_language
from tests.unit.export_samples import place
from tests.unit.page_node import page_environment

NODE = shutil.which("node")
TURNS = Path(__file__).parents[2] / "src/agent/page/js/run/turns.js"
CHINESE, ENGLISH = "王府井附近适合遛娃的好去处", "Where can children play near Wangfujing?"
_SCRIPT = """
import { tagOf } from %s;
import { answerOf } from %s;
const rows = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(rows.map(({ fields, values, question }) =>
  tagOf(answerOf({ content: "!", additional_kwargs: fields }, values, question).spoken))));
"""
_ROWS: list[dict[str, Any]] = [
    {"fields": {"language": "de"}, "values": {}, "question": CHINESE, "told": "de"},
    {
        "fields": {"language": "ja"},
        "values": {"turn": {"reader": "de", "language": "en"}},
        "question": CHINESE,
        "told": "ja",
    },
    {
        "fields": {},
        "values": {"turn": {"reader": "de", "language": "en"}},
        "question": ENGLISH,
        "told": "de",
    },
    {"fields": {}, "values": {"turn": {"language": "zh"}}, "question": ENGLISH, "told": "zh"},
    {"fields": {}, "values": {"turn": None}, "question": CHINESE, "told": "zh"},
    {"fields": {}, "values": {}, "question": ENGLISH, "told": "en"},
    {"fields": {"language": 7}, "values": {}, "question": "Tea in 北京?", "told": "en"},
    {"fields": {"language": "zh-Hant"}, "values": {}, "question": ENGLISH, "told": "zh-Hant"},
    {"fields": {}, "values": {}, "question": "", "told": "en"},
    *(
        {"fields": {}, "values": {}, "question": question, "told": detect_language(question)}
        for question in (
            "LEGO 在哪里",
            "Is 王府井 far?",
            "王府井のカフェ",
            "https://example.com/a/b/c/d/e/f 这是什么",
            "Straße 北京 café",
            "𠀀㐀豈 3 km",
        )
    ),
]
"""What a message has, its thread's values where it is the last, its question; what is told."""


def outcome(row: dict[str, Any]) -> str:
    messages = [
        {"type": "human", "content": row["question"]},
        {"type": "ai", "content": "!", "additional_kwargs": row["fields"]},
    ]
    values = {**row["values"], "messages": messages}
    return outcome_of(values, RunName("agent", "t", "r"), 0.0).language


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["told"])
def test_a_message_tells_its_language_an_old_one_by_its_turn_or_question(
    row: dict[str, Any],
) -> None:
    assert outcome(row) == row["told"]


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_the_page_reads_it_by_the_same_rule() -> None:
    modules = [json.dumps(path.as_uri()) for path in (TURNS.parents[1] / "i18n.js", TURNS)]
    done = subprocess.run(
        [NODE or "", "--input-type=module", "-e", _SCRIPT % tuple(modules)],
        input=json.dumps(_ROWS),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=page_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [row["told"] for row in _ROWS]


def test_files_of_an_earlier_answer_speak_its_language_not_its_question_s() -> None:
    """What the thread's state says is of the turn that came last."""
    own = place(name_en="Kids’ Park", distance_from_en="Wangfujing")
    fields = {"language": "de", "places": [own], "mode": "online"}
    messages = [
        {"type": "human", "id": "h", "content": ENGLISH},
        {"type": "ai", "id": "a", "content": "Ein Park.", "additional_kwargs": fields},
        {"type": "human", "id": "i", "content": CHINESE},
        {"type": "ai", "id": "b", "content": "没有。", "additional_kwargs": {"language": "zh"}},
    ]
    values = {"messages": messages, "turn": {"language": "zh", "reader": "zh"}}
    earlier, is_last = values_of_answer(values, "a")
    assert earlier is not None
    assert not is_last
    finished = outcome_of(earlier, RunName("agent", "t", "r"), 0.0).finished()
    finished = replace(finished, generated_at="2026-11-21T11:41:00+00:00")
    page, text = html_page(finished), markdown_document(finished)
    assert '<html lang="de">' in page
    assert "220 m ab Wangfujing" in page
    assert "Ab Wangfujing" in text
    assert all("88 ¥ pro Person" in file for file in (page, text))


async def test_an_answer_in_traditional_characters_has_a_card_by_the_name_it_writes() -> None:
    await prepare_language("zh-Hant")
    near = place(name="蓝蛙(三里屯太古里店)")
    (told,) = await places_as_shown([near], [], "藍蛙(三里屯太古里店)", "zh-Hant", first=[])
    assert name_in("藍蛙(三里屯太古里店)：西餐", told) == (0, len("藍蛙(三里屯太古里店)"))
    assert name_in("藍蛙：西餐", told) == (0, 2)
    card = card_of(told, "zh-Hant")
    assert (card.name, card.local) == ("藍蛙(三里屯太古里店)", "")


def test_a_forecast_says_sky_and_wind_as_its_reader_does() -> None:
    day = WeatherDay(date="2026-11-22", day="多云", night="小雨", high_c=8, low_c=1, wind="北风3级")
    made = Weather(id="amap:w", city="北京市", days=[day], source="a0-0", fetched_at="")
    [english], [german] = (forecast_told(made, tag)["days"] for tag in ("en", "de"))
    assert english["sky_en"] == "cloudy/light rain"
    assert german["sky_en"] != english["sky_en"]
    assert german["wind_en"] != english["wind_en"]
