"""What of a bullet is left out, because the place's own lines say it, and what it keeps."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from agent.evidence.types import Place
from agent.export.markdown import told_in_bullets
from agent.export.place_cards import card_of
from agent.export.told_parts import is_name, name_in, told_parts
from tests.support.page_node import page_environment
from tests.unit import export_samples

NODE = shutil.which("node")
MODULE = Path(__file__).parents[2] / "src/agent/page/js/map/bullet_names.js"

PLACE = {
    "name": "和平菓局(王府井店)", "name_en": "Heping Guoju", "distance_m": 81, "rating": 4.5,
    "cost": 40, "walk_s": 250, "walk_m": 310,
    "verdicts": [{"constraint": "", "verdict": "satisfied", "field": field, "text": ""}
                 for field in ("walk_s", "walk_m")],
    "open_time": "周一至周日 10:00-21:00", "open_time_en": "daily 10:00–21:00",
}  # fmt: skip
_SCRIPT = """
import { nameIn } from %s;
const { place, rows } = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(rows.map((text) => nameIn(text, place))));
"""
ROWS = [
    ("和平菓局 (Heping Guoju)", ", a retro street: 81 m as a line, ★4.5, daily 10:00–21:00①.",
     "a retro street: 81 m as a line, ★4.5, daily 10:00–21:00①."),
    ("Heping Guoju", " (81 m, ★4.5): quiet①.", "(81 m, ★4.5): quiet①."),
    ("和平菓局", "（直线 81 米）：雨天首选①。", "（直线 81 米）：雨天首选①。"),
    ("Heping Guoju", ": a play area (a straight line, 81 m)①.",
     "a play area (a straight line, 81 m)①."),
    ("和平菓局", "：雨天首选（直线，81 米）①。", "雨天首选（直线，81 米）①。"),
    ("和平菓局", "：直线距离：81 米，雨天首选①。", "直线距离：81 米，雨天首选①。"),
    ("Heping Guoju", ": straight line: 81 m; a play area①.", "straight line: 81 m; a play area①."),
    ("Heping Guoju", ": по прямой 81 м, тихо①.", "по прямой 81 м, тихо①."),
    ("和平菓局", "：距王府井 81 米，评分 4.5 分，¥40，周一至周日 10:00-21:00①，雨天也能逛①。",
     "距王府井 81 米，评分 4.5 分，¥40，周一至周日 10:00-21:00①，雨天也能逛①。"),
    ("Heping Guoju", ": 81 m, 400 m², more than 40 stalls①.",
     "81 m, 400 m², more than 40 stalls①."),
    ("Heping Guoju", ": 90 m away, ★4.9†, ¥45.", "90 m away, ★4.9†, ¥45."),
    ("Heping Guoju", ": children below 1.2 m are free, 81 m.",
     "children below 1.2 m are free, 81 m."),
    ("和平菓局", " (Heping, Guoju) is quiet, 81 m①.", "和平菓局 (Heping, Guoju) is quiet, 81 m①."),
    ("和平菓局", "：周一不开放（周一至周日 10:00-21:00）①。",
     "周一不开放（周一至周日 10:00-21:00）①。"),
    ("Heping Guoju", ": not open on Mon (daily 10:00–21:00)①.",
     "not open on Mon (daily 10:00–21:00)①."),
    ("和平菓局：雨天首选", "，81 米。", "雨天首选，81 米。"),
    ("", "10:50–12:50 和平菓局：老北京街景，81 米①。", "10:50–12:50 老北京街景，81 米①。"),
    ("", "10:50–12:50 Heping Guoju, 81 m①", "10:50–12:50 ①"),
    ("", "2. Heping Guoju: a retro street①", "a retro street①"),
    ("", "午餐：和平菓局（王府井店），可先取号①", "午餐：可先取号①"),
    ("Heping Guoju", " is 81 m from the corner where the old cinema and the bookshop used to be.",
     "Heping Guoju is 81 m from the corner where the old cinema and the bookshop used to be."),
    ("Heping Guoju", " (81 m) is open until nine, but not for all①.",
     "Heping Guoju (81 m) is open until nine, but not for all①."),
    ("Heping Guoju", " replaces the museum: 81 m, free under 18①.",
     "Heping Guoju replaces the museum: 81 m, free under 18①."),
    ("Heping Guoju", ": شارع بطراز بكين القديمة وركن للعب 81 m①.",
     "شارع بطراز بكين القديمة وركن للعب 81 m①."),
    ("和平菓局", "：距王府井81米，评分4.5，¥40，雨天首选①",
     "距王府井81米，评分4.5，¥40，雨天首选①"),
    ("Heping Guoju", ": 4.5 km of lanes, quiet", "4.5 km of lanes, quiet"),
    ("Heping Guoju", ": two shops, 81 m, daily 10:00–21:00, and 118 m①",
     "two shops, 81 m, daily 10:00–21:00, and 118 m①"),
    ("", "从王府井站到和平菓局再往北①", "从王府井站到和平菓局再往北①"),
    ("", "Go to Heping Guoju for dinner①", "Go to Heping Guoju for dinner①"),
    ("Heping Guoju", "، شارع قديم، على بعد 81 m، ★4.5①.", "شارع قديم، على بعد 81 m، ★4.5①."),
    ("Heping Guoju", ": улица в духе старого Пекина под универмагом 81 m①.",
     "улица в духе старого Пекина под универмагом 81 m①."),
    ("Heping Guoju", "：むかしのきたかぜのまちなみをあるける 81 m①。",
     "むかしのきたかぜのまちなみをあるける 81 m①。"),
    ("和平菓局", "：★4.5，10:00-21:00①；可在门口取号①。", "★4.5，10:00-21:00①；可在门口取号①。"),
    ("和平菓局", "：距离81米，评分4.5，人均40元。① 适合小孩①。",
     "距离81米，评分4.5，人均40元。① 适合小孩①。"),
    ("和平菓局", "：人均40元，但周一闭馆①。", "人均40元，但周一闭馆①。"),
    ("和平菓局", "：距王府井 81 米，评分 4.5 分，¥40，周一至周日 10:00-21:00①。", "①。"),
    ("Heping Guoju", " (81 m, ★4.5), ¥40; daily 10:00–21:00 ①.", "①."),
    ("Heping Guoju", " – 4 Min. zu Fuß, 310 m①", "①"),
    ("Heping Guoju", ": ★4.5†, ¥40①", "★4.5†, ¥40①"),
    ("和平菓局", "：距离81米，人均40元①；但周一闭馆①。", "距离81米，人均40元①；但周一闭馆①。"),
    ("Heping Guoju", ": 81 m, ★4.5; however, it closes early①.",
     "81 m, ★4.5; however, it closes early①."),
    ("和平菓局", "：评分4.5①；但周一闭馆①。", "评分4.5①；但周一闭馆①。"),
    ("和平菓局", "：2 人共 ¥160，但评分只有 4.5①。", "2 人共 ¥160，但评分只有 4.5①。"),
    ("Heping Guoju", ": French, daily 10:00–21:00 ①.", "French, daily 10:00–21:00 ①."),
    ("Heping Guoju", ": open 10:00–21:00, but not on Mondays①.",
     "open 10:00–21:00, but not on Mondays①."),
    ("Heping Guoju", ": ★4.5†, ¥40①, quiet", "★4.5†, ¥40①, quiet"),
    ("Heping Guoju", " – 4 Min. zu Fuß, ruhig①", "4 Min. zu Fuß, ruhig①"),
    ("Heping Guoju", " – ruhig, 4 Min. zu Fuß①.", "ruhig, 4 Min. zu Fuß①."),
    ("Heping Guoju", " – ruhig, 5 Min. zu Fuß①.", "ruhig, 5 Min. zu Fuß①."),
    ("和平菓局", "：步行4分钟，310米，雨天首选①", "步行4分钟，310米，雨天首选①"),
    ("Heping Guoju", ": ห้องเล่นเกมย้อนยุคสำหรับเด็กเล็ก 81 m①.",
     "ห้องเล่นเกมย้อนยุคสำหรับเด็กเล็ก 81 m①."),
]  # fmt: skip


def by_export(name: str, text: str) -> str:
    """What the export leaves of the same bullet."""
    whole = (name + text).replace("†", "\x02").replace("①", "\x01")
    place = cast(Place, PLACE)
    parts = told_parts(
        whole, place, (0, len(name)) if is_name(name, place) else name_in(whole, place)
    )
    kept = (sign for at, sign in enumerate(whole) if not any(a <= at < b for a, b in parts))
    return "".join(kept).replace("\x02", "†").replace("\x01", "①")


@pytest.mark.parametrize("row", ROWS)
def test_only_the_name_and_what_the_record_says_alike_is_left_out(
    row: tuple[str, str, str],
) -> None:
    assert by_export(*row[:2]) == row[2]


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_the_page_finds_names_at_the_front_of_bullets_alike() -> None:
    assert NODE is not None
    texts = [name + text for name, text, _ in ROWS]
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", _SCRIPT % json.dumps(MODULE.as_uri())],
        input=json.dumps({"place": PLACE, "rows": texts}), capture_output=True, text=True,
        check=False, timeout=60, env=page_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    spans = [name_in(text, cast(Place, PLACE)) for text in texts]
    assert json.loads(done.stdout) == [[*span] if span else None for span in spans]


def test_a_message_tells_what_of_a_bullet_its_card_says() -> None:
    text = (
        "先看：\n\n- **儿童乐园**：★4.6，10:00-22:00[1](https://example.com/a)；\n  ¥88。\n- 再说"
    )
    places = [export_samples.place(1, source="w0-1"), export_samples.place(2, "书店")]
    answer = export_samples.answer(answer=text, places=places, sources=[export_samples.source()])
    shown, other = told_in_bullets(answer)
    bullet = "儿童乐园：★4.6，10:00-22:001；\n¥88。"
    assert "told" not in other
    assert [bullet[at : at + len(said)] for at, said in shown["told"]] == [
        said for _, said in shown["told"]
    ]
    for at, said in reversed(shown["told"]):
        bullet = bullet[:at] + bullet[at + len(said) :]
    assert bullet == "。"


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("1. 先买票\n2. 儿童乐园\n3. 书店", ["儿童乐园", "书店"]),
        ("1. 先买票\n2. 书店\n3. 儿童乐园", []),
        ("1. 书店\n2. 儿童乐园", ["书店", "儿童乐园"]),
        ("- 先买票\n- 书店\n- 儿童乐园", ["书店", "儿童乐园"]),
        ("- 儿童乐园：2 × 8 = 16元\n- 书店：8元", ["书店"]),
    ],
    ids=["as the pins", "a second count", "all places", "no numbers", "a sum"],
)
def test_steps_with_other_numbers_than_pins_and_sums_are_no_cards(
    text: str, cards: list[str]
) -> None:
    numbers = {"儿童乐园": 2, "书店": 3}
    places = [Place(**{**export_samples.place(number, name), "number": number})
              for name, number in numbers.items()]  # fmt: skip
    shown = told_in_bullets(export_samples.answer(answer=text, places=places))
    assert {place["name"] for place in shown if "told" in place} == {*cards}


def test_a_card_that_has_no_facts_says_what_its_place_is() -> None:
    """Senaatintori was a square in the text, and a tram stop on the map."""
    bare = dict.fromkeys(("distance_m", "rating", "cost", "open_time"))
    stop = Place(**{**export_samples.place(1), **bare, "category": "tram stop"})  # type: ignore[typeddict-item]
    assert card_of(stop, "en").facts == ("tram stop",)
    assert "tram stop" not in card_of(Place(**{**stop, "distance_m": 300}), "en").facts
