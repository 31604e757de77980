"""Find the words that a model says it has copied, and those that it cites a source for."""

from agent.evidence.citations import MARKER
from agent.evidence.figures import figures
from agent.evidence.language import fold, sentence_spans, without_marks, words

_NEAR = 0.7


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
