"""Call a number assumed at the line of a calculation that has it, not at each that rests on it."""

from collections.abc import Sequence
from decimal import Decimal

from agent.evidence.figures import figures
from agent.evidence.sum_lines import results
from agent.texts import Language, say

_MARK = "\0"


def assumed_once(lines: Sequence[str], language: Language) -> list[str]:
    """Return listed lines whose "(6 assumed)" names only what no other line of them tells of.

    What another one has among its terms is called so there, and what another one gives is no
    assumption but its result.

    >>> assumed_once(["hour: 30 / 5 = 6 (5 assumed)", "day: 6 × 8 = 48 (5, 6 assumed)"], "en")
    ['hour: 30 / 5 = 6 (5 assumed)', 'day: 6 × 8 = 48']
    """
    before, after = say("tools.assumed", language, numbers=_MARK).split(_MARK)
    comma = say("punctuation.comma", language)
    parted = [_parted(line, before, after, comma) for line in lines]
    said = [{figure.value for figure in figures(words)} for words, _ in parted]
    given = [{figure.value for figure in results(words)} for words, _ in parted]
    told = list[str]()
    for at, (words, numbers) in enumerate(parted):
        others = [n for n in range(len(parted)) if n != at]
        left = [
            text for text, number in numbers.items()
            if not _is_told(number, said[at], others, said, given)
        ]  # fmt: skip
        told.append(f"{words}{before}{comma.join(left)}{after}" if left else words)
    return told


def _parted(line: str, before: str, after: str, comma: str) -> tuple[str, dict[str, Decimal]]:
    """Return a line without what it assumes, and the numbers that it does; else the whole line."""
    words, found, told = line.removesuffix(after).rpartition(before)
    if not (found and line.endswith(after)):
        return line, {}
    read = {text: figures(text) for text in told.split(comma)}
    if not all(len(found) == 1 and found[0].text == text for text, found in read.items()):
        return line, {}
    return words, {text: found[0].value for text, found in read.items()}


def _is_told(
    number: Decimal,
    own: set[Decimal],
    others: Sequence[int],
    said: Sequence[set[Decimal]],
    given: Sequence[set[Decimal]],
) -> bool:
    if any(number in given[at] for at in others):
        return True
    return number not in own and any(number in said[at] for at in others)
