"""Who takes part in the discussion, and what a turn of theirs says in lines code can read.

A verifier's `VERDICT: AGREE`, the analyst's `H1 [0.7] …`, and `TERMINATE` as the last line.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from agent.evidence.lengths import cut_to_tokens

if TYPE_CHECKING:
    from agent.assistants.team_answer.state import Hypothesis, Verdict

Speaker = Literal["researcher", "analyst", "verifier"]
SPEAKERS: tuple[Speaker, ...] = ("researcher", "analyst", "verifier")
MAX_ALIVE = 4
"""Hypotheses that are followed at once; of more, the lowest scored are pruned."""
_MAX_KEPT = 8
_HYPOTHESIS_TOKENS = 150
_CHINESE: dict[Speaker, str] = {
    "researcher": "研究员",
    "analyst": "分析员",
    "verifier": "核查员",
}
_NAMED = {
    speaker: re.compile(rf"(?<![A-Za-z0-9_]){speaker}(?![A-Za-z0-9_])|{chinese}", re.IGNORECASE)
    for speaker, chinese in _CHINESE.items()
}
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_VERDICT = re.compile(
    r"^[\W_]*VERDICT[\W_]*[:：][\W_]*(DISAGREE|AGREE|UNSURE)(?![A-Za-z])(?!\s*[|/])", re.IGNORECASE
)
_TERMINATE = re.compile(r"^[\W_]*TERMINATE[\W_]*$")
_HYPOTHESIS = re.compile(
    r"^[\s\-*•>#]*H(\d{1,2})\**\s*[\[［【(（]\s*(\d{1,3}(?:\.\d+)?|\.\d+)\s*(%?)\s*[\]］】)）]"
    r"[\s*:：,，\-—–]*(.*)$"
)
_PRUNED = re.compile(
    r"\s*[(（\[［]\s*(?:pruned|已?剪枝|已?剪除|已?排除)\s*[)）\]］]\s*", re.IGNORECASE
)


def next_in_turn(spoken_by: Sequence[Speaker]) -> list[Speaker]:
    """Who may speak next, who has waited longest first; two turns in a row are the most."""
    ahead = SPEAKERS.index(spoken_by[-1]) + 1 if spoken_by else 0
    order = [*SPEAKERS[ahead:], *SPEAKERS[:ahead]]
    latest = {speaker: place for place, speaker in enumerate(spoken_by)}
    waiting = sorted(order, key=lambda speaker: latest.get(speaker, -1))
    silent = spoken_by[-1] if len(spoken_by) > 1 and spoken_by[-1] == spoken_by[-2] else None
    return [speaker for speaker in waiting if speaker != silent]


def speakers_named(text: str) -> list[Speaker]:
    """Every speaker that the text names, as a word of its own or in Chinese."""
    return [speaker for speaker in SPEAKERS if _NAMED[speaker].search(text)]


def chosen(text: str, candidates: Sequence[Speaker]) -> Speaker | None:
    """The candidate a selection names; None where it names nobody, several, or no candidate."""
    named = speakers_named(_THOUGHTS.sub("", text))
    return named[0] if len(named) == 1 and named[0] in candidates else None


def spoken(text: str) -> str:
    """What was said, without a model's thoughts aloud."""
    return _THOUGHTS.sub("", text).strip()


def ends_discussion(text: str) -> bool:
    """Whether the last line is TERMINATE and nothing else; a verdict may stand below it."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    said = [line for line in lines if not _VERDICT.match(line)]
    return bool(said and _TERMINATE.match(said[-1]))


def without_ending(text: str) -> str:
    """The text without lines that are only TERMINATE: what the transcript keeps."""
    return "\n".join(line for line in text.splitlines() if not _TERMINATE.match(line)).strip()


def verdict_of(text: str) -> "Verdict | None":
    """The last verdict line's word."""
    found = [match[1].lower() for line in text.splitlines() if (match := _VERDICT.match(line))]
    return cast("Verdict", found[-1]) if found else None


def without_signals(text: str) -> str:
    """The text without verdicts and TERMINATE, for people."""
    lines = without_ending(text).splitlines()
    return "\n".join(line for line in lines if not _VERDICT.match(line)).strip()


def said_text(text: str) -> str:
    """What was said besides every line that code reads, hypotheses too."""
    kept = [line for line in without_signals(text).splitlines() if not _HYPOTHESIS.match(line)]
    return "\n".join(kept).strip()


def updated_hypotheses(text: str, known: Sequence["Hypothesis"]) -> list["Hypothesis"]:
    """The tree after an analyst's turn: known branches scored anew by number, new ones added.

    Without a hypothesis line nothing changes.
    """
    tree: list[Hypothesis] = list(known)
    for line in text.splitlines():
        if not (found := _HYPOTHESIS.match(line)):
            continue
        place, named = int(found[1]) - 1, _PRUNED.sub(" ", found[4]).strip(" *")
        pruned = bool(_PRUNED.search(found[4]))
        if 0 <= place < len(tree):
            named = named or tree[place]["text"]
            tree[place] = _branch(named, _score(found[2], found[3]), pruned)
        elif named:
            tree.append(_branch(named, _score(found[2], found[3]), pruned))
    return _pruned(tree)


def hypothesis_lines(tree: Sequence["Hypothesis"]) -> str:
    """The tree as the prompts show it and the analyst writes it."""
    return "\n".join(
        f"H{number} [{branch['score']:g}] {branch['text']}{' (pruned)' if branch['pruned'] else ''}"
        for number, branch in enumerate(tree, 1)
    )


def _branch(text: str, score: float, pruned: bool) -> "Hypothesis":
    return {"text": cut_to_tokens(text, _HYPOTHESIS_TOKENS), "score": score, "pruned": pruned}


def _score(number: str, percent: str) -> float:
    value = float(number)
    return round(min(1.0, value / 100 if percent or value > 1 else value), 2)


def _pruned(tree: "list[Hypothesis]") -> "list[Hypothesis]":
    """The tree within its bounds: the least likely are pruned, of the pruned the least go."""
    alive = sorted((b for b in tree if not b["pruned"]), key=lambda b: -b["score"])
    given_up = {id(branch) for branch in alive[MAX_ALIVE:]}
    bounded: list[Hypothesis] = [
        {**branch, "pruned": True} if id(branch) in given_up else branch for branch in tree
    ]
    while len(bounded) > _MAX_KEPT:
        bounded.remove(min((b for b in bounded if b["pruned"]), key=lambda b: b["score"]))
    return bounded
