"""Tell how long one stays at a place, and whether one eats there: rough estimates by its kind."""

from agent.core.strings import has_any
from agent.evidence.types import Place

_NO_MEAL = (
    "咖啡", "茶", "甜品", "冷饮", "糕饼", "面包", "蛋糕", "酒吧", "酒馆", "小吃街", "步行街",
    "市场",
)  # fmt: skip
_MEAL = (
    "餐", "菜", "火锅", "酒楼", "饭", "食府", "面馆", "烤鸭", "小吃", "料理", "老字号", "牛扒",
    "烧烤", "海鲜",
)  # fmt: skip
_MINUTES = {
    300: ("主题公园", "迪士尼", "环球影城"),
    150: ("动物园", "海洋", "水族", "植物园"),
    120: ("博物", "美术馆", "科技馆", "展览", "纪念馆", "天文馆", "故宫", "剧院", "剧场", "影",
          "音乐厅", "游乐"),
    90: ("风景", "景点", "名胜", "寺", "庙", "观", "塔", "宫", "园林", "古镇", "遗产"),
    45: ("专营", "礼品", "专卖", "旗舰店", "书店", "便利", "超市", "咖啡", "甜品", "糕饼", "冷饮",
         "茶餐厅"),
}  # fmt: skip
_MINUTES_ELSE = 60
_SIGHT = ("风景", "景点", "名胜", "广场", "观景", "桥")
_SMALL = (
    "桥", "堤", "广场", "门", "牌坊", "牌楼", "观景台", "观景点", "亭", "雕塑",
    "bridge", "causeway", "viewpoint", "square", "gate",
)  # fmt: skip
"""How names of sights end that are seen within half an hour."""
_WITH_ROOMS = tuple("寺庙观塔宫园镇府陵城山馆院监坛窟址岛")
"""How those end that take their time, whatever is beside them."""
_SMALL_MINUTES = 30


def is_meal(place: Place) -> bool:
    """Return whether one has lunch or dinner there."""
    kind = place["category"] or ""
    return has_any(kind, _MEAL) and not has_any(kind, _NO_MEAL)


def stay(place: Place) -> int:
    """Return for how many minutes one usually stays at such a place: a rough estimate."""
    if is_meal(place):
        return _MINUTES_ELSE
    about = f"{place['category'] or ''} {place['name']}"
    if _is_sight(place) and _own_name(place).endswith(_SMALL):
        return _SMALL_MINUTES
    return next((m for m, words in _MINUTES.items() if has_any(about, words)), _MINUTES_ELSE)


def _is_sight(place: Place) -> bool:
    return has_any(place["category"] or "", _SIGHT)


def _own_name(place: Place) -> str:
    """Return a name without what a map adds to it in brackets."""
    return place["name"].partition("(")[0].partition("（")[0].strip().casefold()


def is_spot(place: Place) -> bool:
    """Return whether a sight is one to look at, without rooms to go through."""
    return _is_sight(place) and not _own_name(place).endswith(_WITH_ROOMS)
