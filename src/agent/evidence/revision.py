"""Revise a checked text by its numbered statements: what the reviser is shown, what edits make.

A statement is known by its place, never by its words: a cell that was changed into words which
stand elsewhere, too, is new all the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from string import ascii_lowercase
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from agent.core.strings import letters_of, one_line
from agent.evidence.claims.corrected import left_out
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.statements import ITEM, NAMING, Statement
from agent.evidence.language import words
from agent.evidence.notation import Notation
from agent.evidence.tables import Change, cells_of, changed, signs_in, tables_in
from agent.evidence.totals import TOTAL

Cite = tuple[int, str]
"""An id that a text cites, with the character before which its number stands."""
Clean = Callable[[str], tuple[str, Sequence[Cite]]]
"""Make marked words those of a finished text, with what they cite."""
_LONGEST, _LONGEST_LINE, _LONGEST_LOOK = 6000, 1600, 600
_OF_ONE, _OWN = 320, 4
"""Tokens of passages that a statement may have, and how many of what it cites stand beside."""
_SIGNS = " \t\n⟨⟩<>[]().:"
BEGINNING = "0"
"""The place before the first statement."""
_UNANSWERED = "no statement answers it"


def _row_of(name: str) -> str:
    """Return the name of a cell's row: `7` of `7b`."""
    return name.rstrip(ascii_lowercase)


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_LONGEST].strip()


def _name(value: Any) -> str:
    return "" if value is None else str(value)[:12].strip(_SIGNS).lower()


def _names(value: Any) -> list[str]:
    """Return names of statements, however they are listed: `12, 7b` in one string, too."""
    each = value if isinstance(value, list) else str(value or "").split(",")
    return list(filter(None, map(_name, each)))


def _block(value: Any) -> str:
    """Return a text; a blank line at its begin stays: it makes a paragraph of its own."""
    return "\n" * str(value or "").startswith("\n") + _text(value)


_Text = Annotated[str, BeforeValidator(_text)]
_Block = Annotated[str, BeforeValidator(_block)]
_Name = Annotated[str, BeforeValidator(_name)]
_Names = Annotated[list[str], BeforeValidator(_names)]
_Look = Annotated[str, BeforeValidator(lambda value: one_line(_text(value), longest=_LONGEST_LOOK))]


class Edit(BaseModel):
    """A statement, a cell or a row (`7` of `7b`) in other words; no words take it out."""

    id: _Name = Field("", validation_alias=AliasChoices("id", "statement", "number"))
    text: _Text = ""
    settles: _Names = []
    """The lines of the review that it settles."""


class Insert(BaseModel):
    """What comes in behind a statement or a row, `0`: before the first one."""

    after: _Name = ""
    text: _Block = ""
    settles: _Names = []


class Passed(BaseModel):
    """A line of the review that errs or cannot be settled, and why."""

    line: _Name = ""
    why: _Text = ""


@dataclass(frozen=True)
class ReviewLine:
    """What is to be mended, and the statements or rows it is about."""

    name: str
    text: str
    at: Sequence[str] = ()
    look: str = ""
    """What is to be looked up for it."""

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


@dataclass(frozen=True)
class Look:
    """Something to look up before the rest can be said."""

    tool: str
    argument: str


def wanted_looks(lines: Iterable[ReviewLine], tools: Collection[str]) -> dict[Look, str]:
    """Return what lines of a review want looked up, each once, with the first line that does.

    Words without a tool are for the first of the tools.
    """
    looks = dict[Look, str]()
    for line in lines:
        tool, _, argument = line.look.replace("：", ":", 1).partition(":")
        if tool.strip() not in tools:
            tool, argument = next(iter(tools), ""), line.look
        if tool and (argument := argument.strip()):
            looks.setdefault(Look(tool.strip(), argument), line.name)
    return looks


class AskedPart(BaseModel):
    """One thing that is asked, the statements that answer it, and what their answer lacks."""

    asked: _Text = ""
    at: _Names = []
    lacks: _Text = ""
    look: _Look = ""
    """A tool and its argument, where that settles what nothing shown does."""


