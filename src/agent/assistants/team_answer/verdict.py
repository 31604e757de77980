"""The verifier's verdict: what it agrees to, where that stands, and what would refute it.

It comes by a call of the tool `verdict`, and enters the transcript as the lines that a model
without tools writes itself: `VERDICT: AGREE 1987`, then `TERMINATE`.
"""

import re
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, BeforeValidator, Field

from agent.assistants.team_answer.state import TeamVerdict
from agent.core.strings import has_any, letters_of
from agent.evidence.citations import MARKER
from agent.evidence.queries import clean_text

VERDICT = "verdict"
_MOST, _LONGEST = 12, 2000
_NOT_FOUND = ("not found", "查不到", "没有查到", "未找到", "找不到")
_PREMISE_FALSE = ("premise false", "false premise", "前提不成立", "前提有误")
_LINE = re.compile(
    r"^[\W_]*(?:VERDICT|结论|判定|表态)[\W_]*(DISAGREED?|AGREED?|UNSURE|不同意|同意|不确定)"
    r"(?![A-Za-z])(?!\s*[|/])[\s*_:：,，。.\-–—]*(.*)$",
    re.IGNORECASE,
)
_END = "TERMINATE"
_HEADS = ("verdict", "结论", "判定", "表态")
"""Of a line whose word stands on the next one."""
_RESERVED = ("with", "but", "except", "partly", "in part", "但", "部分")
_WORDS: dict[str, TeamVerdict] = {
    "AGREE": "agree", "AGREED": "agree", "同意": "agree",
    "DISAGREE": "disagree", "DISAGREED": "disagree", "不同意": "disagree",
    "UNSURE": "unsure", "不确定": "unsure",
}  # fmt: skip
_AGREED = {"premise_false": "PREMISE FALSE", "not_found": "NOT FOUND"}


def is_not_found(text: str) -> bool:
    """Return whether an answer is that nothing was found."""
    return has_any(text.casefold(), _NOT_FOUND)


def says_premise_false(text: str) -> bool:
    """Return whether an answer is that what the question takes for granted is not so."""
    return has_any(text.casefold(), _PREMISE_FALSE)


def _text(value: Any) -> str:
    return value[:_LONGEST] if isinstance(value, str) else "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    rows = value if isinstance(value, list) else [value] if value else []
    return [_text(row) for row in rows][:_MOST]


_Text = Annotated[str, BeforeValidator(_text)]
_Texts = Annotated[list[str], BeforeValidator(_texts)]
_Flag = Annotated[bool, BeforeValidator(lambda value: str(value).lower() in ("true", "1", "yes"))]


class Settled(BaseModel):
    """The answer with what it rests on."""

    outcome: str = Field("not_found", description="answer, premise_false or not_found.")
    answer: str = Field("", description="The bare answer; empty where none was found.")
    evidence: list[str] = Field(
        default_factory=list, description="Ids the answer rests on: s3-0, a1-0 or c0."
    )
    explanation: str = Field("", description="Why, with [^id] markers.")
    contested: bool = Field(False, description="True where sources give different answers.")


class GivenVerdict(BaseModel):
    """Say, once the evidence is read, whether the answer holds: the last thing you do."""

    refuted_by: _Text = Field(
        "", description="What would show the answer wrong: another figure, a correction, a namesake"
    )
    looked_at: _Texts = Field(
        default_factory=list,
        description="Ids where you looked for that, or for an answer not found: s3-0, a1, c0",
    )
    quotes: _Texts = Field(
        default_factory=list,
        description="The words of the evidence that state the answer, copied exactly",
    )
    formula: _Text = Field(
        "", description="Of a calculated answer: the sum in figures, such as 828/330; else empty"
    )
    outcome: _Text = Field("answer", description="answer, premise_false or not_found")
    answer: _Text = Field(
        "", description="The bare answer in the form asked for; of a false premise what is true"
    )
    evidence: _Texts = Field(default_factory=list, description="Ids that bear the answer out")
    explanation: _Text = Field(
        "", description="Two to four sentences for the reader, each with its [^id]"
    )
    contested: _Flag = Field(False, description="True where the evidence gives different answers")
    verdict: _Text = Field("", description="AGREE, DISAGREE or UNSURE")
    look_up: _Text = Field("", description="Unless you agree: what to look up or compute")

    @property
    def settled(self) -> Settled:
        """Return the answer that the verifier gives."""
        return Settled.model_validate(self.model_dump(include={*Settled.model_fields}))

    @property
    def lines(self) -> str:
        """Return the verdict as the lines that all speakers read."""
        word = self.verdict.strip().upper()
        if _WORDS.get(word) != "agree":
            known = word if word in _WORDS else "UNSURE"
            return f"{self.explanation}\nVERDICT: {known} {clean_text(self.look_up, 400)}".strip()
        agreed = _AGREED.get(self.outcome.strip().lower()) or clean_text(self.answer, _LONGEST)
        return f"{self.explanation}\nVERDICT: AGREE {agreed}\nTERMINATE".strip()


VERDICT_TOOL: BaseTool = StructuredTool.from_function(
    lambda **_: "", name=VERDICT, description=GivenVerdict.__doc__ or "", args_schema=GivenVerdict
)


def given_verdict(message: AIMessage) -> GivenVerdict | None:
    """Return the verdict that a message gives by the tool; None beside other calls."""
    calls = message.tool_calls
    if not calls or any(call["name"] != VERDICT for call in calls):
        return None
    return GivenVerdict.model_validate(calls[-1]["args"])


def without_verdict(message: AIMessage) -> AIMessage:
    """Return a message without a verdict among other calls, whose results it does not know yet."""
    others = [call for call in message.tool_calls if call["name"] != VERDICT]
    if not others or len(others) == len(message.tool_calls):
        return message
    return message.model_copy(update={"tool_calls": others})


def verdict_of(text: str) -> TeamVerdict | None:
    """Return the word of the last verdict line; agreement with a reservation is unsure."""
    match = _match(text)
    if match is None:
        return None
    verdict = _WORDS[match[1].upper()]
    return "unsure" if verdict == "agree" and match[2].casefold().startswith(_RESERVED) else verdict


def agreed_of(text: str) -> str:
    """Return what the last verdict line agrees to, without markers; empty where it names none."""
    match = _match(text)
    if match is None or _WORDS[match[1].upper()] != "agree":
        return ""
    return MARKER.sub("", match[2]).strip().strip("*_`").strip()


def _match(text: str) -> re.Match[str] | None:
    """Return the last verdict line's match; the word may stand on the line below `VERDICT`."""
    lines = [line for line in text.splitlines() if line.strip()]
    joined = [
        f"{line} {following}" if letters_of(line) in _HEADS else line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]
    matches = [match for line in joined if (match := _LINE.match(line))]
    return matches[-1] if matches else None


def without_ending(text: str) -> str:
    """Return the text without lines that are only TERMINATE."""
    lines = (line for line in text.splitlines() if "".join(filter(str.isalnum, line)) != _END)
    return "\n".join(lines).strip()


def without_signals(text: str) -> str:
    """Return the text without verdicts and TERMINATE, for people."""
    lines, passed, skipped = without_ending(text).splitlines(), list[str](), False
    for line in lines:
        if skipped and line.strip():
            skipped = False
            continue
        skipped = letters_of(line) in _HEADS
        if not skipped and not _LINE.match(line):
            passed.append(line)
    return "\n".join(passed).strip()
