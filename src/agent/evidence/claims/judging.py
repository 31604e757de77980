"""Ask a judge about statements: batches with the passages they share, and its rulings."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from operator import eq
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from agent.core.strings import cut_to_tokens
from agent.evidence.citations import MARKER, NOT_FOUND
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.statements import Statement, lead_in
from agent.evidence.mentions import mentioned
from agent.evidence.notation import MARKED, Notation
from agent.evidence.numbering import is_carried

BATCH, _CELL = 12, 0.5
"""Statements of one call, whose reply takes as long as it has words; what a cell counts of one."""
_EACH, _WHOLE, _FEW = 260, 6000, 70
"""Tokens of passages: that one statement adds at most, of a call, and a statement's share up to
which all passages there are are shown."""
_QUESTION_TOKENS, _LONGEST_REPLY, _MOST_NAMES = 300, 600, 6
_MOST_PLACES, _SMALL_OWN = 15, 1500
"""Places whose records are all shown, and of more those that statements name; tokens of own files
that are shown whole."""


def _text(value: Any, *, whole: bool = False) -> str:
    """Return a field as text; of a list, such as several sums, all of it. `whole`: or nothing."""
    parts = value[:_MOST_NAMES] if isinstance(value, list) else [value]
    text = "; ".join(str(part) for part in parts if part is not None)
    return "" if whole and len(text) > _LONGEST_REPLY else text[:_LONGEST_REPLY]


def _list(value: Any) -> list[str]:
    rows = value if isinstance(value, list) else [value] if value else []
    return [_text(row) for row in rows][:_MOST_NAMES]


Text = Annotated[str, BeforeValidator(_text)]
_Whole = Annotated[str, BeforeValidator(lambda value: _text(value, whole=True))]
_Letter = Annotated[str, BeforeValidator(lambda value: _text(value).strip().lower()[:1])]
_Texts = Annotated[list[str], BeforeValidator(_list)]


_IN_ONE = re.compile(r"\W*(h?\d{1,4}[a-z]?)\W+([a-z])\b(.*)", re.DOTALL)
_PASSAGE = re.compile(r"\d{1,4}\.\d{1,4}")


def _as_asked(schema: dict[str, Any]) -> None:
    """Ask for number, verdict and passages in one field `r`, "7 s 2.3": half the tokens."""
    fields = schema["properties"]
    hidden = ("id", "v", "p", "unshown")
    others = {name: field for name, field in fields.items() if name not in hidden}
    schema["properties"] = {"r": {"type": "string"}, **others}


class Ruling(BaseModel):
    """The judge's word on one statement; the prompt says what each field means."""

    model_config = ConfigDict(json_schema_extra=_as_asked)
    id: Text = ""
    v: _Letter = ""
    p: _Texts = []
    bad: _Texts = []
    own: _Texts = []
    says: Text = ""
    calc: Text = ""
    fix: _Whole = ""
    out: _Texts = []
    unshown: bool = False  # Whether a passage that was not shown may have what it finds nowhere.

    @model_validator(mode="before")
    @classmethod
    def _of_one_field(cls, row: Any) -> Any:
        match = isinstance(row, Mapping) and _IN_ONE.match(_text(row.get("r")).lower())
        if not match:
            return row
        return {**row, "id": match[1], "v": match[2], "p": _PASSAGE.findall(match[3])}


class Rulings(BaseModel):
    """One ruling a statement."""

    rulings: list[Ruling] = []


def batches(statements: Sequence[Statement], most: int = BATCH) -> list[list[Statement]]:
    """Return the statements in groups of one size, a call each.

    A cell is ruled on in a word or two: it counts half.
    """
    weights = [_CELL if one.kind == "cell" else 1 for one in statements]
    size, held = sum(weights) / max(1, math.ceil(sum(weights) / most)), 0.0
    groups = list[list[Statement]]()
    for statement, weight in zip(statements, weights, strict=True):
        if not groups or held >= size * len(groups):
            groups.append([])
        groups[-1].append(statement)
        held += weight
    return groups


def shown(batch: Sequence[Statement], evidence: Evidence) -> list[Passage]:
    """Return the passages of a call: all where they are few, else the best of each statement.

    Then comes what each needs for its figures, and last what else is near.
    """
    if evidence.tokens <= min(_WHOLE, _FEW * len(batch)):
        return evidence.passages
    picked, used = {*_own_files(batch, evidence), *_of_places(batch, evidence)}, 0
    told = [evidence.telling(statement, _EACH) for statement in batch]
    ranked = sorted(
        ((at >= each.sure) + (at >= max(1, each.needed)), at, n, passage)
        for n, each in enumerate(told)
        for at, passage in enumerate(each.passages)
    )
    for *_, passage in ranked:
        used += 0 if passage.name in picked else passage.tokens
        if used > _WHOLE:
            break
        picked.add(passage.name)
    return [passage for passage in evidence.passages if passage.name in picked]


