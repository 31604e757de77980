"""Questions in Chinese read into what they ask."""

import re

from .rules_team_ask import Ask, Best, Need, Operation
from .rules_team_chinese_single import (
    dated,
    described_place,
    operation_in,
    single_need,
    split_subject,
    unit_of,
)
from .rules_team_values import dates, number_of, plain, years
from .rules_team_words import FILLER_ZH, PRICE, category_in, map_attribute

_N = "[0-9一二两三四五六七八九十]+"
_AROUND = re.compile(
    rf"^(?P<near>.+?)(?:附近|周边|周围|一带)的?(?P<radius>{_N}(?:\.\d+)?(?:公里|千米|米))?"
    r"(?:以内|之内|范围内|内)?[的里有，]*(?P<rest>.*)$"
)
_FROM = re.compile(r"^(?:距离|离|距)(?P<near>.+?)(?P<rest>最近的?.*)$")
_IN_CITY = re.compile(r"^(?P<near>[\u4e00-\u9fff]{2,3}?)市?(?:市?[内里]|的)?(?P<rest>.*最.*)$")
_MOST = re.compile(
    "(?P<by>评分|口碑|人均消费|人均|价格|消费|门票|关门|打烊|闭馆|开门|开馆)?(?:时间)?"
    "最(?P<way>高|低|贵|便宜|近|晚|早|好)的?"
)
_BY = {"评分": "rating", "口碑": "rating", "关门": "closes", "打烊": "closes", "闭馆": "closes",
       "开门": "opens", "开馆": "opens"}  # fmt: skip
_WANTED = re.compile("(?:是|叫)?(?:哪一?[家个座所处条]|什么名字|什么|哪里|哪儿)")
_TAIL = (
    "相差|之差|差多少|差几|一共|总共|合计|加起来|之和|总和|哪|谁|各|之间|相隔|早|晚|更|贵|便宜|多多少|高多少"
    "|高出|长多少|少多少|低多少|低|多|的|建成|开通|通车|开园|评分|人均|票价|门票"
)
_PAIR = re.compile(
    rf"^(?:从)?(?P<a>.+?)(?P<by>和|与|跟|以及|还是|比|到|距离?)(?P<b>.+?)(?P<tail>(?:[，,]|{_TAIL}).*)$"
)
_TIMES = re.compile(
    "^(?P<a>.+?)(?P<by>是|占)(?P<b>.+?)(?P<tail>的?(?:几倍|多少倍|百分之几|百分之多少).*)$"
)
_LEAST = re.compile("更?(?:早|便宜|低|短|少|近|矮)")
_PEOPLE = re.compile(rf"(?P<n>{_N})(?:[个位名](?:成人|大人|成年人|游客|客人|朋友|人)|位|人|张)")


def read_chinese(question: str) -> Ask:
    """The first reading that fits, from the most special to the plainest."""
    text = (
        re.sub("^(?:请问|根据资料|在?地图上|那么)[，,：:]?", "", question)
        .replace("“", "")
        .replace("”", "")
    )
    once = len(dates(text) or years(text)) == 1
    order = (dated, _two) if once else (_two, dated)
    for reading in (_best, _people, *order, described_place, _single):
        if asked := reading(text):
            return asked
    return Ask("unknown", "zh")


def _best(text: str) -> Ask | None:
    """The best place of a kind around somewhere, or an attribute of it."""
    found = _FROM.match(text) or _AROUND.match(text) or _IN_CITY.match(text)
    most = _MOST.search(found["rest"]) if found else None
    if not found or not most or operation_in(text) in ("difference", "sum", "ratio", "percent"):
        return None
    rest = found["rest"]
    key, words = map_attribute(_MOST.sub("", rest))
    if re.search("几号线|哪几?条(?:地铁)?线", rest):
        key = "address"
    category, _ = category_in(rest)
    if not category:
        left = FILLER_ZH.sub("", _WANTED.sub("", _MOST.sub("", rest)).replace(words, ""))
        category = left.strip("的中里是")
    if not category:
        return None
    by = _BY.get(most["by"] or "", "cost" if most["by"] or most["way"] in "贵便宜" else "rating")
    by = "distance" if most["way"] == "近" else by
    best = Best(
        category, found["near"].strip("的"), by, most["way"] in ("高", "贵", "晚", "好"),
        _metres(found.groupdict().get("radius")), city=found.re is _IN_CITY,
    )  # fmt: skip
    if not key and not PRICE.search(_MOST.sub("", rest)):
        return Ask("compare", "zh", best=best)
    return Ask("hop", "zh", (Need("", key or "cost", "map"),), best=best)


