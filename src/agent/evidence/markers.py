"""The marker grammar: `[^id]`, where an id is letters, digits, a hyphen and digits (`w0-2`)."""

import re
from collections.abc import Container, Iterable

ID = r"[a-z]+\d+-\d+"
MARKER = re.compile(rf"\[\^({ID})\]")

_ID_ONLY = re.compile(ID)
_BRACKETED = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")
_TOKENS_ONLY = re.compile(r"[\s\w\-^,;，；、]+")
_BETWEEN = re.compile(r"[\s,;，；、^]+")
_FOOTNOTE = re.compile(r"\d{1,3}")
_USUAL_LETTERS = frozenset({"w", "a", "p"})


def id_letters(ids: Iterable[str]) -> frozenset[str]:
    """The letters that ids begin with: with these, `[w0-2]` is a marker without its caret."""
    return _USUAL_LETTERS | {name.rstrip("0123456789-") for name in ids}


def read_marker(content: str, letters: frozenset[str]) -> list[str] | None:
    """The ids between two brackets, in order; None if that is no attempt at a citation.

    With a caret, an id of ours and a bare footnote number count; without one, only ids.
    """
    if not _TOKENS_ONLY.fullmatch(content):
        return None
    tokens = [token for token in _BETWEEN.split(content.lower()) if token]
    with_caret = content.lstrip().startswith("^")
    if not tokens or not all(_is_id(token, letters, with_caret) for token in tokens):
        return None
    return tokens


def read_quoted_marker(content: str, known: Container[str]) -> list[str]:
    """The ids of a code span that is nothing but a marker of known ids; else none."""
    found = _BRACKETED.fullmatch(content.strip())
    names = read_marker(found[1], _USUAL_LETTERS) if found else None
    return names if names and all(name in known for name in names) else []


def cited_ids(text: str) -> list[str]:
    """The ids a marked text cites, each once, by first use; spelling variants included."""
    found: dict[str, None] = {}
    for bracket in _BRACKETED.finditer(text):
        for name in read_marker(bracket[1], _USUAL_LETTERS) or ():
            if _ID_ONLY.fullmatch(name):
                found[name] = None
    return list(found)


def _is_id(token: str, letters: frozenset[str], with_caret: bool) -> bool:
    if _ID_ONLY.fullmatch(token):
        return with_caret or token.rstrip("0123456789-") in letters
    return with_caret and bool(_FOOTNOTE.fullmatch(token))
