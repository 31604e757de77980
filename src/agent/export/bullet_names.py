"""Find where a bullet names its place at the front; the page does the same (`bullet_names.js`)."""

from collections.abc import Iterator

from agent.evidence.mentions import without_branch
from agent.evidence.types import Place

CITED = "\x01"
"""What stands for each character of a citation."""
Span = tuple[int, int]
_OPENS, _CLOSES = "(（", ")）"
_BLANKS, _SEPARATORS = " \t\u3000", ",，:：;；·、،؛.。—"
"""What may stand between a name that is no part of a sentence, and what is said of the place."""
_WAY, _MOST_BEFORE, _MOST_TIME = "→", 6, 24
"""What joins a name with another one; characters before a bullet's name, and such as tell when."""


def name_in(text: str, place: Place, head: str = "") -> Span | None:
    """Return where a bullet names its place at the front: after a time, or a label ("lunch:").

    `head` is what it prints bold: of a name some words may do. In "from the station to Harald" the
    name is of the sentence, and in "Walk: Ateneum → Kiasma" of a way.
    """
    found, part = list[Span](), " " in head.strip() and is_name(head, place)
    for name in (*_names(place), head if part else ""):
        at = text.find(name) if name else -1
        before = text[: max(at, 0)].rstrip()
        is_label = at <= _MOST_BEFORE and before.endswith((":", "："))
        is_timed = at <= _MOST_TIME and not any(sign.isalpha() for sign in before)
        behind = text[at + len(name) :].lstrip()
        is_way = behind.startswith(_WAY) and not behind[1:].lstrip()[:1].isdecimal()
        if name and at >= 0 and (is_label or is_timed) and not is_way:
            found.append((at, at + len(name)))
    return min(found, key=lambda span: span[0], default=None)


def named_part(text: str, place: Place, name: Span) -> Span | None:
    """Return the part of a bullet that only names its place; None where a sentence begins with it.

    Its name in another language behind it, in brackets, is of it, and what parts it from the rest;
    a time or a label before it is not: "Ateneum replaces the museum" is a sentence.
    """
    begin, end = name
    inside = _brackets(text, end)
    if inside and is_name(text[inside[0] + 1 : inside[1] - 1], place):
        end, inside = inside[1], _brackets(text, inside[1])
    said = text[inside[1] if inside else end :].lstrip(_BLANKS + CITED)
    is_dash = said[:1] in ("-", "–") and text[end : end + 1] in _BLANKS
    if not (inside or not said or said[0] in f"{_SEPARATORS}\n" or is_dash):
        return None
    if inside and said[:1].isalnum():
        return None
    before = text[:begin].rstrip()
    if says_something(before) and not before.endswith((":", "：")):
        return len(before), end
    rest = text[end:].lstrip(f"{_BLANKS}{_SEPARATORS}\n")
    rest = rest[1:].lstrip() if is_dash and rest[:1] in ("-", "–") else rest
    return begin if says_something(before) else 0, len(text) - len(rest)


def says_something(words: str) -> bool:
    """Return whether words or a time stand there, not only a bullet's number."""
    times = zip(words, words[1:], words[2:], strict=False)
    is_time = any(a.isdigit() and colon == ":" and b.isdigit() for a, colon, b in times)
    return is_time or any(sign.isalpha() for sign in words)


def is_name(words: str, place: Place) -> bool:
    """Tell whether words are a place's name and nothing else."""
    called, rest = [*_names(place)], words
    for name in called:
        rest = rest.replace(name, "", 1)
    known = {*runs_of(" ".join([*called, place.get("name_pinyin", "")]))}
    return bool(words.strip()) and known.issuperset(runs_of(_without_brackets(rest)))


def runs_of(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, small."""
    return "".join(sign if sign.isalnum() else " " for sign in text.casefold()).split()


def _names(place: Place) -> Iterator[str]:
    """Yield what a place is called: without its branch, too."""
    for name in filter(None, (place["name"], place.get("name_hant"), place.get("name_en"))):
        yield from (name, without_branch(name))


def _brackets(text: str, at: int) -> Span | None:
    """Return where brackets stand that open there, behind a blank at most; None without any."""
    begin = at + (text[at : at + 1] in (" ", "\u3000"))
    depth = 0
    for end, sign in enumerate(text[begin:], begin + 1):
        depth += (sign in _OPENS) - (sign in _CLOSES)
        if depth < 1:
            return (begin, end) if end > begin + 1 else None
    return None


def _without_brackets(text: str) -> str:
    """Return a text without what stands in brackets; itself where one is not closed."""
    depth, kept = 0, ""
    for sign in text:
        depth += sign in _OPENS
        kept += sign if depth < 1 else ""
        depth -= sign in _CLOSES and depth > 0
    return text if depth else kept
