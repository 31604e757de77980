"""Read a request: its tags, and the records and sources listed between them."""

import re
from dataclasses import dataclass

from agent.evidence.citations import ID, MARKER
from agent.sample.model.request import ModelTurn
from agent.texts import Language, detect_language

_MARKED = re.compile(rf"^\s*{MARKER.pattern}\s*(.+?)\s*$", re.MULTILINE)
_DOCUMENT = re.compile(
    r"(?:[(（](?P<kind>[^()（）,，]*)[^()（）]*[)）]\s*)?(?P<title>.*?)(?: — (?P<text>.*))?"
)
_PAGE = r"(?:, p\. \d+|，第 \d+ 页)"
_PASSAGE = re.compile(rf"(?P<title>.*?(?={_PAGE})|[^:›]*?){_PAGE}?(?: › [^:]*)?: (?P<text>.*)")
_ID = rf"({ID}|c\d+)"
_SHOWN = re.compile(rf"(?:^|[>›])(?:\[\^)?{_ID}[]:]? (.+)$", re.MULTILINE)
_ELEMENT = re.compile(rf"[<‹]\w+ [^<>‹›]*?id=[\"”]{_ID}[\"”]([^<>‹›]*)[>›]\n?(.*)")
_NUMBERED = re.compile(r"^(\d+(?:\.\d+|[a-z])?) (.*?)(?:   \(In: .*)?$", re.MULTILINE)
_CITED = re.compile(rf"([^\n]+?)\s*\[\^({ID})\](?:\[\^{ID}\])*")
_TITLED = re.compile(rf"^({ID}(?: = {ID})*) (.+)$", re.MULTILINE)
_URL = re.compile(r'<result [^>]*?url="([^"]+)"')
_ATTRIBUTE = re.compile(r'(\w+)=["”]([^"”]*)["”]')


@dataclass(frozen=True)
class RecordLine:
    """Hold one line of places, routes or weather: its id, and its fields."""

    id: str
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fields[0]

    @property
    def text(self) -> str:
        return " | ".join(self.fields)

    def shown(self, most: int = 6) -> str:
        """Return the name and the facts as listed, then the marker."""
        facts = " · ".join(self.fields[1:most])
        return f"{self.name}{' — ' if facts else ''}{facts} [^{self.id}]"


@dataclass(frozen=True)
class PromptSource:
    """Hold a listed source: a result, a page, a document or a passage."""

    id: str
    title: str
    text: str
    kind: str = ""
    url: str = ""


def task_of(turn: ModelTurn) -> str:
    """Return the name in `<task>`, with which every system prompt begins; "" where it is not.

    A prompt with several phases says at its end which one it asks for.
    """
    return block(turn.user, "phase") or block(turn.system, "task")


def reply_language(turn: ModelTurn) -> Language:
    """Return the language asked for; where nobody reads the reply, the question's."""
    if told := block(turn.user, "answer_language"):
        return "zh" if "Chinese" in told else "en"
    return detect_language(block(turn.user, "question") or turn.user)


def block(text: str, tag: str) -> str:
    """Return the text between `<tag>` and `</tag>`; "" where the block is missing."""
    match = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", text, re.DOTALL)
    return match[1].strip() if match else ""


def lines(text: str, tag: str) -> list[str]:
    return [line.strip() for line in block(text, tag).splitlines() if line.strip()]


def number(text: str, tag: str, default: int) -> int:
    match = re.search(r"\d+", block(text, tag))
    return int(match[0]) if match else default


def elements(text: str, tag: str) -> list[tuple[dict[str, str], str]]:
    """Return the attributes and content of each `<tag …>`, fenced as foreign text or not."""
    matches = re.findall(rf"[<‹]{tag}\s([^<>‹›]*)[>›]\n?(.*?)[<‹]/{tag}[>›]", text, re.DOTALL)
    return [(dict(_ATTRIBUTE.findall(attributes)), body.strip()) for attributes, body in matches]


def record_lines(text: str) -> list[RecordLine]:
    """Return the marked lines of a text, their fields split at ` | `."""
    return [RecordLine(name, tuple(line.split(" | "))) for name, line in _MARKED.findall(text)]


def sources(text: str) -> list[PromptSource]:
    """Return the sources a text lists, results and pages first."""
    rows: list[PromptSource] = []
    for row, body in (*elements(text, "result"), *elements(text, "page")):
        first, _, rest = body.partition("\n")
        title, own = (row["title"], body) if "title" in row else (first, rest or body)
        rows.append(PromptSource(row.get("id", ""), title, own, url=row.get("url", "")))
    passages = block(text, "passages")
    for part, pattern in ((text.replace(passages, ""), _DOCUMENT), (passages, _PASSAGE)):
        matches = [(name, pattern.fullmatch(line)) for name, line in _MARKED.findall(part)]
        rows += [PromptSource(name, **match.groupdict("")) for name, match in matches if match]
    return rows


def ids_shown(text: str) -> list[tuple[str, str]]:
    """Return every id that a text shows, with what stands behind it."""
    rows = [(name, f"{rest} {first}") for name, rest, first in _ELEMENT.findall(text)]
    return [*_SHOWN.findall(text), *rows]


def numbered_in_block(text: str, tag: str) -> list[tuple[str, str]]:
    """Return the passages or statements that a block lists, each with its number."""
    return _NUMBERED.findall(block(text, tag))


def cited(text: str) -> list[tuple[str, str, str]]:
    """Return each cited stretch of a text with its first id, and that one's title if it is told."""
    titled = _TITLED.findall(text)
    titles = {name: title for names, title in titled for name in names.split(" = ")}
    return [(part, name, titles.get(name, "")) for part, name in _CITED.findall(text)]


def urls(text: str) -> list[str]:
    """Return the addresses of the results that a search brought, each once."""
    return list(dict.fromkeys(_URL.findall(text)))
