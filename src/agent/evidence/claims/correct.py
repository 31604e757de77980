"""Correct an answer after its check: fix citations, repair or mark sentences, count them."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from math import fsum
from typing import Any

from agent.evidence.claims.check import Finding, Verdict
from agent.evidence.claims.claim import alike_in_kind, ends_at, figure_words
from agent.evidence.claims.doubt import agrees, bears_figures
from agent.evidence.claims.evidence import Evidence
from agent.evidence.claims.facts import (
    Passage,
    amount,
    clause_spans,
    han_names,
    hedge,
    names,
    rounded,
    telling_figures,
)
from agent.evidence.claims.sentences import Notation, Sentence, asserted, is_label
from agent.evidence.figures import Figure, figures
from agent.evidence.language import words
from agent.evidence.types import Source

MARK, CONTRADICTED = "†", "‡"
"""The signs of a sentence that no source says, and of one of which a source says otherwise."""
COUNTED = ("quoted", "computed", "own", "unchecked", "rematched", "attached", "repaired", "marked")
_TOLD = ("rematched", "attached", "repaired", "marked", "computed")
_ENDS = re.compile(r"[。！？!?.]+[”」』）)\"’]*$")
_MAX_QUOTE, _MAX_STATEMENTS = 160, 4000
_SHOWN_PASSAGES = 3
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ENDS_IN_LATIN = re.compile(r"[A-Za-z0-9`)%*]\W*$")
_LEAST_COMMON, _MOST = 3, 0.75
"""Words, and their share of a clause, that it has in common with one about the same thing."""
_SIGN = re.compile(rf"\s?([{MARK}{CONTRADICTED}])")
LINKED = Notation(
    re.compile(r"\[\d{1,4}\](?:\([^()\s]{1,2000}\))?"), lambda match: (match[0],), str
)
"""The notation of any finished answer, whatever its sources are."""
_NUMBERED = re.compile(r"\[(\d{1,4})\](\(([^()\s]{1,2000})\))?")


@dataclass(frozen=True)
class Part:
    """Hold a piece of the corrected text, with the finding of a sentence."""

    text: str
    finding: Finding | None = None


def corrected(text: str, findings: Sequence[Finding], notation: Notation) -> list[Part]:
    """Return the text in parts, each checked sentence as it should stand."""
    parts, at = list[Part](), 0
    for finding in findings:
        sentence = finding.sentence
        parts.append(Part(text[at : sentence.start]))
        parts.append(Part(_as_it_should_stand(finding, notation), finding))
        at = sentence.end
    return [part for part in (*parts, Part(text[at:])) if part.text or part.finding]


def _as_it_should_stand(finding: Finding, notation: Notation) -> str:
    sentence = finding.sentence
    sign = CONTRADICTED if finding.contradicted else MARK
    if finding.text is not None:
        is_bare = finding.verdict != "marked"
        return finding.text if is_bare else _before_end(finding.text, sign, row=sentence.row)
    ends = _ends_of_missing(finding) if finding.verdict == "marked" else []
    changes = [(end, end, f" {sign}" if sentence.row else sign) for end in ends]
    for citation, source in finding.cite:
        begin, end = citation.start - sentence.start, citation.end - sentence.start
        changes.append((begin, end, notation.write(source) if source else ""))
    text = sentence.text
    stop = ends[0] if ends and not sentence.row else 0
    changes += [(*span, "") for span in _false_citations(finding, stop)]
    for begin, end, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[end:]
    if finding.attach:
        blank = " " if _ENDS_IN_LATIN.search(text) and not sentence.row else ""
        text = _before_end(
            text, blank + "".join(map(notation.write, finding.attach)), row=sentence.row
        )
    unsigned = finding.verdict == "marked" and not ends
    return _before_end(text, sign, row=sentence.row) if unsigned else text


def _false_citations(finding: Finding, stop: int) -> list[tuple[int, int]]:
    """Return where links stand in the first clause, up to `stop`, if nothing bears its figures."""
    sentence, plain = finding.sentence, finding.sentence.plain[:stop]
    starts = {figure.start for figure in figures(plain)}
    if finding.contradicted or finding.cite or starts != {f.start for f in finding.missing}:
        return []
    if _COMMA.search(plain):
        return []
    spans = ((c.start - sentence.start, c.end - sentence.start) for c in sentence.citations)
    return [(len(plain[:at].rstrip(" \0")), end) for at, end in spans if end <= stop]


def _ends_of_missing(finding: Finding) -> list[int]:
    """Return where signs stand: behind each cell of a row with a figure that nothing bears.

    Of a sentence it is the end of the clause that has all of them, where that is not the last.
    """
    if not finding.missing:
        return []
    text, plain = finding.sentence.text, finding.sentence.plain
    if finding.sentence.row:
        bars = {text.find("|", figure.end) for figure in finding.missing}
        return [len(text[:bar].rstrip()) for bar in bars if bar >= 0]
    last = max(figure.end for figure in finding.missing)
    begins = [clause.end() for clause in _COMMA.finditer(plain) if clause.end() <= last]
    stop = _COMMA.search(plain, last)
    if stop is None or min(f.start for f in finding.missing) < max(begins, default=0):
        return []
    return [stop.start()]


_COMMA = re.compile(r"[，；;]|,(?=\s)")


def signs(findings: Iterable[Finding]) -> list[str]:
    """Return the signs that stand behind sentences, each once."""
    marked = {finding.contradicted for finding in findings if finding.verdict == "marked"}
    return [sign for sign, is_set in ((MARK, False), (CONTRADICTED, True)) if is_set in marked]


def is_marked(text: str) -> bool:
    """Return whether a text has the sign of a sentence that no source bears."""
    return MARK in text or CONTRADICTED in text


def _before_end(text: str, sign: str, *, row: bool) -> str:
    """Return the text with a sign at its end, before what ends the sentence or the row."""
    if row:
        head, bar, tail = text.rstrip().rpartition("|")
        return f"{head.rstrip()} {sign} {bar}{tail}" if bar and not tail else f"{text} {sign}"
    end = _ENDS.search(text)
    at = end.start() if end else len(text)
    return text[:at] + sign + text[at:]


def with_words_for_signs(text: str, meanings: Mapping[str, str]) -> str:
    """Return an answer with words in place of the signs, and of the blanks before them."""
    # To look for a blank before a sign takes long where there is none.
    return _SIGN.sub(lambda match: meanings[match[1]], text) if is_marked(text) else text


def renumbered(text: str, used: Sequence[Source]) -> tuple[str, list[Source]]:
    """Return a text with its links numbered by first use, and the sources it still cites."""
    order: dict[int, int] = {}

    def number(match: re.Match[str]) -> str:
        old = int(match[1])
        if not 0 < old <= len(used) or used[old - 1]["url"] != (match[3] or ""):
            return match[0]
        return f"[{order.setdefault(old, len(order) + 1)}]{match[2] or ''}"

    text = _NUMBERED.sub(number, text)
    return text, [Source(**{**used[old - 1], "number": new}) for old, new in order.items()]


def doubts(findings: Sequence[Finding], limit: int) -> list[Finding]:
    """Return the most doubtful findings, each sentence once, as many as allowed, in their order."""
    distinct = {f.sentence.plain: f for f in reversed(findings) if f.doubt}.values()
    worst = sorted(distinct, key=lambda f: -f.doubt)[:limit]
    return sorted(worst, key=lambda finding: finding.sentence.start)


def shown_passages(finding: Finding, evidence: Evidence) -> list[Passage]:
    """Return the passages by which a doubtful sentence can be judged, of each source it cites.

    A passage whose words all stand in one of the same source before it is left out, and so is a
    record of a place in another form.
    """
    own = words(finding.sentence.plain.replace("\0", " "))
    cited = finding.sentence.cited
    pools = [evidence.of([name]) for name in cited] if cited else [evidence.passages]
    parts = {name: text for names, text in _cited_parts(finding.sentence) for name in names}
    ranked = [
        _nearest(pool, parts.get(name, finding.sentence.plain.replace("\0", " ")))
        for pool, name in zip(pools, cited or ("",), strict=True)
    ]
    first = [finding.quote] if finding.quote and not finding.sentence.row else []
    in_turn = [p for rank in zip_longest(*ranked) for p in rank if p is not None]
    passages = list[Passage]()
    for passage in (*first, *in_turn):
        source = evidence.records.get(passage.source)
        telling = passage.words
        if source and source.place:
            telling -= figure_words(passage.text)
        alike = (p.text == passage.text or (p.source == passage.source and telling <= p.words)
                 for p in passages)  # fmt: skip
        if not _ISO_DATE.fullmatch(passage.text) and not any(alike):
            passages.append(passage)
        if len(passages) == 2 * _SHOWN_PASSAGES:
            break
    # Words of another script rank nothing: more of the source is shown.
    ranks = any(len(own & passage.words) > 1 for pool in pools for passage in pool)
    least = _SHOWN_PASSAGES if ranks else 2 * _SHOWN_PASSAGES
    each = 2 if finding.sentence.row else 1
    shown = passages[: min(max(least, each * len(cited)), 2 * _SHOWN_PASSAGES)]
    return [*shown, *_beside(finding.sentence, shown, evidence)]


def _cited_parts(sentence: Sentence) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the sources of each citation with the words before it; of a row those of its cell.

    These have the row's label and the column's head with them.
    """
    plain, begin, end, before = sentence.plain, 0, 0, ""
    heads, label = sentence.head.split("|"), plain.split("|")[1:2]
    for citation in sentence.citations:
        at = citation.start - sentence.start
        if plain[end:at].strip("\0 "):
            begin = max(end, plain.rfind("|", 0, at) + 1)
            before = plain[begin:at]
            if sentence.row:
                column = plain.count("|", 0, at)
                before = " ".join([*label, *heads[column : column + 1], before])
        end = citation.end - sentence.start
        yield citation.ids, before.replace("\0", " ")


