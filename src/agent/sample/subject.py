"""Find the subject of a question, its aspects, and its references to the turns before."""

import re
from dataclasses import dataclass
from itertools import dropwhile

from agent.core.patterns import piece
from agent.evidence.intent import extract_place
from agent.evidence.vocabulary import activity_in, landmark_in, without_activities
from agent.knowledge.terms import bears_on
from agent.texts import detect_language

MOST_ASPECTS = 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_POLITE = re.compile(
    r"^(?:请问|请|麻烦|帮我|你好|您好|介绍一下|介绍|说说|讲讲|分析一下|分析|谈谈|hi|hello|hey|please"
    r"|(?:could|can) you|tell me(?: about| more about)?|i want to know|describe|explain|compare"
    r"|write (?:a|an) \w+ (?:on|about)|what do you know about"
    r"|(?:在)?我的(?:文档|资料|文件)[里中](?:是?怎么说|有没有说|提到)"
    r"|what do my (?:documents|files|papers) say (?:about|on)"
    r")(?![a-z])[\s,，:：!！]*",
    re.IGNORECASE,
)
_END = re.compile(r"[\s?？!！。.,，;；:：]+$")
_ASKING_ZH = re.compile(
    "为什么|几点|是什么|有什么|什么时候|什么|有没有|有哪些|哪些|哪里|哪儿|哪家|哪个|哪[一种座位]?|是否|怎么样|怎样|怎么|如何|多少|多[高长大远久重宽深]"
    "|[几谁]|可以|应该|需要|推荐|安排|更[好高大近便]?|附近|周边|周围|一带|适合|最[好高大长近]|好去处|去处|地方|值得|一下|一些|我们|大家"
    "|现在|目前|今天|明天|昨天|周末|晚上|早上|最近|关于|以及|或者|还有|(?:19|20)\\d\\d\\s*年?|建成|建造|建立|成立|发明|创立|创办|设计|开园|开业|开通|通车"
    "|打烊|营业(?![收额利])|开到|很晚|深夜|半夜|夜里|闭馆|关门|开门|评分|地址|人均|全长|总共|一共|位于"
    "|[吗呢吧呀啊么](?=\\W|$)|[的了在是有由被我你和与及跟、，,：:；;。！？!?（）()“”《》\\s]"
)
_ASKING_EN = frozenset(
    re.findall(
        r"\S+",
        "compare compared differ difference versus vs better often buy write report research "
        "a an the of in on at for and or to from by with about as than so not no if it its "
        "this that these those there here i me my we our us you your he she they them their "
        "is are was were be been do does did has have had can could should would will may "
        "might what which who whom whose when where why how many much long tall high far old "
        "large big deep wide get go find show give tell need want know good best great most "
        "more some any near nearby around year years day days date month time metres meters "
        "metre kilometres kilometers km miles yuan price rating address opened open opens "
        "close closes built invented founded completed designed wrote written made history "
        "revenue revenues profit profits cost costs use uses overview name called total "
        "between number people work works happen late latest current top take plan public today "
        "tomorrow tonight weekend monday tuesday wednesday thursday friday saturday sunday",
    )
)
_ASKED_ASPECTS = frozenset({"history", "revenue", "cost", "costs", "uses", "profit", "price"})
_AROUND_ASPECT = re.compile("^[到把从对将让]|(?:等|相比|方面)+$")
_ASPECT_EN = re.compile(r"[,;:.?!()]|\b(?:and|or|of|for|in|on|to|from|with|at|by|about)\b", re.I)
_COMPARED = (
    re.compile(
        r"^(?:比较)?(?:一下)?(.{2,12}?)(?:和|与|跟|还是)(.{2,12}?)(?:相比|哪|谁|更|有什么区别)"
    ),
    re.compile(r"\bcompare (?:the )?(.+?) (?:and|with|to) (?:the )?(.+)", re.I),
    re.compile(r"\bbetter\b.*?[,:]? (?:the )?([A-Z].+?) or (?:the )?([A-Z].+)"),
)
_POSSESSIVE = re.compile(r"['’]s\b")
_THERE = {
    "zh": re.compile(
        "[那这](?:(?=附近|周边|一带)|里|儿|边|个地方|家公司|项技术)|该公司|它们?"
        "|(?<!尤)其(?!中|他|它|实)"
    ),
    "en": re.compile(
        r"(?i)(?:(?<!is )(?<!are )|(?=it (?:open|closed|free|far|worth|good)\b))"
        r"\b(?:its?|there|they|their)\b(?!\s+(?:is|are)\b)"
    ),
}
_NEARBY = re.compile(r"^[那还]*附近|周边|周围|\bnearby\b")
_WHICH = re.compile(r"(?:那|其中)?哪(?:些|几?[个家处])|which (?:of|ones?|are)\b", re.I)
_ORDINAL = re.compile(
    r"第\s*([一二三四五六1-6])\s*[个家处所间座项]"
    r"|\bthe (first|second|third|fourth|fifth)(?: one| place)?\b",
    re.IGNORECASE,
)
_ORDER = {
    word: at
    for words in ("一二三四五六", "123456", ("first", "second", "third", "fourth", "fifth"))
    for at, word in enumerate(words)
}


