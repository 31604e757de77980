"""The two ends of a way that a question names, apart from the words for how one goes there."""

import re
from dataclasses import dataclass

_BY_ZH = (
    r"(?:步行|徒步|走路|走|骑行|驾车|自驾|打车|打的|叫车"
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
_NO_NAME_ZH = re.compile("怎么|怎样|如何|我|想|请问")
_NO_NAME_EN = r"(?!how\b|what\b|which\b|where\b|best\b|is\b|it\b|i\b)"

# Each names `origin` and `destination`; the first that fits counts.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:去|到)\s*(?P<destination>{_ZH})\s*[，,]?\s*从\s*(?P<origin>{_ZH})\s*(?:出发)?"
        rf"{_AFTER_ZH}",
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
    """Names as the question writes them, and what it says besides."""

    origin: str
    destination: str
    rest: str


def route_ends(text: str) -> Ends | None:
    """From where to where; None where a question does not name both."""
    for pattern in _PATTERNS:
        if found := pattern.search(text):
            origin, destination = found["origin"].strip(), found["destination"].strip()
            if _NO_NAME_ZH.search(origin):
                continue
            rest = text.replace(origin, " ").replace(destination, " ")
            return Ends(origin, destination, rest)
    return None
