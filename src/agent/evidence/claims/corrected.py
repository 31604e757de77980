"""Write an answer as it stands after its check: signs, citations and new wordings; count them."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from agent.core.patterns import Linear
from agent.core.strings import letters_of
from agent.evidence.citations import MARKER, ids_in
from agent.evidence.claims.judging import READER, without_markers
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome
from agent.evidence.claims.statements import NAMING, Statement, item_name
from agent.evidence.figures import figures
from agent.evidence.language import without_marks
from agent.evidence.markdown import counted_down, joined
from agent.evidence.notation import MARKED, Notation
from agent.evidence.numbering import source_key
from agent.evidence.quotes import MAX_QUOTE, each_once, span_in
from agent.evidence.references import untitled
from agent.evidence.tables import Change, changed
from agent.evidence.types import Source

VERSION = 2
"""Of the keys of `checks.claims`; answers of before have none."""
COUNTED = ("supported", "computed", "own", "revised", "marked", "unchecked")
_MAX_QUOTES, _MOST_SUBJECT = 24, 80
_LIST = 2
"""Blocks from a paragraph to the table or list behind it, where no heading is between."""
_QUOTED, _SHORTEST, _MANY = 2400, 24, 100
"""Characters of all passages that rows tell, and of one at least; rows that are many."""
_STOPS, _CLOSING = "。！？!?.；;，,", '”」』"’*_'


_HEAD = Linear(r"\*\*[^*\d\n]{1,40}(?:\*\*[:：]|[:：]\*\*)\s?")


@dataclass(frozen=True)
class Part:
    """A piece of the corrected text; a statement comes with its outcome."""

    text: str
    statement: Statement | None = None
    outcome: Outcome | None = None


def corrected(
    text: str, statements: Sequence[Statement], outcomes: Sequence[Outcome], notation: Notation
) -> list[Part]:
    """Return the text in parts, each statement as it should stand."""
    parts, at = list[Part](), 0
    gone = {n for n, outcome in enumerate(outcomes) if outcome.revised == ""}
    spans, numbers = left_out(text, statements, gone)
    blank = blank_before_citations(statements)

    def plain(start: int, end: int) -> Part:
        own = [(s - start, e - start, new) for s, e, new in numbers if start <= s < end]
        return Part(changed(text[start:end], own))

    for n, (statement, outcome) in enumerate(zip(statements, outcomes, strict=True)):
        begin, end = spans.get(n, (statement.start, statement.end))
        new = _as_it_should_stand(statement, outcome, notation, blank)
        parts += [plain(at, begin), Part(new, statement, outcome)]
        at = end
    parts.append(plain(at, len(text)))
    return [part for part in parts if part.text or part.statement]


def _end(text: str) -> int:
    """Return where the words of a text end: before its stop, which may stand within quotes."""
    bare = text.rstrip()
    said = bare.rstrip(_CLOSING)
    return len(said.rstrip(_STOPS)) if said.endswith(tuple(_STOPS)) else len(bare)


def left_out(
    text: str, statements: Sequence[Statement], gone: Container[int]
) -> tuple[dict[int, tuple[int, int]], list[Change]]:
    """Return what goes with each statement that is left out, by its place among them.

    That is its line where nothing else of it is left; else the blank before it, behind which a line
    would end; at a line's begin the one after it. And the numbers of lists that change thereby.
    """
    spans, lines, at = dict[int, tuple[int, int]](), set[int](), 0
    for line, group in groupby(range(len(statements)), key=lambda n: statements[n].line):
        first, *others = group
        last = statements[others[-1] if others else first]
        if all(n in gone for n in (first, *others)):
            end = text.find("\n", last.end) + 1 or len(text)
            # A paragraph goes with the blank line behind it.
            end += text[:line].endswith("\n\n") and text.startswith("\n", end)
            spans |= dict.fromkeys(others, (end, end)) | {first: (max(at, line), max(at, end))}
            lines.add(line)
            continue
        for n in (first, *others):
            start, end = statements[n].start, statements[n].end
            if n in gone:
                while n != first and at < start and text[start - 1] == " ":
                    start -= 1
                while text[end : end + 1] == " " and start == statements[n].start:
                    end += 1
                spans[n] = start, end
            at = end
    return spans, counted_down(text, lines) if lines else []


def can_be_left_out(statements: Sequence[Statement], at: int, gone: Container[int]) -> bool:
    """Return whether a sentence or an item can be spared: others of its block stand beside it.

    So can a whole paragraph that no list hangs on, with another one beside it, but not a text's
    first. `gone` are those that are left out already.
    """
    one, behind = statements[at], statements[at + 1 : at + 2]
    hangs = any(n.kind in ("item", "cell") and n.block <= one.block + _LIST for n in behind)
    is_first = all(other.kind == "heading" for other in statements[:at])
    whole = not (is_first or hangs or (one.kind == "item" and behind))
    # A heading between them counts, too: what stands below it alone stays.
    blocks = range(one.block - whole, one.block + whole + 1)
    return one.kind not in NAMING and any(
        other.block in blocks and other.kind != "heading" and n != at and n not in gone
        for n, other in enumerate(statements)
    )


def blank_before_citations(statements: Iterable[Statement]) -> str:
    """Return what a text's writer puts before citations."""
    apart = [each.text[: cited.start - each.start].endswith(" ")
             for each in statements for cited in each.citations]  # fmt: skip
    return " " * (2 * sum(apart) > len(apart))


