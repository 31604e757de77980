"""Split an answer into sentences with their citations, in either notation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.processor import breathe
from agent.evidence.citations import MARKER, source_key
from agent.evidence.markdown import link_url
from agent.evidence.types import Source


@dataclass(frozen=True)
class Citation:
    """Hold one citation: its span in the text, and the ids of its records."""

    start: int
    end: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """Hold a sentence, or a row of a table, and its citations, which `plain` has blanked."""

    text: str
    plain: str
    start: int
    citations: tuple[Citation, ...]
    row: bool = False
    head: str = ""
    """Of a row, the head of its table."""
    demanded: bool = False
    """Whether it is an item of a list of what to demand or to do next."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def with_text(self, start: int, end: int, new: str) -> "Sentence":
        """Return the sentence with other words in one span, the citations behind it moved."""
        by, behind = len(new) - (end - start), self.start + end
        citations = tuple(
            replace(c, start=c.start + by, end=c.end + by) if c.start >= behind else c
            for c in self.citations
        )
        text, plain = (t[:start] + new + t[end:] for t in (self.text, self.plain))
        return replace(self, text=text, plain=plain, citations=citations)

    @property
    def cited(self) -> tuple[str, ...]:
        """Return the ids of all its citations, each once."""
        return tuple(dict.fromkeys(name for c in self.citations for name in c.ids))


@dataclass(frozen=True)
class Notation:
    """Define a way to write citations: its pattern, how to read ids and write one."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], tuple[str, ...]]
    write: Callable[[str], str]


MARKED = Notation(MARKER, lambda match: (match[1],), lambda name: f"[^{name}]")
"""The notation between nodes: `[^w0-2]`."""
_NUMBERED = re.compile(r"\[(\d{1,4})\](?:\(([^()\s]{1,2000})\))?")


def numbered(used: list[Source], sources: Mapping[str, Source]) -> Notation:
    """Return the notation of a finished answer: `[n](url)`; sources of one URL share a number.

    `used` are the cited sources in order of their numbers; one that is newly cited is appended.
    """
    by_key: dict[str, list[str]] = {}
    for name in sources:
        by_key.setdefault(source_key(sources[name]), []).append(name)

    def read(match: re.Match[str]) -> tuple[str, ...]:
        number = int(match[1])
        if not 0 < number <= len(used) or (match[2] or "") != used[number - 1]["url"]:
            return ()
        return tuple(by_key.get(source_key(used[number - 1]), ()))

    def write(name: str) -> str:
        keys = [source_key(source) for source in used]
        key, url = source_key(sources[name]), link_url(sources[name]["url"])
        if key not in keys:
            keys.append(key)
            used.append(Source(**{**sources[name], "url": url, "number": len(keys)}))
        number = keys.index(key) + 1
        return f"[{number}]({url})" if url else f"[{number}]"

    return Notation(_NUMBERED, read, write)


_FENCE = re.compile(r"\s{0,40}(`{3,}|~{3,})")
_SEPARATOR = re.compile(r"[\s:|-]*")
_LIST_SIGN = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)、]\s*)?")
_DEMANDS = re.compile(
    r"(?:(?:应|要|需要?|该)(?:写进|要求|争取|谈)|条件|要求|谈判|下一步|行动)[^。；;]{0,24}$"
    r"|\b(?:conditions?|demands?|requirements?|ask for|insist on|negotiate|next steps?|to do)\b"
    r"[^.;]{0,60}$",
    re.I,
)
_END = re.compile(r"[。！？!?]+[”」』）)\"’*]*\0*|\.[”\")’*]*(?=[\0\s]|$)[ \t]?\0*|\.\0+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|ca|No|St|Mr|Mrs|Dr|Prof|Fig|Mt|pp|\w)|\s[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 8
_DATE_AROUND = re.compile(r"\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\. \d")


def sentences(text: str, notation: Notation) -> Iterator[Sentence]:
    """Yield the sentences of an answer; headings, table heads and fenced code are none."""
    blanked, citations = _blank(text, notation)
    at, fence, head, lead = 0, "", "", ""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        start, at = at, at + len(line)
        match = _FENCE.match(line)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1][:3]
            continue
        if fence or not line.strip():
            continue
        item = _is_item(line)
        lead = lead if item else line
        if line.lstrip().startswith("#"):
            continue
        row = line.lstrip().startswith("|")
        if row and is_table_rule("".join(lines[index + 1 : index + 2])):
            head = blanked[start:at].replace("\0", "").strip()
            continue
        if row and is_table_rule(line):
            continue
        head = head if row else ""
        demanded = item and _DEMANDS.search(lead) is not None
        for begin, end in _spans(blanked[start:at], row=row):
            breathe()
            sentence = _sentence(text, blanked, citations, start + begin, start + end, row=row)
            yield replace(sentence, head=head, demanded=demanded) if head or demanded else sentence


def _is_item(line: str) -> bool:
    """Return whether a line begins with the sign of a list."""
    sign = _LIST_SIGN.match(line)
    return sign is not None and bool(sign[0].strip())


def is_table_rule(line: str) -> bool:
    """Return whether a line is the rule below a table's head."""
    return "---" in line and _SEPARATOR.fullmatch(line) is not None


