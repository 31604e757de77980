"""An answer as far as it can be shown: what it rests on was issued in this turn."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from agent.assistants.common.tool_results import rounded
from agent.assistants.team_answer.evidence_view import known_sources, lookups
from agent.assistants.team_answer.state import AnswerOutcome, TeamState, ToolEvidence
from agent.assistants.team_answer.tools import calculation_numbers
from agent.assistants.team_answer.verdict import Settled, without_signals
from agent.core.strings import split_at
from agent.evidence.citations import MARKER
from agent.evidence.figures import Figure, figures
from agent.evidence.language import sentence_spans
from agent.evidence.queries import clean_text
from agent.evidence.stated import is_told, quantities
from agent.state import reader_language
from agent.texts import say

_MAX_ANSWER = 2000
_BRACKET = re.compile(r"\s?\[\^([^\[\]\n]{1,200})\]")
_OUTCOMES: dict[str, AnswerOutcome] = {"answer": "answer", "premise_false": "premise_false"}
_ID = re.compile(r"(?<![a-z])[a-z]++\d+(?:-\d+)?")
_NO_ANSWER = (
    *("not found", "no answer", "no answer found", "cannot be determined", "not available"),
    *("insufficient data", "insufficient evidence", "insufficient information"),
    *("无法确定", "无法回答", "未找到", "没有找到", "未能找到", "查不到", "没有查到"),
)
_BEHIND_IT = 10
"""Characters that such an answer may have besides."""


@dataclass(frozen=True)
class SynthesizedAnswer:
    """Hold the part of a settled answer that can be shown; an empty answer is an honest none."""

    outcome: AnswerOutcome = "not_found"
    answer: str = ""
    evidence: list[str] = field(default_factory=list)
    explanation: str = ""
    unknown: int = 0
    """Ids nobody issued."""
    unsupported: bool = False
    """True where an answer was given that nothing bears out."""
    contested: bool = False


def settled_answer(reply: Settled, state: TeamState) -> SynthesizedAnswer:
    """Return a model's answer as far as pages, places or lookups of this turn bear it."""
    explanation = without_signals(reply.explanation)
    ids, unknown = issued_ids([*reply.evidence, *marker_ids(reply.answer)], state)
    # Unknown markers of the explanation are removed and counted where it is cited.
    evidence = dict.fromkeys([*ids, *issued_ids(marker_ids(explanation), state)[0]])
    answer = clean_text(MARKER.sub("", without_signals(reply.answer)), _MAX_ANSWER)
    idle = idle_calculations(answer, evidence, lookups(state))
    evidence = dict.fromkeys(name for name in evidence if name not in idle)
    outcome = _OUTCOMES.get(reply.outcome.strip().lower(), "not_found")
    claimed = outcome != "not_found" and bool(answer) and not _is_no_answer(answer)
    is_answer = claimed and bool(evidence)
    numbers = calculation_numbers(evidence if is_answer else (), lookups(state))
    language = reader_language(state["turn"])
    references = {
        name: say("team_answer.answer.calculation", language, number=str(number))
        for name, number in numbers.items()
    }
    return SynthesizedAnswer(
        outcome=outcome if is_answer else "not_found",
        answer=answer if is_answer else "",
        explanation=_BRACKET.sub(
            partial(_with_lookups_named, references), _without(idle, explanation)
        ),
        evidence=list(evidence) if is_answer else [],
        unknown=unknown,
        unsupported=claimed and not evidence,
        contested=is_answer and reply.contested,
    )


def idle_calculations(
    answer: str, names: Collection[str], pool: Sequence[ToolEvidence]
) -> set[str]:
    """Return those of these calculations that do not lead to the answer, where others do.

    One leads there by a result that the answer has, or that such a calculation goes on with.
    """
    left = [each for each in pool if each["kind"] == "code" and each["id"] in names]
    stated = [figure for figure in quantities(answer) if figure.telling]
    leading = [each for each in left if _has_any(figures(rounded(each["text"])), stated)]
    if not leading:
        return set()
    while leading:
        left = [each for each in left if each not in leading]
        used = figures("\n".join(each["asked"] for each in leading))
        leading = [each for each in left if _has_any(_results(each), used)]
    return {each["id"] for each in left}


def _is_no_answer(answer: str) -> bool:
    said = answer.casefold()
    return any(said.startswith(w) and len(said) <= len(w) + _BEHIND_IT for w in _NO_ANSWER)


def _results(calculation: ToolEvidence) -> list[Figure]:
    """Return what a program has printed that does not stand in it."""
    own = figures(calculation["asked"])
    return [f for f in figures(rounded(calculation["text"])) if not _has_any([f], own)]


def _has_any(found: Sequence[Figure], wanted: Sequence[Figure]) -> bool:
    return any(is_told(one, found) for one in wanted)


def _without(idle: Collection[str], explanation: str) -> str:
    """Return an explanation without the sentences that rest on idle calculations alone."""
    kept = explanation
    for begin, end in sentence_spans(explanation):
        names = [*named_ids(marker_ids(explanation[begin:end]))]
        if names and all(name in idle for name in names):
            kept = kept.replace(explanation[begin:end], "", 1).strip()
    return kept


def issued_ids(names: Sequence[str], state: TeamState) -> tuple[list[str], int]:
    """Return those of the ids that this turn issued, and how many others there are.

    The id of a whole search (`s3`) stands for its results; a calculation's and a map lookup's for
    itself.
    """
    pool = {each["id"]: each for each in state.get("evidence_pool", []) if not each["failed"]}
    sources = {source["id"] for source in known_sources(state)}
    issued, unknown = dict[str, None](), 0
    for name in named_ids(names):
        if name in sources or (name in pool and pool[name]["kind"] in ("code", "map")):
            issued[name] = None
        elif name in pool and pool[name]["source_ids"]:
            issued |= dict.fromkeys(pool[name]["source_ids"])
        else:
            unknown += 1
    return list(issued), unknown


def named_ids(texts: Iterable[str]) -> Iterator[str]:
    """Yield what looks like an id in what a model has named: `[^S3-0]` is s3-0."""
    return (name for text in texts for name in _ID.findall(text.lower()))


def marker_ids(text: str) -> list[str]:
    """Return what stands in the markers of a text, several of one marker in one."""
    return [match[1] for match in _BRACKET.finditer(text)]


def _with_lookups_named(references: Mapping[str, str], match: re.Match[str]) -> str:
    """Return a marker with calculations as `references` to their blocks: they have no link.

    Map lookups are left out.
    """
    parts = split_at(match[1], ",;，；、 ")
    names = [name for part in parts if (name := part.strip("^"))]
    linked = [name for name in names if name[0] not in "ac" or not name[1:].isdecimal()]
    if len(linked) == len(names):
        return match[0]
    calculations = dict.fromkeys(references[name] for name in names if name in references)
    return "".join([*(f"[^{name}]" for name in linked), *calculations])
