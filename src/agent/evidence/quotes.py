"""Find the words that a model says it has copied, where they really stand."""

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
