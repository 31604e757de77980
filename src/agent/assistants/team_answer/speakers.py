"""The speakers of the discussion, the rules of whose turn it is, and the prompts of each.

Code reads the analyst's `H1 [0.7] …`. The verifier is not shown what others looked up as they
were shown it, but passages chosen anew from all that was found.

The newest turns stand whole; of older ones first the tools' results are shortened, then the text.
Other speakers' turns are text in the one human message, never messages of an assistant.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool

from agent.assistants.common.conversation import prompt_tokens, tools_tokens
from agent.assistants.common.material import with_ids_of
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.steering import with_wishes
from agent.assistants.common.turn import context_limit
from agent.assistants.common.whole_documents import WholeDocuments, document_elements
from agent.assistants.team_answer.documents import prompt_limit
from agent.assistants.team_answer.evidence_view import evidence_view
from agent.assistants.team_answer.state import SPEAKERS, ChatTurn, Speaker, TeamState, ToolNote
from agent.assistants.team_answer.verdict import without_signals
from agent.configuration import Configuration
from agent.core.strings import cut_to_tokens, estimated_tokens, parted_brackets
from agent.evidence.queries import clean_text
from agent.prompts import Raw, element, fence, render, task_prompt
from agent.state import answer_language
from agent.texts import Language, say

if TYPE_CHECKING:
    from agent.assistants.team_answer.state import Hypothesis


MAX_ALIVE = 4
"""Hypotheses that are followed at once; of more, the lowest scored are pruned."""
_MAX_KEPT = 8
_MAX_INSTRUCTION = 300
_HYPOTHESIS_TOKENS = 150
_CHINESE: dict[Speaker, str] = {
    "researcher": "研究员",
    "analyst": "分析员",
    "verifier": "核查员",
}
_HYPOTHESIS = re.compile(
    r"^[\s\-*•>#]*H(\d{1,2})\**\s*[\[［【(（]\s*(\d{1,3}(?:\.\d+)?|\.\d+)\s*+(%?)\s*+[\]］】)）]"
    r"[\s*:：,，\-—–]*(.*)$"
)
_PRUNED = ("pruned", "剪枝", "剪除", "排除")


def next_by_rules(turns: Sequence[ChatTurn]) -> Speaker:
    """Return whose turn it is: a claim is verified, an objection goes back to the researcher.

    The analyst weighs the claims at every second objection.
    """
    if not turns:
        return "researcher"
    if turns[-1]["speaker"] != "verifier":
        return "verifier"
    objections = 0
    for turn in reversed(turns):
        if turn["speaker"] == "analyst":
            break
        objections += turn["speaker"] == "verifier"
    return "researcher" if objections % 2 else "analyst"


def next_in_turn(spoken_by: Sequence[Speaker]) -> list[Speaker]:
    """Return who may speak next, who has waited longest first; two turns in a row are the most."""
    ahead = SPEAKERS.index(spoken_by[-1]) + 1 if spoken_by else 0
    order = [*SPEAKERS[ahead:], *SPEAKERS[:ahead]]
    latest = {speaker: place for place, speaker in enumerate(spoken_by)}
    waiting = sorted(order, key=lambda speaker: latest.get(speaker, -1))
    silent = spoken_by[-1] if len(spoken_by) > 1 and spoken_by[-1] == spoken_by[-2] else None
    return [speaker for speaker in waiting if speaker != silent]


def speakers_named(text: str) -> list[Speaker]:
    """Return every speaker that the text names, as a word of its own or in Chinese."""
    said = "".join(char if char.isascii() and char.isalnum() else " " for char in text.casefold())
    return [each for each in SPEAKERS if each in said.split() or _CHINESE[each] in text]


def chosen_speaker(text: str, candidates: Sequence[Speaker]) -> Speaker | None:
    """Return the candidate that a selection's first line names; None for nobody or several."""
    named = speakers_named(text.strip().partition("\n")[0])
    return named[0] if len(named) == 1 and named[0] in candidates else None


def instruction_of(text: str) -> str:
    """Return the chair's instruction, the line below the name; empty where there is none."""
    return clean_text(text.strip().partition("\n")[2], _MAX_INSTRUCTION)


def updated_hypotheses(text: str, hypotheses: Sequence["Hypothesis"]) -> list["Hypothesis"]:
    """Return the tree after an analyst's turn: branches scored anew, new ones added.

    Without a hypothesis line nothing changes.
    """
    tree: list[Hypothesis] = list(hypotheses)
    for line in text.splitlines():
        if not (match := _HYPOTHESIS.match(line)):
            continue
        place, (named, mark) = int(match[1]) - 1, parted_brackets(match[4].strip(" *"))
        pruned = mark.strip().casefold().removeprefix("已") in _PRUNED
        named = named if pruned else match[4].strip(" *")
        if 0 <= place < len(tree):
            named = named or tree[place]["text"]
            tree[place] = _branch(named, _score(match[2], match[3]), pruned)
        elif named:
            tree.append(_branch(named, _score(match[2], match[3]), pruned))
    return _prune(tree)


