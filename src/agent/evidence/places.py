"""Read places in text: names, ends of a route, kinds of places, mentions in an answer.

No list of places is complete; `gazetteer.json` holds cities and the sights people ask for
most, the shapes (…路, …大学, "… Road", pinyin) catch many others.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from agent.core.patterns import Linear, piece
from agent.evidence.references import strip_references
from agent.evidence.types import Place
from agent.texts import Language

_MAX_KEYWORDS = 3
_GENERIC = frozenset({"sights", "food"})
_TABLE: list[dict[str, Any]] = json.loads(
    files(__package__).joinpath("activities.json").read_text(encoding="utf-8")
)


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, the longest first; Latin words whole, with plural."""
    ordered = sorted(set(words), key=len, reverse=True)
    return "|".join(
        rf"(?<![A-Za-z]){re.escape(word)}s?(?![A-Za-z])" if word.isascii() else re.escape(word)
        for word in ordered
    )


def _trigger(language: Language) -> re.Pattern[str]:
    return re.compile(any_of(w for entry in _TABLE for w in entry[language]["words"]), re.I)


_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_TRIGGERS = {language: _trigger(language) for language in _LANGUAGES}
_KEYWORDS = {
    language: re.compile(any_of(k for entry in _TABLE for k in entry[language]["keywords"]), re.I)
    for language in _LANGUAGES
}
_CANONICAL = {k.casefold(): k for entry in _TABLE for k in entry["en"]["keywords"]}
_MINE = re.compile(r"\bmy \w+|我的?(?:酒店|公司|家|学校)", re.I)
_PARKING_VERB = re.compile(r"\b(?:can|could|to) (?:i|we|you|one)? ?park\b", re.I)
_ENTRIES = {
    word.casefold(): entry
    for entry in _TABLE
    for lang in _LANGUAGES
    for word in entry[lang]["words"]
}


def activity_in(text: str) -> re.Match[str] | None:
    """Return the first word that names something the map knows, in either language."""
    text = piece(text)
    return _TRIGGERS["zh"].search(text) or _TRIGGERS["en"].search(text)


def without_activities(text: str) -> str:
    """Return the text with those words blanked out."""
    return _TRIGGERS["en"].sub(" ", _TRIGGERS["zh"].sub(" ", text))


def activity_keywords(text: str, language: Language) -> list[str]:
    """Return at most three map keywords: named in the text, else of its activities.

    A general activity (sights, food) adds nothing to a particular one.
    """
    text = _PARKING_VERB.sub(" parking lot ", _MINE.sub(" ", piece(text)))
    named = _named_keywords(text)
    if named:
        return named[:_MAX_KEYWORDS]
    matches = [match[0] for lang in _LANGUAGES for match in _TRIGGERS[lang].finditer(text)]
    entries = {_entry(word)["activity"]: word for word in reversed(matches)}
    particular = {name: word for name, word in entries.items() if name not in _GENERIC}
    keywords: list[str] = []
    for word in reversed((particular or entries).values()):
        keywords += _entry(word)[language]["keywords"] or [word]
    return list(dict.fromkeys(keywords))[:_MAX_KEYWORDS]


def _named_keywords(text: str) -> list[str]:
    """Return map keywords that stand in the text as they are, such as 亲子餐厅."""
    whole = [match.span() for lang in _LANGUAGES for match in _TRIGGERS[lang].finditer(text)]
    words = [
        match[0]
        for lang in _LANGUAGES
        for match in _KEYWORDS[lang].finditer(text)
        # The park of a car park is none.
        if not any(a < match.start() and match.end() <= b for a, b in whole)
    ]
    special = [word for word in words if _entry(word).get("activity") not in _GENERIC]
    return list(dict.fromkeys(_CANONICAL.get(w.casefold().removesuffix("s"), w) for w in special))


def _entry(word: str) -> dict[str, Any]:
    folded = word.casefold()
    return _ENTRIES.get(folded) or _ENTRIES.get(folded.removesuffix("s")) or {}


def chinese_keyword(keyword: str) -> str:
    """Return the Chinese keyword of a kind of place; the keyword itself where unknown.

    "coffee shop" → 咖啡馆: the table's keywords stand in the same order in both languages.
    """
    return _CHINESE.get(keyword.casefold(), keyword)


def _in_chinese() -> dict[str, str]:
    by_english: dict[str, str] = {}
    for entry in _TABLE:
        chinese = entry["zh"]["keywords"]
        if not chinese:
            continue
        by_english |= {word.casefold(): chinese[0] for word in entry["en"]["words"]}
        for place, word in enumerate(entry["en"]["keywords"]):
            by_english[word.casefold()] = chinese[min(place, len(chinese) - 1)]
    return by_english