def _metres(radius: str | None) -> int:
    if not radius:
        return 2000
    amount = re.match(rf"{_N}(?:\.\d+)?", radius)
    value = number_of(amount[0]) if amount else number_of("2")
    return int(value * (1 if radius.endswith("米") and not radius.endswith("千米") else 1000))


def _people(text: str) -> Ask | None:
    """What several people pay: a price or cost a head, times their number."""
    found = _PEOPLE.search(text)
    if not found or not re.search("一共|总共|合计|要花?多少钱|多少元", text):
        return None
    rest = _PEOPLE.sub("", text, count=1)
    rest = re.sub(
        "一共|总共|合计|需要?|要花?|大约|按|(?:去|在|坐|买|吃饭|吃|看|乘坐|乘|参观)", "", rest
    )
    rest = re.sub("多少钱|多少元|花费", "", rest) if map_attribute(rest)[0] else rest
    need = single_need(rest.strip("，,"))
    return Ask("arithmetic", "zh", (need,), "product", factor=plain(number_of(found["n"])))


def _two(text: str) -> Ask | None:
    """A comparison of two subjects, or arithmetic over a figure of each."""
    found = _TIMES.match(text) or _PAIR.match(text)
    if not found or (found["by"] == "到" and not re.search("多少|几", found["tail"])):
        return None
    tail, operation = found["tail"], operation_in(text)
    chosen = (re.search("哪|谁", tail) or found["by"] == "还是") and not operation
    if not operation and not chosen:
        return None
    first, own = split_subject(found["a"])
    second, shared = split_subject(found["b"])
    words = f"{own} {shared} {tail}"
    later = _plain_attribute(f"{shared} {tail}") or _plain_attribute(own)
    needs = (
        _typed(first, _plain_attribute(own) or later, words, operation),
        _typed(second, later, words, operation),
    )
    if operation in ("years", "days") or (operation == "difference" and needs[0].type == "year"):
        return Ask("date", "zh", needs, operation if operation == "days" else "years")
    if operation:
        return Ask("arithmetic", "zh", needs, operation)
    least: Operation = "least" if _LEAST.search(tail) else "most"
    return Ask("compare", "zh", needs, least, names=(first, second))


def _typed(subject: str, said: str, words: str, operation: Operation | None) -> Need:
    """The need of one of two sides: what is said of it, its type by all words of the question.

    A year or date may be given by the question itself.
    """
    side = "date" if operation == "days" else "year"
    if given := (dates(subject) or years(subject)):
        return Need(subject, "", "given", side, given=given[0].text)
    if operation in ("years", "days"):
        return Need(subject, said, type=side)
    key, _ = map_attribute(words)
    if key:
        return Need(subject, key, "map")
    if re.search("[早晚](?!点)|年", words) and not re.search("公里|米|元", words):
        return Need(subject, said or "建成", type="year")
    unit = unit_of(words)
    if PRICE.search(words) or re.search("贵|便宜", words):
        return Need(subject, said or "票价", type="number", unit="元")
    return Need(subject, said, type="number", unit=unit)


_PLAIN = re.compile(
    r"几倍|多少倍|百分之几|百分之多少|相差|之差|差多少|差几|一共|总共|合计|加起来|之和|总和|占|哪一?[年家个座天条]?|谁"
    "|更|多少|几|之间|分别|各自|[早晚]了?(?=建|开|$)|[早晚]|相隔|过去|过|隔|了|是|的|呢|吗"
    "|，|公里|千米|米|元|整|年|天|贵|便宜"
)


def _plain_attribute(words: str) -> str:
    return " ".join(_PLAIN.sub(" ", words).split())


def _single(text: str) -> Ask:
    need = single_need(text)
    return Ask("place" if need.kind == "map" else "lookup", "zh", (need,))