class ReviewFinding(BaseModel):
    """What a strict reader has against statements, and what should stand there."""

    at: _Names = []
    wrong: _Text = ""
    mend: _Text = ""
    look: _Look = ""

    @property
    def line(self) -> str:
        """Return where what is wrong, and what should stand there: that whole or not at all."""
        fault = f"{', '.join(self.at)}: {self.wrong}"
        whole = f"{fault} → {self.mend}" if self.mend else fault
        return whole if len(whole) <= _LONGEST_LINE else fault


class Review(BaseModel):
    """A whole text as its reader sees it; a check of statements never finds what it leaves out."""

    parts: list[AskedPart] = []
    findings: list[ReviewFinding] = []

    def lines(self, statements: Sequence[Statement]) -> list[ReviewLine]:
        """Return what is to be mended, a line each: what was asked first.

        What answers a part are statements that there are.
        """
        known = _names_of(statements)
        parts = [(part, [name for name in part.at if name in known]) for part in self.parts]
        holes = [
            (f"asked: {part.asked}{_at(at)}: {part.lacks or _UNANSWERED}", at, part.look)
            for part, at in parts
            if part.asked and (part.lacks or not at)
        ]
        faults = [(one.line, one.at, one.look) for one in self.findings if one.wrong]
        return [
            ReviewLine(f"r{number}", one_line(line, longest=_LONGEST_LINE), at, look)
            for number, (line, at, look) in enumerate([*holes, *faults], 1)
        ]


def _names_of(statements: Iterable[Statement]) -> set[str]:
    return {name for one in statements for name in (one.name, _row_of(one.name))}


