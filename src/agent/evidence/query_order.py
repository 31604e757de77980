"""Which queries say something by the order of their words, and which dates may stand anywhere."""

import re
from collections.abc import Sequence

from agent.evidence.query_words import Word, is_number

_DATE = re.compile(
    r"(?:1\d{3}|20\d{2})(?:[-/.]\d{1,2}){0,2}|(?:(?:19|20)\d{2})?[qh][1-4]|fy\d{2,4}|\d{1,2}[月日号]"
)
_BOUND = frozenset(
    ("before", "after", "since", "until", "till", "by", "from", "to", "through", "than", "pre")
)
_BOUND_CJK = tuple("前后後以之起至到来來间間至自比")
_RELATION = re.compile(
    r"\b(?:from|to|into|onto|towards?|than|vs|versus|against|over|under|before|after|by|via|"
    r"without|except|excluding|not|no|non|never|nor|or|who|whom|whose|vice|deputy|former|ex|"
    r"beats?|beating|won|wins?|bought|buys?|buying|sold|sells?|sue[sd]?|suing|wrote|writes?|met|"
    r"gave|gives?|took|takes?|led|leads?|lost|loses?|left|made|makes?|taught|teach\w*|own[s]?|"
    r"acqui\w+|defeat\w*|marr(?:y|ie)\w*|kill\w*|hire\w*|invad\w+|influenc\w+|replac\w+|succeed\w*|"
    r"attack\w*|invest\w*|fund\w*|support\w*|import\w*|export\w*|translat\w+|adapt\w*|convert\w*|"
    r"prefer\w*|precede\w*|predecessor\w*|successor\w*|exceed\w*|outperform\w*|overt(?:ake|ook)\w*|"
    r"bigger|larger|smaller|higher|lower|older|younger|taller|greater|less|more|"
    r"flights?|trains?|bus(?:es)?|ferr(?:y|ies)|tickets?|routes?|drive|driving|exchange|rates?|"
    r"\w{2,}ed)\b"
    "|[到至去往从從比→被把给給让讓对對向由于於不没沒無无非勿别除否未]|->|[|()]"
    "|收购|收購|并购|併購|击败|擊敗|战胜|戰勝|打败|起诉|起訴|入侵|进攻|投资|控股|继任|接替|取代|代替"
    "|影响|师从|师承|导演|翻译|改编|主持|持有|拥有|隶属|属于|包含|包括|超过|领先|大于|小于|高于|低于|多于"
    "|少于|援助|批评|支持|反对|出口|进口|娶|嫁|杀|赢|输|胜|负|教|兑|换算|汇率|高铁|火车|动车|机票|航班"
    "|车票|路线|运费|物流|快递|寄|飞|比分|对阵|前任|后任|副"
)
_ROLE = re.compile(
    r"\b(?:father|mother|parent|wife|husband|spouse|son|daughter|child|brother|sister|uncle|aunt|"
    r"grand\w+|cousin|teacher|student|pupil|advis[eo]r|mentor|boss|owner|founder|president|ceo|cfo|"
    r"chair\w*|minister|king|queen|prince|princess|director|author|writer|lawyer|assassin|capital|"
    r"company|subsidiary|team|club|city|country|state|province)s?\b"
    "|父|母|爸|妈|妻|夫|儿子|女儿|兄|弟|姐|妹|祖|孙|老师|学生|导师|弟子|创始人|董事长|总裁|总统|总理"
    "|首相|主席|部长|国王|女王|王后|王子|公主|作者|律师|首都|省会|公司|球队|城市|国家"
)
_OF = re.compile(r"\bof\b|['’]s\b|的")
_LINK = re.compile(
    r"\b(?:of|in|for|on|at|with|about|around|near|between|among|as|like)\b|['’]s\b|的|在"
)


def depends_on_order(plain: str, words: Sequence[Word]) -> bool:
    """Whether other words' order could make another question of it (`plain` is casefolded).

    Directions, verbs, comparisons, negations, relations of relations, numbers that belong to
    something: none of these may be read backwards.
    """
    if _RELATION.search(plain) or any(is_number(word.text) for word in words):
        return True
    return len(_ROLE.findall(plain)) > 1 or len(_OF.findall(plain)) > 1


def is_linked(plain: str) -> bool:
    """Whether a preposition joins two words: two such queries are compared in order."""
    return bool(_LINK.search(plain))


def may_move(words: Sequence[Word]) -> tuple[tuple[str, ...], list[Word]]:
    """The query's date where it has just one, and no other number, and nothing hangs on its place
    (`after 2019` does); with the other words.
    """
    places = [at for at, word in enumerate(words) if is_number(word.text)]
    if not places or places[-1] - places[0] + 1 != len(places):
        return (), list(words)
    first, last = places[0], places[-1]
    before = words[first - 1].text if first else ""
    behind = words[last + 1].text if last + 1 < len(words) else ""
    dates = [word.text for word in words[first : last + 1]]
    bound = before in _BOUND or before.endswith(_BOUND_CJK) or behind.startswith(_BOUND_CJK)
    if bound or not all(_DATE.fullmatch(date) for date in dates):
        return (), list(words)
    return tuple(sorted(dates)), [*words[:first], *words[last + 1 :]]