def _blank(text: str, notation: Notation) -> tuple[str, list[Citation]]:
    """Return the text with each citation blanked, of the same length, and the citations."""
    citations = [
        Citation(f.start(), f.end(), notation.read(f)) for f in notation.pattern.finditer(text)
    ]
    with_ids = [citation for citation in citations if citation.ids]
    out = list(text)
    for citation in with_ids:
        out[citation.start : citation.end] = "\0" * (citation.end - citation.start)
    return "".join(out), with_ids


def _spans(line: str, *, row: bool) -> Iterator[tuple[int, int]]:
    if row:
        yield 0, len(line.rstrip())
        return
    sign = _LIST_SIGN.match(line)
    at = sign.end() if sign else 0
    for stop in _END.finditer(line, at):
        near = max(at, stop.start() - _LONGEST_ABBREVIATION)
        if stop[0].startswith(".") and _ABBREVIATION.search(line, near, stop.start() + 1):
            continue
        if _DATE_AROUND.search(line[max(at, stop.start() - 5) : stop.start() + 3]):
            continue
        if line[at : stop.end()].strip("\0 \t"):
            yield at, stop.end()
            at = stop.end()
    if line[at:].strip("\0 \t\r\n"):
        yield at, len(line.rstrip())


def _sentence(
    text: str, blanked: str, citations: Sequence[Citation], begin: int, end: int, *, row: bool
) -> Sentence:
    while begin < end and text[begin] in " \t":
        begin += 1
    while end > begin and text[end - 1] in " \t\r\n":
        end -= 1
    inside = tuple(c for c in citations if begin <= c.start < end)
    return Sentence(text[begin:end], blanked[begin:end], begin, inside, row)