def hypothesis_lines(tree: Sequence["Hypothesis"]) -> str:
    """Return the tree as the prompts show it and the analyst writes it."""
    return "\n".join(
        f"H{number} [{branch['score']:g}] {branch['text']}{' (pruned)' if branch['pruned'] else ''}"
        for number, branch in enumerate(tree, 1)
    )


def _branch(text: str, score: float, pruned: bool) -> "Hypothesis":
    return {"text": cut_to_tokens(text, _HYPOTHESIS_TOKENS), "score": score, "pruned": pruned}


def _score(number: str, percent: str) -> float:
    value = float(number)
    return round(min(1.0, value / 100 if percent or value > 1 else value), 2)


def _prune(tree: "list[Hypothesis]") -> "list[Hypothesis]":
    """Bound the tree: prune the least likely, of the pruned remove the least."""
    alive = sorted((b for b in tree if not b["pruned"]), key=lambda b: -b["score"])
    given_up = {id(branch) for branch in alive[MAX_ALIVE:]}
    bounded: list[Hypothesis] = [
        {**branch, "pruned": True} if id(branch) in given_up else branch for branch in tree
    ]
    while len(bounded) > _MAX_KEPT:
        bounded.remove(min((b for b in bounded if b["pruned"]), key=lambda b: b["score"]))
    return bounded


_MARGIN = 60
"""Tokens for tags that an empty value leaves out, and the sentence about what was left out."""
_PER_TURN = 20
_ASKED = 120
_WHOLE = 1_000_000
NO_DOCUMENTS = WholeDocuments()
_DETAILS: tuple[tuple[int | None, int], ...] = (
    (_WHOLE, _WHOLE),
    (200, _WHOLE),
    (0, _WHOLE),
    (0, 200),
    (None, 60),
)
"""(tokens of each tool's result, or None for no tools; tokens of the text), ever shorter."""
WITHOUT_RESULTS = 2
_NEWEST = 2
_RESULTS = (600, 60)
"""Tokens to which the present turn's results are shortened where there is no room."""
_LINE = 120


