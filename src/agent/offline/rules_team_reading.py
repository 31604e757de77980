"""Which question is asked: read by the rules of its language."""

import re
from dataclasses import replace

from agent.language import detect_language

from .rules_team_ask import Ask
from .rules_team_chinese import read_chinese
from .rules_team_english import read_english

_DECIMALS = re.compile(
    r"([一两二三四1-4]|one|two|three)\s*(?:位小数|decimal|digits? after)", re.IGNORECASE
)
_WHOLE = re.compile(r"整数|\bintegers?\b|\bwhole numbers?\b", re.IGNORECASE)
_COUNT = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "one": 1, "two": 2, "three": 3}


def ask_of(question: str, requirement: str = "") -> Ask:
    """The question read by the rules of its language; `unknown` where no shape fits."""

    text = _asked_part(question)
    read = read_chinese if detect_language(text) == "zh" else read_english
    wanted = decimals_in(f"{requirement} {question}")
    asked = read(text)
    return asked if wanted is None else replace(asked, decimals=wanted)


def decimals_in(form: str) -> int | None:
    """How many decimals are asked for, 0 for a whole number; None where nothing says so."""
    if found := _DECIMALS.search(form):
        word = found[1].casefold()
        return _COUNT.get(word) or int(word)
    return 0 if _WHOLE.search(form) else None


def _asked_part(question: str) -> str:
    """Up to its last question mark, without brackets and what stands after it."""
    line = " ".join(
        re.sub(r"[（(][^（）()]*(?:格式|format|回答|answer)[^（）()]*[）)]", "", question).split()
    )
    head, mark, _ = line.rpartition("？" if "？" in line else "?")
    return (head if mark else line).strip(" 。.!！?？")