_NO = (
    r"no|not|none|nothing|nobody|never|unable to|cannot"
    r"|(?:do|does|did|could|can|is|are|was|were)n['’]t"
)
_TOLD = (
    r"find|found|publish(?:es|ed)?|says?|said|stat(?:e|es|ed)|mention(?:s|ed)?|confirm(?:s|ed)?"
    r"|verif(?:y|ies|ied)|reports?|reported|measures?|measured|documents|documented"
    r"|disclos(?:e|es|ed)|specif(?:y|ies|ied)"
)
_SOURCE = r"sources?|pages?|articles?|figures?|information|evidence|interviews?"
_TOLD_HAN = (
    r"(?:查到|查得|找到|公布|写(?!字)|提到|提及|列出|列明|说明(?!书)|说到|给出|测过|测量|披露|统计"
    r"|报道|证实|核实|记载|收录|注明|透露)"
)
_SOURCE_HAN = r"(?:资料|来源|网页|文章|记录|页面|报道|官网)"
_ABSENT = re.compile(
    r"(?:没有?|未能?|查不|找不)(?:有)?(?:查到|找到|查得|检索到|搜到|到|列出|给出|提到|说明|提供|公布|直接读到)|记录(?:里|中)没有"
    r"|资料(?:里|中)没有|还没有预报|没有(?:相关)?(?:记录|资料|数据|来源|外部公开资料)|不详|未知|无法确认"
    r"|\bnot (?:be )?(?:found|researched|stated|given|listed|confirmed|verified|known|available)\b"
    r"|\bno\b[^.;]{0,80}\b(?:found|available|listed|given|confirm\w*)\b|\bno source\b|\bunknown\b"
    r"|\bI (?:do not|don['’]t) know\b"
    r"|\bdo(?:es)? not (?:say|name|give|state|hold|list)\b|\bnothing was found\b"
    r"|\bcould not be (?:found|verified|confirmed)\b"
    r"|\d\s*(?:公里|千米|米|k?m)\s*(?:以内|之内|范围内|内)[^，。；]{0,4}没有|\bnone within \d"
    rf"|(?:没有?|未|尚未|从未)[^，。；、\d]{{0,8}}?{_TOLD_HAN}"
    rf"|{_SOURCE_HAN}[^，。；]{{0,6}}[没未不][^，。；]{{0,6}}{_TOLD_HAN}"
    rf"|\b(?:{_NO})\b[^.;,]{{0,40}}?\b(?:{_TOLD})\b"
    rf"|\b(?:no|any|none of the)\b[^.;,]{{0,30}}?\b(?:{_SOURCE})\b"
    rf"|\b(?:gives?|gave|contains?|has|have|names?) no\b[^.;,]{{0,20}}?\b(?:{_SOURCE}|numbers?)\b",
    re.I,
)
_ABOUT_WHAT = re.compile(r"\W*(?:for|about|on|as for|regarding|关于|对于)\b", re.I)
_LABEL_ALONE = re.compile(r"[*_\s]*[^\W\d_]{1,12}(?: [a-z]{1,12})?[*_\s]*[:：][*_\s\0,;.，、；。]*")
_LABEL = re.compile(r"\W*\*\*[^*\n]{1,60}\*\*[:：]?")
_ASSUMPTION = re.compile(
    r"\W*(?:(?:(?:our|my|the) )?assum\w+|[^，。；:：\d]{0,12}假[设定])\W{0,3}[:：]", re.I
)
_SUPPOSED = re.compile(
    r"\W*(?:(?:(?:i|we) assume|assum(?:e|ed|ing)|suppos(?:e|ing))\b|假[设定如]|若按)"
    r"(?:[^，。；;,]|,(?=\d))+",
    re.I,
)
_MADE_AT = re.compile(
    r"按(?:照)?[^\d，。；、]{0,8}\d[\d,.]*[^\d，。；、]{0,6}(?=[算计估]|[、，][^，。；]{0,12}\d)"
)
_CASE = re.compile(
    r"\b(?:with|if|for|instead of|at) (?:only |about |say )?\d[\d,.]*(?![\d,.]|\s?[%$€£¥])"
    r"|\bof \d[\d,.]*(?= [a-z]+ (?:a|an|per|each) (?:second|minute|hour|day|week|month))",
    re.I,
)
_PAST = r"(?:超过|超出|低于|高于|大于|小于|少于|多于|不到|达到|[涨增]到)"
_THRESHOLD = re.compile(
    rf"(?:若|如果|一旦|要是|除非|只要|直到|等到)[^，。；,;]{{0,40}}?(?:{_PAST}|到了?)[^，。；,;]{{0,16}}"
    rf"|(?:{_PAST}|到)\s?\d[^，。；,;]{{0,24}}?(?=时)"
    rf"|{_PAST}\s?\d[^，。；;]{{0,40}}?(?=[，,]?(?:就|再|才|则))"
    r"|\b(?:if|once|unless|until|when|as soon as)\b[^,.;]{0,60}?"
    r"\b(?:exceeds?|above|below|over|under|(?:more|fewer|less) than|beyond|past"
    r"|reach(?:es)?|pass(?:es)?)\b"
    r"(?:[^,.;]|[.,](?=\d)){0,24}",
    re.I,
)
_TRIAL = re.compile(
    r"用\s?\d[^，。；]{0,20}?(?:测(?![得出到])|试)"
    r"|\b(?:test|measure|benchmark|try)\b[^,.;]{0,20} (?:with|on|against) \d[^,.;]{0,30}",
    re.I,
)
_CHOOSES = re.compile(
    r"[换迁]|改[用选为]|[选用]|考虑|建议|重新|演练|另[找选]|划算|值得"
    r"|\b(?:choose|switch|move|migrat\w+|(?:re)?consider|revisit|prefer|pick|use|go (?:with|for)"
    r"|worth|pays? off|wins?|change)\b",
    re.I,
)
_NEAR_LIMIT = 12
_LIMITS = re.compile(
    r"(?:最多|至多|上限|不超过|只支持)[^，。；]*$"
    r"|\b(?:at most|up to|limit\w*|maximum|only)\b[^,.;]*$",
    re.I,
)
_FAILS = re.compile(
    r"[^，。；,;|]{0,24}?"
    r"(?:不了|不能|无法|不够|不支持|超出|\b(?:cannot|can['’]t|won['’]t|would not|fails?)\b)",
    re.I,
)
_PROVIDES = re.compile(
    r"一台|[一两]个节点|机器|实例|配置?|预?留出?|预算|备(?:好|足|出)"
    r"|\b(?:machines?|instances?|nodes?|servers?|budget|allow|reserve|set aside|provision"
    r"|plan for)\b",
    re.I,
)
_CALCULATION = re.compile(
    r"\d\s*[×÷+*/−-]\s*[$€£]?\d[^;。；]{0,40}?=|据此[推估]算|\bour estimate\b", re.I
)
_ADVICE = re.compile(
    r"\W*(?:(?:my|our) )?(?:advice|tips?|recommendations?|suggestions?|how to choose"
    r"|rule of thumb|which (?:one )?to (?:pick|choose|take))\s*(?:\*\*)?\s*[:：–—]"
    r"|\W*(?:我的)?(?:建议|提示|怎么选|如何选择|选哪个|推荐)(?:\*\*)?\s*[:：]",
    re.I,
)
_WEIGHS = re.compile(
    r"\b(?:other|another|most|several|two) (?:\w+ )?(?:sources?|pages?|articles?|guides?)\b"
    r"|(?:其他|另外|另有|多数|别的)[^，。]{0,4}(?:来源|资料|网页|文章)",
    re.I,
)


