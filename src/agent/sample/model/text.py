"""Read a request: its tags, and the records and sources listed between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.evidence.citations import ID, MARKER, ids_in
from agent.evidence.quotes import marked_stretches
from agent.sample.model.request import ModelTurn
from agent.texts import Language, detect_language

_DOCUMENT = re.compile(
    r"(?:[(（](?P<kind>[^()（）,，]*)[^()（）]*[)）]\s*)?(?P<title>.*?)(?: — (?P<text>.*))?"
)
_PAGE = r"(?:, p\. \d+|，第 \d+ 页)"
_PASSAGE = re.compile(rf"(?P<title>.*?(?={_PAGE})|[^:›]*?){_PAGE}?(?: › [^:]*)?: (?P<text>.*)")
_ID = rf"({ID}|c\d+)"
_SHOWN = re.compile(rf"(?:^|[>›])(?:\[\^)?{_ID}[]:]? (.+)$", re.MULTILINE)
_OPENING = re.compile(r"[<‹](\w+)\s([^<>‹›]*)[>›]\n?")
_UNFENCED = str.maketrans("‹›", "<>")
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
    inside, closing, _ = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return inside.strip() if closing else ""


def lines(text: str, tag: str) -> list[str]:
    return [line.strip() for line in block(text, tag).splitlines() if line.strip()]


def number(text: str, tag: str, default: int) -> int:
    told = block(text, tag)
    return int(told) if told.isdecimal() else default


def elements(text: str, tag: str) -> list[tuple[dict[str, str], str]]:
    """Return the attributes and content of each `<tag …>`, fenced as foreign text or not."""
    plain = text.translate(_UNFENCED)
    return [
        (attributes, text[at:end].strip())
        for name, attributes, at in _openings(text)
        if name == tag and (end := plain.find(f"</{tag}>", at)) >= 0
    ]


def _openings(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield the name of each tag with attributes, these, and where its content begins."""
    for opening in _OPENING.finditer(text):
        yield opening[1], dict(_ATTRIBUTE.findall(opening[2])), opening.end()


def record_lines(text: str) -> list[RecordLine]:
    """Return the marked lines of a text, their fields split at ` | `."""
    return [RecordLine(name, tuple(line.split(" | "))) for name, line in _marked_lines(text)]


def _marked_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands behind each marker that begins a line, with its id."""
    for line in map(str.strip, text.splitlines()):
        if (marker := MARKER.match(line)) and (rest := line[marker.end() :].strip()):
            yield marker[1], rest


def sources(text: str) -> list[PromptSource]:
    """Return the sources a text lists, results and pages first."""
    rows: list[PromptSource] = []
    for row, body in (*elements(text, "result"), *elements(text, "page")):
        first, _, rest = body.partition("\n")
        title, own = (row["title"], body) if "title" in row else (first, rest or body)
        rows.append(PromptSource(row.get("id", ""), title, own, url=row.get("url", "")))
    passages = block(text, "passages")
    for part, pattern in ((text.replace(passages, ""), _DOCUMENT), (passages, _PASSAGE)):
        matches = [(name, pattern.fullmatch(line)) for name, line in _marked_lines(part)]
        rows += [PromptSource(name, **match.groupdict("")) for name, match in matches if match]
    return rows


def ids_shown(text: str) -> list[tuple[str, str]]:
    """Return every id that a text shows, with what stands behind it."""
    rows = [
        (name, f"{' '.join(attributes.values())} {text[at:].partition(chr(10))[0]}")
        for _, attributes, at in _openings(text)
        if (name := attributes.pop("id", ""))
    ]
    return [*_SHOWN.findall(text), *rows]


def numbered_in_block(text: str, tag: str) -> list[tuple[str, str]]:
    """Return a block's passages or statements, each with its number; headings have h1, h2."""
    rows = (line.partition("   (In: ")[0].partition(" ") for line in block(text, tag).splitlines())
    return [(name, told) for name, _, told in rows if name.removeprefix("h")[:1].isdecimal()]


def cited(text: str) -> list[tuple[str, str, str]]:
    """Return each cited stretch of a text with its first id, and that one's title if it is told."""
    titles = dict[str, str]()
    for line in text.splitlines():
        name, _, title = line.rpartition(" = ")[2].partition(" ")
        names = [*line.split(" = ")[:-1], name]
        titles |= dict.fromkeys(names, title) if title and ids_in(line) >= {*names} else {}
    stretches = [(stretch.strip().rpartition("\n")[2], ids[0]) for stretch, ids in
                 marked_stretches(text)]  # fmt: skip
    return [(part, name, titles.get(name, "")) for part, name in stretches if part]


def urls(text: str) -> list[str]:
    """Return the addresses of the results that a search brought, each once."""
    rows = (attributes.get("url", "") for attributes, _ in elements(text, "result"))
    return list(dict.fromkeys(filter(None, rows)))
