"""Show a plan on the terminal, let a person change it, and return it to its run."""

import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from agent.client.run_result import Pause
from agent.core.strings import one_line
from agent.evidence.types import PLAN_TEXTS, PlanPart
from agent.texts import Language, detect_language, say

_MOST = 10
"""Lines, where a plan does not say."""
_LONGEST = 500


def plan_language(pause: Pause) -> Language:
    """Return the language of a plan, for a continued run without a question."""
    return detect_language(" ".join(pause.texts))


def review(pause: Pause, language: Language) -> dict[str, Any]:
    """Return the person's decision, the plan or {cancel}; Ctrl-C, Ctrl-D: KeyboardInterrupt."""
    editor = _PlanEditor(pause, language)
    editor.show(pause.review)
    while (line := editor.read("> ")) and line.casefold() != "q":
        editor.act(line)
    return {"cancel": True} if line else editor.answer()


@dataclass
class _Line:
    """Hold one line of a plan under edit, with what belongs to it."""

    text: str
    shown: Any = None
    """As it came; None of the person's own."""
    words: str | None = None
    """Of its map task."""
    share: Any = None
    """What it adds to the estimate; None is what a line of the person's own adds."""

    def answer(self, part: PlanPart) -> Any:
        """Return what goes back to the run."""
        key = PLAN_TEXTS[part]
        if isinstance(self.shown, Mapping):
            return {**self.shown, key: self.text}
        return {"query": self.text, "map": None} if part == "queries" else self.text


class _PlanEditor:
    """Edit a plan in a conversation on standard error."""

    def __init__(self, pause: Pause, language: Language) -> None:
        self._part, self._language = pause.part, language
        self._most = int(pause.review.get("most") or _MOST)
        words = (pause.review.get("words") or {}).get("maps") or []
        self._estimate = pause.review.get("estimate")
        self._shares = pause.review.get("shares") or {}
        shares = self._shares.get("lines") or []
        rows = zip_longest(pause.texts, pause.lines, words, shares)
        self.lines = [_Line(*row) for row in rows]

    def answer(self) -> dict[str, Any]:
        """Return the plan as it is now."""
        return {self._part: [line.answer(self._part) for line in self.lines]}

    def show(self, review: Mapping[str, Any]) -> None:
        """Print the whole plan with its estimate."""
        if problem := review.get("problem"):
            self._say("problem", problem=problem)
        self._say(f"heading_{self._part}")
        self._list()
        if words := review.get("words"):
            self._print(words["estimate"])
        self._say("keys")

    def act(self, line: str) -> None:
        """Execute one command; print the plan again where it changed."""
        sign, rest = _sign(line)
        number, _, text = rest.partition(" ")
        if sign == "+":
            changed = self._add(rest)
        elif not number.isdecimal() or (sign and text):
            self._say("keys")
            return
        elif not 1 <= int(number) <= len(self.lines):
            self._say("none", number=number)
            return
        else:
            place = int(number) - 1
            acts = {"-": self._remove, "^": self._raise}
            changed = acts[sign](place) if sign else self._edit(place, text.strip())
        if changed:
            self._list()
            self._renew()
            self._say("keys")

    def _renew(self) -> None:
        """Print the estimate of the plan as it is now, where the run says what its lines add."""
        if not (self._estimate and self._shares):
            return
        from agent.assistants.common.plan_cost import estimate_words, sum_of

        now = self._estimate
        for share in self._shares["lines"]:
            now = sum_of(now, share, -1)
        for line in self.lines:
            now = sum_of(now, line.share or self._shares["own"])
        self._print(estimate_words(now, self._language))

    def read(self, prompt: str) -> str:
        """Read a line from the person, as one line of text."""
        try:
            if sys.stdout.isatty():
                return one_line(input(prompt), longest=_LONGEST)
            print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201
            return one_line(input(), longest=_LONGEST)
        except (EOFError, KeyboardInterrupt):
            print(file=sys.stderr)  # noqa: T201
            raise KeyboardInterrupt from None
        except UnicodeDecodeError:
            self._say("unreadable")
            return self.read(prompt)

    def _add(self, text: str) -> bool:
        if len(self.lines) >= self._most:
            self._say("full", most=self._most)
        elif text:
            self.lines.append(_Line(text))
            return True
        else:
            self._say("keys")
        return False

    def _remove(self, place: int) -> bool:
        if len(self.lines) == 1:
            self._say("last")
            return False
        del self.lines[place]
        return True

    def _raise(self, place: int) -> bool:
        if place:
            self.lines[place - 1 : place + 1] = self.lines[place], self.lines[place - 1]
        return bool(place)

    def _edit(self, place: int, text: str) -> bool:
        prompt = self._text("text", number=place + 1)
        if not (new := text or self.read(prompt)):
            return False
        line = self.lines[place]
        line.text = new
        if isinstance(line.shown, Mapping) and line.shown.get("map"):
            dropped = self.read(self._text("keep_map")).casefold() in ("n", "no", "不")
            if dropped:
                line.shown, line.share = {**line.shown, "map": None}, None
        return True

    def _list(self) -> None:
        for number, line in enumerate(self.lines, 1):
            self._print(f"  {number}. {line.text}{self._after(line)}")
            if isinstance(line.shown, Mapping) and line.shown.get("map"):
                self._print(f"     {self._text('map')}: {line.words}")

    def _after(self, line: _Line) -> str:
        """Return the numbers of the tasks that a task waits for, as ` ← 1, 2`."""
        deps = line.shown.get("dep") or [] if isinstance(line.shown, Mapping) else []
        ids = [each.shown.get("id") if isinstance(each.shown, Mapping) else None
               for each in self.lines]  # fmt: skip
        numbers = [str(ids.index(dep) + 1) for dep in deps if dep in ids]
        return f" ← {', '.join(numbers)}" if numbers else ""

    def _say(self, key: str, **values: Any) -> None:
        self._print(self._text(key, **values))

    def _text(self, key: str, **values: Any) -> str:
        return say(f"review.{key}", self._language, **values)

    def _print(self, line: str) -> None:
        indent = line[: len(line) - len(line.lstrip())]
        print(indent + one_line(line), file=sys.stderr, flush=True)  # noqa: T201


def _sign(line: str) -> tuple[str, str]:
    """Split off a leading +, - or ^, also as a Chinese keyboard writes them."""
    first = unicodedata.normalize("NFKC", line[0])
    return (first, line[1:].strip()) if first in ("+", "-", "^") else ("", line)