@dataclass(frozen=True)
class Subject:
    """Hold the names that a source must bear (one of them), as the question writes them."""

    names: tuple[str, ...]
    exact: bool = True
    """Whether it is a name; else words, most of which must be there."""

    @property
    def text(self) -> str:
        return self.names[0] if self.names else ""

    def is_named_in(self, text: str) -> bool:
        """Tell whether a text has one of the names; a long one may begin with it: 宁德时代钠电."""
        share = 1.0 if self.exact else 0.6
        return not self.names or any(
            _is_in(name, text, share)
            or (re.match(f"[{_HAN}]{{4}}", name) and _is_in(name[:4], text, 2 / 3))
            for name in self.names
        )

    def is_spelt_in(self, text: str) -> bool:
        """Tell whether a text has one of the names in full, not only a long one's beginning."""
        return any(_is_in(name, text) for name in self.names)


def _is_in(name: str, text: str, share: float = 1.0) -> bool:
    """Tell whether a text has a name as it is written, or so much of its words."""
    return name.casefold() in text.casefold() or bears_on(name, text, coverage=share)


def clean_question(question: str) -> str:
    """Return the question as a search: no greeting, no final punctuation, one line."""
    question = piece(question)
    line = " ".join(question.split())
    while line != (shorter := _POLITE.sub("", line)):
        line = shorter
    return _END.sub("", line)[:120].strip() or question.strip()[:120]


def compared(question: str) -> tuple[str, ...]:
    """Return the two that a question compares; none where it compares nothing."""
    question = piece(question)
    match = next(filter(None, (p.search(_END.sub("", question)) for p in _COMPARED)), None)
    return match.groups() if match else ()


def subject_of(question: str) -> Subject:
    """Return the place, the names or the first words that carry meaning."""
    plain = clean_question(question)
    if detect_language(plain) == "zh":
        return _subject_zh(plain)
    for name in _names(plain):
        words = [*dropwhile(_is_asking, _POSSESSIVE.sub("", name).split())]
        if words:
            return Subject((" ".join(words),))
    return _words_en(plain)


def _subject_zh(plain: str) -> Subject:
    phrases = [p for p in _ASKING_ZH.split(plain) if len(p) > 1 and not _is_asking(p)]
    first = phrases[0] if phrases else ""
    place, city = extract_place(plain) or ("", None)
    if place and (landmark_in(plain) or first in place or place in first[len(city or "") + 1 :]):
        compared = [p for p in phrases[1:2] if any(place + word + p in plain for word in "和与跟")]
        return Subject((place, *compared))
    return Subject((first or plain,) if len(plain) > 1 else ())


def _words_en(plain: str) -> Subject:
    """Return the first words with a meaning, those after "of" before others."""
    head = plain.partition(":")[0]
    words: list[str] = []
    for text in (head.rpartition(" of ")[2], head):
        words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", _POSSESSIVE.sub("", text))
        words = [word for word in words if not _is_asking(word)]
        if words := without_activities(" ".join(words)).split() or words:
            break
    different = list({_singular(word): word for word in reversed(words)}.values())[::-1]
    return Subject((" ".join(different[:4]),) if different else (), exact=False)


def _is_asking(word: str) -> bool:
    return word.casefold() in _ASKING_EN


def _singular(word: str) -> str:
    return word.casefold().removesuffix("s")


def searched_as(question: str) -> str:
    """Return the subject as a search names it: a place in China with its city in front."""
    subject = subject_of(question).text
    place, city = extract_place(clean_question(question)) or ("", None)
    own = place == subject and city and city not in place and detect_language(question) == "zh"
    return f"{city}{subject}" if own else subject


def aspects_of(question: str, *, with_subject: bool = False) -> list[str]:
    """Return the aspects that the question names, in order, at most three.

    Words of its subject are left out of English ones, unless `with_subject`: a search puts them
    behind the subject, a report makes a topic of each.
    """
    plain = clean_question(question)
    own_names = subject_of(plain).names
    head, _, rest = plain.replace("：", ":").partition(":")
    text = rest if rest.strip() else head
    text = next((clause for clause in re.split("[，,；;]", text) if "、" in clause), text)
    for name in filter(None, (*own_names, *(extract_place(plain) or ()))):
        text = text.replace(name, " ")
    if detect_language(question) == "zh":
        parts = (_AROUND_ASPECT.sub("", part) for part in _ASKING_ZH.split(text))
        aspects = [part for part in parts if 1 < len(part) <= 8 and not _is_asking(part)]
    else:
        own = set() if with_subject else {_singular(word) for word in " ".join(own_names).split()}
        clauses = (clause.split() for clause in _ASPECT_EN.split(_POSSESSIVE.sub("", text)))
        phrases = ([w for w in c if _is_aspect(w) and _singular(w) not in own] for c in clauses)
        aspects = [" ".join(words) for words in phrases if 0 < len(words) <= 3]
    return list(dict.fromkeys(aspects))[:MOST_ASPECTS]