def _as_it_should_stand(
    statement: Statement, outcome: Outcome, notation: Notation, blank: str
) -> str:
    if outcome.revised is not None:
        return outcome.revised
    text = statement.text
    if outcome.cite is not None:
        text = cited_anew(statement, outcome.cite, notation, blank)
    if not outcome.fails:
        return text
    ends = {_end_of(span, text, statement, notation) for span in outcome.spans}
    for at in sorted(ends, reverse=True):
        text = text[:at] + outcome.sign + text[at:]
    return text


def _end_of(span: str, text: str, statement: Statement, notation: Notation) -> int:
    """Return where the sign of some words stands: behind them, before what ends the statement."""
    stands = span_in(span, text)
    if stands and stands in text and span != statement.plain:
        return text.index(stands) + len(stands)
    return _end(_before_citations(text, notation.pattern))


def cited_anew(
    statement: Statement, names: Iterable[str], notation: Notation, blank: str = ""
) -> str:
    """Return a statement that cites these sources: what it cites rightly stays where it stands.

    The others stand in the place of its last citation where that goes, else before its end; a
    `blank` before each.
    """
    wanted = list(dict.fromkeys(names))
    added = (notation.write(name) for name in wanted if name not in statement.cited)
    written = "".join(f"{blank}{each}" for each in added)
    text, last = statement.text, statement.citations[-1:]
    stays = not any(set(wanted).isdisjoint(citation.ids) for citation in last)
    for citation in reversed(statement.citations):
        begin, end = citation.start - statement.start, citation.end - statement.start
        kept = [name for name in citation.ids if name in wanted]
        right = (
            text[begin:end]
            if len(kept) == len(citation.ids)
            else "".join(map(notation.write, kept))
        )
        right += written * (not stays and citation in last)
        right = right.lstrip() if text[:begin].endswith(" ") else right
        text = text[:begin] + right + text[end:] if right else joined(text[:begin], text[end:])
    at = _end(text)
    return f"{text[:at]}{written * stays}{text[at:]}"


def as_the_judge_says(
    statements: Sequence[Statement],
    outcomes: Sequence[Outcome],
    notation: Notation,
    *,
    is_report: bool = False,
) -> list[Outcome]:
    """Return the outcomes; what fails reads as its judge would say it.

    It goes where the judge leaves nothing of it, and it can be spared; from a report also what
    nobody could mend: what a source contradicts, or of which nothing is borne out. Mere words that
    stand nowhere are marked. What a passage may bear that its judge was not shown stays unchecked,
    the text's first statement there, and so does what the next sentence may refer back to.
    """
    found, blank = list[Outcome](), blank_before_citations(statements)
    first = next((one for one in statements if one.kind != "heading"), None)
    for one, outcome, behind in zip(statements, outcomes, [*statements, None][1:], strict=True):
        if outcome.fails and outcome.fix and outcome.is_open:
            outcome = Outcome("unchecked", passages=outcome.passages)
        is_false = outcome.verdict == "contradicted" or one.plain in outcome.spans
        leans = (
            behind
            and behind.block == one.block
            and (behind.kind == "sentence" or behind.line == one.line)
        )
        goes = is_report and is_false and one is not first and not (leans or outcome.fix)
        words = None
        if goes or outcome.fix == LEAVES_OUT:
            gone = {n for n, other in enumerate(found) if other.revised == ""}
            words = "" if can_be_left_out(statements, len(found), gone) else None
        elif outcome.fix:
            words = reworded(one, outcome.fix, notation, blank)
        is_mended = outcome.fails and words is not None
        found.append(replace(outcome, revised=words) if is_mended else outcome)
    return found


def reworded(one: Statement, fix: str, notation: Notation, blank: str = "") -> str:
    """Return a judge's wording, which cites what the statement did where it cites nothing.

    Its citations stand before its stop, apart where the statement's do, else behind the `blank` of
    the text's, and none in a heading, or in a cell whose row has them.
    """
    blank = blank_before_citations([one]) if one.citations else blank
    cited, words = ids_in(fix), _with_head(one.text, fix.replace(READER, "")).rstrip()
    is_in_row = one.kind == "cell" and not one.citations and cited <= {*one.cited}
    if is_in_row or one.kind == "heading":
        bold = "**" * (one.kind == "heading" and one.text.startswith("**") and "**" not in words)
        return f"{bold}{without_markers(words)}{bold}"
    said = _before_citations(words, MARKER).rstrip()
    said, stop = said[: _end(said)], said[_end(said) :]
    said = _before_citations(said, MARKER).rstrip()
    behind = "".join(match[0] for match in MARKER.finditer(words[len(said) :]))
    if one.citations and not cited and READER not in fix:
        behind = MARKED.write(one.cited[0])
    return MARKER.sub(lambda match: blank + notation.write(match[1]), f"{said}{behind}{stop}")


