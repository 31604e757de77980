"""Find the words that a model says it has copied, and those that it cites a source for."""

from collections.abc import Iterable
from difflib import SequenceMatcher

from agent.core.strings import letters_of
from agent.evidence.citations import MARKER
from agent.evidence.figures import figures
from agent.evidence.language import (
    bare_words,
    fold,
    sentence_spans,
    without_marks,
    words,
    words_in_order,
)

_NEAR = 0.7
MAX_QUOTE = 300
"""Characters of a quote that is shown."""


def as_it_says(copied: str, text: str) -> str:
    """Return copied words where a text has them, else its sentence that has most of them.

    Models alter a word in copying. Empty where no sentence has most of them, and all their figures.

    >>> as_it_says("our tests were all fine", "It fell. Our own tests were fine. Bye.")
    'Our own tests were fine.'
    """
    if not (bare := without_marks(fold(copied))):
        return ""
    if bare in without_marks(fold(text)):
        return copied
    wanted, told = words(copied), {figure.value for figure in figures(copied)}
    best, most = "", _NEAR * max(1, len(wanted))
    for line in text.splitlines():
        for start, end in sentence_spans(line):
            sentence = line[start:end].strip()
            share = len(wanted & words(sentence))
            if share >= most and told <= {figure.value for figure in figures(sentence)}:
                best, most = sentence, share + 1
    return best


def drops_more(wording: str, text: str, spans: Iterable[str]) -> bool:
    """Return whether a wording is a text without some words, not only those around some spans.

    One that puts anything in their place has to be read. What begins the text up to a colon may go.

    >>> text = "Only members may bring dogs, free of charge"
    >>> drops_more("Members may bring dogs", text, ["free of charge"])
    True
    >>> drops_more("Only members may bring dogs", text, ["free of charge"])
    False
    """
    own, left = words_in_order(fold(text)), words_in_order(fold(wording))
    head = len(words_in_order(fold(text.replace("：", ":").rpartition(":")[0])))
    at_fault = {*range(head)}
    for span in (words_in_order(fold(each)) for each in spans):
        starts = (at for at in range(len(own)) if own[at : at + len(span)] == span)
        at_fault.update(at for start in starts for at in range(start, start + len(span)))
    codes = SequenceMatcher(None, own, left, autojunk=False).get_opcodes()
    if {code for code, *_ in codes} - {"equal", "delete"}:
        return False
    gone = [range(start, end) for code, start, end, *_ in codes if code == "delete"]
    return any(at_fault.isdisjoint(run) for run in gone)


def marked_stretches(text: str) -> list[tuple[str, list[str]]]:
    """Return each stretch of a marked text with the ids of the markers right behind it."""
    start, found = 0, list[tuple[str, list[str]]]()
    for marker in MARKER.finditer(text):
        if marker.start() > start or not found:
            found.append((text[start : marker.start()], []))
        found[-1][1].append(marker[1])
        start = marker.end()
    return found


def quoted_item(text: str, name: str) -> str:
    """Return a sentence of a source as an item of a list, cited by `name`.

    A table that stands on one line, as passages are shown, has its rows again, each with all cells.

    >>> print(quoted_item("Prices. | Cell | Yuan | |---|---| | LFP | 310 | Since May.", "o0-0"))
    - Prices. [^o0-0]
    <BLANKLINE>
    | Cell [^o0-0] | Yuan |
    | --- | --- |
    | LFP | 310 |
    <BLANKLINE>
    - Since May. [^o0-0]
    """
    cells = [cell.strip() for cell in text.split("|")]
    rules = [at for at, cell in enumerate(cells) if "-" in cell and not cell.strip(":-")]
    width = next((n for n, at in enumerate(rules) if at != rules[0] + n), len(rules))
    begin = rules[0] - 1 - width if rules else 0
    if begin < 1:
        return f"- {text} [^{name}]"
    head, *heads = cells[begin : begin + width]
    rows, at = [[f"{head} [^{name}]", *heads], ["---"] * width], rules[0] + width + 1
    while at + width < len(cells) and not cells[at - 1]:
        rows.append(cells[at : at + width])
        at += width + 1
    around = (" ".join(filter(None, part)) for part in (cells[:begin], cells[at - 1 :]))
    before, after = (f"- {words} [^{name}]" if words else "" for words in around)
    table = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*filter(None, [before]), "", *table, "", *filter(None, [after])])


def span_in(words: str, text: str) -> str:
    """Return the words as they stand in a text, whatever their width, case and script; or none."""
    words = words.strip().strip("….。 ")
    if not words:
        return ""
    folded, wanted = fold(text), fold(words)
    at = folded.find(wanted)
    if at >= 0 and len(folded) == len(text):
        return text[at : at + len(wanted)]
    return words if bare_words(words) and bare_words(words) in bare_words(text) else ""


def each_once(quotes: Iterable[str]) -> list[str]:
    """Return quotes without those that another one has in it: one before, or one as short as they.

    A whole page's text is no place for the one sentence that bears something.
    """
    # Blanks and signs differ between a file's own words and what a passage makes of them.
    told: dict[str, str] = {}
    for quote in quotes:
        told.setdefault(letters_of(quote) or quote, quote)
    every = [*told.items()]
    return [
        quote
        for at, (one, quote) in enumerate(every)
        if not any(
            one != other and one in other and (before < at or len(whole) <= MAX_QUOTE)
            for before, (other, whole) in enumerate(every)
        )
    ]
