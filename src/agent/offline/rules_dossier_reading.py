"""What a dossier's prompt holds: whole sentences, each with its source and the kind of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.evidence.markers import MARKER
from agent.language import Language, filled

from .rules_text import Sentence, sentences

_ENTRY = re.compile(rf"{MARKER.pattern}\s*(?:[(（]([^()（）]*)[)）]\s*)?(.*)")
_AFTER_TITLE = re.compile(r"^(?:.*?(?:, p\. \d+|，第 \d+ 页): |.*?: )")
_FIGURE = re.compile(rf"{MARKER.pattern}\s*(.+?)[:：]\s*(\S+)\s+(.+?)\s*[(（]([^()（）]*)[)）]$")
_ENDED = re.compile(r"[。！？!?.]['\"”’」』）)]*$")
_INFORMATION = re.compile(
    r"内置示例|示例论文|本示例|示例文档|示例新闻|本文|资料来自"
    r"|bundled sample|this (?:sample|note|review)\b",
    re.IGNORECASE,
)
_FIELDS = re.compile(r"(?:^|\s)[^\s:：]{2,12}: ")
"""A profile's fields, which are no sentences."""
LEANS = re.compile(
    r"(?:It|Its|They|Their|This|These|Those|Such|Below this|Above this)\b|其(?!中)|它|这"
)
"""Begins a sentence that makes no sense without the one before."""
_LISTED = re.compile(r"(?:^|\s)[-*•]\s+")
_LONGEST = 260
KINDS: dict[str, dict[Language, str]] = {
    "encyclopedia": {"zh": "百科", "en": "Encyclopedia"},
    "paper": {"zh": "论文", "en": "Papers"},
    "document": {"zh": "文档原文", "en": "Documents"},
    "filing": {"zh": "提到它的公告", "en": "Filings that speak of it"},
    "statement": {"zh": "报表", "en": "Statements"},
    "page": {"zh": "网页", "en": "Web pages"},
}
_NAMED: dict[str, str] = {
    "百科": "encyclopedia",
    "论文": "paper",
    "公告": "filing",
    "报表": "statement",
    "网页": "page",
    "web page": "page",
}
_SAID: dict[Language, str] = {
    "zh": "{name}为{value} {unit}（{period}）。",
    "en": "{name}: {value} {unit} ({period}).",
}


@dataclass(frozen=True)
class Told:
    """A sentence of the material, with the kind of its source and what that says in all."""

    kind: str
    sentence: Sentence
    whole: str = ""


def documents(text: str) -> Iterable[Told]:
    """The whole sentences of a task's documents; a filing is one, figures stand elsewhere."""
    for line in text.splitlines():
        if not (entry := _ENTRY.match(line.strip())):
            continue
        named = re.split("[,，]", entry[2] or "")[0].strip()
        kind = _NAMED.get(named, named if named in KINDS else "page")
        body = entry[3].partition(" — ")[2]
        if kind == "filing" and body:
            yield Told(kind, Sentence(f"{body.rstrip('.')}.[^{entry[1]}]"))
        elif kind != "statement":
            yield from _whole(kind, entry[1], body, entry[3])


def passages(text: str) -> Iterable[Told]:
    """The whole sentences of passages, without the title that stands before them."""
    for line in text.splitlines():
        if entry := _ENTRY.match(line.strip()):
            text = _AFTER_TITLE.sub("", line.strip())
            yield from _whole("document", entry[1], text, entry[3])


def _whole(kind: str, name: str, text: str, whole: str) -> Iterable[Told]:
    """Those that are neither cut off nor about the text itself."""
    told = True
    for sentence in sentences(_LISTED.sub("\n", text)):
        bare = sentence.bare
        usual = _ENDED.search(bare) and len(bare) <= _LONGEST and len(_FIELDS.findall(bare)) < 2
        leaning = LEANS.match(bare) and not told
        told = bool(usual and not leaning and not _INFORMATION.search(bare))
        if told:
            yield Told(kind, Sentence(f"{bare}[^{name}]"), whole)


def figures(text: str, language: Language) -> list[Told]:
    """Each figure as a sentence, the newest periods first."""
    found = [match for line in text.splitlines() if (match := _FIGURE.match(line.strip()))]
    found.sort(key=lambda match: max(re.findall(r"\d{4}", match[5]), default=""), reverse=True)
    told = list[Told]()
    for name, item, value, unit, period in (match.groups() for match in found):
        said = {"name": item, "value": value, "unit": unit, "period": period}
        sentence = filled(_SAID[language], said)
        told.append(Told("statement", Sentence(f"{sentence}[^{name}]")))
    return told