def _at(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


class Revision(BaseModel):
    """What a writer changes of a text; what is right has no edit."""

    edits: list[Edit] = []
    inserts: list[Insert] = []
    passed: list[Passed] = []

    def takes_out(self, names: Collection[str]) -> bool:
        """Return whether all of some statements go; what comes in behind one may stand for it."""
        gone = {edit.id for edit in self.edits if not edit.text}
        filled = {insert.after for insert in self.inserts}
        return bool(names) and gone >= {*names} and filled.isdisjoint(names)

    def within(self, statements: Sequence[Statement]) -> Self:
        """Return it without changes whose place is none of a text: they neither do nor settle."""
        names = _names_of(statements) | {BEGINNING}
        edits = [edit for edit in self.edits if edit.id in names]
        inserts = [insert for insert in self.inserts if insert.after in names]
        return self.model_copy(update={"edits": edits, "inserts": inserts})

    def leaves(self, lines: Iterable[ReviewLine]) -> list[ReviewLine]:
        """Return the lines of a review that no change settles and that nobody passed with a reason.

        A change that names none settles those on its own place.
        """
        changes = [*((edit.id, edit.settles) for edit in self.edits),
                   *((insert.after, insert.settles) for insert in self.inserts)]  # fmt: skip
        done = {one.line for one in self.passed if one.why}
        done.update(chain.from_iterable(settles for _, settles in changes))
        places = {place for place, settles in changes if not settles}
        rows = {_row_of(place) for place in places}
        return [
            line
            for line in lines
            if line.name not in done
            and not any(at in rows or places & {at, _row_of(at)} for at in line.at)
        ]

    def joined(self, later: "Revision") -> "Revision":
        """Return both, of two edits of one statement the later one, and no insert twice."""
        named = {edit.id for edit in later.edits}
        edits = [*(edit for edit in self.edits if edit.id not in named), *later.edits]
        known = {insert.text for insert in self.inserts}
        new = [insert for insert in later.inserts if insert.text not in known]
        passed = [*self.passed, *later.passed]
        return Revision(edits=edits, inserts=[*self.inserts, *new], passed=passed)


@dataclass(frozen=True)
class Revised:
    """A text after its revision, and where what is new in it begins and ends."""

    text: str
    cites: Sequence[Cite] = ()
    """The ids that what is new in it cites."""
    new: list[tuple[int, int]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    """Where statements were taken out."""


@dataclass(frozen=True)
class _Cited:
    """Words in place of others, and what they cite."""

    change: Change
    cites: Sequence[Cite] = ()


def rewritten(before: Revised, changes: Iterable[Change]) -> Revised:
    """Return a text with further words in place of others, which are new; all else moves along."""
    return _made(before, map(_Cited, changes))


def _made(before: Revised, edits: Iterable[_Cited]) -> Revised:
    """Return a text with edits, which come in its order; what one takes out is gone there."""
    ends, grown = list[int](), [0]
    cites, new, gone, changes = list[Cite](), list[tuple[int, int]](), list[int](), list[Change]()
    for edit in edits:
        start, end, words = edit.change
        begin = start + grown[-1]
        cites += [(begin + at, name) for at, name in edit.cites]
        if words.strip():
            apart = len(words) - len(words.lstrip())
            new.append((begin + apart, begin + len(words.rstrip())))
        else:
            gone.append(begin)
        ends.append(end)
        grown.append(grown[-1] + len(words) - (end - start))
        changes.append(edit.change)

    def moved(at: int) -> int:
        return at + grown[bisect_right(ends, at)]

    cites += [(moved(at), name) for at, name in before.cites]
    new += [(moved(start), moved(end)) for start, end in before.new]
    gone += map(moved, before.gone)
    return Revised(changed(before.text, changes), sorted(cites), new, gone)


def numbered_draft(text: str, statements: Sequence[Statement], notation: Notation) -> str:
    """Return a text with `⟨12⟩` before each statement and its citations by id.

    Of a number that several ids share those stand there that its writer named; else the first.
    """
    ordered = sorted(statements, key=lambda one: one.start)
    parts = [(one.start, one.start, f"⟨{one.name}⟩") for one in ordered]
    begins = [one.start for one in ordered]
    for match in notation.pattern.finditer(text):
        ids, at = notation.read(match), bisect_right(begins, match.start()) - 1
        exact = ordered[at].exact if at >= 0 else ()
        if ids:
            parts.append((*match.span(), _marks([n for n in exact if n in ids] or ids[:1])))
    return changed(text, sorted(parts))


def passage_line(passage: Passage) -> str:
    """Return a passage behind its source's marker; what the reader said has none."""
    return (
        f"(said) {passage.text}"
        if passage.source == KNOWN
        else f"[^{passage.source}] {passage.text}"
    )


def deciding_passages(failing: tuple[Statement, Outcome], evidence: Evidence) -> list[Passage]:
    """Return the passages that decide a statement, and the best of those that it cites itself.

    Where it cites none these are of what its text cites beside it, or have most of its words: what
    shares a word or two with it is about something else.
    """
    statement, outcome = failing
    best, _, needed = evidence.telling(statement, _OF_ONE)
    beside = chain.from_iterable(one.cited for one in statement.lent)
    names, said = {*(statement.cited or beside)}, words(statement.said)
    own = [
        passage
        for passage in best
        if passage.source in names
        or (not statement.cited and 2 * len(said & passage.words) > len(said))
    ]
    return list(dict.fromkeys([*outcome.passages, *own[: max(_OWN, needed)]]))


def faults_block(
    statements: Sequence[Statement],
    outcomes: Sequence[Outcome],
    strangers: Mapping[int, Sequence[str]],
    evidence: Evidence,
    left: Mapping[str, str] = MappingProxyType({TOTAL: TOTAL}),
) -> list[str]:
    """Return an entry a statement that fails, cites what is no source or has a sign that is left.

    It has the words at fault, what a source says instead, the judge's proposal, and the sources of
    the passages that bear on it. `strangers` are ids that are no source, by the places of
    statements; `left` why code could not fill a sign in.
    """
    entries = list[str]()
    for at, (statement, outcome) in enumerate(zip(statements, outcomes, strict=True)):
        name = statement.name
        lines = [f"{name}: cites {one}, which is no source" for one in strangers.get(at, ())]
        if lines and not outcome.fails:
            names = evidence.sources_of(outcome.passages)
            lines += [f"  see {_marks(names)}"] if names else []
        if signs := [why for sign, why in left.items() if sign in statement.text]:
            lines += [f"{name}: unproved: {why}" for why in signs]
        elif outcome.fails:
            lines += _accused(statement, outcome, evidence)
        elif outcome.unproved:
            lines.append(f"{name}: unproved: {' / '.join(outcome.unproved)}")
        if lines:
            entries.append("\n".join(lines))
    return entries


def _accused(statement: Statement, outcome: Outcome, evidence: Evidence) -> list[str]:
    word = "refuted" if outcome.verdict == "contradicted" else "missing"
    names = evidence.sources_of(deciding_passages((statement, outcome), evidence))
    accuser = _marks(evidence.sources_of(outcome.passages)[:1])
    return [
        f"{statement.name}: {word}: {' / '.join(outcome.spans)}",
        *([f"  a source says: {outcome.quote} {accuser}"] if outcome.quote else []),
        *([f"  the sum gives: {outcome.value}"] if outcome.value else []),
        *([f"  proposal: {outcome.fix}"] if outcome.fix else []),
        *([f"  see {_marks(names)}"] if names else []),
    ]


def _marks(names: Iterable[str]) -> str:
    return "".join(f"[^{name}]" for name in names)


def applied(
    text: str, statements: Sequence[Statement], revision: Revision, clean: Clean
) -> Revised:
    """Return a text with edits and inserts; ids that it has not are left out.

    `clean` makes a writer's words those of the text.
    """
    by_name = {statement.name: statement for statement in reversed(statements)}
    of_cells = (one for one in reversed(statements) if one.kind == "cell")
    rows = {_row_of(cell.name): cell for cell in of_cells}
    edits, ordered, out = list[_Cited](), sorted(statements, key=lambda one: one.start), set[str]()
    for edit in revision.edits:
        if one := by_name.get(edit.id) or rows.get(edit.id):
            is_row = edit.id not in by_name or _is_row(text, one, edit.text)
            said = " ".join(edit.text.split())
            words = clean(said if is_row else _as_one(one, said))
            if words[0] or is_row or one.kind == "cell":
                edits.append(_cited(_edited(text, one, words[0], is_row=is_row), words))
            else:
                out.add(one.name)
    for insert in revision.inserts:
        after = by_name.get(insert.after) or rows.get(insert.after)
        if after or insert.after == BEGINNING:
            words, is_apart = clean(insert.text.strip()), insert.text.startswith("\n")
            change = _inserted(text, after, words[0], is_apart=is_apart) if after else (
                _begun(statements, words[0]))  # fmt: skip
            edits.append(_cited(change, words))
    gone = {n for n, one in enumerate(ordered) if one.name in out}
    spans, numbers = left_out(text, ordered, gone)
    edits += [_Cited((begin, end, "")) for begin, end in spans.values()]
    if out.isdisjoint(insert.after for insert in revision.inserts):
        # An item that stands for one that goes has its number.
        edits += map(_Cited, numbers)
    return _made(Revised(text), _apart(text, edits))


def _cited(change: Change, cleaned: tuple[str, Sequence[Cite]]) -> _Cited:
    words, cites = cleaned
    begins = max(0, change[2].find(words))
    return _Cited(change, [(begins + at, name) for at, name in cites])


def _apart(text: str, edits: Iterable[_Cited]) -> list[_Cited]:
    """Return the edits that change something, in the order of the text and none within another.

    What comes in behind words that are taken out, with their line, stands for them.
    """
    kept, at = list[_Cited](), 0
    # A stable order: of two inserts at one place the first one comes first.
    for edit in sorted(edits, key=lambda edit: edit.change[:2]):
        start, end, words = edit.change
        if start < at and start == end and words.strip() and not kept[-1].change[2]:
            begin, end, _ = kept.pop().change
            apart = len(words) - len(words.lstrip())
            cites = [(place - apart, name) for place, name in edit.cites]
            kept.append(_Cited((begin, end, words.strip() + text[start:end]), cites))
        elif start >= at and words != text[start:end]:
            kept.append(edit)
            at = end
    return kept


def _as_one(statement: Statement, words: str) -> str:
    """Return a writer's words as those of a cell, an item or a heading, without its signs."""
    if statement.kind == "cell":
        return words.strip("| ").replace("\\|", "|").replace("|", "\\|")
    if statement.kind == "item" and (sign := ITEM.match(words)):
        return words[sign.end() :]
    if statement.kind == "heading":
        words = words.lstrip("# ")
        bold = "**" * (statement.text.startswith("**") and "**" not in words and bool(words))
        return f"{bold}{words}{bold}"
    return words


def _edited(text: str, one: Statement, words: str, *, is_row: bool) -> Change:
    """Return a statement, or the row of a cell, in other words; a cell without any is a dash.

    The first cell of a row has no number of its own: the hour of a plan, say. Words that are no
    such row change nothing.
    """
    end = _line_end(text, one.end)
    if not is_row:
        return one.start, one.end, words or "–"
    if not words:
        return one.line, min(end + 1, len(text)), ""
    return one.line, end, words if _is_row(text, one, words) else text[one.line : end]


def _is_row(text: str, cell: Statement, words: str) -> bool:
    """Return whether words are a row of as many cells as that of a cell."""
    row, words = text[cell.line : _line_end(text, cell.end)], words.strip()
    return cell.kind == "cell" and words.startswith("|") and _bars(words) == _bars(row)


def _bars(row: str) -> int:
    """Return how many bars part the cells of a row: one that is written \\| is a cell's own."""
    return row.count("|") - row.count("\\|")


def _begun(statements: Sequence[Statement], words: str) -> Change:
    """Return words as a paragraph before the first statement, below the title."""
    first = next((one for one in statements if one.kind != "heading"), None)
    at = first.line if first and first.kind != "cell" else 0
    return at, at, f"{words}\n\n" if words else ""


def _inserted(text: str, after: Statement, words: str, *, is_apart: bool) -> Change:
    """Return words behind a statement: in its paragraph, or as blocks below its own."""
    is_row = words.startswith("|")
    is_item = bool(ITEM.match(words))
    is_block = is_apart or is_row or is_item or words.startswith("#") or "\n" in words
    if after.kind not in NAMING and not is_block:
        before = " " if text[after.end - 1 : after.end].isascii() else ""
        return after.end, after.end, f"{before}{words}" if words else ""
    end = _line_end(text, after.end)
    if after.kind == "cell" and is_row:
        return _twin(text, after, words) or (end, end, f"\n{words}")
    if after.kind == "item":
        indent = _indent(text, after.line)
        while text[end + 1 : end + 2].strip("\n") and _indent(text, end + 1) > indent:
            end = _line_end(text, end + 1)
        if is_item:
            return end, end, f"\n{' ' * indent}{words}"
    while after.kind == "cell" and text[end + 1 : end + 2] == "|":
        end = _line_end(text, end + 1)
    return end, end, f"\n\n{words}" if words else ""


def _twin(text: str, after: Statement, words: str) -> Change | None:
    """Return a new row in the place of one by its name that says no value.

    A total, too, of which a table has one; without a figure it leaves that as it is.
    """
    label, *others = (letters_of(cell.text) for cell in cells_of(words, 0))
    for rows in tables_in(text):
        if not label or not rows[0][0].start <= after.start <= rows[-1][-1].start:
            continue
        for row in (row for row in rows[1:] if letters_of(row[0].text) == label):
            is_bare = not any(letters_of(cell.text) for cell in row[1:])
            start = row[0].start
            begin, end = text.rfind("\n", 0, start) + 1, _line_end(text, start)
            if is_bare or any(signs_in(words, TOTAL[:-1])):
                return begin, end, words if is_bare or any(others) else text[begin:end]
    return None


def _indent(text: str, at: int) -> int:
    return len(text[at : at + 40]) - len(text[at : at + 40].lstrip(" "))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
