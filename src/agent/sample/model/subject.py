"""Find the subject of a question, its aspects, and its references to the turns before."""

import re
from dataclasses import dataclass

from agent.evidence.intent import extract_place
from agent.evidence.places import landmark_in, without_activities
from agent.knowledge.terms import terms
from agent.texts import detect_language

MOST_ASPECTS = 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_POLITE = re.compile(
    r"^(?:请问|请|麻烦|帮我|你好|您好|介绍一下|介绍|说说|讲讲|分析一下|分析|谈谈|hi|hello|hey|please"
    r"|(?:could|can) you|tell me(?: about| more about)?|i want to know|describe|explain|compare"
    r"|write (?:a|an) \w+ (?:on|about)|what do you know about)(?![a-z])[\s,，:：!！]*",
    re.IGNORECASE,
)
_END = re.compile(r"[\s?？!！。.,，;；:：]+$")
_ASKING_ZH = re.compile(
    "为什么|几点|是什么|有什么|什么时候|什么|有没有|有哪些|哪些|哪里|哪儿|哪家|哪个|哪[一种座位]?|是否|怎么样|怎样|怎么|如何|多少|多[高长大远久重宽深]"
    "|[几谁]|可以|应该|需要|推荐|附近|周边|周围|一带|适合|最[好高大长近]|好去处|去处|地方|值得|一下|一些|我们|大家"
    "|现在|目前|今天|明天|昨天|周末|晚上|早上|最近|关于|以及|或者|还有|(?:19|20)\\d\\d\\s*年?|建成|建造|建立|成立|发明|创立|创办|设计|开园|开业|开通|通车"
    "|闭馆|关门|开门|评分|地址|人均|全长|总共|一共|位于"
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
        "between number people work works happen latest current top",
    )
)
_RUN = re.compile(
    r"\b(?:[A-Z][\w'’&-]*|[A-Z]+)(?:\s+(?:(?:of|the|de|and the)\s+){0,2}(?:[A-Z][\w'’&-]*|\d+))*"
)
_TOGETHER = re.compile(
    r"^\s*(?:,|and|or|vs\.?|versus|with|than|to|between|,?\s*or the|the)*\s*$", re.I
)
_ASPECT_EN = re.compile(r"[,;:.?!()]|\b(?:and|or|of|for|in|on|to|from|with|at|by|about)\b", re.I)
_THERE_ZH = re.compile(
    "[那这](?:附近|周边|一带|里|儿|边|个地方|家公司|项技术)|该公司|它们?|(?<!尤)其(?!中|他|它|实)"
)
_THERE_EN = re.compile(
    r"\b(near|around|from|to|in|at|by|of|about)\s+(?:there|it)\b"
    r"|(?<!is )(?<!are )\b(?:it|its|there|they|their)\b(?!\s+(?:is|are)\b)",
    re.I,
)
_ORDINAL = re.compile(
    r"第\s*([一二三四五六]|\d)\s*[个家处所间座项]"
    r"|\bthe (first|second|third|fourth|fifth)(?: one| place)?\b",
    re.I,
)
_ORDER = "一二三四五六", ("first", "second", "third", "fourth", "fifth")


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
        text_terms = frozenset(terms(text))
        return not self.names or any(
            self._matches_name(name, text, text_terms) for name in self.names
        )

    def is_spelt_in(self, text: str) -> bool:
        """Tell whether a text has one of the names in full, not only a long one's beginning."""
        text_terms = frozenset(terms(text))
        return any(
            n.casefold() in text.casefold() or text_terms >= set(terms(n)) for n in self.names
        )

    def _matches_name(self, name: str, text: str, text_terms: frozenset[str]) -> bool:
        if name.casefold() in text.casefold():
            return True
        if re.search(f"[{_HAN}]", name):
            # A long phrase begins with the name: 宁德时代钠离子电池.
            head = re.sub(r"\s", "", name)[:4]
            pairs = [head[at : at + 2] for at in range(len(head) - 1)]
            latin = [word for word in terms(name) if word.isascii()]
            shared = sum(pair in text for pair in pairs)
            return len(head) > 2 and 3 * shared >= 2 * len(pairs) and text_terms.issuperset(latin)
        name_terms = set(terms(name))
        share = 1.0 if self.exact else 0.6
        return bool(name_terms) and len(name_terms & text_terms) >= share * len(name_terms)


def clean_question(question: str) -> str:
    """Return the question as a search: no greeting, no final punctuation, one line."""
    line = " ".join(question.split())
    while line != (shorter := _POLITE.sub("", line)):
        line = shorter
    return _END.sub("", line)[:120].strip() or question.strip()[:120]


def subject_of(question: str) -> Subject:
    """Return the place, the names or the first words that carry meaning."""
    plain = clean_question(question)
    return _subject_zh(plain) if detect_language(plain) == "zh" else _subject_en(plain)


def _subject_zh(plain: str) -> Subject:
    phrases = [part for part in _ASKING_ZH.split(plain) if len(part) > 1]
    place = (extract_place(plain) or ("", None))[0]
    if place and (landmark_in(plain) or not phrases or phrases[0] in place):
        compared = re.match(
            rf"^{re.escape(place)}(?:和|与|跟|比)([^的哪谁有]{{2,12}}?)(?:的|哪|谁|高|早|长|$)",
            plain,
        )
        return Subject((place, compared[1]) if compared else (place,))
    city = (extract_place(plain) or ("", None))[1] or ""
    if place and phrases and place in phrases[0][len(city) + 1 :]:
        return Subject((place,))
    return Subject((phrases[0],)) if phrases else Subject((plain,) if len(plain) > 1 else ())