def _is_aspect(word: str) -> bool:
    return not _is_asking(word) or word.casefold() in _ASKED_ASPECTS


def topic_of(question: str) -> str:
    """Return the text a sentence must bear on: the aspects of a question, or the whole of it."""
    return " ".join(aspects_of(question)) or clean_question(question)


def resolve_references(question: str, conversation: list[str], places: list[str]) -> str:
    """Return the question with "there", "it" or "the second one" replaced by what that was."""
    if match := _ORDINAL.search(question):
        at = _ORDER[(match[1] or match[2]).casefold()]
        if at < len(places):
            return question[: match.start()] + places[at] + question[match.end() :]
    before = _subject_before(question, conversation) or next(iter(places), "")
    of_several = _WHICH.match(question) and not activity_in(question)
    if not before or of_several or not _refers(question):
        return question
    language = detect_language(question)

    def name(there: re.Match[str]) -> str:
        return before + ("'s" if there[0].casefold() in ("its", "their") else "")

    text, count = _THERE[language].subn(name, question, count=1)
    if language == "zh":
        return re.sub("^那么?", "", text) if count else before + question.lstrip("那么，,")
    if count:
        return text
    where = f"near {before}" if extract_place(before) else f"({before})"
    return f"{' '.join(_NEARBY.sub(' ', question).rstrip(' ?').split())} {where}"


def _subject_before(question: str, conversation: list[str]) -> str:
    """Return the last subject of a question that names one; for "nearby", the last place."""
    said = [line.partition(":")[2].strip() for line in conversation if line.startswith("user:")]
    subjects = [searched_as(text) for text in reversed(said) if not _refers(text)]
    if _NEARBY.search(question):
        subjects = [place[0] for t in reversed(said) if (place := extract_place(t))] + subjects
    return next(filter(None, subjects), "")


def _refers(question: str) -> bool:
    """Tell whether a question points back before it names anything, or only names a kind."""
    match = _THERE[detect_language(question)].search(question)
    text = question[: match.start()] if match else clean_question(question)
    words = re.findall(r"[^\W_]{2,}", _ASKING_ZH.sub(" ", without_activities(text)))
    named = not (_NEARBY.match(question) or all(map(_is_asking, words)))
    return extract_place(text) is None and not named


_IDENTIFIER = re.compile(
    r"(?<![\w.])(?=[\w.+-]{0,60}[A-Za-z])(?:[a-z]+[A-Z]\w*|[A-Z]\w*[A-Z]\w*|v?\d+(?:\.\d+){2,}|v\d[\w.]*\w"
    r"|\w+(?:\.\w+)+|[A-Za-z]+_\w+)"
)
_CAPITAL = re.compile(
    r"(?<![\w'’])[A-ZÀ-Þ][\w'’&-]*(?:\s+(?:de|du|des|of|et|la|the)?\s?[A-ZÀ-Þ][\w'’&-]*)*"
)
_TITLE = re.compile(r"《([^《》\n]{1,40})》|`([^`\n]{1,60})`|([A-Z]\w+ \d{1,3})(?![\d.:,])")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:;|。！？：；]|\*\*|[-–—])[\s*|\"“(]*$")
_DATES_AND_UNITS = """january february march april may june july august september october november
december monday tuesday wednesday thursday friday saturday sunday daily am pm i h1 h2 q1 q2 q3 q4
cny eur usd rmb gbp km kb mb gb tb mwh gwh kwh wh ah utc"""
_NO_NAMES = frozenset(_DATES_AND_UNITS.split())
_BEFORE_NAME = 20


def _names(text: str) -> list[str]:
    """Return the proper names of a text, each once."""
    proper = dict.fromkeys(match[0] for match in _IDENTIFIER.finditer(text))
    for match in _CAPITAL.finditer(text):
        name = match[0]
        if _SENTENCE_BEGINS.search(text, max(0, match.start() - _BEFORE_NAME), match.start()):
            first, _, name = name.partition(" ")
            name = match[0] if any(char.isupper() for char in first[1:]) or name else ""
        proper |= dict.fromkeys([name] if name else [])
    for match in _TITLE.finditer(text):
        proper[next(group for group in match.groups() if group)] = None
    return [name for name in proper if name.casefold() not in _NO_NAMES]
