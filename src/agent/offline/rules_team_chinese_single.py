"""One attribute of one subject, and dates, asked for in Chinese."""

import re
from dataclasses import replace

from .rules_team_ask import Ask, Described, Need, Operation
from .rules_team_values import dates, years
from .rules_team_words import CATEGORIES, FILLER_ZH, WH_ZH, map_attribute, synonym_words

_MONEY = re.compile("(?:是|要|花|大约|约)*(?:多少|几)(?:元|块钱|钱|块|分)")
_UNIT = re.compile(
    "(?:多少|几)(?P<unit>个|家|栋|幢|座|条|种|类|周|天|公里|千米|米|元|块钱|分钟|小时|克|度|层|级|项|件|瓦时"
    "|厘米|斤|吨|人|次|格|小格|位)(?!长|高|时候)"
)
_DEFAULT_UNITS = (
    ("多长|全长|长度|总长|更长", "公里"),
    ("多高|高度|更高", "米"),
    ("票价|多少钱", "元"),
)
_OPERATIONS: tuple[tuple[Operation, str], ...] = (
    ("weekday", "星期几|周几|礼拜几"),
    ("percent", "百分之几|百分之多少|百分比"),
    ("ratio", "几倍|多少倍"),
    ("days", "多少天|几天"),
    ("years", "(?:多少|几|整)年"),
    ("sum", "一共|总共|合计|加起来|之和|总和"),
    (
        "difference",
        "相差|之差|差多少|差几|多多少|高多少|高出|长多少|贵多少|少多少|低多少|便宜多少|远多少",
    ),
)
_OPERATORS = "|".join(words for _, words in _OPERATIONS)


def operation_in(text: str) -> Operation | None:
    return next((name for name, words in _OPERATIONS if re.search(words, text)), None)


def split_subject(text: str) -> tuple[str, str]:
    """A subject and the attribute said of it."""
    head, _, rest = text.strip("，, ").partition("的")
    if not rest and (found := _cut(text)) and found > 1:
        return text[:found].strip("，, 的"), text[found:]
    return head, rest


def unit_of(words: str) -> str:
    if found := _UNIT.search(words):
        return found["unit"]
    return next((unit for pattern, unit in _DEFAULT_UNITS if re.search(pattern, words)), "")


def dated(text: str) -> Ask | None:
    """A weekday, or years or days up to a given date."""
    operation = operation_in(text)
    if operation not in ("weekday", "years", "days") or re.search("(?:几|天)(?:闭|休|关)", text):
        return None
    given = dates(text) or (years(text) if operation == "years" else [])
    side = "year" if operation == "years" else "date"
    bare = text
    for value in reversed(given):
        bare = bare[: value.start] + bare[value.end :]
    needs = [Need(v.text, "", "given", side, given=v.text) for v in given[:2]]
    event = re.sub(
        f"{_OPERATORS}|截至|截止|到|距离?|那一?天|当天|过去|已经?|历史|有|从|至今|为止|年$",
        " ",
        bare,
    )
    event = WH_ZH.sub(" ", event).strip("是， 的年起")
    if len(needs) < (1 if operation == "weekday" else 2) and len(event) > 1:
        subject, attribute = split_subject(event.split()[0] if event.split() else event)
        attribute = " ".join([attribute, *event.split()[1:]]).strip()
        needs.append(Need(subject, attribute, type=side))
    if len(needs) < (1 if operation == "weekday" else 2):
        return None
    return Ask("date", "zh", tuple(needs), operation)


def described_place(text: str) -> Ask | None:
    """An attribute of a place that a description stands for: …的书店几点关门."""
    key, words = map_attribute(text)
    subject = _MONEY.sub("", text.replace(words, "", 1)) if key else ""
    subject = FILLER_ZH.sub("", WH_ZH.sub("", subject)).strip("是在的")
    found = re.match(rf"^(?P<words>.{{3,}}的)(?P<kind>{'|'.join(CATEGORIES)})$", subject)
    if not found:
        return None
    described = Described(found["words"].strip("的"), found["kind"])
    return Ask("hop", "zh", (Need("", key, "map"),), described=described)


def single_need(text: str) -> Need:
    """One attribute of one subject."""
    key, words = map_attribute(text)
    if key and not re.search("星期几|周几", text):
        subject = WH_ZH.sub(
            "", FILLER_ZH.sub("", _MONEY.sub("", text.replace(words, "", 1)))
        ).replace("点到点", "")
        return Need(re.sub("^在|[的是在]+$", "", subject.strip("的是在，点到")), key, "map")
    wanted = _type(text)
    cut = _cut(text)
    subject, attribute = text[:cut].strip("的，, "), text[cut:]
    if not subject:
        quoted = re.search("《[^》]+》", text)
        subject, attribute = (quoted[0], text.replace(quoted[0], "")) if quoted else ("", text)
    if wanted.unit:
        attribute = attribute.replace(wanted.unit, " ").replace("钱", " ")
    bare = re.sub(
        "星期几|周几|"
        + WH_ZH.pattern
        + "|百分之?|大约|大概|通常|一般|需要|[要有约被是的了呢吗由从起于在]",
        " ",
        attribute,
    )
    return replace(wanted, subject=subject, attribute=" ".join(bare.split()))


_LINKS = re.split(
    r"\|", "是|的|有|由|从|在哪|需要|要求|使用|叫|要|星期几|周几|大约|大概|约|通常|一般|被|步行"
)
"""What stands between a subject and what is said of it."""


def _cut(text: str) -> int:
    """Where the subject ends: the first word of an attribute, a question or a link."""
    words = [*(word for word in synonym_words() if len(word) > 1), *_LINKS]
    found = [at for word in words if (at := text.find(word, 1)) > 0]
    if single := re.search("[长高深写](?=了|多少|几|$|[0-9])", text[1:]):
        found.append(single.start() + 1)
    if wh := WH_ZH.search(text):
        found.append(wh.start())
    quoted_end = text.find("》") + 1 if text.startswith("《") else 0
    return max(min(found, default=len(text)), quoted_end)


def _type(text: str) -> Need:
    """What kind of value is wanted."""
    if re.search("星期几|周几", text):
        return Need("", "", type="weekday")
    if re.search("哪一?天|几月几[日号]|什么日期|具体日期", text):
        return Need("", "", type="date")
    if re.search("哪一?年|何年|什么时候|何时|年份|几几年", text):
        return Need("", "", type="year")
    if re.search("百分之|百分比|几成", text):
        return Need("", "", type="number", unit="%")
    if re.search("几号线|哪[几一]?条(?:地铁)?线", text):
        return Need("", "", type="line")
    if re.search("谁|哪位|何人", text):
        return Need("", "", type="person")
    if found := re.search("(?:哪一?[家个座位种条款项本]?|什么)(?P<noun>[\u4e00-\u9fff]{1,4}?)"
                          "(?=最|离|发明|的|是|有|在|离|发现|修|提|$)", text):  # fmt: skip
        return Need("", "", type="name", noun=found["noun"])
    if re.search("多少|几|多[长高深远重大]", text):
        return Need("", "", type="number", unit=unit_of(text))
    before = re.search("([\u4e00-\u9fff]{1,4})什么$", text)
    return Need("", "", type="text", verb=before[1] if before else "")
