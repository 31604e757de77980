"""Split an answer into what it states: sentences, items of lists, and cells of tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from agent.core.strings import code_fence, cut_at_break, is_table_rule, latin_length, letters_of
from agent.evidence.citations import NOT_FOUND
from agent.evidence.figures import figures
from agent.evidence.language import sentence_spans
from agent.evidence.notation import Notation
from agent.evidence.stated import states
from agent.evidence.tables import cells_of


@dataclass(frozen=True)
class Citation:
    """One citation in a text: where it stands, and the sources it names."""

    start: int
    end: int
    ids: tuple[str, ...]


NAMING = ("cell", "heading")
"""The kinds of statements that stay where they are, and need no source behind them."""
Key = tuple[str, str, str, tuple[str, ...]]
"""What tells a statement from others: its row, head, words and sources."""


@dataclass(frozen=True)
class Statement:
    """One sentence, or one cell of a table with its row's label and its column's head."""

    start: int
    end: int
    text: str
    """As it is written, with its citations."""
    plain: str
    """Its words, without citations, signs and emphasis."""
    citations: tuple[Citation, ...] = ()
    """In its own text, by characters of the whole one."""
    cited: tuple[str, ...] = ()
    """The sources it rests on: its own citations', else those of its row's label or end, or of its
    column's head."""
    kind: str = "sentence"
    """sentence, item, cell or heading."""
    row: str = ""
    head: str = ""
    context: str = ""
    """The heading above and the words before it: only to tell what "it" means."""
    block: int = 0
    line: int = 0
    """Where its line begins."""
    name: str = field(default="", compare=False)
    """Its number; in a table that of the row with a letter: 7b."""
    exact: tuple[str, ...] = field(default=(), compare=False)
    """Of what it cites what was named, of ids that share a number; `none`: nothing was found."""
    lent: tuple["Statement", ...] = field(default=(), compare=False)
    """Of one that cites nothing, those of its text that are near to it and do."""
    drafted: tuple[str, ...] = field(default=(), compare=False)
    """What its text cites anywhere, as far as that is written."""

    @property
    def key(self) -> Key:
        """Tell it from others, wherever it stands in the text."""
        return self.row, self.head, self.plain, self.cited

    @property
    def sources(self) -> tuple[str, ...]:
        """Return what it is judged by, of what is lent to a cell few: none if nothing was found."""
        if self.citations:
            return self.cited
        if NOT_FOUND in self.exact:
            return ()
        named = tuple(name for name in self.exact if name in self.cited)
        return (named or self.cited)[:_MOST_INHERITED]

    @property
    def said(self) -> str:
        """Return all that it says: the row's label and the column's head are part of it."""
        return " ".join(part for part in (self.row, self.head, self.plain) if part)


ITEM_MARK = r"(?:(?:[-*+•]|\d{1,3}[.)、])\s+|\d{1,3}、(?!\d))"
ITEM = re.compile(ITEM_MARK)
"""What an item of a list begins with: 3、 needs no blank behind it."""
_LEAD = re.compile(rf"\s{{0,40}}(?:>\s?)?{ITEM_MARK}?")
_HEADING = re.compile(r"\s{0,40}#{1,40} +(?=\S).{1,300}\Z", re.DOTALL)
_BOLD_LINE = re.compile(r"\s*\*\*([^*]{1,80}?)(?<![.。!！?？])\*\*[:：]?\s*")
_BOLD_NAME = re.compile(r"\*\*([^*\n]{2,60}?)[:：]?\*\*")
_BEFORE_COLON = re.compile(r"([^，,：:。.；;!?！？|*]{2,40}?)\s*(?:[：—–]|:(?!\d)|\s-\s)")
_RUN_IN = re.compile(r"\*\*[^*\d]{1,40}\*\*")
"""A head at the begin of a paragraph: it says nothing by itself."""
_SIGNS = re.compile(r"\s?[†‡]|\*\*|`")
_STOPS = ".。!！?？"
_A_NAME = 16
"""Characters of a row's label that is no more than one."""
_MOST_CONTEXT, _MOST_CELLS, _MOST_INHERITED, _A_FEW_WORDS = 160, 40, 4, 18


def item_name(item: Statement) -> str:
    """Return the name that an item begins with."""
    match = _BOLD_NAME.match(item.text) or _BEFORE_COLON.match(item.plain)
    return match[1].strip() if match else ""


def lead_in(words: str) -> str:
    """Return what tells what stands behind some words is about: they, or their beginning."""
    return cut_at_break(words, _MOST_CONTEXT)


