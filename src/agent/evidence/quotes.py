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
