"""What records refute is marked: rates, limits, superlatives, ranks; what follows is computed."""

from typing import cast

import pytest

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import corrected
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.claims.sentences import MARKED
from agent.evidence.types import Place
from tests.unit.test_claims import evidence


def cafe(source: str, name: str, metres: int, cost: int, rating: float, **more: object) -> Place:
    row = {"id": source, "name": name, "source": source, "category": "咖啡馆", "cost": cost}
    row |= {"distance_m": metres, "distance_from": "外滩", "rating": rating, "keywords": []}
    return cast(Place, row | more)


OVER = {"constraint": "max_cost", "verdict": "violated", "text": "人均 ¥130，超过 ¥100"}
PLACES = [
    cafe("a0-0", "蓝蛙", 250, 130, 4.8, verdicts=[OVER]),
    cafe("a0-1", "和府捞面", 443, 45, 4.2),
    cafe("a0-2", "新旺茶餐厅", 391, 60, 4.5),
]


def known() -> Evidence:
    """Return records of places, a tower and prices."""
    records = {
        p["source"]: record(
            p["source"],
            [f"{p['name']} | 外滩 {p['distance_m']} m | ★{p['rating']} | ¥{p['cost']}"],
            p,
        )
        for p in PLACES
    }
    records["w0-0"] = record("w0-0", ["The plan is 15.15 dollars a month.", "Parking is 12 元."])
    records["w0-1"] = record("w0-1", ["Shanghai Tower is 632 metres high."])
    records["w0-2"] = record("w0-2", ["The Eiffel Tower is 330 metres high."])
    return Evidence(records, question="人均100以内", today="2026-11-23")


def marked(text: str) -> list[Finding]:
    """Return what is marked of an answer about them."""
    return [finding for finding in check(text, known()) if finding.verdict == "marked"]


@pytest.mark.parametrize(
    "sentence",
    [
        "**和府捞面**：443 m，¥45/小时[^a0-1]。",
        "和府捞面每小时 45 元[^a0-1]。",
        "Parking is ¥12 per hour [^w0-0].",
        "**蓝蛙**：人均 ¥130[^a0-0]，单点汉堡也能控制在 100 以内。",
        "离外滩最近的，首选和府捞面[^a0-1]，其次是新旺茶餐厅[^a0-2]。",
        "新旺茶餐厅最便宜，人均 ¥60[^a0-2]；也可以去和府捞面[^a0-1]。",
        "和府捞面评分最高[^a0-1]，新旺茶餐厅也不错[^a0-2]。",
        "It is the third-tallest building in the world.",
        "它是全球第三高楼。",
    ],
)
def test_what_no_record_bears_of_rates_limits_superlatives_and_ranks_is_marked(
    sentence: str,
) -> None:
    assert len(marked(sentence)) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "The plan costs $15.15 a month [^w0-0].",
        "套餐每月 15.15 美元[^w0-0]。",
        "**蓝蛙**：人均 ¥130，超过 100 的预算[^a0-0]。",
        "离外滩最近的是新旺茶餐厅[^a0-2]，和府捞面稍远[^a0-1]。",
        "和府捞面最便宜，人均 ¥45[^a0-1]；新旺茶餐厅 ¥60[^a0-2]。",
        "和府捞面是最近的选择之一[^a0-1]，新旺茶餐厅也近[^a0-2]。",
        "和府捞面、新旺茶餐厅虽近（391–443 m），但没有包间[^a0-1][^a0-2]。",
        "最近几天去和府捞面人不多[^a0-1]，新旺茶餐厅也是[^a0-2]。",
    ],
)
def test_rates_superlatives_and_excesses_that_the_records_bear_are_not_marked(
    sentence: str,
) -> None:
    assert marked(sentence) == []