def _before_citations(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text without the citations at its end."""
    for match in reversed([*pattern.finditer(text)]):
        if text[match.end() :].strip():
            break
        text = text[: match.start()]
    return text


def _with_head(text: str, wording: str) -> str:
    """Return a wording under the head that the statement begins with: `**Moving in**: …`."""
    head = _HEAD.match(text)
    if head is None:
        return wording
    said = without_marks(head[0])
    ends = (at for at in range(len(wording) + 1) if without_marks(wording[:at]) == said)
    # A head's last sign, as of "**Ateneum (Helsinki)**:", is no word.
    return head[0] + wording[next(ends, 0) :].lstrip(")）]】?？!！*:： ")


def with_quotes(
    used: Sequence[Source], outcomes: Iterable[Outcome], sources: Mapping[str, Source]
) -> list[Source]:
    """Return the cited sources with the passages that bear the text, or not, before others."""
    quotes: dict[str, list[str]] = {}
    for outcome in outcomes:
        for passage in outcome.passages:
            source = sources.get(passage.source)
            text = untitled(source, passage.text) if source else ""
            if source and source["kind"] != "place" and text:
                quotes.setdefault(source_key(source), []).append(text)
    told = ([*quotes.get(source_key(source), []), *source["quotes"]] for source in used)
    return [
        Source(**{**source, "quotes": each_once(every)[:_MAX_QUOTES]})
        for source, every in zip(used, told, strict=True)
    ]


def counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return how many statements there are of each verdict."""
    kinds = Counter(map(kind_of, outcomes))
    kinds["marked"] += kinds["contradicted"]
    return {"version": VERSION, "total": kinds.total() - kinds["contradicted"],
            **{name: kinds[name] for name in COUNTED}}  # fmt: skip


def left_out_for_want(
    statements: Iterable[Statement],
    outcomes: Iterable[Outcome],
    names: Container[str] | None = None,
) -> list[str]:
    """Return what the statements were about that were taken out since no source bears them.

    Or those of these `names`; a row is one.
    """
    found = dict[int, str]()
    for one, its in zip(statements, outcomes, strict=True):
        is_gone = its.revised == "" if names is None else one.name in names
        if its.verdict == "missing" and is_gone:
            found.setdefault(one.line if one.kind == "cell" else one.start, _subject(one, its))
    return [*filter(None, found.values())]


def _subject(statement: Statement, outcome: Outcome) -> str:
    """Return what a statement is about: its row's or item's name, else itself, if it is short.

    Nothing where some of its words would have to go: half a sentence tells nothing.
    """
    if name := statement.row or item_name(statement):
        return name
    plain = statement.plain.rstrip(".。 ")
    is_half = any(letters_of(span) != letters_of(plain) for span in outcome.spans)
    return "" if is_half or figures(plain) or len(plain) > _MOST_SUBJECT else plain


def kind_of(outcome: Outcome) -> str:
    """Return how an outcome is told: what was reworded is revised, what carries a sign marked."""
    if outcome.revised is not None:
        return "revised"
    return "marked" if outcome.verdict == "missing" else outcome.verdict


def rows(
    parts: Sequence[Part],
    begin: int,
    led: Callable[[str], str] = str,
    shown: Callable[[str], str] = str,
) -> list[dict[str, Any]]:
    """Return where statements stand, with verdict, source, passage and the words it is about.

    `begin` is where the first part begins; `led` is what is still done to each text, `shown` the
    id that a source is listed under. Of many, passages, which a source has among its quotes, are
    told by their beginnings, and what nobody judged is left out.
    """
    told, at = list[tuple[Outcome, int, int]](), begin
    for part in parts:
        length = len(led(part.text))
        if part.outcome and kind_of(part.outcome) != "own":
            told.append((part.outcome, at, at + length))
        at += length
    if len(told) > _MANY:
        told = [one for one in told if kind_of(one[0]) != "unchecked" or one[0].unproved]
    longest = min(MAX_QUOTE, max(_SHORTEST, _QUOTED // max(1, len(told))))
    return [_row(*one, shown, longest) for one in told]


def _row(
    outcome: Outcome, start: int, end: int, shown: Callable[[str], str], longest: int
) -> dict[str, Any]:
    # No passage decides of what was not judged, or of figures that none has.
    verdict, told = kind_of(outcome), () if kind_of(outcome) == "unchecked" else outcome.passages
    passage, says = told[0] if told else None, outcome.quote
    return {
        "start": start,
        "end": end,
        "verdict": verdict,
        "source": shown(passage.source) if passage else None,
        "quote": _around(says, passage.text, longest) if passage else None,
        **({"says": says[:MAX_QUOTE]} if says else {}),
        "spans": [span[:MAX_QUOTE] for span in outcome.spans or outcome.unproved],
    }


def _around(words: str, text: str, longest: int) -> str:
    """Return a text; of a long one its beginning, or what is around some words of it."""
    begin = max(0, text.find(words) + len(words) - longest * 3 // 4)
    return text[begin : begin + max(longest, len(words))]