def _beside(sentence: Sentence, nearest: Sequence[Passage], evidence: Evidence) -> list[Passage]:
    """Return the passage of another source that says more, where the one cited says little."""
    own = words(sentence.plain.replace("\0", " "))
    if len(sentence.cited) != 1 or sentence.row:
        return []
    most = max((len(own & passage.words) for passage in nearest), default=0)
    others = [p for p in evidence.passages if p.source not in sentence.cited]
    best = max(others, key=lambda p: len(own & p.words), default=None)
    if best is None or 2 * most > len(own) or len(own & best.words) <= most:
        return []
    return [best]


def _nearest(pool: Sequence[Passage], text: str) -> list[Passage]:
    """Return passages by the text's figures and words they have; rare words weigh more.

    So a short line that decides goes before a long one that repeats the subject.
    """
    own, own_figures = words(text), telling_figures(text)
    have = {p: own & (p.words | words(p.head) if p.head else p.words) for p in pool}
    often = Counter(word for common in have.values() for word in common)

    def score(passage: Passage) -> float:
        count = sum(passage.has(figure, hedge(text, figure)) for figure in own_figures)
        # Summed exactly: the order of a set must not decide which of two alike comes first.
        return 2 * count + fsum(1 / often[word] for word in have[passage])

    return sorted(pool, key=lambda p: (-score(p), -len(p.words)))