def test_the_sign_stands_behind_the_clause_also_where_a_citation_is_set_right() -> None:
    text = "**和府捞面**：443 m，¥45/小时[^a0-0]，适合一个人。"
    parts = corrected(text, check(text, known()), MARKED)
    right = "**和府捞面**：443 m，¥45/小时[^a0-1]†，适合一个人。"
    assert "".join(part.text for part in parts) == right


@pytest.mark.parametrize(
    ("sentence", "sources"),
    [
        ("便宜的有新旺茶餐厅、和府捞面，391–443 m，人均 ¥45 起。", ("a0-2", "a0-1")),
        ("便宜的有和府捞面，人均 ¥45。", ("a0-1",)),
        ("新旺茶餐厅、和府捞面都不错。", ()),
    ],
)
def test_a_sentence_with_figures_of_several_places_gets_the_source_of_each(
    sentence: str, sources: tuple[str, ...]
) -> None:
    [finding] = check(sentence, known())
    assert finding.attach == sources


def test_a_rank_that_some_source_gives_is_not_marked() -> None:
    ranked = evidence({"w0-0": ["Shanghai Tower is the world's third tallest building."]})
    [finding] = check("It is the third-tallest building in the world.", ranked)
    assert finding.verdict != "marked"


HEIGHTS = "The Shanghai Tower is 632 metres high [^w0-1], the Eiffel Tower 330 metres [^w0-2]. "
PRICE = "The plan costs $15.15 a month [^w0-0]. "


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (f"{HEIGHTS}The Shanghai Tower is therefore 302 metres taller, almost twice as high.", 0),
        (f"{HEIGHTS}The Shanghai Tower is therefore 310 metres taller.", 1),
        (f"{PRICE}Over a year the plan comes to about $182.", 0),
        (f"{PRICE}Over a year the plan comes to about $220.", 1),
        (f"{PRICE}The setup costs $182.", 1),
    ],
)
def test_what_follows_from_the_figures_before_a_sentence_is_computed(text: str, marks: int) -> None:
    assert len(marked(text)) == marks


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know the hours of Seesaw Coffee.",
        "Near Saint Mary Bridge on Saturday:",
    ],
)
def test_what_is_not_known_and_a_heading_need_no_judge(sentence: str) -> None:
    cafes = evidence({"w0-0": ["Cafés near the river open early."]})
    [finding] = check(sentence, cafes)
    assert (finding.verdict, finding.doubt) == ("own", 0)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("从雷峰塔步行约920米到三潭印月[^t0-0]。", "marked"),
        ("It is a walk of 920 m from the tower to the island [^t0-1].", "marked"),
        ("雷峰塔到三潭印月直线距离920米，走不过去[^t0-0]。", None),
        ("从断桥步行736米到白堤，约10分钟[^t0-2]。", None),
    ],
)
def test_a_straight_line_is_never_a_walk(sentence: str, verdict: str | None) -> None:
    lines = evidence(
        {
            "t0-0": ["雷峰塔 → 三潭印月：直线距离 920 米"],
            "t0-1": ["Tower → island: 920 m in a straight line"],
            "t0-2": ["断桥 → 白堤：步行 736 米，约 10 分钟（直线距离 567 米）"],
        }
    )
    [finding] = check(sentence, lines)
    assert (finding.verdict == "marked") == (verdict == "marked")
    assert finding.contradicted == (verdict == "marked")


def test_the_hours_of_a_demand_that_is_not_met_are_no_limit_to_keep_within() -> None:
    closed = {"constraint": "open_on", "verdict": "violated", "text": "closed Mon (Tue–Sun 17:00)"}
    palace = cafe("a0-0", "故宫博物院", 0, 60, 4.9, verdicts=[closed])
    records = {"a0-0": record("a0-0", ["故宫博物院 | Tue–Sun 17:00 | museum"], palace)}
    line = "故宫博物院 · fails: closed Mon (Tue–Sun 17:00) · meets: museum [^a0-0]"
    [finding] = check(line, Evidence(records, today="2026-11-23"))
    assert not finding.contradicted
