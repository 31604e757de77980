"""The sentences of a team's answer that code writes, in both languages."""

import re
from collections.abc import Sequence

from agent.assistants.team_answer.state import Evidence, ToolKind
from agent.evidence.citations import inert
from agent.language import Language

_SHOWN_TRIES, _SHOWN_LINES, _SHOWN_CHARACTERS = 12, 25, 1200
_RESULT = 400
_TICKS = re.compile(r"`+")
_TEXTS: dict[str, dict[Language, str]] = {
    "answer": {"zh": "**答案：{text}**", "en": "**Answer: {text}**"},
    "none": {
        "zh": "**没有找到可以确认的答案。**",
        "en": "**No answer that holds was found.**",
    },
    "unverified": {
        "zh": "*未经核实：核查员没有认可这个答案，使用前请自行核对。*",
        "en": "*Not verified: the verifier did not agree with this answer; check it before use.*",
    },
    "unsettled": {
        "zh": "负责定稿的模型暂时不可用，以下是讨论中最可能的假设：",
        "en": "The model that settles answers is unavailable; this is the discussion's most "
        "likely hypothesis:",
    },
    "rests_on": {"zh": "依据：", "en": "It rests on: "},
    "calculated": {"zh": "**计算**", "en": "**Calculation**"},
    "result": {"zh": "结果：{text}", "en": "Result: {text}"},
    "cut": {"zh": "# …（从略）", "en": "# … (cut)"},
    "tried": {"zh": "**试过的**", "en": "**What was tried**"},
    "tried_nothing": {
        "zh": "没有进行过任何搜索或计算。",
        "en": "Nothing was searched or calculated.",
    },
    "tried_more": {"zh": "- 另有 {text} 次", "en": "- and {text} more"},
    "failed": {"zh": "（失败）", "en": " (failed)"},
    "kind_search": {"zh": "搜索：", "en": "searched: "},
    "kind_map": {"zh": "地图：", "en": "on the map: "},
    "kind_code": {"zh": "计算：", "en": "calculated: "},
}


def say(key: str, language: Language, text: str = "") -> str:
    """A fixed sentence, with one text in it."""
    return _TEXTS[key][language].replace("{text}", text)


def headline(answer: str, language: Language) -> str:
    """The answer in bold, or the honest none; what it quotes can do nothing."""
    if not answer:
        return say("none", language)
    return say("answer", language, inert(answer).replace("*", "\\*"))


def tried(pool: Sequence[Evidence], language: Language) -> str:
    """What was looked up and calculated for nothing, each once."""
    lines: dict[str, None] = {}
    for found in pool:
        if not found["cached"]:
            lines[_try(found, language)] = None
    if not lines:
        return say("tried_nothing", language)
    shown = list(lines)[:_SHOWN_TRIES]
    if left := len(lines) - len(shown):
        shown.append(say("tried_more", language, str(left)))
    return "\n".join([say("tried", language), *shown])


def _try(found: Evidence, language: Language) -> str:
    kinds: dict[ToolKind, str] = {"search": "kind_search", "map": "kind_map", "code": "kind_code"}
    failed = say("failed", language) if found["failed"] else ""
    return f"- {say(kinds[found['kind']], language)}{inert(found['asked'][:120])}{failed}"


def calculation_section(used: Sequence[Evidence], language: Language) -> str:
    """The programs an answer rests on, each with its result; empty where there is none."""
    if not used:
        return ""
    shown = [_calculation(found, language) for found in used]
    return "\n\n".join([say("calculated", language), *shown])


def _calculation(found: Evidence, language: Language) -> str:
    program = found["asked"].strip()
    lines = program[:_SHOWN_CHARACTERS].rstrip().splitlines()[:_SHOWN_LINES]
    if "\n".join(lines) != program:
        lines.append(say("cut", language))
    longest = max((len(run) for run in _TICKS.findall(program)), default=0)
    fence = "`" * max(3, longest + 1)
    result = say("result", language, inert(found["text"][:_RESULT]))
    return "\n".join([f"{fence}python", *lines, fence, "", result])
