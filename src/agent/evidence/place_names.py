"""Names of places in a question: known ones, and words shaped like one.

No list of places is complete; `gazetteer.json` holds cities and the sights people ask for
most, the shapes (…路, …大学, "… Road", pinyin) catch many others.
"""

import json
import re
from importlib.resources import files

from .activities import any_of, without_activities

_GAZETTEER = json.loads(files(__package__).joinpath("gazetteer.json").read_text(encoding="utf-8"))
_CITY_OF = {en.casefold(): en for en in _GAZETTEER["cities"].values()}
_CITY = re.compile(
    f"(?:{any_of([*_GAZETTEER['cities'], *_GAZETTEER['cities'].values()])})"
    r"(?![东西南北中]?路|公园|大街|陵|装|石头?材|小异|(?<=中山)大学)"
    r"(?! (?:East |West |North |South )?(?:Road|Rd|Street)\b)",
    re.IGNORECASE,
)
_LANDMARKS = _GAZETTEER["landmarks"]
_LANDMARK = re.compile(any_of([*_LANDMARKS["zh"], *_LANDMARKS["en"]]), re.IGNORECASE)
_HAN = "\u4e00-\u9fff"

_SUFFIX = (
    "大道|胡同|广场|公园|森林公园|景区|古镇|古城|大学|学院|中学|医院|机场|火车站|高铁站|地铁站"
    "|客运站"
    "|[东西南北]站|大厦|购物中心|万达|万象城|大悦城|商圈|小区|博物馆|图书馆|动物园|植物园|游乐园"
    "|海洋馆"
    "|迪士尼|码头|口岸|老街|步行街|体育馆|体育中心|会展中心|奥体中心|度假区|开发区|新区|风景区"
    "|世界|乐园"
    "|(?:[东西南北中]?路|大?街|里弄|巷子|寺|庙|塔|湖|湾|岛|(?:[东西南北]|直|定|阳|武|安)门|桥|镇"
    "|村|区|县|商场|城|店)"
)
_SHAPE = re.compile(rf"([{_HAN}A-Za-z0-9]{{1,10}}?(?:{_SUFFIX})+)(?![径由线])")
_CITY_PROPER = re.compile(
    rf"(?:{any_of(_GAZETTEER['cities'])})(?:市)?(?:博物院?馆?|图书馆|动物园|植物园|美术馆|科技馆"
    rf"|大学|塔|海洋馆"
    r"|体育馆|机场|火车站|高铁站|[东西南北]?站)(?!.{0,4}(?:推荐|有哪些|哪些|攻略|大全|哪个))"
)
_QUALIFIER = re.compile(
    r"(?:室内|户外|乐园|游乐园?场?|网红|平价|免费|高端|特色|便宜|热门|周末|五星级?|24小时|好的?|本地|小众|最新"
    r"|正宗|大型)*"
)
_NOT_IN_NAME = re.compile(
    r".*(?:请问|帮我|推荐|我在|住在|想在|想去|想找|附近|周边|适合|哪些|哪个|哪家|什么|有没有"
    r"|怎么|最大|最好|所有"
    r"|从|的|在|去|到|至|往|找|有|和|离|距|我|想|要|[哪这那几一每][个家条座]|这|那|是|给|带|几"
    r"|及|看|逛|玩|吃"
    r"|买|能|最|里|下"
    r"|与|或|每|某|各|多|全|不|哪)"
)
_BARE = re.compile(
    rf"(?:{_SUFFIX}|大|小|老|新|好|地|市|商|城|街|专|全|夜|社|郊|市中心|购物|公共|儿童|主题)+"
)
_CITY_SUFFIX = re.compile(rf"(?<![{_HAN}])([{_HAN}]{{2,4}}市)(?!场|值|面|政|民|长|井|内|中心|区)")
_BEFORE_NEAR = re.compile(
    rf"([{_HAN}A-Za-z0-9·\s()（）-]{{2,24}}?)\s*(?:的?(?:附近|周边|周围|旁边|边上|一带|门口|楼下"
    rf"|步行可达|沿线)"
    r"|\s*[0-9一二两三五十]+\s*(?:公里|千米|米|km|m)\s*(?:以内|之内|内|范围))"
)
_LEAD = re.compile(
    r"^(?:请问|请|帮我|帮忙|给我|麻烦|推荐|查一下|查|找一下|找|搜一下|搜索|搜|想知道|我想在"
    r"|我想去|我想|想在|我们?在|人在"
    r"|我住在?|住在?|现在|在|去|到|离|距离?|一下|下|周末|今天|明天|晚上|今晚|和|与|的|从|于|位于)+"
)
_VAGUE = re.compile(
    r"(?:这|那|这里|那里|这边|那边|这儿|那儿|我|我家|我这|我这里|我这儿|我们|家|公司|酒店|它"
    r"|自己|当前位置|第.个|最|一下|有|没有"
    r"|最近|学校|住处|本地|当地|同城|身边|家里|单位|there|here|it|me|my place|my hotel|us|this"
    r"|that)+",
    re.IGNORECASE,
)
_CAPITAL = r"(?:[A-Z][\w'’-]+|\d{3})"
_EN_AFTER = re.compile(
    r"\b(?:[Nn]ear|[Aa]round|[Ii]n|[Aa]t|[Bb]y|[Cc]lose to|[Nn]ext to|[Oo]utside|[Oo]f|[Tt]o"
    r"|[Ff]rom|[Ii]s)"
    rf"\s+(?:the\s+)?({_CAPITAL}(?:\s+(?:of\s+)?{_CAPITAL}){{0,4}})"
)
_EN_SHAPE = re.compile(
    rf"\b({_CAPITAL}(?:\s+{_CAPITAL}){{0,3}}\s+(?:Road|Rd|Street|St|Avenue|Ave|Park|Square|Temple"
    r"|University|Station|Airport|Lake|Museum|Mall|Tower|Hospital|Bridge|District|Plaza|Palace))\b"
)
_SYLLABLE = (
    r"(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])(?:iang|iong|uang|ang|eng|ing|ong|ian|iao|uai|uan|ai|ei|ui"
    r"|ao|ou|iu|ie|ue|an|en|in|un|ia|ua|uo|a|e|i|o|u)"
)
_PINYIN = re.compile(rf"\b(?=[A-Z][a-z]{{4,15}}\b)(?i:(?:{_SYLLABLE}){{2,5}})\b")
_NO_PLACE_EN = frozenset(
    re.findall(
        r"\w+",
        "machine data tomato panda banana toyota huawei xiaomi baidu meituan jingdong deepseek "
        "change china chinese weibo wechat taobao menu salami mango python java english react "
        "google tesla apple i january february march april may june july august september "
        "october november december monday tuesday wednesday thursday friday saturday sunday "
        "best top what where how which any",
    )
)