def _subject_en(plain: str) -> Subject:
    runs: list[re.Match[str]] = []
    for run in _RUN.finditer(plain):
        words = run[0].split()
        begins = run.start() == 0 and len(words) == 1 and not words[0].isupper()
        if not begins and any(word.casefold() not in _ASKING_EN for word in words):
            runs.append(run)
    names = []
    for at, run in enumerate(runs):
        if at and not _TOGETHER.match(plain[runs[at - 1].end() : run.start()]):
            break
        names.append(_without_asking(run[0]))
    if names:
        return Subject(tuple(names))
    head = plain.partition(":")[0]
    for text in (head.rpartition(" of ")[2], head):
        words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", re.sub(r"['’]s\b", "", text))
        words = [word for word in words if word.casefold() not in _ASKING_EN]
        if rest_words := without_activities(" ".join(words)).split() or words:
            break
    distinct = list({_singular(word): word for word in reversed(rest_words)}.values())[::-1]
    return Subject((" ".join(distinct[:4]),) if distinct else (), exact=False)


def _singular(word: str) -> str:
    return word.casefold().removesuffix("s")


def _without_asking(run: str) -> str:
    words = re.sub(r"['’]s\b", "", run).split()
    while len(words) > 1 and words[0].casefold() in _ASKING_EN:
        words.pop(0)
    return " ".join(words)


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
    plain, language = clean_question(question), detect_language(question)
    head, colon, rest = plain.replace("：", ":").partition(":")
    text = rest if colon and rest.strip() else head
    text = next((clause for clause in re.split("[，,；;]", text) if "、" in clause), text)
    for name in (*subject_of(question).names, *(extract_place(plain) or ())):
        text = text.replace(name, " ") if name else text
    if language == "zh":
        aspects = [
            re.sub(r"^[到把从对将让]|(?:等|相比|方面)+$", "", part)
            for part in _ASKING_ZH.split(text)
        ]
        aspects = [part for part in aspects if 1 < len(part) <= 8]
    else:
        parts = [part.split() for part in _ASPECT_EN.split(re.sub(r"['’]s\b", "", text))]
        aside = _ASKING_EN - {"history", "revenue", "cost", "costs", "uses", "profit", "price"}
        names = () if with_subject else subject_of(question).names
        subject = {_singular(w) for name in names for w in name.split()}
        aspects = [
            " ".join(w for w in part if w.casefold() not in aside and _singular(w) not in subject)
            for part in parts
        ]
        aspects = [part for part in aspects if part and len(part.split()) <= 3]
    return list(dict.fromkeys(part.strip() for part in aspects))[:MOST_ASPECTS]


def topic_of(question: str) -> str:
    """Return the text a sentence must bear on: the aspects of a question, or the whole of it."""
    return " ".join(aspects_of(question)) or clean_question(question)


_NEARBY = re.compile(r"^[那还]*附近|周边|周围|\bnearby\b")


def resolve_references(question: str, conversation: list[str], places: list[str]) -> str:
    """Return the question with "there", "it" or "the second one" replaced by what that was."""
    if match := _ORDINAL.search(question):
        word = (match[1] or match[2]).casefold()
        order = _ORDER[0] if match[1] else _ORDER[1]
        at = int(word) - 1 if word.isdigit() else order.index(word)
        if at < len(places):
            return question[: match.start()] + places[at] + question[match.end() :]
    questions = [
        line.partition(":")[2].strip() for line in conversation if line.startswith("user:")
    ]
    subjects = [searched_as(text) for text in reversed(questions) if not _refers(text)]
    if _NEARBY.search(question):
        subjects = [
            place[0] for text in reversed(questions) if (place := extract_place(text))
        ] + subjects
    before = next(filter(None, subjects), places[0] if places else "")
    if not before or not _refers(question):
        return question
    if detect_language(question) == "zh":
        near = "附近" if re.search("[那这](?:附近|周边|一带)", question) else ""
        text, count = _THERE_ZH.subn(before + near, question, count=1)
        return re.sub("^那么?", "", text) if count else before + question.lstrip("那么，,")
    text, count = _THERE_EN.subn(
        lambda m: (
            f"{m[1]} {before}" if m[1] else before + ("'s" if m[0].endswith(("s", "r")) else "")
        ),
        question,
        count=1,
    )
    return text if count else f"{question.rstrip(' ?')} ({before})?"


def _refers(question: str) -> bool:
    """Tell whether a question points back before it names anything, or only names a kind."""
    pattern = _THERE_ZH if detect_language(question) == "zh" else _THERE_EN
    if match := pattern.search(question):
        return not _names_something(question[: match.start()])
    return not _names_something(clean_question(question))


def _names_something(text: str) -> bool:
    words = re.findall(r"[^\W_]+", _ASKING_ZH.sub(" ", without_activities(text)))
    named = [word for word in words if len(word) > 1 and word.casefold() not in _ASKING_EN]
    return extract_place(text) is not None or bool(named)