def _own_files(batch: Sequence[Statement], evidence: Evidence) -> list[str]:
    """Return the passages of short own files where any is cited, or where nothing was found.

    Two files may bear a statement out together, in two languages.
    """
    files = {name for name, record in evidence.records.items() if record.is_own}
    cited = {name for one in batch for name in one.exact or one.cited}
    own = evidence.passages_of(files) if cited & (files | {NOT_FOUND}) else []
    return [p.name for p in own] if sum(p.tokens for p in own) <= _SMALL_OWN else []


def _of_places(batch: Sequence[Statement], evidence: Evidence) -> set[str]:
    """Return the records of this turn's places where they are few, and of those that are named.

    "The two museums are free" shares few words with the records of the museums.
    """
    # The record of a place is its first passage; one that two searches found has one number.
    places = {f"{evidence.numbers[name]}.1": (name, record.place)
              for name, record in evidence.records.items() if record.place}  # fmt: skip
    said = "\n".join(f"{one.said}\n{one.context}" for one in batch)
    named = mentioned([place for _, place in places.values()], said)
    known = [at for at, (_, place) in places.items() if place["id"] in named][:_MOST_PLACES]
    # Where this turn found places, those of earlier ones are meant by their names only.
    new = [at for at, (name, _) in places.items() if not is_carried(name)] or [*places]
    is_of_many = any(one.kind == "sentence" and len(one.cited) != 1 for one in batch)
    return {*known, *(new if is_of_many and len(new) <= _MOST_PLACES else [])}


def asked_of(evidence: Evidence) -> str:
    """Return the question as a judge is shown it."""
    return cut_to_tokens(evidence.question, _QUESTION_TOKENS)


def passages_block(batch: Sequence[Statement], evidence: Evidence) -> str:
    """Return the passages of a batch as lines: their names, then their words.

    A sign stands where others of their source are left out: what is not shown may say it.
    """
    asked = " ".join(asked_of(evidence).split())
    # The reader's words that are the question are shown as that.
    passages = [
        one for one in shown(batch, evidence) if one.source != KNOWN or one.text not in asked
    ]
    names = {passage.name for passage in passages}
    lines = list[str]()
    for passage in passages:
        head, _, number = passage.name.rpartition(".")
        before, behind = (f"{head}.{int(number) + step}" for step in (-1, 1))
        begin, end = (name in evidence.by_name and name not in names for name in (before, behind))
        lines.append(f"{passage.name} {'… ' * begin}{passage.text}{' …' * end}")
    return "\n".join(lines)


def statements_block(batch: Sequence[Statement], evidence: Evidence, notation: Notation) -> str:
    """Return the statements of a batch as lines; a row's label stands above its cells.

    What "it" means is told where the lines above do not: a heading once, the words before a
    statement unless they are the statement above.
    """
    lines, line, before, above = list[str](), -1, "\0", list[str]()
    for statement in batch:
        # It cites the numbers of the passages.
        text = notation.pattern.sub(
            lambda match: _numbers(notation.read(match), evidence), statement.text
        )
        text = " ".join(text.translate(_SIGNS).split())
        context = statement.context.removesuffix(before).rstrip(" /").split(_WITHIN)
        known = sum(takewhile(bool, map(eq, context, above)))
        told = f"{CONTEXT}{_WITHIN.join(context[known:])})" if any(context[known:]) else ""
        above = context if any(context) else above
        if statement.kind != "cell":
            before = lead_in(statement.plain)
            lines.append(f"{statement.name} {text}{told}")
            continue
        if statement.row and statement.line != line:
            lines.append(f"row {statement.row}{told}")
            line = statement.line
        cited = "" if statement.citations else _numbers(statement.sources, evidence)
        lines.append(f"{statement.name} {statement.head}: {text}{cited}")
    return "\n".join(lines)


CONTEXT = "   (In: "
"""What stands before the words that a statement is read with."""
_WITHIN = " / "
_SIGNS = str.maketrans("", "", "†‡")


def _numbers(ids: Sequence[str], evidence: Evidence) -> str:
    """Return how a judge is shown a citation: the numbers of the sources, as in their passages."""
    numbers = dict.fromkeys(evidence.numbers[name] for name in ids if name in evidence.numbers)
    return "".join(f" [{number}]" for number in numbers)


def with_markers(fix: str, evidence: Evidence) -> str:
    """Return a judge's wording with markers in place of its numbers; 0, the reader, stays."""
    names = {number: name for name, number in reversed(evidence.numbers.items()) if number}

    def write(match: re.Match[str]) -> str:
        name = names.get(int(match[1]))
        return MARKED.write(name) if name else READER * (match[0].strip() == READER)

    return _NUMBER.sub(write, fix).strip()


def without_markers(fix: str) -> str:
    """Return a judge's wording without its citations."""
    return MARKER.sub("", fix).replace(READER, "").strip()


READER = "[0]"
"""What a judge cites for what the reader has said."""
_NUMBER = re.compile(r"\s?\[(\d{1,3})\]")
