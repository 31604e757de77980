"""What OpenStreetMap's tags say of a place is told in its reader's words."""

import pytest

from agent.evidence.constraints import check
from agent.evidence.records import kind_text
from agent.mcp.osm.records import PRESENTATION, OsmReader
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.texts import Language


@pytest.mark.parametrize(
    ("language", "kind"),
    [
        ("ru", "ресторан (итальянская кухня, есть веганские блюда, доступно на коляске,"
               " есть детские стульчики)"),
        ("ja", "レストラン (イタリア料理, ヴィーガン対応, 車椅子可, 子供用椅子あり)"),
        ("en", "restaurant (italian, bistro food, vegan options, wheelchair access,"
               " high chairs for children)"),
        ("zh", "餐厅（意大利菜，bistro food，有纯素可选，无障碍，有儿童椅）"),
    ],
)  # fmt: skip
def test_what_a_record_s_tags_say_stands_in_the_reader_s_words_or_not_at_all(
    language: Language, kind: str
) -> None:
    """A Russian read "есть варианты: vegan"."""
    row = {"id": "node/1", "name": "X", "lng": 13.4, "lat": 52.5, "tag": "amenity=restaurant",
           "cuisine": "italian;bistro_food", "diets_yes": "vegan", "wheelchair": "yes",
           "highchair": "2", "kids_area": "no"}  # fmt: skip
    options = MapOptions(prefix="a0", language=language)
    records = MapRecords(MapResult(), options, presentation=PRESENTATION)
    found = OsmReader(records).add_place(row)
    assert found is not None
    assert kind_text(found, language) == kind
    [fits] = check(found, {"suits": ["children"]}, language)
    assert (fits["verdict"], fits["field"]) == ("satisfied", "category")
