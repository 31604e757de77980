"""Telling an answer's own text from the list of sources that code wrote under it."""

import re

_HEADING = re.compile(
    r"^(?:#{1,6} +|\*\*)?(?:参考来源|参考资料|来源|Sources|References)[:：]?(?:\*\*)?[:：]?[ \t]*$",
    re.MULTILINE,
)
_ENTRY = re.compile(r"(?:[-*] |\d+[.)] |\[\d+\]|\\?\[)")


def without_references(answer: str) -> str:
    """The answer without the list of sources at its end; unchanged where there is none."""
    headings = list(_HEADING.finditer(answer))
    if not headings:
        return answer
    last = headings[-1]
    lines = [line for line in answer[last.end() :].splitlines() if line.strip()]
    if not lines or not all(_ENTRY.match(line.lstrip()) for line in lines):
        return answer
    return answer[: last.start()].rstrip()


def without_notice(answer: str, notice: str) -> str:
    """The answer without the quoted notice that it begins with."""
    quoted = f"> {notice}"
    return answer.removeprefix(quoted).lstrip("\n") if notice else answer