class Splitter:
    """Split a text into statements, block by block: a text that is being written is read once."""

    def __init__(self, notation: Notation) -> None:
        self._notation = notation
        self._fenced = False
        self._heading = self._section = self._before = ""
        self._above = list[tuple[int, str]]()
        """The words that an item stands below, each with how deep the item is that they are of."""
        self._block = self._number = 0
        self._table: list[Statement] | None = None
        """The cells of its first row."""
        self._heads_read = 0
        self.headings: list[Statement] = []
        """Those that state nothing, and the last cells of rows without a value: h1, h2 and so on;
        nobody judges them."""

    def split(self, text: str, offset: int = 0) -> list[Statement]:
        """Return the statements of the next blocks of a text, which begin at an offset in it."""
        statements, at = list[Statement](), offset
        for line in text.splitlines(keepends=True):
            statements += self._named(self._of_line(line, at))
            at += len(line)
        return statements

    def _of_line(self, line: str, at: int) -> list[Statement]:
        bare = line.strip()
        is_fence = code_fence(line) is not None
        self._fenced ^= is_fence
        if self._fenced or is_fence:
            return []
        if not bare:
            self._before = self._before if self._table is None else ""
            self._block, self._table = self._block + 1, None
            return []
        if bare.startswith("|") and bare.count("|") > 1:
            return self._row(line, at)
        self._table = None
        if _HEADING.match(line) or _BOLD_LINE.fullmatch(line):
            return self._head_line(line, at)
        return self._sentences(line, at)

    def _head_line(self, line: str, at: int) -> list[Statement]:
        self._heading, self._before, self._above = line.strip().strip("#*:： "), "", []
        self._section = self._heading if _HEADING.match(line) else self._section
        self._block += 1
        words = line.strip().lstrip("# ")
        self._heads_read += 1
        head = self._statement(words, at + line.index(words))
        name = f"h{self._heads_read}"
        head = replace(head, kind="heading", block=self._block, line=at, name=name)
        is_long = latin_length(letters_of(head.plain)) >= _A_FEW_WORDS
        if is_long or any(states(each) for each in figures(head.plain)):
            # It is more than a name.
            return [head]
        self.headings.append(head)
        return []

    def _sentences(self, line: str, at: int) -> list[Statement]:
        lead = _LEAD.match(line)
        begin = lead.end() if lead else 0
        kind = "item" if line[:begin].strip() else "sentence"
        depth, before = len(line) - len(line.lstrip()), self._before
        if kind == "item":
            # An item stands below what the list, or the item that it is of, begins with.
            above = self._above or [(-1, "" if before[-1:] in _STOPS else before)]
            self._above = [one for one in above if one[0] < depth]
            before = self._above[-1][1]
        elif self._above:
            # What follows a list is not about its last item, nor about the bold line above.
            before, self._above, self._heading = "", [], self._section
        statements, label = [], ""
        spans = sentence_spans(line[begin:], self._notation.pattern, self._notation.names)
        for start, end in spans:
            name = label if letters_of(label) != letters_of(before) else ""
            context = " / ".join(filter(None, (self._heading, name, lead_in(before))))
            statement = self._statement(line[begin + start : begin + end], at + begin + start)
            is_head = _RUN_IN.fullmatch(statement.text) and end < len(line[begin:].rstrip())
            label = statement.plain.rstrip(".。:： ") if is_head else label
            if is_head and kind == "sentence":
                before = ""  # It begins something else than the paragraph above.
            if is_head or not letters_of(statement.plain):
                continue
            before = statement.plain
            label = label or (item_name(statement) if kind == "item" else "")
            statements.append(
                replace(statement, kind=kind, context=context, block=self._block, line=at)
            )
        if kind == "item" and statements:
            self._above.append((depth, statements[0].plain))
        self._before = before
        return statements

    def _statement(self, text: str, at: int) -> Statement:
        citations = tuple(
            Citation(at + match.start(), at + match.end(), ids)
            for match in self._notation.pattern.finditer(text)
            if (ids := self._notation.read(match))
        )
        plain = _SIGNS.sub("", self._notation.pattern.sub("", text)).strip()
        cited = tuple(dict.fromkeys(name for citation in citations for name in citation.ids))
        return Statement(at, at + len(text), text, plain, citations, cited)

    def _row(self, line: str, at: int) -> list[Statement]:
        if is_table_rule(line):
            return []
        read = islice(cells_of(line, at), _MOST_CELLS)
        cells = [self._statement(each.text, each.start) for each in read]
        if self._table is None:
            self._table, self._block = cells, self._block + 1
            return []
        label = cells[0]
        # A label with a source says more than a name.
        is_told = bool(label.citations) and len(label.plain) > _A_NAME
        # What stands behind a whole row is the row's; what a rival's cell cites is not.
        behind = cells[-1].cited if not any(cell.cited for cell in cells[:-1]) else ()
        rows = list[Statement]()
        for cell, head in zip_longest(cells, self._table[: len(cells)]):
            is_label = cell is label
            if not letters_of(cell.plain) or (is_label and not is_told):
                continue
            lent = dict.fromkeys([*label.cited, *(head.cited if head and not is_label else ())])
            rows.append(
                replace(cell, cited=cell.cited or tuple(lent) or behind, kind="cell", line=at,
                        row="" if is_label else label.plain, head=head.plain if head else "",
                        context=self._heading, block=self._block)
            )  # fmt: skip
        if not rows and cells[1:]:
            self._heads_read += 1
            name, row = f"h{self._heads_read}", label.plain
            self.headings.append(replace(cells[-1], kind="cell", row=row, line=at, name=name))
        return rows

    def _named(self, statements: Sequence[Statement]) -> list[Statement]:
        """Return the statements of a line with their numbers; cells of a row share one."""
        names = []
        for place, statement in enumerate(statements):
            if statement.kind == "heading":
                return [*statements]
            self._number += statement.kind != "cell" or not place
            letter = chr(ord("a") + place % 26) if statement.kind == "cell" else ""
            names.append(replace(statement, name=f"{self._number}{letter}"))
        return names


def statements(text: str, notation: Notation) -> list[Statement]:
    """Return the statements of a whole text."""
    return Splitter(notation).split(text)