def judged(
    finding: Finding, verdict: str, quote: str, passages: Iterable[Passage], evidence: Evidence
) -> Finding:
    """Return a doubtful finding after a model's verdict on it by the passages it was shown.

    A quote counts only where it stands in one of them; a contradiction needs one that does not
    say the same. What is repaired is one figure or name, never the whole sentence.
    """
    passage = _standing(quote, passages)
    if verdict == "supported":
        citations = finding.sentence.citations
        if passage and citations and passage.source not in finding.sentence.cited:
            change = ((citations[0], passage.source),)
            return replace(finding, verdict="rematched", cite=change, quote=passage, doubt=0)
        kind: Verdict = "quoted" if citations else "own"
        return replace(finding, verdict=kind, quote=passage or finding.quote, doubt=0)
    remark = verdict == "not_there" and bears_figures(finding.sentence, evidence)
    if (remark or verdict in ("partly", "nothing_to_check")) and not finding.missing:
        return replace(finding, verdict="quoted" if finding.sentence.cited else "own", doubt=0)
    if verdict == "not_there":
        return replace(finding, verdict="marked", doubt=0)
    if verdict == "contradicted" and passage is not None:
        if agrees(finding.sentence, Passage(passage.source, quote), passage, evidence):
            kind = "quoted" if finding.sentence.cited else "own"
            return replace(finding, verdict=kind, quote=passage, doubt=0)
        repaired = _with_figure_of(finding, quote) or _with_name_of(finding, quote)
        kind = "marked" if repaired is None else "repaired"
        return replace(
            finding, verdict=kind, text=repaired, quote=passage, doubt=0, contradicted=True
        )
    return finding


def _standing(quote: str, passages: Iterable[Passage]) -> Passage | None:
    plain = " ".join(quote.split()).casefold().strip(" .。")
    if len(plain) < 4:
        return None
    return next((p for p in passages if plain in " ".join(p.folded.split())), None)


def _with_figure_of(finding: Finding, quote: str) -> str | None:
    """Return the sentence with its one strange figure, a slip, as the quote has it."""
    text, quoted = finding.sentence.plain.replace("\0", " "), Passage("", quote)
    strange = [f for f in telling_figures(text) if not quoted.has(f, hedge(text, f))]
    if len(strange) != 1:
        return None
    own = Passage("", text)
    rivals = [f for f in quoted.figures if alike_in_kind(f, strange[0]) and not own.has(f)]
    if len(rivals) != 1 or rivals[0].per != strange[0].per or not is_slip(strange[0], rivals[0]):
        return None
    start, end = strange[0].start, strange[0].end
    whole = finding.sentence.text
    return whole[:start] + _written_like(rivals[0], strange[0]) + whole[end:]


