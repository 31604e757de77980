"""Cut a text into pieces that can be read alone: lines, runs of sentences, rows with their head."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from agent.core.processor import breathe
from agent.core.strings import is_table_rule, latin_length
from agent.evidence.language import sentence_spans, without_marks

_LONG, _WEIGHT, _LIGHT = 300, 300, 100
"""Characters of a piece; what a Han character weighs against a letter; letters of a passage, at
most and, where more follows, at least."""
_CAPTION, _LONGEST_HEAD = 80, 600
"""Letters of a line above a table, at most, that is read with each of its rows; characters of the
head itself: a longer one is a row like others, or a page would be as long as its square."""
MOST_READ = 400_000
"""Characters of one source."""


def with_heads(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text, a long one in runs of sentences, and the head of each row.

    A head is no line of its own where rows follow, each of which has it. It begins with the title
    that its table stands under and the line above the table, where these are short: a price says
    there of which edition it is.
    """
    title, above, head = "", "", ""
    lines = [line for line in text.split("\n") if line.strip()]
    for line, following, row in zip(lines, [*lines, ""][1:], [*lines, "", ""][2:], strict=False):
        if not _is_row(line):
            head, above = "", _caption(line)
            title, above = (above, "") if line.startswith("#") else (title, above)
        elif is_table_rule(line):
            continue
        elif is_table_rule(following):
            is_head = _is_row(row) and len(line) <= _LONGEST_HEAD
            head = "\n".join(filter(None, [title, above, line.strip()])) if is_head else ""
            if is_head:
                continue
        for piece in _pieces(line):
            yield piece, head


def _caption(line: str) -> str:
    # Most lines are long: their letters need not be weighed.
    is_short = len(line) <= _CAPTION and latin_length(line) <= _CAPTION
    return line.strip() if is_short else ""


def _pieces(line: str) -> Iterator[str]:
    if len(line) <= _LONG:
        if line.strip():
            yield line.strip()
        return
    pending = ""
    for start, end in sentence_spans(line):
        sentence = line[start:end]
        if pending and len(pending) + len(sentence) > _LONG:
            yield pending.strip()
            pending = ""
        pending += f"{sentence} " if sentence[-1:].isascii() else sentence
    if pending.strip():
        yield pending.strip()


def untold_in(text: str, told: set[str]) -> str:
    """Return the sentences of a text that were not told yet, and take them for told.

    Two searches find one page, and a plan has its sums in two places. The rows of a table are one.
    """
    kept = list[str]()
    for is_rows, lines in groupby(text[:MOST_READ].split("\n"), key=_is_row):
        breathe()
        every = [*lines]
        for line in ["\n".join(every)] if is_rows else every:
            parts = [line] if is_rows else [line[begin:end] for begin, end in sentence_spans(line)]
            said = [*map(without_marks, parts)]
            new = (part for part, bare in zip(parts, said, strict=True) if bare not in told)
            kept.append(" ".join(new))
            told.update(said)
    return "\n".join(kept)


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def packed(texts: Iterable[str]) -> Iterator[str]:
    """Yield passages of whole lines and sentences up to a weight; rows come with their head."""
    for text in texts:
        pending, weight, head = list[str](), 0, ""
        for piece, its_head in with_heads(text[:MOST_READ]):
            breathe()
            size = latin_length(piece)
            is_full = weight + size > _WEIGHT or its_head != head
            # A title alone says nothing of what stands under it.
            if pending and is_full and weight >= _LIGHT:
                yield "\n".join(pending)
                pending, weight = [], 0
            if its_head and (not pending or its_head != head):
                unsaid = [line for line in its_head.split("\n") if line not in pending]
                pending, weight = [*pending, *unsaid], weight + sum(map(len, unsaid))
            pending.append(piece)
            weight, head = weight + size, its_head
        if pending:
            yield "\n".join(pending)