_TIME = r"\d{1,2}(?:[:：]\d\d|\s?点半?|\s?[ap]\.?m\b)"
_PLANNED = (
    re.compile(
        rf"\W{{0,20}}(?:\*\*[^*\n]{{1,60}}\*\*|[^，。,.:：\n]{{1,40}}?)\s{{0,20}}[（(]([^（）()\n]{{0,20}}?{_TIME}[^（）()\n]{{0,20}})[)）]",
        re.I,
    ),
    re.compile(rf"\W*({_TIME}(?:\s*[-–—~～至到]\s*{_TIME})?)(?=[\s*:：，,])", re.I),
)
_HOURS = re.compile(r"[开营闭关]|[周每]|[-–—~～至到]\s*\d|\b(?:open|clos|until|daily|from)", re.I)
_CLAUSE_BEGINS = r"(?:^|[|，,；;。.])[\s*]*"
_DAY_PART = r"(?:第.天|当天|次日|周[一二三四五六日])?(?:清晨|早上|上午|中午|下午|傍晚|晚上)?"
_GOES = (
    r"(?:打车|出发|乘|坐|前往|抵达|到达?|去|登|游|逛|看|吃|入住|退房|集合|返?回|取|离开|走|骑|步行)"
    r"(?!\s?\d|凌晨|清晨|早|上午|中午|下午|傍晚|晚|夜|深夜|次日|闭|关|打烊)"
)
_GO = (
    r"(?:take|walk|ride|go|head|leave|board|visit|climb|arrive|check in|check out|have|return"
    r"|set off|start|drive|meet|be there|be at)"
)
_GOING = (
    re.compile(
        rf"{_CLAUSE_BEGINS}{_DAY_PART}\s?({_TIME})\s?(?:左右|前后|再|就|先)?"
        rf"(?:从[^，。；|\d]{{1,12}}?)?{_GOES}"
    ),
    re.compile(rf"{_CLAUSE_BEGINS}(?:(?:at|by|around) )?({_TIME}),?\s+{_GO}\b", re.I),
    re.compile(
        rf"{_CLAUSE_BEGINS}(?:then )?{_GO}\b[^|;,.\d]{{0,40}}?\b(?:at|by|around|before) ({_TIME})",
        re.I,
    ),
)
_STAY = re.compile(
    r"(?:[，,；;]\s*|(?:停留|逗留|游览|参观|逛|玩|\b(?:stay|allow|spend))\s?)"
    r"(?:约|大约|about |around )?"
    r"(\d+(?:\.\d+)?\s?(?:个?小时|分钟|hours?|minutes?))(?:左右)?\s*(?=$|[|，,；;。.])",
    re.I,
)
_ITINERARY = re.compile(
    r"第[一二三四五\d]+天|[上下中]午|傍晚|晚上|\b(?:day \d|morning|afternoon|evening)\b", re.I
)
_HOURS_BEHIND = re.compile(r"\W*(?:开|营业|闭|关|open|clos)", re.I)