def city_in(text: str) -> str | None:
    """The first city named, as written there (English names in their usual spelling)."""
    found = _CITY.search(text)
    if found:
        return str(_CITY_OF.get(found[0].casefold(), found[0]))
    named = _CITY_SUFFIX.search(text)
    return named[1] if named else None


def landmark_in(text: str) -> str | None:
    """The first known sight or quarter, as written there."""
    found = _LANDMARK.search(text)
    return found[0] if found else None


def shaped_place(text: str) -> str | None:
    """A word that is built like the name of a place."""
    proper = _CITY_PROPER.search(text)
    if proper:
        return proper[0]
    for found in _SHAPE.finditer(text):
        name = _NOT_IN_NAME.sub("", found[1])
        if len(name) >= 2 and not _BARE.fullmatch(name) and _is_proper(name):
            return name
    english = _EN_SHAPE.search(text)
    if english:
        return english[1]
    return next((m[0] for m in _PINYIN.finditer(text) if _is_name(m[0])), None)


def place_before_near(text: str) -> str | None:
    """What stands before "附近" and its like, whatever it is; None if it is "here"."""
    found = _BEFORE_NEAR.search(text)
    if not found:
        return None
    name = _NOT_IN_NAME.sub("", _LEAD.sub("", found[1].strip())).strip(" 的")
    return None if len(name) < 2 or _VAGUE.fullmatch(name) else name


def place_after_preposition(text: str) -> str | None:
    """A capitalised name after near, in, at and the like."""
    return next((m[1] for m in _EN_AFTER.finditer(text) if _is_name(m[1].split()[0])), None)


def is_vague(name: str) -> bool:
    """Whether a name only points: here, there, my hotel."""
    return bool(_VAGUE.fullmatch(name.strip()))


def extract_place(text: str) -> tuple[str, str | None] | None:
    """The (place, city) a question is about; the place may be the city itself."""
    city = city_in(text)
    landmark, shaped = landmark_in(text), shaped_place(text)
    if landmark and shaped and landmark in shaped:
        landmark = shaped
    place = landmark or place_before_near(text) or shaped or place_after_preposition(text)
    if place and city and place != city:
        place = _without_city(place, city)
    if not place:
        place = city
    return (place, city) if place else None


def _without_city(place: str, city: str) -> str:
    if _CITY_PROPER.match(place):
        return place
    rest = place.removeprefix(f"{city}市").removeprefix(city).strip()
    return (rest if not _BARE.fullmatch(rest) else place) or city


def _is_proper(name: str) -> bool:
    """Whether anything is left without the cities, sights and activities in the name."""
    rest = without_activities(_CITY.sub("", name))
    return not _QUALIFIER.fullmatch(_LANDMARK.sub("", rest).strip()) or (
        bool(_LANDMARK.search(rest)) and rest == name and not _LANDMARK.fullmatch(name)
    )


def _is_name(word: str) -> bool:
    return word.casefold() not in _NO_PLACE_EN
