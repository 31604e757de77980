"""Tell what may be answered without looking anything up, by signs that every language has.

A model says so; a weak one says it of facts as well. Code believes it where it sees a ground.
"""

import unicodedata

from agent.core.strings import has_han
from agent.evidence.figures import Figure, figures
from agent.evidence.language import sentence_spans, words

_LONGEST_COURTESY = 200
_SHORT = 30
"""Characters of thanks or a greeting that nobody replied to yet."""
_LONGEST_THANKS, _OF_HAN = 16, 3
"""Letters of a sentence that is mere thanks, and how many a Chinese character counts."""
_SAME_WORDS = 2
"""So many words of a question in a reply: it speaks of what was asked."""


def asks(text: str) -> bool:
    """Return whether there is a question mark in it, of any script."""
    return any("QUESTION MARK" in unicodedata.name(char, "") for char in text)


def tells_no_fact(question: str, reply: str) -> bool:
    """Return whether a reply can be one to thanks or a greeting: short, and without a digit.

    To a question it has to speak of something else ("How are you?"), else it tells a fact.
    """
    if not reply or len(reply) > _LONGEST_COURTESY or _has_digit(f"{question}{reply}"):
        return False
    return not asks(question) or len(words(question) & words(reply)) < _SAME_WORDS


def courtesy_of(question: str, reply: str) -> str:
    """Return of a reply what can be one to thanks or a greeting; empty where it answers a fact.

    All of it; to what asks nothing its first sentences, as far as none states a figure, and each is
    so short that it hardly tells a fact.
    """
    if tells_no_fact(question, reply) or not may_be_courtesy(question):
        return reply * tells_no_fact(question, reply)
    kept = 0
    for begin, end in sentence_spans(reply):
        letters = sum(_OF_HAN if has_han(char) else char.isalpha() for char in reply[begin:end])
        if letters > _LONGEST_THANKS or not tells_no_fact(question, reply[begin:end]):
            break
        kept = end
    return reply[:kept].strip()


def may_be_courtesy(question: str) -> bool:
    """Return whether a text can be thanks or a greeting: short, without a question or a number."""
    return len(question) <= _SHORT and not asks(question) and not _has_digit(question)


def may_be_sum(question: str) -> bool:
    """Return whether there are two numbers that could be reckoned with."""
    return len(_numbers(question)) > 1


def needs_word(question: str, text: str) -> bool:
    """Return whether a reader has to be told that nothing was looked up for a text.

    Not for thanks, nor for a sum: it shows the numbers it was asked for.
    """
    if may_be_sum(question):
        asked = {figure.bare for figure in _numbers(question)}
        return asked.isdisjoint(figure.bare for figure in _numbers(text))
    return asks(question) or _has_digit(text)


def _numbers(text: str) -> list[Figure]:
    return [each for each in figures(text) if each.date is None and each.clock is None]


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)