def plan_times(text: str, head: str = "") -> list[range]:
    """Return where a plan says at what time one should go or be somewhere, and for how long.

    `head` is that of the table whose row the text is.
    """
    spans = list[range]()
    for pattern, hours in zip(_PLANNED, (_HOURS, None), strict=True):
        match = pattern.match(text)
        if not match or _HOURS_BEHIND.match(text, match.end(1)):
            continue
        if hours is None or not hours.search(match[1]):
            spans.append(range(*match.span(1)))
    spans += [range(*match.span(1)) for going in _GOING for match in going.finditer(text)]
    if spans or _ITINERARY.search(f"{head} {text[1:].partition('|')[0]}" if head else ""):
        spans += [range(*match.span(1)) for match in _STAY.finditer(text)]
    return spans


_CLAUSE_PARTS = re.compile(r"([，；;]|,(?!\d)|\bbut\b|\bwhile\b)")


def asserted(text: str) -> str:
    """Return a sentence with the clauses blanked that say what was not found."""
    if not _ABSENT.search(text):
        return text
    parts = _CLAUSE_PARTS.split(text)
    about = bool(_ABOUT_WHAT.match(text))
    first = next((i for i, part in enumerate(parts) if _ABSENT.search(part)), 0)
    return "".join(
        " " * len(part)
        if _ABSENT.search(part) or (i > 1 and _goes_on(parts, i)) or (about and i < first)
        else part
        for i, part in enumerate(parts)
    )


def _goes_on(parts: Sequence[str], index: int) -> bool:
    """Return whether a part only continues a list of what was not found."""
    before = "".join(parts[:index])
    return bool(_ABSENT.search(before)) and bool(
        re.match(r"\s*(?:以及|和|及|(?:and|or|nor)\b)", parts[index])
    )


def is_label(text: str) -> bool:
    """Return whether a line is only a bold label or ends in a colon, and heads what follows."""
    return _LABEL.fullmatch(text.strip()) is not None or text.rstrip(" *").endswith((":", "："))


def statements(text: str, notation: Notation) -> Iterator[Sentence]:
    """Yield the sentences that are more than a label with a colon and citations behind it."""
    for sentence in sentences(text, notation):
        if not _LABEL_ALONE.fullmatch(sentence.plain):
            yield sentence


def is_advice(text: str) -> bool:
    """Return whether a sentence says that it is the writer's advice."""
    return _ADVICE.match(text) is not None


def is_assumption(text: str) -> bool:
    """Return whether a sentence says what the writer assumes, where the question left it open."""
    return _ASSUMPTION.match(text) is not None


def supposed(text: str) -> range:
    """Return where a sentence says what the writer assumes: all of it, or its first clause."""
    clause = _SUPPOSED.match(text)
    return range(len(text) if is_assumption(text) else clause.end() if clause else 0)


def hypotheses(text: str) -> list[range]:
    """Return where a calculation says with which numbers of its own it is made.

    A price or a share needs words for that ("按45%算"), not "with" alone.
    """
    spans = [range(*match.span()) for match in _MADE_AT.finditer(text)]
    if _CALCULATION.search(text):
        spans += [range(*match.span()) for match in _CASE.finditer(text)]
    return spans


def thresholds(text: str) -> list[range]:
    """Return where advice says from which number on another choice is better, and how to test."""
    spans = [range(*match.span()) for match in _THRESHOLD.finditer(text)]
    if not spans or not _CHOOSES.search(text):
        return []
    return [*spans, *(range(*match.span()) for match in _TRIAL.finditer(text))]


def is_excluded(text: str, limit: int, end: int) -> bool:
    """Return whether a text says what does not work beyond a limit that it names before.

    `limit` is where the limit's figure begins, `end` where the excluded figure ends.
    """
    named = _LIMITS.search(text[:limit][-_NEAR_LIMIT:])
    return named is not None and _FAILS.match(text, end) is not None


def provides(text: str) -> bool:
    """Return whether a sentence says what size to take or how much to set aside."""
    return _PROVIDES.search(text) is not None


def weighs_sources(text: str) -> bool:
    """Return whether a sentence holds what it cites against other sources."""
    return _WEIGHS.search(text) is not None