_CHINESE = _in_chinese()
_ENGLISH = {
    chinese: english
    for entry in reversed(_TABLE)
    for chinese, english in zip(entry["zh"]["keywords"], entry["en"]["keywords"], strict=False)
}


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
_ELSEWHERE = frozenset(_GAZETTEER["elsewhere"])
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
    r"\A.*(?:请问|帮我|推荐|我在|住在|想在|想去|想找|附近|周边|适合|哪些|哪个|哪家|什么|有没有"
    r"|怎么|最大|最好|所有"
    r"|从|的|在|去|到|至|往|找|有|和|离|距|我|想|要|[哪这那几一每][个家条座]|这|那|是|给|带|几"
    r"|及|看|逛|玩|吃"
    r"|买|能|最|里|下"
    r"|与|或|每|某|各|多|全|不|哪)",
    re.DOTALL,
)
_BARE = re.compile(
    rf"(?:{_SUFFIX}|大|小|老|新|好|地|市|商|城|街|专|全|夜|社|郊|园|景|校|厂|市中心|购物|公共|儿童|主题)+"
)
_CITY_SUFFIX = re.compile(rf"(?<![{_HAN}])([{_HAN}]{{2,4}}市)(?!场|值|面|政|民|长|井|内|中心|区)")
_BEFORE_NEAR = Linear(
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
_VERB_FIRST = re.compile(r"^\W*(?:Is|Are|Was|Were|Does|Do|Did|Has|Can|Will|When|How|Which)\b")
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


_IN_CHINESE = {en.casefold(): zh for zh, en in _GAZETTEER["cities"].items()}
_NAMED_AFTER = re.compile(
    "[东西南北中]?(?:路|大?街|大道)|菜|烤鸭|小面|拉面|火锅|小吃|米粉|生煎|包子|风味|料理|话|人(?!民|文)"
    r"|\s+(?:Road|Rd|Street|duck|noodles|cuisine|food|style)\b",
    re.IGNORECASE,
)
_BEFORE_OPEN = re.compile(
    r"(?:从|由|自|离|距|近)\s*$|\b(?:from|near|around|outside|leaving|beyond)\s+$", re.IGNORECASE
)
_OPEN = re.compile(
    r"市?\s*(?:周边|周围|附近|出发|以外|之外|郊外|到|至|去|飞|开车|自驾)|\s+(?:to|and beyond)\b",
    re.IGNORECASE,
)


def city_in(text: str) -> str | None:
    """Return the first city, as written (English names in their usual spelling)."""
    text = piece(text)
    match = _CITY.search(text)
    if match:
        return str(_CITY_OF.get(match[0].casefold(), match[0]))
    named = _CITY_SUFFIX.search(text)
    return named[1] if named else None


def city_in_english(name: str) -> str | None:
    """Return "Beijing" for 北京 and 北京市; None for a city that is not in the gazetteer."""
    cities: dict[str, str] = _GAZETTEER["cities"]
    return cities.get(name.removesuffix("市"))


def subject_in_english(subject: str) -> str:
    """Return what a map is asked about, parted by bars, for a reader: "coffee shop, museum".

    Kinds of places and cities have English names; a subject with anything else stays as it is.
    """
    words = [_ENGLISH.get(word) or city_in_english(word) for word in subject.split("|")]
    return ", ".join(word for word in words if word) if all(words) else subject


def cities_in(text: str) -> list[str]:
    """Return every city that is named, in Chinese; not those in names of roads or dishes."""
    text = piece(text)
    sights = [match.span() for match in _LANDMARK.finditer(text)]
    return list(
        dict.fromkeys(
            _IN_CHINESE.get(match[0].casefold(), match[0])
            for match in _CITY.finditer(text)
            if not any(a <= match.start() < b for a, b in sights)
            and not _NAMED_AFTER.match(text, match.end())
        )
    )


def limiting_cities(text: str) -> list[str]:
    """Return the cities in which places asked for must lie.

    None where a city is only where a way begins or what something is near to.
    """
    text = piece(text)
    for match in _CITY.finditer(text):
        if _BEFORE_OPEN.search(text[: match.start()]) or _OPEN.match(text, match.end()):
            return []
    return cities_in(text)


def landmark_in(text: str) -> str | None:
    """Return the first known sight or quarter, as written."""
    match = _LANDMARK.search(piece(text))
    return match[0] if match else None


def names_chinese_place(text: str) -> bool:
    """Return whether a known city or sight of China is named, or any place in Chinese."""
    text = piece(text)
    if _CITY.search(text):
        return True
    if any(sight[0].casefold() not in _ELSEWHERE for sight in _LANDMARK.finditer(text)):
        return True
    place = extract_place(text)
    return bool(place and re.search(f"[{_HAN}]", place[0]))


def shaped_place(text: str) -> str | None:
    """Return a word that is built like the name of a place."""
    text = piece(text)
    proper = _CITY_PROPER.search(text)
    if proper:
        return proper[0]
    for match in _SHAPE.finditer(text):
        name = _NOT_IN_NAME.sub("", match[1])
        if len(name) >= 2 and not _BARE.fullmatch(name) and _is_proper(name):
            return name
    english = _EN_SHAPE.search(_VERB_FIRST.sub("", text))
    if english:
        return english[1]
    return next((m[0] for m in _PINYIN.finditer(text) if _is_name(m[0])), None)


def place_before_near(text: str) -> str | None:
    """Return the words before "附近" and its like; None if they mean "here"."""
    match = _BEFORE_NEAR.search(text)
    if not match:
        return None
    name = _NOT_IN_NAME.sub("", _LEAD.sub("", match[1].strip())).strip(" 的")
    return None if len(name) < 2 or _VAGUE.fullmatch(name) else name


def place_after_preposition(text: str) -> str | None:
    """Return a capitalised name after near, in, at and the like."""
    return next((m[1] for m in _EN_AFTER.finditer(text) if _is_name(m[1].split()[0])), None)


def is_vague(name: str) -> bool:
    """Return whether a name only points: here, there, my hotel."""
    return bool(_VAGUE.fullmatch(name.strip()))


def extract_place(text: str) -> tuple[str, str | None] | None:
    """Return the (place, city) of a question; the place may be the city itself."""
    text = piece(text)
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
    """Return whether anything is left without the cities, sights and activities."""
    rest = without_activities(_CITY.sub("", name))
    return not _QUALIFIER.fullmatch(_LANDMARK.sub("", rest).strip()) or (
        bool(_LANDMARK.search(rest)) and rest == name and not _LANDMARK.fullmatch(name)
    )


def _is_name(word: str) -> bool:
    return word.casefold() not in _NO_PLACE_EN


_BY_ZH = (
    r"(?:步行|徒步|走路|走|骑行|驾车|自驾|打车|打的|叫车|导航"
    r"|(?:乘坐|搭乘|坐|乘|搭|骑|开|叫|打)(?:地铁|公交车?|高铁|动车|火车|大巴|出租车?|的士|网约车"
    r"|(?:共享|电动|自行|单)?(?:单车|自行车|车)))"
)
_ZH = r"[\w·()（）'’-]{2,16}?"
_AFTER_ZH = (
    r"(?=的|怎么|如何|要|有|多|几|远|大概|大约|坐|乘|搭|打车|打的|开车|驾车|步行|走路|走过去|骑|地铁"
    r"|公交|路线|导航|距离|\s|[?？。，,]|$)"
)
_EN = r"[\w'’ -]{2,40}?"
_THE = r"(?:the\s+)?"
_AFTER_EN = (
    r"(?=\s+(?:by|on|in|take|takes|using|via|at|around|before|after|and|with|without|today"
    r"|tomorrow|tonight|now|this|next)\b|[?.,!;]|$)"
)
_NO_NAME_ZH = re.compile("怎么|怎样|如何|我|想|请问|导航")
_NO_NAME_EN = r"(?!how\b|what\b|which\b|where\b|best\b|is\b|it\b|i\b)"

# Each names `origin` and `destination`; the first that fits counts.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:去|到)\s*(?P<destination>{_ZH})\s*[，,]?\s*从\s*(?P<origin>{_ZH})\s*(?:出发)?"
        rf"{_AFTER_ZH}",
        rf"(?:从|由)\s*(?P<origin>{_ZH})\s*(?:出发)?\s*[，,]?\s*(?:应?该|要)?(?:怎么|怎样|如何)走?"
        rf"\s*(?:{_BY_ZH})?\s*(?:到|至|去|往)\s*(?P<destination>{_ZH})\s*{_AFTER_ZH}",
        rf"(?:从|由)?\s*(?P<origin>{_ZH})\s*(?:出发)?\s*[，,]?\s*(?:{_BY_ZH})?\s*"
        rf"(?:到|至|去|往|距离?|离)\s*(?P<destination>{_ZH})\s*{_AFTER_ZH}",
        rf"\bfrom\s+{_THE}(?P<origin>{_EN})\s+to\s+{_THE}(?P<destination>{_EN}){_AFTER_EN}",
        rf"\bbetween\s+{_THE}(?P<origin>{_EN})\s+and\s+{_THE}(?P<destination>{_EN}){_AFTER_EN}",
        rf"\bhow far is\s+(?!it\b){_THE}(?P<origin>{_EN})\s+from\s+{_THE}(?P<destination>{_EN})"
        rf"{_AFTER_EN}",
        rf"\bto\s+{_THE}(?P<destination>{_EN})\s+from\s+{_THE}(?P<origin>{_EN}){_AFTER_EN}",
        rf"^(?!.*\bfrom\b){_NO_NAME_EN}\s*(?P<origin>{_EN})\s+to\s+{_THE}(?P<destination>{_EN})"
        r"\s+(?:by\s+)?(?:subway|metro|bus|walk(?:ing)?|driv(?:e|ing)|taxi|directions|route"
        r"|distance)\b",
    )
)


