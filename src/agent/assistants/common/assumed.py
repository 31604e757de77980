"""Tell what of a program's result rests on numbers from nowhere: it is kept, and called assumed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.assistants.common.literals import lines_apart, results_among, without_literals
from agent.assistants.common.tool_results import code_text
from agent.core.errors import AgentError
from agent.evidence.sum_lines import assumed_label
from agent.sandbox.programs import CodeRunner
from agent.texts import Language

_APART = 8
"""Numbers of a program that are told apart; of more all are told together."""


@dataclass(frozen=True)
class Assumptions:
    """Hold a program's result, each line with the numbers from nowhere that it rests on."""

    text: str
    numbers: Sequence[str] = ()
    lines: Sequence[str] = ()
    """Those of the text that rest on any."""

    @property
    def is_all(self) -> bool:
        """Return whether no line stands without such numbers."""
        return len(self.lines) == len([line for line in self.text.splitlines() if line.strip()])


@dataclass(frozen=True)
class AssumptionFinder:
    """Find what programs assume, by running them with other numbers in the place of those."""

    runner: CodeRunner
    unfounded: Callable[[str], Awaitable[list[str]]]
    """Returns the numbers of a program that stand nowhere."""
    language: Language
    """Of what a model reads."""
    reader: Language

    async def in_result(self, program: str, text: str) -> Assumptions:
        """Return a result with what each of its lines assumes."""
        if not (lost := await self._lost(program)):
            return Assumptions(text)
        groups = [[number] for number in lost[:_APART]] if len(lost) <= _APART else [lost]
        others = await asyncio.gather(*(self._otherwise(program, group) for group in groups))
        resting = [lines_apart(text, other) for other in others]
        told, marked, used = list[str](), list[str](), dict[str, None]()
        for at, line in enumerate(text.splitlines()):
            pairs = zip(groups, resting, strict=True)
            numbers = [each for group, lines in pairs if at in lines for each in group]
            if numbers and line.strip():
                used |= dict.fromkeys(numbers)
                line += assumed_label(numbers, self.reader)
                marked.append(line)
            told.append(line)
        return Assumptions("\n".join(told), [*used], marked)

    async def _lost(self, program: str) -> list[str]:
        """Return the numbers of a program that stand nowhere and are none of its own results.

        A result is printed without the number in the program, too.
        """
        lost = await self.unfounded(program)
        while lost:
            found = results_among(lost, await self._otherwise(program, lost))
            if not found:
                break
            lost = [number for number in lost if number not in found]
        return lost

    async def _otherwise(self, program: str, numbers: Sequence[str]) -> str:
        """Return what a program prints where these numbers are others; empty if it cannot."""
        if not (changed := without_literals(program, numbers)):
            return ""
        try:
            printed = await self.runner.run(changed)
        except AgentError:
            return ""
        return "" if printed.error else code_text(printed, self.language)
