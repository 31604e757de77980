"""What of a bullet the page leaves out, because the place's own lines say it, and what it keeps."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from agent.evidence.types import Place
from agent.export.place_cards import is_name, name_in, told_parts
from tests.support.page_node import page_environment

NODE = shutil.which("node")
MODULE = Path(__file__).parents[2] / "src/agent/page/js/map/told_facts.js"

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node")

PLACE = {
    "name": "和平菓局(王府井店)", "name_en": "Heping Guoju", "distance_m": 81, "rating": 4.5,
    "cost": 40, "open_time": "周一至周日 10:00-21:00", "open_time_en": "daily 10:00–21:00",
}  # fmt: skip
_SCRIPT = """
import { isName, nameIn, toldParts } from %s;
const { place, rows } = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(rows.map(([name, text]) => {
  const whole = (name + text).replaceAll("†", "\\u0002").replaceAll("①", "\\u0001");
  const at = isName(name, place) ? [0, name.length] : nameIn(whole, place);
  const parts = toldParts(whole, place, at);
  return [...whole].filter((_, at) => !parts.some(([from, to]) => at >= from && at < to)).join("")
    .replaceAll("\\u0002", "†").replaceAll("\\u0001", "①");
})));
"""
ROWS = [
    ("和平菓局 (Heping Guoju)", ", a retro street: 81 m as a line, ★4.5, daily 10:00–21:00①.",
     "a retro street①."),
    ("和平菓局", "：距王府井 81 米，评分 4.5 分，¥40，周一至周日 10:00-21:00①，雨天也能逛①。",
     "①，雨天也能逛①。"),
    ("Heping Guoju", ": 81 m, 400 m², more than 40 stalls①.", "400 m², more than 40 stalls①."),
    ("Heping Guoju", ": 90 m away, ★4.9†, ¥45.", "90 m away, ★4.9†, ¥45."),
    ("Heping Guoju", ": children below 1.2 m are free, 81 m.", "children below 1.2 m are free."),
    ("和平菓局", " (Heping, Guoju) is quiet, 81 m①.", "is quiet①."),
    ("和平菓局", " (quiet), 81 m①.", "(quiet)①."),
    ("和平菓局", "：周一不开放（周一至周日 10:00-21:00）①。",
     "周一不开放（周一至周日 10:00-21:00）①。"),
    ("Heping Guoju", ": not open on Mon (daily 10:00–21:00)①.",
     "not open on Mon (daily 10:00–21:00)①."),
    ("和平菓局：雨天首选", "，81 米。", "雨天首选。"),
    ("", "10:50–12:50 和平菓局：老北京街景，81 米①。", "10:50–12:50 老北京街景①。"),
    ("", "10:50–12:50 Heping Guoju, 81 m①", "10:50–12:50 ①"),
    ("", "2. Heping Guoju: a retro street①", "a retro street①"),
    ("", "午餐：和平菓局（王府井店），可先取号①", "午餐：可先取号①"),
    ("Heping Guoju", " is 81 m from the corner where the old cinema and the bookshop used to be.",
     "is 81 m from the corner where the old cinema and the bookshop used to be."),
    ("Heping Guoju", ": شارع بطراز بكين القديمة وركن للعب 81 m①.",
     "شارع بطراز بكين القديمة وركن للعب 81 m①."),
    ("和平菓局", "：距王府井81米，评分4.5，¥40，雨天首选①", "雨天首选①"),
    ("Heping Guoju", ": 4.5 km of lanes, quiet", "4.5 km of lanes, quiet"),
    ("Heping Guoju", ": two shops, 81 m, daily 10:00–21:00, and 118 m①",
     "two shops, 81 m, daily 10:00–21:00, and 118 m①"),
    ("", "从王府井站到和平菓局再往北①", "从王府井站到和平菓局再往北①"),
    ("", "Go to Heping Guoju for dinner①", "Go to Heping Guoju for dinner①"),
    ("Heping Guoju", "، شارع قديم، على بعد 81 m، ★4.5①.", "شارع قديم①."),
    ("Heping Guoju", ": улица в духе старого Пекина под универмагом 81 m①.",
     "улица в духе старого Пекина под универмагом 81 m①."),
    ("Heping Guoju", "：むかしのきたかぜのまちなみをあるける 81 m①。",
     "むかしのきたかぜのまちなみをあるける 81 m①。"),
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
def test_the_export_leaves_out_the_same(row: tuple[str, str, str]) -> None:
    assert by_export(*row[:2]) == row[2]


def test_only_the_name_and_what_the_record_says_alike_is_left_out() -> None:
    assert NODE is not None
    told = {"place": PLACE, "rows": [row[:2] for row in ROWS]}
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", _SCRIPT % json.dumps(MODULE.as_uri())],
        input=json.dumps(told), capture_output=True, text=True, check=False, timeout=60,
        env=page_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [row[2] for row in ROWS]