def _with_name_of(finding: Finding, quote: str) -> str | None:
    """Return the sentence with its one strange name replaced by the quote's one that it lacks."""
    text, whole = finding.sentence.plain.replace("\0", " "), finding.sentence.text
    own, quoted = Passage("", text), Passage("", quote)
    strange = [name for name in names(text) if not quoted.names(name)]
    lacking = [name for name in names(quote) if not own.names(name)]
    borne = all(quoted.has(figure, hedge(text, figure)) for figure in telling_figures(text))
    if len(strange) != 1 or len(lacking) != 1 or not borne or text.count(strange[0]) != 1:
        return None
    return whole.replace(strange[0], lacking[0], 1)


def _written_like(figure: Figure, other: Figure) -> str:
    """Return a figure as it is written; a time of day in digits where the other is."""
    if figure.clock is None or ":" not in other.text or figure.ambiguous:
        return figure.text
    return f"{figure.clock // 60:02}:{figure.clock % 60:02}"


def marked_where_named(findings: Iterable[Finding], names: Sequence[str]) -> list[Finding]:
    """Return the findings with each sentence marked that states something of one of the names."""
    return [
        replace(finding, verdict="marked", doubt=0, attach=())
        if any(name in asserted(finding.sentence.plain) for name in names)
        else finding
        for finding in findings
    ]


def with_source_figures(findings: Iterable[Finding], evidence: Evidence) -> list[Finding]:
    """Return the findings; a slip in a cited figure is set right, where the source leaves no doubt.

    Another figure that the source gives for the same thing only contradicts the sentence.
    """
    return [_with_source_figure(finding, evidence) for finding in findings]


def _with_source_figure(finding: Finding, evidence: Evidence) -> Finding:
    sentence, missing = finding.sentence, finding.missing
    cited = evidence.of(sentence.cited)
    if finding.verdict != "marked" or finding.text or finding.cite:
        return finding
    if len(missing) != 1 or not cited:
        return finding
    wrong, text = missing[0], sentence.plain.replace("\0", " ")
    if any(passage.has(wrong, hedge(text, wrong)) for passage in cited):
        return finding
    rivals = {
        (figure.clock is not None and figure.text, figure.date, amount(figure)): (figure, passage)
        for passage, figure in _rivals(wrong, text, sentence.cited, evidence)
    }
    if not rivals:
        return finding
    (figure, passage), *others = rivals.values()
    if others or passage.source not in _cited_behind(finding, wrong) or not is_slip(wrong, figure):
        return replace(finding, quote=passage, contradicted=True)
    right = _written_like(figure, wrong)
    repaired = sentence.text[: wrong.start] + right + sentence.text[wrong.end :]
    return replace(finding, verdict="repaired", text=repaired, quote=passage, missing=())


def _cited_behind(finding: Finding, figure: Figure) -> set[str]:
    """Return the sources cited behind a figure, before a semicolon; of a row, all of its own."""
    sentence = finding.sentence
    if sentence.row:
        return set(sentence.cited)
    stop = _SEMICOLON.search(sentence.plain, figure.end)
    end = stop.start() if stop else len(sentence.plain)
    behind = (c for c in sentence.citations if figure.end <= c.start - sentence.start < end)
    return {name for citation in behind for name in citation.ids}


_SEMICOLON = re.compile("[；;]")


def _rivals(
    wrong: Figure, text: str, cited: Sequence[str], evidence: Evidence
) -> Iterator[tuple[Passage, Figure]]:
    """Yield the unsaid figures of a wrong one's unit that cited clauses give for the same thing."""
    clause = next((c for at, c in clause_spans(text) if at <= wrong.start < at + len(c)), text)
    whole, named = Passage("", text), evidence.places_in(text)
    for passage in evidence.of(cited):
        of_place = passage.source in named and wrong.kind != "metre"
        for part in passage.clauses:
            if not of_place and not _is_about_the_same(clause, wrong, part):
                continue
            for figure in part.figures:
                alike_written = ("." in figure.text) == ("." in wrong.text)
                same_unit = alike_in_kind(figure, wrong) and figure.per == wrong.per
                told_too = whole.has(figure) if figure.clock is None else figure.text in text
                if figure.clock is not None and ends_at(part.text, figure) != ends_at(text, wrong):
                    continue
                if not figure.kind and not alike_written:
                    continue
                if figure.telling and same_unit and not told_too:
                    yield passage, figure


