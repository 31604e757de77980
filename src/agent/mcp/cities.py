"""Comparing the city that was asked for with what the map found."""

import re

_SUFFIX = re.compile(
    r"(?:特别行政区|维吾尔自治区|壮族自治区|回族自治区|自治区|自治州|地区|新区|省|市|区|县|盟)$"
)
_ENGLISH = {
    "beijing": "北京", "peking": "北京", "shanghai": "上海", "tianjin": "天津",
    "chongqing": "重庆", "guangzhou": "广州", "canton": "广州", "shenzhen": "深圳",
    "hangzhou": "杭州", "nanjing": "南京", "suzhou": "苏州", "wuxi": "无锡", "ningbo": "宁波",
    "chengdu": "成都", "wuhan": "武汉", "xian": "西安", "qingdao": "青岛", "jinan": "济南",
    "dalian": "大连", "shenyang": "沈阳", "harbin": "哈尔滨", "changchun": "长春",
    "xiamen": "厦门", "fuzhou": "福州", "quanzhou": "泉州", "changsha": "长沙",
    "zhengzhou": "郑州", "luoyang": "洛阳", "kaifeng": "开封", "hefei": "合肥", "huangshan": "黄山",
    "nanchang": "南昌", "kunming": "昆明", "dali": "大理", "lijiang": "丽江", "guiyang": "贵阳",
    "nanning": "南宁", "guilin": "桂林", "haikou": "海口", "sanya": "三亚", "taiyuan": "太原",
    "datong": "大同", "lanzhou": "兰州", "dunhuang": "敦煌", "xining": "西宁", "lhasa": "拉萨",
    "yinchuan": "银川", "urumqi": "乌鲁木齐", "hohhot": "呼和浩特", "dongguan": "东莞",
    "foshan": "佛山", "zhuhai": "珠海", "hong kong": "香港", "hongkong": "香港", "macau": "澳门",
    "macao": "澳门",
}  # fmt: skip


def chinese_city(city: str | None) -> str | None:
    """The Chinese name of a city known by its English one; other names as they are."""
    if not city:
        return None
    plain = re.sub(r"\s*(?:city|,? china)$", "", city.strip(), flags=re.IGNORECASE)
    return _ENGLISH.get(plain.replace("'", "").casefold(), city.strip())


def same_city(asked: str | None, *found: str | None) -> bool:
    """Whether one of the found names (province, city, district) is the one asked for.

    True where nothing was asked or found, or where the names are of different scripts.
    """
    wanted = _short(chinese_city(asked) or "")
    names = [_short(name) for name in found if name]
    if not wanted or not names or wanted.isascii():
        return True
    return any(name and (name in wanted or wanted in name) for name in names)


def _short(name: str) -> str:
    plain = re.sub(r"\s", "", name)
    shorter = _SUFFIX.sub("", plain)
    return shorter if len(shorter) >= 2 else plain
