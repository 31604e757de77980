"""Read a request: its tags, and the records and sources listed between them."""

import re
from dataclasses import dataclass

from agent.evidence.citations import MARKER
from agent.sample.model.request import Turn
from agent.sample.sentences import Sentence, sentences
from agent.sample.subject import Subject
from agent.texts import Language, detect_language

_MARKED = re.compile(rf"^\s*{MARKER.pattern}\s*(.+?)\s*$", re.MULTILINE)
_DOCUMENT = re.compile(
    r"(?:[(（](?P<kind>[^()（）,，]*)[^()（）]*[)）]\s*)?(?P<title>.*?)(?: — (?P<text>.*))?"
)
_PAGE = r"(?:, p\. \d+|，第 \d+ 页)"
_PASSAGE = re.compile(rf"(?P<title>.*?(?={_PAGE})|[^:›]*?){_PAGE}?(?: › [^:]*)?: (?P<text>.*)")
_ATTRIBUTE = re.compile(r'(\w+)=["”]([^"”]*)["”]')


@dataclass(frozen=True)
class Record:
    """Hold one line of places, routes or weather: its id, and its fields."""

    id: str
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fields[0]

    def shown(self, most: int = 6) -> str:
        """Return the name and the facts as listed, then the marker."""
        facts = " · ".join(self.fields[1:most])
        return f"{self.name}{' — ' if facts else ''}{facts} [^{self.id}]"


@dataclass(frozen=True)
class Source:
    """Hold a listed source: a result, a page, a document or a passage."""

    id: str
    title: str
    text: str
    kind: str = ""
    url: str = ""

    def sentences(self) -> list[Sentence]:
        """Return its sentences, each with its marker."""
        own = sentences(self.text)
        return [Sentence(f"{s.bare}[^{self.id}]", self.title, self.kind) for s in own]


def task_of(turn: Turn) -> str:
    """Return the name in `<task>`, with which every system prompt begins; "" where it is not."""
    return block(turn.system, "task")


def language_of(turn: Turn) -> Language:
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


def records(text: str) -> list[Record]:
    """Return the marked lines of a text, their fields split at ` | `."""
    return [Record(name, tuple(line.split(" | "))) for name, line in _MARKED.findall(text)]


def sources(text: str, subject: Subject | None = None) -> list[Source]:
    """Return the sources a text lists, results and pages first; only those on the subject."""
    rows: list[Source] = []
    for row, body in (*elements(text, "result"), *elements(text, "page")):
        first, _, rest = body.partition("\n")
        title, own = (row["title"], body) if "title" in row else (first, rest or body)
        rows.append(Source(row.get("id", ""), title, own, url=row.get("url", "")))
    passages = block(text, "passages")
    for part, pattern in ((text.replace(passages, ""), _DOCUMENT), (passages, _PASSAGE)):
        matches = [(name, pattern.fullmatch(line)) for name, line in _MARKED.findall(part)]
        rows += [Source(name, **match.groupdict("")) for name, match in matches if match]
    return [s for s in rows if not subject or subject.is_named_in(f"{s.title} {s.text}")]


def quotable(text: str, subject: Subject) -> list[Sentence]:
    """Return the sentences of the listed sources on a subject, each with its marker."""
    return [s for source in sources(text, subject) for s in source.sentences() if s.ids]