def _is_about_the_same(clause: str, wrong: Figure, part: Passage) -> bool:
    """Return whether a source's clause has the names, most words and other figures of a clause."""
    own = words(clause) - words(wrong.text)
    common = len(own & part.words)
    others = [f for f in telling_figures(clause) if f.text != wrong.text]
    return (
        common >= _LEAST_COMMON
        and common >= _MOST * len(own)
        and all(part.names(name) for name in (*names(clause), *han_names(clause)))
        and all(part.has(figure, hedge(clause, figure)) for figure in others)
    )


def is_slip(one: Figure, other: Figure) -> bool:
    """Return whether two figures differ by one digit, two exchanged ones, a rounding or zeros."""
    if one.date or other.date or one.clock is not None or other.clock is not None:
        return _is_misspelt(_digits_of_time(one), _digits_of_time(other))
    if one.scale != other.scale:
        return False
    pair = [re.sub(r"[^\d.]", "", figure.text) for figure in (one, other)]
    bare = [digits.replace(".", "") for digits in pair]
    coarse = rounded(one)
    return (
        bare[0].strip("0") == bare[1].strip("0")
        or (coarse is not None and coarse[0] <= amount(other) <= coarse[1])
        or (pair[0].find(".") == pair[1].find(".") and _is_misspelt(*bare))
    )


def _digits_of_time(figure: Figure) -> str:
    if figure.clock is not None:
        return f"{figure.clock // 60:02}{figure.clock % 60:02}"
    return "".join(f"{part or 0:04}" for part in figure.date or ())


def _is_misspelt(one: str, other: str) -> bool:
    """Return whether one digit of several is another, or two neighbours are exchanged."""
    if len(one) != len(other) or not one.lstrip("0")[1:]:
        return False
    at = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(at) == 1:
        return True
    exchanged = len(at) == 2 and at[1] == at[0] + 1
    return exchanged and one[at[0]] == other[at[1]] and one[at[1]] == other[at[0]]


def counts(findings: Sequence[Finding], *, found: bool = True) -> dict[str, int]:
    """Return how many sentences there are of each verdict; the doubtful as they were written.

    A line that only heads what follows is none. Where nothing of all that was `found` is cited,
    what is the writer's own was checked against nothing.
    """
    outcomes = [(_outcome(finding), finding.sentence.text) for finding in findings]
    verdicts = Counter[str](one for one, text in outcomes if one != "own" or not is_label(text))
    if found and not verdicts.keys() & {"quoted", "rematched", "attached", "repaired", "computed"}:
        verdicts["unchecked"] = verdicts.pop("own", 0)
    return {"total": verdicts.total(), **{name: verdicts[name] for name in COUNTED}}


def _outcome(finding: Finding) -> str:
    """Return the verdict that is counted and told: a citation set right is rematched."""
    if finding.verdict not in ("doubtful", "quoted", "own"):
        return finding.verdict
    if finding.cite:
        return "rematched"
    return "quoted" if finding.sentence.cited else "own"


def statements(
    parts: Sequence[Part], begin: int, led: Callable[[str], str] = str
) -> list[dict[str, Any]]:
    """Return where the sentences stand that are not plainly quoted, with verdict and quote.

    `begin` is where the first part begins; `led` is what is still done to each text. At most
    4 kB as JSON; computed sentences are the first to be left out.
    """
    rows, at = list[dict[str, Any]](), begin
    for part in parts:
        text = led(part.text)
        if part.finding and _outcome(part.finding) in _TOLD:
            rows.append(_statement(part.finding, at, at + len(text)))
        at += len(text)
    for left_out in ("", "computed", "attached", "rematched"):
        rows = [row for row in rows if row["verdict"] != left_out]
        if _size(rows) <= _MAX_STATEMENTS:
            return rows
    ends = accumulate(_size([row]) for row in rows)
    return [row for row, end in zip(rows, ends, strict=True) if end <= _MAX_STATEMENTS]


def _statement(finding: Finding, start: int, end: int) -> dict[str, Any]:
    bears = finding.verdict != "marked" or finding.contradicted or finding.sentence.cited
    quote = finding.quote if bears else None
    contradicted = finding.verdict == "marked" and finding.contradicted
    return {
        "start": start,
        "end": end,
        "verdict": "contradicted" if contradicted else _outcome(finding),
        "source": quote.source if quote else None,
        "quote": quote.text[:_MAX_QUOTE] if quote else None,
    }


def _size(rows: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(rows, ensure_ascii=False).encode())
