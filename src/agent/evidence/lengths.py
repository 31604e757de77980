"""How long a text is for a model, without asking one: an estimate on the safe side."""

import re
from bisect import bisect_right

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_CUT = "…"


def estimated_tokens(text: str) -> int:
    """Tokens: CJK characters / 1.5 plus other characters / 4, rounded up."""
    wide = len(_WIDE.findall(text))
    return int(wide / 1.5 + (len(text) - wide) / 4 + 0.999)


def cut_to_tokens(text: str, tokens: int) -> str:
    """The beginning of a text that is estimated at most so long; `…` tells of a cut."""
    if estimated_tokens(text) <= tokens:
        return text
    if tokens < 2:
        return ""
    longest = range(min(len(text), 4 * tokens) + 1)
    fitting = bisect_right(longest, tokens - 1, key=lambda end: estimated_tokens(text[:end]))
    return text[: max(0, fitting - 1)].rstrip() + _CUT