@dataclass(frozen=True)
class Ends:
    """Hold the two ends of a route as written, and the rest of the question."""

    origin: str
    destination: str
    rest: str


def route_ends(text: str) -> Ends | None:
    """Return the ends of a route; None where a question does not name both."""
    text = piece(text)
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            origin, destination = match["origin"].strip(), match["destination"].strip()
            # Before 从 stand words of politeness; in 从化 it is a part of the name.
            if len(behind := origin.rpartition("从")[2]) > 1:
                origin = behind
            if _NO_NAME_ZH.search(origin):
                continue
            rest = text.replace(origin, " ").replace(destination, " ")
            return Ends(origin, destination, rest)
    return None


_BRANCH = re.compile(r"\s*[(\[【][^()\[\]【】]*[)\]】]\s*$")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]")
_LINK = re.compile(r"\]\([^()\s]*\)")
_SPACE = re.compile(r"\s+")
_MASK = "\x00"
_SHORT = 2
_SHORTEST_LATIN = 3


def source_ids(place: Place) -> list[str]:
    """Return the ids of all sources that stand for a place, the one it is cited by first."""
    return list(dict.fromkeys([place["source"], *place.get("sources", [])]))


def mentioned(places: Sequence[Place], text: str) -> dict[str, int]:
    """Return the ids of the places that the text names, with where each is named first.

    A name counts with or without its branch ("(王府井店)") and whatever its brackets, but
    not inside a longer place name, and a name of two characters only if it stands alone. A
    branch left out means every branch known, unless the text names one of them in full.
    """
    rest = _plain(_LINK.sub("]", strip_references(text)))
    full: dict[str, list[str]] = defaultdict(list)
    short: dict[str, list[str]] = defaultdict(list)
    for place in places:
        name = _plain_name(place["name"])
        full[name].append(place["id"])
        if english := _plain_name(place.get("name_en") or ""):
            full[english].append(place["id"])
        base = _plain_name(_BRANCH.sub("", unicodedata.normalize("NFKC", place["name"])))
        if base and base != name:
            short[base].append(place["id"])
    positions: dict[str, int] = {}
    for name in _longest_first({*full, *short}):
        rest, first = _take(rest, name)
        if first is None:
            continue
        branches = set(short.get(name, ()))
        named = {*full.get(name, ()), *(() if positions.keys() & branches else branches)}
        for id in named:
            positions[id] = min(first, positions.get(id, first))
    return positions


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted((name for name in names if name), key=lambda name: (-len(name), name))


def _take(text: str, name: str) -> tuple[str, int | None]:
    """Return the text with the name masked out, as long as before, and where it stood first."""
    if name not in text:
        return text, None
    pattern = re.escape(name)
    if not _HAN_RUN.search(name):
        if len(name) < _SHORTEST_LATIN:
            return text, None
        pattern = rf"(?<![a-z0-9]){pattern}(?![a-z0-9])"
    elif len(name) <= _SHORT:
        pattern = rf"(?<![\w\u3400-\u9fff]){pattern}(?![\w\u3400-\u9fff])"
    first = re.search(pattern, text)
    return re.sub(pattern, _MASK * len(name), text), first and first.start()


def _plain(text: str) -> str:
    """Fold for comparison: width, case, brackets; spaces stay between Latin words only."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("·", "")
    folded = folded.translate(str.maketrans("【】[]「」《》", "()()()()"))
    spaced = _SPACE.sub(" ", folded).strip()
    return re.sub(r"(?<![a-z0-9.,!?]) | (?![a-z0-9])", "", spaced)


_plain_name = lru_cache(4096)(_plain)
