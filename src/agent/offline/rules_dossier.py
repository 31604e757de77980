"""A dossier's plan by rules, what its tasks look up besides, and questions made of headings."""

import re
from dataclasses import dataclass, replace

from agent.evidence.intent import extract_place, map_task_by_rules
from agent.language import Language, detect_language

from .brain import Answer, FunctionCall, Turn
from .rules_deep_topics import plan, related
from .rules_map import amap_research
from .rules_plan import cleaned
from .rules_references import resolve
from .rules_text import block, features, language_of, lines, words

_SEC, _AKSHARE, _MAPS = "sec_edgar_search", "akshare_search", "maps_"
_LEAST, _QUESTIONS, _LONGEST = 3, 8, 60
_COMPANY = re.compile(
    "公司|企业|集团|股份|同行|竞争对手|营收|营业收入|利润|财报|年报|股价|市值|上市"
    r"|\b(?:company|companies|peers|competitors?|rivals|revenues?|profits?|earnings|financials"
    r"|annual report|shares|stock|inc|corp|ltd)\b",
    re.IGNORECASE,
)
MONEY = re.compile(
    "财务|营收|收入|利润|财报|年报|业务|市场|企业|产业|股价"
    r"|\b(?:revenues?|profits?|earnings|financ\w*|business|markets?|companies|industry|costs?)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile("比较|对比|相比|同行|竞争|compar|peers|competitor|versus", re.IGNORECASE)
_ON_SITE = re.compile(
    "交通|餐饮|美食|住宿|停车|门票|游览|景点|路线|附近"
    r"|\b(?:getting there|transport|food|hotels?|parking|tickets|visiting|sights|nearby)\b",
    re.IGNORECASE,
)
_USUAL: dict[Language, tuple[str, ...]] = {
    "zh": ("概况与业务", "技术路线", "营收与利润", "与同行的比较"),
    "en": ("overview and business", "technology", "revenue and profit", "comparison with peers"),
}
_USUAL_OF_PLACES: dict[Language, tuple[str, ...]] = {
    "zh": ("概况与历史", "保护与研究", "交通", "门票与开放时间"),
    "en": ("history", "conservation and research", "getting there", "tickets and opening hours"),
}
_CUT_ZH = re.compile(
    "的|与同行|和同行|跟同行|同行|相比|对比|[，,：:、]|(?:19|20)\\d\\d\\s*年?|营收|营业收入|利润|财报|年报"
    "|股价|市值|怎么样|如何|怎样"
)
_ASKING_EN = re.compile(
    r"^(?:how|what|which|why|who|is|are|do|does|did|was|were|the|has|have|about|of|on|tell|me"
    r"|compare|describe|explain|analy[sz]e|write|report|dossier|an?)\b[\s:,]*",
    re.IGNORECASE,
)
_CUT_EN = re.compile(
    r"\b(?:compared?|compares|versus|vs|against|with|and|in|stand|differ|do(?:ing)?|like"
    r"|technology|strategy|routes?|revenues?|profits?|earnings|financials|peers|competitors"
    r"|(?:19|20)\d\d)\b|[:,;?]",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"^(?:第?[一二三四五六七八九十]{1,3}[、章节.]|[（(][一二三四五六七八九十]{1,3}[）)]|\d{1,2}(?:\.\d{1,2})*[.、]?\s)\s*"
)
_TAG = re.compile(r"^\[(?:示例|Sample)\]\s*", re.IGNORECASE)
_GENERAL = re.compile(
    "(?:摘要|引言|前言|背景|概述|小结|总结|结论|参考文献|致谢|附录|目录|局限|研究对象|方法|与|和|及|\\s)+"
    r"|(?:abstract|introduction|background|summary|conclusions?|references|scope|methods?|overview"
    r"|acknowledg\w+|appendix|contents|discussion|and|open questions|\s)+",
    re.IGNORECASE,
)
_RELATED: dict[str, str] = {
    "比较": "同行 相比 竞争 优势 弱点 侧重 不同 前两名",
    "营收": "收入 亿元 毛利 研发投入 客户",
    "业务": "成立 总部 上市 产品 制造商",
    "技术": "正极 负极 材料 能量密度 循环 电芯",
    "保护": "治理 修复 水质 世界遗产 监测 疏浚",
    "history": "inscribed dredged built dyke causeway ancient governor tower years",
    "历史": "始建 名称 疏浚 南宋",
    "游览": "走法 步行 门票 开放 拥挤 堤",
    "成本": "价格 便宜 每吨 元",
    "应用": "储能 两轮车 用途 电站",
    "comparison": "peers competitors strengths specialised other makers larger",
    "revenue": "income figures sells share annual",
    "business": "founded headquarters listed products sells makes",
    "technology": "cathode anode cells energy density routes generation",
    "chemistry": "cathode anode carbon oxide cells store",
    "conservation": "heritage rule monitoring protect views pressures",
    "visiting": "walk visitors entrance crowds bridge boat",
    "uses": "storage starter two-wheelers cars telecom plants market cold winter",
    "cost": "dollars tonne kilogram pays expensive",
}
_STANDS_FOR = re.compile(
    "它们?|该公司|[这那]家公司|这项技术|其(?!中|他|它)"
    r"|\b(?:it|its|they|their|the company)\b",
    re.IGNORECASE,
)
_LEADS = re.compile("那么?|那|再|说说|介绍|比较|对比|compare|describe|now|then|also|same")
_SAYS: dict[str, dict[Language, str]] = {
    "enough": {"zh": "专门的资料已经查过，够了。", "en": "What is special was looked up; enough."},
    "none": {
        "zh": "百科、论文和网页就够，不用专门的工具。",
        "en": "The encyclopedia, papers and the web will do; no special tool is needed.",
    },
}


@dataclass(frozen=True)
class Dossier:
    """What a question is about, and the aspects that a dossier on it has."""

    subject: str
    aspects: tuple[str, ...]


def aspects_of(question: str) -> Dossier:
    """Companies have aspects of their own; others those of a report on the subject."""
    asked = cleaned(question)
    planned, language = plan(asked), detect_language(asked)
    if _COMPANY.search(asked):
        return Dossier(_company(asked, language) or planned.subject, _USUAL[language])
    named = any(features(topic) & features(asked) for topic in planned.topics)
    if not named and _ON_SITE.search(planned.topics[0]):
        return Dossier(planned.subject, _USUAL_OF_PLACES[language])
    return Dossier(planned.subject, planned.topics)


def related_words(aspect: str) -> str:
    """An aspect with words that texts on it use."""
    lowered = aspect.casefold()
    return " ".join(
        [related(aspect), *(more for name, more in _RELATED.items() if name in lowered)]
    )


def plan_tasks(turn: Turn) -> Answer:
    """A task for each aspect; in a dag the comparison waits for the others."""
    said = lines(turn.user, "conversation")
    asked = block(turn.user, "question").strip()
    question = _resolved(asked, said)
    limit = re.findall(r"\d+", block(turn.user, "limit"))
    about = aspects_of(question)
    aspects = about.aspects
    if question != asked:  # a follow-up wants what it names, not the whole dossier again
        named = tuple(a for a in aspects if features(related_words(a)) & features(asked))
        aspects = named or aspects
    aspects = aspects[: max(1, int(limit[0])) if limit else _LEAST]
    dag = block(turn.user, "mode").strip() == "dag"
    tasks: list[dict[str, object]] = []
    for number, aspect in enumerate(aspects, 1):
        earlier = [task["id"] for task in tasks] if dag and _COMPARED.search(aspect) else []
        query = f"{about.subject} {aspect.lower()}".strip()
        tasks.append({"id": f"T{number}", "query": query, "dep": earlier})
    return Answer(json={"tasks": tasks})


def follows_up(question: str) -> bool:
    """Whether a question speaks of what was asked about before, and names nothing before that."""
    found = _STANDS_FOR.search(question)
    return bool(found) and all(
        _LEADS.fullmatch(word) for word in words(question[: found.start() if found else 0])
    )


def _resolved(question: str, said: list[str]) -> str:
    """The question with the subject of the last that names one in place of what stands for it."""
    found = resolve(question, said, []).question
    before = [line.partition(":")[2] for line in said if line.startswith("user:")]
    named = [text for text in before if not follows_up(text.strip())]
    if found != question or not named or not follows_up(question):
        return found
    subject = aspects_of(named[-1]).subject
    of = "" if detect_language(question) == "zh" else "'s"
    named_now = _STANDS_FOR.sub(
        lambda match: subject + (of if match[0][-1] == "s" else ""), question
    )
    return re.sub("^那么?", "", named_now)


def execute_decide(turn: Turn) -> Answer:
    """Companies' figures and the map, where the task is about them; each is looked up once."""
    language, task = language_of(turn), block(turn.user, "task").strip()
    offered = {tool.name for tool in turn.tools}
    done = {result.name for result in turn.tool_results}
    sights = _sights(block(turn.user, "question"), task)
    if sights and any(name.startswith(_MAPS) for name in offered):
        step = amap_research(replace(turn, user=f"<query>\n{sights}\n</query>"))
        if step.calls:
            return step
    calls = [
        FunctionCall(name, {"query": query})
        for name, query in _filings(block(turn.user, "question"), task)
        if name in offered and name not in done
    ]
    if calls:
        return Answer(calls=tuple(calls))
    return Answer(text=_SAYS["enough" if done else "none"][language])


def rewrite_headings(turn: Turn) -> Answer:
    """The headings that share words with the question first; general ones are left out."""
    question = cleaned(block(turn.user, "question"))
    subject, wanted = aspects_of(question).subject, features(question)
    about, scored = features(subject), list[tuple[int, str]]()
    for heading in lines(turn.user, "headings"):
        bare = _NUMBER.sub("", _TAG.sub("", heading)).strip()
        shared = len(wanted & features(bare))
        if not bare or _GENERAL.fullmatch(bare) or not shared:
            continue
        named = bare if about & features(bare) else f"{subject} {bare}"
        scored.append((shared, named[:_LONGEST]))
    scored.sort(key=lambda pair: -pair[0])
    questions = list(dict.fromkeys(text for _, text in scored))
    return Answer(json={"questions": questions[:_QUESTIONS]})


def _sights(question: str, task: str) -> str:
    """What the map is asked where a task is about what is there; empty for other tasks."""
    if not _ON_SITE.search(task):
        return ""
    if map_task_by_rules(task):
        return task
    place, city = extract_place(question) or (None, None)
    return f"sights near {place or city}" if place or city else ""


def _filings(question: str, task: str) -> list[tuple[str, str]]:
    """The searches that a task on companies or on money wants: tool and query."""
    if not (_COMPANY.search(question) or MONEY.search(task)):
        return []
    if detect_language(task) == "zh":
        return [(_AKSHARE, task)]
    return [(_SEC, _company(task, "en") or task)]


def _company(question: str, language: Language) -> str:
    """The name at the beginning of a question, with what of the company is meant."""
    if language == "zh":
        parts = [part.strip() for part in _CUT_ZH.split(question)]
        return next((part for part in parts if len(part) > 1), "")
    asked = re.sub(r"['’]s\b", "", _without_asking(question))
    parts = [_without_asking(part.strip()).strip() for part in _CUT_EN.split(asked)]
    return next((part for part in parts if len(part) > 1), "")


def _without_asking(text: str) -> str:
    while text != (shorter := _ASKING_EN.sub("", text)):
        text = shorter
    return text
