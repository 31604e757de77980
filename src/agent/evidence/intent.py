"""Decide by rules if the map helps with a query, and how.

Regular expressions over Chinese and English, questions and telegraphic search queries. What
these rules reach is measured by `python -m evals.geo_intent`.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, get_args

from agent.evidence.geo import parse_lnglat
from agent.evidence.places import (
    activity_in,
    activity_keywords,
    city_in,
    is_vague,
    landmark_in,
    place_after_preposition,
    route_ends,
    shaped_place,
)
from agent.evidence.places import (
    extract_place as _extract_place,
)
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, TravelMode
from agent.texts import Language, detect_language

_I = re.IGNORECASE
_COURTESY = re.compile(
    r"[你您]是谁|[你您](?:能|会|可以)(?:做|干|帮我?做?)?(?:什么|啥)|\b(?:how|who) are you\b"
    r"|\bwhat can (?:you do|i ask)\b|\bthere\b|\bhelp\b"
    r"|(?:非常|十分|太|真是?|多)?(?:谢谢|感谢|谢)|[你您]好|(?:早上|上午|中午|下午|晚上)好|再见|好的?"
    r"|明白|知道|收到|不错|辛苦|[你您了啦啊呀哦吧哈吗的]|帮助|帮忙"
    r"|\b(?:thank you|thanks|hello|hi|hey|good (?:morning|afternoon|evening|night)|goodbye|bye|ok"
    r"|okay|great|perfect|cool|nice|got it|i see|very much|so much|a lot|for (?:your|the) help)\b"
)
_NUMBER = r"(\d{1,5}(?:\.\d{1,3})?|[半一两二三四五十])"

LNGLAT = re.compile(r"(?<![\d.])-?\d{1,3}\.\d{2,}\s*[,，]\s*-?\d{1,3}\.\d{2,}(?![\d.])")

NOT_SPATIAL = re.compile(
    # zh: 市
    r"(?:股票|资本|证券|债券|期货|房地产|劳动力|人才|二级|一级|外汇|全球|国际|国内|目标|汽车"
    r"|手机|金融)市场"
    r"|市场(?=规模|份额|经济|分析|营销|调研|需求|行情|价值|价格|竞争|监管|前景|占有率|部|化|定位"
    r"|格局)"
    r"|(?<![菜物夜货鲜具玩蚤鸟卉贸])市场|上市(?:公司)?|市值|市盈率|市净率|城市化|城市规划"
    # 区, 路, 街, 县
    r"|区块链?|区别|区分|区间|(?:开源|技术|开发者|学术)社区|社区(?=版|运营|治理|贡献)|战区|时区"
    r"|误区|分区|盲区|特区|自由贸易区"
    r"|(?:学习|技术|产品|成长|进阶|发展|职业|双|政治|群众|面试)路线(?:图)?|路线图|路由器?|思路"
    r"|网路|电路|链路|套路|出路|回路|铁路股"
    r"|路径规划|街机|街舞|街霸|华尔街|丝绸之路|长征路|一带一路|郡县制|站点|网站|站长|空间站|B站"
    r"|工作站"
    # 中心, 距离, 位置, 坐标, 导航, 地址
    r"|数据中心|(?:去)?中心化|中心思想|中心极限\w*|计算中心|研发中心|为中心|中心词|客服中心"
    r"|消息中心|配置中心|注册中心|用户中心"
    r"|距离(?=度量|函数|公式|矩阵|算法|向量|感|学习|计算)|(?:编辑|欧氏|欧几里得|余弦|汉明|马氏"
    r"|曼哈顿|社交|安全|心理)距离"
    r"|位置(?=编码|参数|嵌入|变量|向量)|坐标(?=系|轴|变换|下降)|导航(?=栏|条|菜单|网站|组件|守卫"
    r"|系统原理|卫星)|惯性导航|卫星导航"
    r"|(?:IP|内存|邮箱|钱包|MAC|网络|虚拟|物理|合约|寄存器)\s*地址|地址(?=栏|空间|总线|转换|解析"
    r"|映射)"
    r"|(?:零点|极值点?|均值|临界点|原点|平衡点|奇点)附近|周边(?=商品|产品|设备|手办|外设|视力)"
    r"|周围神经|周围(?=人的?眼光)"
    r"|怎么走(?=出|下去|向)|广场舞|广场协议|给.{0,4}加油|加油[!！吧]|天气之子|充电宝(?=行业|品牌"
    r"|排行|推荐|容量)|(?:充电|停车)(?=协议|算法)"
    # en
    r"|nearest[- ]neighbou?rs?|near[- ](?:infrared|real[- ]?time|zero|term|field|miss|death"
    r"|duplicate|future|optimal)"
    r"|close to the metal|data cent(?:er|re)s?|around (?:19|20)\d\d|road ?map|street fighter"
    r"|wall street|walk through"
    r"|walkthrough|in the near future|food (?:chain|web|processor|safety)|hotel california"
    r"|java coffee|family (?:tree|law|office)"
    r"|parking (?:function|lot design|lot problem)|memory bank|bank account|central bank"
    r"|central bank|barcode|bar (?:chart|exam|graph)"
    r"|child(?:ren)? process(?:es)?|kids? (?:mode|tablet)|random walk|running (?:a|the|tests?"
    r"|code|locally|on|out)|fun(?= fact)"
    r"|library(?= (?:for|to|that|function|version))|libraries (?:for|to|in|like)"
    r"|school of thought|clinical",
    _I,
)

NEAR = re.compile(
    r"附近|周边|周围|旁边|边上|一带|就近|最近的|门口|楼下|沿线|步行可达|走路\d*分?钟?"
    r"|步行\s*\d+\s*分钟"
    r"|离.{1,14}?(?:近|不远)|(?:\d+|[一二两三五十])\s*(?:公里|千米|米|km)\s*(?:以内|之内|内|范围)"
    r"|\bnear(?:by|est)?\b|\bclosest\b|\bclose (?:to|by)\b|\bnext to\b|\bwalking distance\b"
    r"|\baround (?:here|me|the)\b"
    r"|\baround(?= [A-Z])|\bwithin \d+(?:\.\d+)?\s*(?:k?m\b|met|kilo|mile|min)"
    r"|\bin the (?:vicinity|area)\b",
    _I,
)
NEAR_ME = re.compile(
    r"附近|周边|周围|旁边|楼下|就近|最近的|离我|我这|身边|这里|这儿"
    r"|\bnear(?:by| me| here| my \w+|est)?\b|\bclosest\b|\bclose (?:by|to me)\b|\baround (?:here"
    r"|me)\b",
    _I,
)
ROUTE = re.compile(
    r"怎么走|怎么去|怎么到|怎么过去|如何前往|如何去|如何到达?|路线|导航|要多久|多长时间|多少时间"
    r"|几号线|地铁|公交|高铁|火车|开车|驾车|打车|打的|的士"
    r"|骑行|骑车|单车|步行|徒步|走路|走过去|换乘"
    r"|\bhow (?:do i|to|can i|do we) get\b|\bdirections?\b|\broutes?\b"
    r"|\bfastest way\b|\bbest way\b"
    r"|\bsubway\b|\bmetro\b|\bhow long (?:does it take|is the)\b|\b(?:walk|drive|cycle|bike"
    r"|subway|metro|bus|train"
    r"|taxi)(?:ing)? (?:from|to)\b",
    _I,
)
DISTANCE = re.compile(
    r"多远|距离|几公里|多少公里|多少米|\bhow far\b|\bdistance (?:from|between|to)\b|\bfar is\b", _I
)
TO_DESTINATION = re.compile(
    r"(?:怎么|如何)(?:走|去|到|前往)|导航|打车|路线|多远|\bget to\b|\bdirections? to\b"
    r"|\bway to\b|\bhow far\b|\broute to\b",
    _I,
)
MODES: tuple[tuple[TravelMode, re.Pattern[str]], ...] = (
    (
        "transit",
        re.compile(
            r"公交|地铁|高铁|动车|火车|换乘|几号线|\b(?:subway|metro|bus|transit|train)\b", _I
        ),
    ),
    ("walking", re.compile(r"步行|徒步|走路|走到|走过去|\bwalk(?:ing)?\b|\bon foot\b", _I)),
    ("bicycling", re.compile(r"骑行|骑车|自行车|单车|\b(?:bike|bicycle|cycling|cycle)\b", _I)),
    ("driving", re.compile(r"开车|驾车|自驾|打车|打的|的士|\b(?:drive|driving|taxi|car)\b", _I)),
)
FACT = re.compile(
    r"地址|在哪|哪个区|什么位置|位置|坐标|几点|开门|关门|营业|开放|开馆|闭馆|门票|电话|评分|人均"
    r"|有停车|停车费"
    r"|\bwhere is\b|\bwhere's\b|\baddress\b|\bopening (?:hours|times?)\b|\bopen(?:s| on| today"
    r"| now)?\b|\bclos(?:e|es|ing)\b"
    r"|\btickets?\b|\bphone number\b|\bhours\b|\blocation\b|\bcoordinates\b",
    _I,
)
WEATHER = re.compile(
    r"天气(?!.{0,4}去)|气温|下雨(?![天时也]|的时候|.{0,3}去)|下雪|几度|空气质量|降温|\bweather\b|\bforecast\b|\brain(?:ing)?\b"
    r"|\btemperature\b",
    _I,
)
QUESTION = re.compile(
    r"有什么|有没有|有哪些|哪里|哪儿|哪些|推荐|好去处|值得|\bwhat(?:'s)?\b|\bwhere\b|\bany\b"
    r"|\bbest\b|\bgood\b",
    _I,
)
ABSTRACT = re.compile(
    r"市场|行业|产业|政策|法规|法律|财报|营收|股价|股票|GDP|人口|历史|由来|起源|传说|故事|典故"
    r"|诗|歌|小说|论文|研究|算法|数据集|数据库"
    r"|模型|代码|系统|投资|融资|房价|统计|增长|趋势|演变|招聘|薪资|工资|就业|专业|高考|分数线"
    r"|录取|考研|学费|校长|作者|英文|英语|翻译"
    r"|怎么读|意思|区别|原理|做法|食谱|怎么做|如何做|自制|在家|健康|功效|副作用|加盟|创业|开店"
    r"|装修|设计师|架构|接口|开发|软件|比赛"
    r"|冠军|奖牌|球队|市长|书记|新闻|事件|疫情|方言|文化|品牌|公司|集团|电商|发展|改革|战争|朝代"
    r"|皇帝|建造|建于|面积|海拔|简介|主演"
    r"|经济|规划|建筑风格|谁|为什么|定义|哲学|现状|前景|报告|评测|参数|续航"
    r"|\b(?:algorithms?|metrics?|markets?(?! street)|industry|history|recipes?|benefits|apis?"
    r"|schema|datasets?|databases?"
    r"|python|javascript|machine learning|models?|stocks?|revenue|earnings|definition|meaning"
    r"|brew(?:ing)?|homemade|at home"
    r"|interview|trends?|statistics|policy|policies|laws?|population|gdp|founded|architecture"
    r"|software|startups?|franchise"
    r"|economy|economic|prices?|cost of living|salary|salaries|jobs?|novel|movies?|films?|songs?"
    r"|lyrics|poems?|health|calories"
    r"|caffeine|how to (?:make|cook)|explain|difference|what is an?|theorem|physics|research"
    r"|papers?|study|studies|war"
    r"|dynasty|emperor|culture|growth|inventor|invented|company|companies|ceo|who|why|investment"
    r"|real estate|mean(?:s|ing)?"
    r"|protein|philosophy|programming|framework|review of|evolution|report|built|language"
    r"|translation|tutorial)\b",
    _I,
)
RADIUS = re.compile(
    rf"{_NUMBER}\s*(公里|千米|米|km|kilomet\w*|miles?|met(?:er|re)s?|m)\s*(?:以内|之内|内|范围"
    rf"|左右|半径|radius|of\b|away|around|$|\s)"
    r"",
    _I,
)
MINUTES = re.compile(
    r"(?:步行|走路)\s*(\d{1,2})\s*分钟|(\d{1,2})[- ]?min(?:ute)?s?(?:['’])? (?:walk|on foot)", _I
)


_OF_A_WAY = re.compile(
    r"请问|帮我|查一?下|一下|我?想知道|我要|从|到|去|往|至|离|由|坐|乘|搭|走|出发|过去|应该|大概|大约|需要"
    r"|要|花|多少分钟|几分钟|多少?久|多久|最快|怎么样?|方式|吗|呢|[的是有]"
    r"|\b(?:please|the|a|an|to|from|and|between|by|on|of|in|is|it|there|i|we|you|me|do|does|can|could"
    r"|should|would|will|go|going|get|getting|take|takes|taking|travel|how|what|which|long|far|much"
    r"|many|minutes?|time|way|fastest|quickest|shortest|best|foot|show|tell|find|need|want)\b",
    _I,
)
_NAVIGATE = re.compile(
    r"导航(?:到|去|至)|带我(?:去|到)|\bnavigate (?:me )?to\b|\b(?:directions|take me) to\b", _I
)
_MAX_TEXT = 400
_MAX_NAME = 80
_MAX_KEYWORDS = 3
_DEFAULT_RADIUS_M = 2000
_MIN_RADIUS_M, _MAX_RADIUS_M = 100, 50_000
_METRES_PER_MINUTE = 80
_UNIT_METRES = {"公里": 1000, "千米": 1000, "km": 1000, "kilomet": 1000, "里": 500, "mile": 1609}
_DIGITS = {"半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "十": 10}


def detect_location_query(text: str) -> bool:
    """Return whether a map search helps to answer this."""
    plain = _spatial(text)
    if LNGLAT.search(plain):
        return True
    activity = bool(activity_in(plain))
    is_known = _known_place(plain)
    if NEAR.search(plain) and (activity or (is_known and QUESTION.search(plain))):
        return True
    if _is_route(plain):
        return True
    if ABSTRACT.search(plain):
        return False
    if WEATHER.search(plain):
        return bool(city_in(plain) or landmark_in(plain))
    place = is_known or place_after_preposition(plain) is not None
    return place and (activity or bool(FACT.search(plain) or NEAR.search(plain)))


def has_location_intent(text: str) -> bool:
    """Return whether a place or a spatial relation is named."""
    plain = _spatial(text)
    named = LNGLAT.search(plain) or NEAR.search(plain) or ROUTE.search(plain)
    return bool(named or _known_place(plain) or place_after_preposition(plain))


def names_known_place(text: str) -> bool:
    """Return whether a question is about a place that maps know, coordinates, or what is near.

    A capitalised name after "in", "from" or "of" is none by itself: it may be a year or a product.
    """
    plain = _spatial(text)
    if LNGLAT.search(plain) or city_in(plain) or landmark_in(plain):
        return True
    if detect_language(text) == "zh":
        return shaped_place(plain) is not None or detect_location_query(text)
    return bool(NEAR_ME.search(plain) or ROUTE.search(plain)) and detect_location_query(text)


def needs_place(text: str) -> bool:
    """Return whether something "near me" is wanted without place or coordinates."""
    plain = _spatial(text)
    if LNGLAT.search(plain) or not NEAR_ME.search(plain):
        return False
    return detect_location_query(text) and extract_place(text) is None


def is_courtesy(text: str) -> bool:
    """Return whether a message only greets or thanks, or asks who it is that answers."""
    return not re.search(r"\w", _COURTESY.sub(" ", _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_MAX_TEXT]).casefold()


def asks_only_the_way(text: str) -> bool:
    """Return whether a question is about the way from one place to another, and nothing else.

    The map answers that whole; pages would only bring what else lies there.
    """
    plain = _spatial(text)
    ends = route_ends(plain) if _is_route(plain) else None
    if not ends:
        return False
    rest = ends.rest
    for pattern in (ROUTE, DISTANCE, *(words for _, words in MODES), _OF_A_WAY):
        rest = pattern.sub(" ", rest)
    return not re.search(r"\w", rest)


def needs_origin(text: str) -> bool:
    """Return whether guidance to a named place is wanted, and not said from where."""
    plain = _spatial(text)
    goal = _NAVIGATE.search(plain)
    if not goal or LNGLAT.search(plain) or route_ends(plain):
        return False
    return extract_place(plain[goal.end() :]) is not None


def extract_place(text: str) -> tuple[str, str | None] | None:
    """Return the (place, city) of a query, or None; coordinates are a place ("lng,lat")."""
    plain = _spatial(text)
    literal = LNGLAT.search(plain)
    point = parse_lnglat(literal[0]) if literal else None
    if point:
        return f"{point[0]},{point[1]}", None
    return _extract_place(plain)


def map_task_by_rules(text: str) -> MapTask | None:
    """Return the map task of a query; None if the map does not help."""
    if not detect_location_query(text):
        return None
    plain = _spatial(text)
    language = detect_language(text)
    place_and_city = extract_place(text)
    if _is_route(plain):
        task = _route_task(plain, place_and_city)
        if task:
            return valid_map_task(task)
    place, city = place_and_city or (None, None)
    proposal: dict[str, Any] = {"place": place, "city": city}
    proposal["intent"] = _intent(plain, place, city)
    if proposal["intent"] in ("nearby", "area"):
        proposal["keywords"] = _keywords(plain, place, language)
        proposal["radius_m"] = _radius(plain)
        proposal["mode"] = None
    return valid_map_task(proposal)


def valid_map_task(candidate: Mapping[str, Any]) -> MapTask | None:
    """Return a runnable task from a model's proposal; None if something needed lacks.

    A search nearby may lack its place: the user's own location can stand for it.
    """
    intent: MapIntent | None = candidate.get("intent")
    if intent is None or intent not in get_args(MapIntent):
        return None
    task = MapTask(intent=intent, radius_m=_clamp(candidate.get("radius_m")))
    names = {key: _name(candidate.get(key)) for key in ("place", "city", "origin", "destination")}
    task["place"], task["city"] = names["place"], names["city"]
    task["origin"], task["destination"] = names["origin"], names["destination"]
    task["keywords"] = _words(candidate.get("keywords"))
    mode = candidate.get("mode")
    task["mode"] = mode if mode in get_args(TravelMode) else None
    return task if _is_complete(task) else None


def _is_complete(task: MapTask) -> bool:
    where = task.get("place") or task.get("city")
    match task["intent"]:
        case "nearby":
            return bool(task.get("keywords") or where)
        case "area":
            return bool(where and task.get("keywords"))
        case "poi":
            return bool(where or task.get("keywords"))
        case "route" | "distance":
            return bool(task.get("destination"))
    return bool(where)


def _spatial(text: str) -> str:
    """Remove words that only sound spatial (市场规模, 区块链, nearest neighbour)."""
    plain = unicodedata.normalize("NFKC", clean_text(text[: 4 * _MAX_TEXT], _MAX_TEXT))
    return NOT_SPATIAL.sub(" ", plain)


def _known_place(plain: str) -> bool:
    return bool(landmark_in(plain) or city_in(plain) or shaped_place(plain))


def _is_route(plain: str) -> bool:
    ends = route_ends(plain)
    if not (ROUTE.search(plain) or DISTANCE.search(plain) or (ends and _mode(ends.rest))):
        return False
    if ends:
        is_known = _known_place(ends.origin) or _known_place(ends.destination)
        return is_known or bool(MODES[0][1].search(plain))
    return bool(TO_DESTINATION.search(plain)) and (
        _known_place(plain) or place_after_preposition(plain) is not None
    )


def _route_task(plain: str, place_and_city: tuple[str, str | None] | None) -> dict[str, Any] | None:
    ends = route_ends(plain)
    if not ends and not place_and_city:
        return None
    origin = None if not ends or is_vague(ends.origin) else ends.origin
    rest = ends.rest if ends else plain
    return {
        "intent": "distance" if DISTANCE.search(plain) else "route",
        "origin": origin,
        "destination": ends.destination if ends else place_and_city and place_and_city[0],
        "city": place_and_city[1] if place_and_city else None,
        "mode": _mode(rest),
    }


def _mode(text: str) -> TravelMode | None:
    return next((mode for mode, words in MODES if words.search(text)), None)


def _intent(plain: str, place: str | None, city: str | None) -> MapIntent:
    activity = activity_in(plain.replace(place, " ") if place else plain)
    if place and parse_lnglat(place) and not activity:
        return "regeo"
    if WEATHER.search(plain) and not NEAR.search(plain):
        return "weather"
    if FACT.search(plain) and not NEAR.search(plain) and not activity:
        return "poi"
    if place and place == city and not NEAR_ME.search(plain):
        return "area" if activity else "poi"
    return "nearby" if activity or NEAR.search(plain) else "poi"


def _keywords(plain: str, place: str | None, language: Language) -> list[str]:
    """Return keywords of the query, without the name of the place."""
    rest = plain.replace(place, " ") if place else plain
    return (
        activity_keywords(rest, language)
        or activity_keywords(plain, language)
        or (["景点"] if language == "zh" else ["attractions"])
    )


def _radius(plain: str) -> int:
    match = RADIUS.search(plain)
    if match:
        number = _DIGITS.get(match[1]) or float(match[1])
        unit = match[2].lower()
        metres = next((m for name, m in _UNIT_METRES.items() if unit.startswith(name)), 1)
        return round(number * metres)
    minutes = MINUTES.search(plain)
    return int(minutes[1] or minutes[2]) * _METRES_PER_MINUTE if minutes else _DEFAULT_RADIUS_M


def _clamp(radius: object) -> int:
    if isinstance(radius, bool) or not isinstance(radius, int | float) or radius != radius:
        return _DEFAULT_RADIUS_M
    return int(min(max(radius, _MIN_RADIUS_M), _MAX_RADIUS_M))


def _name(value: object) -> str | None:
    return (clean_text(value, _MAX_NAME) or None) if isinstance(value, str) else None


def _words(value: object) -> list[str]:
    items = value if isinstance(value, list | tuple) else [value]
    cleaned = [clean_text(item, _MAX_NAME) for item in items if isinstance(item, str)]
    return list(dict.fromkeys(word for word in cleaned if word))[:_MAX_KEYWORDS]
