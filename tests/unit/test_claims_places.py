"""A place that no evidence knows is no recommendation."""

import pytest

from agent.evidence.claims.places import without_invented_places
from agent.evidence.claims.sentences import MARKED
from tests.unit.test_claims import evidence

KNOWN = "- **星巴克(外滩店)**：306米，¥40[^a0-0]。\n"


def dropped(text: str) -> list[str]:
    """Return the names of the places that are dropped from an answer."""
    known = evidence({"w0-0": ["武康大楼旁有一家大隐书局。"]}, question="外滩附近喝咖啡")
    shorter, names = without_invented_places(text, known, MARKED)
    assert (shorter == text) == (not names)
    assert not any(name in shorter for name in names)
    return names


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("- **钟楼咖啡馆**：环境安静，适合拍照。\n", "钟楼咖啡馆"),
        ("- **钟楼咖啡馆**：环境安静[^a0-1]。\n", "钟楼咖啡馆"),
        ("- **Seesaw(圆明园店)** is a local favourite, 450 m away.\n", "Seesaw(圆明园店)"),
        ("- **Peace Tea House**: 450 m away, ¥38.\n", "Peace Tea House"),
        ("- 钟楼咖啡馆：人均¥38\n  - 环境安静\n  - 周末人多\n", "钟楼咖啡馆"),
        ("\n| 名称 | 距离 |\n|---|---|\n| 钟楼咖啡馆 | 450 m |\n", "钟楼咖啡馆"),
    ],
)
def test_an_item_about_a_place_that_no_evidence_knows_goes(item: str, name: str) -> None:
    assert dropped(KNOWN + item) == [name]


@pytest.mark.parametrize(
    "item",
    [
        "- **一坐一忘**：943米，¥95[^a0-1]。\n",
        "- **大隐书局**：在武康大楼旁[^w0-0]。\n",
        "- **Starbucks Coffee**: 306 m, ¥40 [^a0-0].\n",
        "- **Forgotten Garden** is quiet [^a0-1].\n",
        "- **交通**：地铁2号线，步行约8分钟。\n",
        "- **Getting there (metro)**: 10 minutes on foot.\n",
        "- **附近超市**：星巴克(外滩店)旁边就有。\n",
        "- **故宫角楼咖啡**：故宫博物院旁，¥60[^a0-2]。\n",
        "- 建议：早点去。\n",
    ],
)
def test_a_known_a_translated_place_and_a_label_stay(item: str) -> None:
    assert dropped(KNOWN + item) == []


def test_without_a_known_place_beside_it_nothing_is_dropped() -> None:
    assert dropped("- **钟楼咖啡馆**：环境安静。\n- **鼓楼茶馆**：¥38。\n") == []


def test_what_follows_a_dropped_item_is_counted_anew() -> None:
    text = "1. **星巴克(外滩店)**\n2. **钟楼咖啡馆**：¥38\n   - 安静\n3. **一坐一忘**\n\n没有钟楼。"
    shorter, names = without_invented_places(text, evidence(), MARKED)
    assert shorter == "1. **星巴克(外滩店)**\n2. **一坐一忘**\n\n没有钟楼。"
    assert names == ["钟楼咖啡馆"]