def turn_prompt(
    state: TeamState,
    configuration: Configuration,
    speaker: Speaker,
    tools: Sequence[BaseTool] = (),
    *,
    whole: WholeDocuments = NO_DOCUMENTS,
    may_use_tools: bool = True,
) -> list[BaseMessage]:
    """Return a speaker's prompt: the instructions, the discussion so far, its own calls."""
    language = state["turn"]["language"]
    own = context_limit(state["turn"], configuration)
    limit = prompt_limit(state, configuration, whole) - tools_tokens(tools) - _MARGIN
    verifies = speaker == "verifier"
    values = known_of_question(state, own) | {
        "documents": document_elements(whole),
        "evidence": evidence_view(state, own // 3, besides=whole.by_id) if verifies else "",
        "rounds_left": str(configuration.max_group_chat_rounds - len(_turns(state))),
        "reminder": _reminder(state, language, may_use_tools=may_use_tools),
    }

    def asked(transcript: str) -> list[BaseMessage]:
        text = render("team_turn", answer_language(state["turn"]), transcript=transcript, **values)
        prompt = [SystemMessage(render(f"team_{speaker}_system")), HumanMessage(text)]
        return with_wishes(prompt, state)

    free = limit - prompt_tokens(asked(""))
    level = WITHOUT_RESULTS if verifies else 0
    needed = sum(_sizes(turn)[level] for turn in _turns(state))
    pending = fitted(state.get("pending") or [], free - min(needed, free // 3))
    room = free - prompt_tokens(pending)
    return [*asked(transcript_block(_turns(state), room, language, level=level)), *pending]


def select_prompt(
    state: TeamState, configuration: Configuration, candidates: Sequence[Speaker]
) -> list[BaseMessage]:
    """Return the chair's prompt: one line a turn, and the candidates."""
    language, limit = state["turn"]["language"], context_limit(state["turn"], configuration)
    turns = _turns(state)
    size = min(_LINE, limit // 2 // max(len(turns), 1))
    roles = [f"{speaker}: {say(f'team_answer.role_{speaker}', language)}" for speaker in candidates]
    values = {
        "question": cut_to_tokens(state["turn"]["question"], limit // 5),
        "speakers": "\n".join(roles),
        "transcript": "\n".join(_line(turn, size) for turn in turns),
        "candidates": "\n".join(candidates),
    }
    return task_prompt("team_select", answer_language(state["turn"]), **values)


def transcript_block(
    turns: Sequence[ChatTurn], tokens: int, language: Language, *, level: int = 0
) -> Raw:
    """Return the turns as elements within so many tokens; the oldest go where nothing else helps.

    `level` is the least they are shortened (2 leaves out the tools' results).
    """
    sizes = [_sizes(turn) for turn in turns]
    levels = [level] * len(turns)
    total = sum(size[level] for size in sizes)
    for index, shorter in _shortenings(len(turns)):
        if total <= tokens:
            break
        if shorter > levels[index]:
            total += sizes[index][shorter] - sizes[index][levels[index]]
            levels[index] = shorter
    gone = 0
    while total > tokens and gone < len(turns):
        total -= sizes[gone][levels[gone]]
        gone += 1
    head = [say("team_answer.earlier_turns", language, count=str(gone))] if gone else []
    elements = [turn_element(turn, size) for turn, size in zip(turns, levels, strict=True)]
    return Raw("\n".join([*head, *elements[gone:]]))


def turn_element(turn: ChatTurn, level: int = 0) -> str:
    """Return a turn with its tools, as short as the level says (0 is whole)."""
    results, text = _DETAILS[level]
    opening = f'<turn round="{turn["round"]}" speaker="{turn["speaker"]}">'
    notes = [] if results is None else [_note(note, results) for note in turn["tools"]]
    body = fence(cut_to_tokens(turn["text"], text))
    return "\n".join(part for part in (opening, body, *notes, "</turn>") if part)


def _sizes(turn: ChatTurn) -> list[int]:
    """Return the estimated tokens of a turn at each level, without writing it out."""
    size_of_text = estimated_tokens(turn["text"])
    notes = [
        (estimated_tokens(_note(note, 0)) + 1, estimated_tokens(note["text"]))
        for note in turn["tools"]
    ]
    return [
        _PER_TURN
        + min(size_of_text, text)
        + sum(head + min(size, results) for head, size in notes if results is not None)
        for results, text in _DETAILS
    ]


def fitted(pending: Sequence[AnyMessage], tokens: int) -> list[AnyMessage]:
    """Return a turn's calls and results within so many tokens.

    Results are shortened, the oldest first; then whole rounds go, as a call without its results
    is refused by every service.
    """
    messages = list(pending)
    sizes = [prompt_tokens([message]) for message in messages]
    for least in _RESULTS:
        for index, message in enumerate(messages):
            excess = sum(sizes) - tokens
            if excess > 0 and isinstance(message, ToolMessage):
                messages[index] = _shorten(message, least, excess)
                sizes[index] = prompt_tokens([messages[index]])
    rounds = [i for i, m in enumerate(messages) if isinstance(m, AIMessage)]
    begin = next((i for i in [0, *rounds] if sum(sizes[i:]) <= tokens), len(messages))
    return messages[begin:]


def _shorten(message: ToolMessage, least: int, excess: int) -> ToolMessage:
    text = str(message.text)
    size = max(least, estimated_tokens(text) - excess - 1)
    return message.model_copy(update={"content": cut_to_tokens(text, size)})


def known_of_question(state: TeamState, limit: int) -> dict[str, str]:
    """Return the question and all that is known of it, each within its share."""
    turn, analysis = state["turn"], state["analysis"]
    steps = state.get("sub_questions", [])
    questions = [
        f"{number}. {cut_to_tokens(text, limit // 40)}" for number, text in enumerate(steps, 1)
    ]
    gaps = dict.fromkeys(gap["message"] for gap in state.get("gaps", []))
    gathered = state.get("sources_gathered", [])
    previous = with_ids_of(gathered, state.get("previous") or NO_PREVIOUS)
    return {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], limit // 5),
        "asked": cut_to_tokens(analysis["asked"], limit // 20),
        "format_requirement": cut_to_tokens(analysis["format_requirement"], limit // 20),
        "sub_questions": cut_to_tokens("\n".join(questions if len(steps) > 1 else []), limit // 10),
        "previous": previous_lines(
            previous, limit // 20, turn["question"], places_in=turn["language"]
        ),
        "hypotheses": cut_to_tokens(hypothesis_lines(state.get("hypotheses", [])), limit // 8),
        "gaps": cut_to_tokens("\n".join(gaps), limit // 20),
    }


def _reminder(state: TeamState, language: Language, *, may_use_tools: bool) -> str:
    """Return the reminder to the speaker: the chair's instruction, a failed call, spent tools.

    After a failed call the words differ, else its cached reply would be taken for the next.
    """
    failures = state["failures"]
    parts = [
        state.get("instruction", ""),
        say("team_answer.no_turn", language, count=str(failures)) if failures else "",
        "" if may_use_tools else say("team_answer.tools_spent", language),
    ]
    return " ".join(filter(None, parts))


def _shortenings(count: int) -> Iterator[tuple[int, int]]:
    """Yield the turn to shorten next and its level: older ones first, results before text."""
    split = max(0, count - _NEWEST)
    for group in (range(split), range(split, count)):
        for level in range(1, len(_DETAILS)):
            for index in group:
                yield index, level


def _note(note: ToolNote, tokens: int) -> str:
    request = cut_to_tokens(note["asked"], _ASKED)
    text = cut_to_tokens(note["text"], tokens) if tokens else ""
    return element("tool", text, name=note["tool"], evidence=note["evidence"], asked=request)


def _line(turn: ChatTurn, tokens: int) -> str:
    verdict = f"({turn['verdict']}) " if turn["verdict"] else ""
    line = " ".join(without_signals(turn["text"]).split())
    return cut_to_tokens(f"{turn['round']} {turn['speaker']}: {verdict}{line}", tokens)


def _turns(state: TeamState) -> list[ChatTurn]:
    return state.get("transcript") or []
