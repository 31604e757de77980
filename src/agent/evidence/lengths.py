"""How long a text is for a model, without asking one: an estimate on the safe side."""

import re

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_CUT = "…"


def estimated_tokens(text: str) -> int:
    """Tokens: CJK characters / 1.5 plus other characters / 4, rounded up."""
    return int(_weight(text) + 0.999)


def _weight(text: str) -> float:
    wide = len(_WIDE.findall(text))
    return wide / 1.5 + (len(text) - wide) / 4


def cut_to_tokens(text: str, tokens: int) -> str:
    """The beginning of a text that is estimated at most so long; `…` tells of a cut."""
    if estimated_tokens(text) <= tokens:
        return text
    end, left = 0, float(tokens - 1)
    while left > 0 and end < len(text):
        # A stretch that fits even if every character of it is wide, so that few steps suffice.
        step = max(1, int(left * 1.5))
        left -= _weight(text[end : end + step])
        end += step
    end -= left < 0
    return text[:end].rstrip() + _CUT if end > 0 else ""
