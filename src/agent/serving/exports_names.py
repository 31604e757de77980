"""How a downloaded file is called: after the question, as far as every file system allows it."""

import re
from typing import Literal
from urllib.parse import quote

_FORBIDDEN = re.compile(r'[\\/:*?"<>|\s]+')
_LONGEST = 60


def disposition(kind: Literal["attachment", "inline"], name: str, question: str) -> str:
    """The Content-Disposition of `name` (ASCII, with its ending) for an answer to `question`."""
    ending = name.rpartition(".")[2]
    asked = "".join(c if c.isprintable() else " " for c in question)
    asked = _FORBIDDEN.sub(" ", asked).strip(" .")[:_LONGEST].strip(" .")
    header = f'{kind}; filename="{name}"'
    if not asked:
        return header
    # Whatever the question holds, only %XX and letters, digits, -._~ get into the header.
    named = quote(f"{asked}.{ending}", safe="")
    return f"{header}; filename*=UTF-8''{named}"
