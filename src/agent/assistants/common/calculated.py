"""Choose what of a run's calculations stands below a text: the sums that it uses."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

from agent.assistants.common.draft import Draft
from agent.assistants.common.inputs import Inputs
from agent.assistants.common.tool_results import rounded
from agent.assistants.common.toolbox import is_calculation
from agent.evidence.citations import ids_in, inert
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.figures import Figure, figures
from agent.evidence.notation import LINKED
from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm, with_times
from agent.evidence.numbering import source_key
from agent.evidence.references import lettered
from agent.evidence.shown_sums import digits_of, right_results, shown_sums
from agent.evidence.stated import states
from agent.evidence.sum_lines import assumed_once, gives, parted_assumed, results
from agent.evidence.types import Source
from agent.texts import say

_EMPHASIS = str.maketrans({sign: f"\\{sign}" for sign in "*_"})
_PAIR, _FOUR = 2, 4
_TWO_PLACES, _TENS, _TELLING, _DIGITS = 2, 10, 100, 4
"""From here on a number is hardly another's by chance, though its sentence cites no sum."""


def calculations(draft: Draft) -> str:
    """Return the lines that a text uses of calculations which it does not cite.

    Those of a cited one stand at its entry among the sources: there its citations lead, and they
    lengthen no text whose length was asked for.
    """
    programs = [*filter(is_calculation, draft.sources.values())]
    if not programs:
        return ""
    used = {source_key(source): source for source in draft.citer.used}
    numbers = {key: f"[{source.get('number')}]" for key, source in used.items()}
    marks = {one["id"]: numbers[key] for one in programs if (key := source_key(one)) in used}
    quotes = (each for source in used.values() if not is_calculation(source)
              for each in source["quotes"])  # fmt: skip
    explained = {figure.value for each in quotes for figure in figures(each)}
    said = statements(draft.body, LINKED)
    sums = UsedSums(draft.body, said, marks, draft.number_form, explained)
    chosen = sums.lines(programs)
    for source in used.values():
        # The text may have been told its sums before it was corrected.
        source.pop("sums", None)
        source.pop("inputs", None)
    inputs = _inputs(draft, used)
    for key, mark in numbers.items():
        if lines := chosen.pop(mark, []):
            lines = assumed_once(lines, draft.language)
            used[key]["sums"] = lettered(lines)
            if inputs:
                found = ([draft.sources[name] for name in names] for names in inputs.of(lines))
                used[key]["inputs"] = ["".join(map(draft.citer.citation, one)) for one in found]
    blocks = [
        "\n".join(f"- {inert(line)}".translate(_EMPHASIS) for line in lines)
        for lines in chosen.values()
    ]
    head = f"**{say('deep_research.calculated', draft.language)}**"
    return draft.by_code("\n\n".join([head, *blocks]) if blocks else "")


def _inputs(draft: Draft, used: Container[str]) -> Inputs | None:
    """Return what finds the sources of lines: what the text or a thought of the lead names."""
    reading = draft.claims.evidence if draft.claims else None
    evidence = reading.result() if reading and reading.done() else None
    noted = ids_in("\n".join(cast(Mapping[str, Any], draft.state).get("notes") or []))
    keys = {
        name: key
        for name, source in draft.sources.items()
        if not is_calculation(source) and ((key := source_key(source)) in used or name in noted)
    }
    return Inputs(evidence, keys, draft.inputs) if evidence else None


@dataclass(frozen=True)
class UsedSums:
    """Tell which lines that programs have printed a text uses, and write them as it does.

    `marks` are the citations of programs by their ids.
    """

    body: str
    said: Sequence[Statement]
    marks: Mapping[str, str]
    form: NumberForm = ENGLISH_NUMBERS
    explained: Container[Decimal] = ()
    """What cited sources say: no line has to tell where it comes from."""
    _terms: dict[Decimal, "_Use"] = field(default_factory=dict)
    """What the lines that are shown are made of."""
    _beside: set[Decimal] = field(default_factory=set)
    """The same of the program at hand."""

    def lines(self, programs: Sequence[Source]) -> dict[str, list[str]]:
        """Return the lines of each program that the text uses, and what these rest on.

        They stand under the mark that cites it, else under its id.

        They stand in the order in which the text uses them, each behind what it rests on. What the
        text works out itself is not told again. What else a program gave and the revised text no
        longer says would contradict it, and so would what a later program worked out anew.
        """
        chosen, anew = dict[str, list[_Told]](), dict[str, set[Decimal]]()
        # What a line rests on was worked out before it.
        for source in reversed(programs):
            lines = whole_lines(rounded(source["quotes"][0], whole=_FOUR))
            self._beside.clear()
            name = self.marks.get(source["id"], source["id"])
            for line in reversed(lines):
                mark = self.marks.get(source["id"], "")
                later = anew.get(_label(line))
                if later is not None and not self._is_said(line, mark, later):
                    continue
                if use := self._as_told(line, mark):
                    chosen.setdefault(name, []).insert(0, use)
            for line in lines:
                if called := _label(line):
                    anew.setdefault(called, set()).update(own.value for own in results(line))
        shown, once = dict[str, list[tuple[str, str]]](), dict[str, list[_Told]]()
        for name, told in reversed(chosen.items()):
            for one in told:
                # A lunch and a dinner may cost the same; what is told once has one line.
                formula = one.line.replace("：", ":").rpartition(":")[2].strip()
                same, label = shown.setdefault(formula, []), (name, _label(one.line))
                if not same or (label not in same and same[0][0] == name and len(same) < one.times):
                    once.setdefault(name, []).append(one)
                    same.append(label)
        return {name: [one.line for one in sorted(told, key=lambda one: one.at)]
                for name, told in once.items()}  # fmt: skip

    @cached_property
    def _worked(self) -> set[Decimal]:
        """Return what the text works out itself."""
        return {figure.value for one in self.said for figure in right_results(one.plain)}

    def _as_told(self, line: str, mark: str) -> "_Told | None":
        """Return a line as the text tells its figures; none where it uses none of them."""
        sums = [one for one in shown_sums(line) if one.is_right]
        shown = results(line)
        if sums and {own.value for own in shown} <= self._worked:
            return None
        pairs = [(own, said) for own in shown if (said := self._said(own, mark))]
        uses = [_Use(min(said), len(said)) for _, said in pairs]
        # A later line uses a result as it was before it was rounded.
        values = dict.fromkeys([*(own.value for own in shown), *(one.sum.value for one in sums)])
        uses += [self._terms[value] for value in values if self._rests_on(value)]
        if not uses:
            return None
        use = _Use(min(one.at for one in uses), max(one.times for one in uses))
        given = {own.text for own in shown}
        every = figures(parted_assumed(line)[0])
        terms = [value for f in every if f.text not in given for value in _numbers(f)]
        for value, times in Counter(terms).items():
            known = self._terms.get(value, use)
            most = max(times, known.times if value in self._terms else 0)
            self._terms[value] = _Use(min(use.at, known.at), most)
        self._beside.update(terms)
        told, at, by_own = "", 0, {own.start: next(iter(said.values())) for own, said in pairs}
        for own in figures(line):
            words = self._words_for(own, by_own.get(own.start), line)
            if words and own.start >= at:
                told += self._written(line[at : own.start], line) + words
                at = own.end
        return _Told(use.at, use.times, told + self._written(line[at:], line))

    def _written(self, part: str, line: str) -> str:
        """Return a part of a line with its numbers as the text writes them."""
        return self._form.written(part, self.body, line)

    def _alike(self, number: str, line: str) -> str:
        """Return a number of the text with its thousands parted where the other lines' are."""
        return self._written(number, line) if number.isdecimal() else number

    @cached_property
    def _form(self) -> NumberForm:
        return self.form.as_in(" ".join(one.plain for one in self.said))

    def _is_said(self, line: str, mark: str, later: Container[Decimal]) -> bool:
        """Return whether the text tells a telling result of a line that no later one has."""
        return any(
            _is_telling(own.value) and own.value not in later and self._said(own, mark)
            for own in results(line)
        )

    def _rests_on(self, value: Decimal) -> bool:
        """Return whether a shown line rests on a result that no cited source explains."""
        if value not in self._terms or (_is_telling(value) and value in self.explained):
            return False
        if _is_telling(value) or (value in self._beside and value >= _TENS):
            return True
        # A sum that is declared rests on what a program gave: 12.6 + 8.4.
        return _has_fraction(value) and value not in self.explained

    def _words_for(self, own: Figure, said: Figure | None, line: str) -> str:
        """Return a program's figure with the text's number, or its sign of the currency.

        A unit in words stays: its case is that of the line.
        """
        is_exact = said is not None and (said.factor, said.kind) == (own.factor, own.kind)
        before, number, behind = _parted(own.text)
        if said and is_exact and abs(own.value) == said.value:
            minus = "" if own.value == said.value else "−"
            told = _parted(said.text)
            if own.is_money and not (told[0] or told[2]):
                # The low end of a range has its unit at the high one, in the text or in both.
                signs = self._currencies.get((own.kind or "", own.factor))
                is_end = own.scale != 1 or not (before.strip("-−") or behind)
                sign = (before.strip("-−"), behind) if is_end or not signs else signs
                return f"{minus}{sign[0]}{self._alike(told[1], line)}{sign[1]}"
            if own.is_money or not own.kind:
                return f"{minus}{told[0]}{self._alike(told[1], line)}{told[2]}"
            is_plain = number and told[1] and not any(map(str.isalpha, number + told[1]))
            digits = self._alike(told[1], line)
            return f"{minus}{before.strip('-−')}{digits}{behind}" if is_plain else ""
        is_bare = said and not said.kind and said.scale == 1 and abs(own.value) == said.value
        if said and is_bare:
            # The unit of a cell's number stands in its head.
            number = self._alike(_parted(said.text)[1], line)
        signs = self._currencies.get((own.kind or "", own.factor))
        if not (signs and number and behind) or own.scale != 1 or before.strip("-−"):
            return f"{before}{number}{behind}" if is_bare else ""
        number = number if is_bare else self._written(number, line)
        return f"{before}{signs[0]}{number}{signs[1]}"

    @cached_property
    def _currencies(self) -> dict[tuple[str, Decimal], tuple[str, str]]:
        """Return what the text writes before and behind an amount of each currency."""
        every = (figure for one in reversed(self.said) for figure in figures(one.plain))
        parted = [(f, _parted(f.text)) for f in every if f.is_money and f.scale == 1 and not f.per]
        return {(f.kind or "", f.factor): (before, behind)
                for f, (before, number, behind) in parted
                if number and (before or behind)}  # fmt: skip

    def _said(self, own: Figure, mark: str) -> dict[int, Figure]:
        """Return the figures of the text that tell a result, by where their statements begin."""
        found = dict[int, Figure]()
        for one in self.said:
            for figure in figures(one.plain):
                is_of_it = abs(own.value) >= _TELLING and own.kind in (None, "", figure.kind)
                is_told = states(figure) if mark in one.cited else figure.telling
                is_certain = is_told and (mark in one.cited or is_of_it)
                is_given = gives(own, figure, one) or (
                    mark in one.cited and self._is_term_of(own, figure, one)
                )
                is_other = _is_count_beside(own, figure, one) or _is_code(figure.text)
                if is_certain and is_given and not is_other:
                    found.setdefault(one.start, figure)
        return found

    def _is_term_of(self, own: Figure, figure: Figure, statement: Statement) -> bool:
        """Return whether a statement's sum has a result as a term, its unit behind the sum's."""
        is_it = not figure.kind and figure.scale == 1 and abs(own.value) == figure.value
        sums = shown_sums(statement.plain) if is_it and _has_fraction(figure.value) else ()
        return any(figure.value in one.sum.numbers for one in sums)


@dataclass(frozen=True)
class _Use:
    """Hold where a text first uses a result, and how often it does: or a line that is shown."""

    at: int
    times: int


@dataclass(frozen=True)
class _Told(_Use):
    """Hold a line as the text tells its figures."""

    line: str


def whole_lines(text: str) -> list[str]:
    """Return a program's lines with signs for what multiplies; what goes on is none of its own.

    >>> whole_lines("managed: 4443 - 3813 = 630\\n  = 8 hours of work at 80\\nnodes: 2 x 3 = 6")
    ['managed: 4443 - 3813 = 630 = 8 hours of work at 80', 'nodes: 2 × 3 = 6']

    A label that is a variable's name is words: `total_cost: 5` is "total cost: 5".
    """
    lines = list[str]()
    for line in with_times(text).strip().splitlines():
        if lines and line.strip().startswith(_GOES_ON):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            label, colon, rest = line.partition(":")
            is_name = colon and label.strip().isidentifier()
            lines.append(f"{label.replace('_', ' ')}:{rest}" if is_name else line)
    return lines


_GOES_ON = ("=", "＝", "≈", "→", "⇒")


def _numbers(figure: Figure) -> list[Decimal]:
    """Return the numbers of a figure: of a fraction, 38/2, also both that it is made of."""
    parts = figure.text.split("/")
    is_fraction = len(parts) == _PAIR and all(part.isdecimal() for part in parts)
    return [figure.value, *(map(Decimal, parts) if is_fraction else ())]


def _label(line: str) -> str:
    """Return what a line calls its result; empty where it gives it no name."""
    label, colon, _ = line.replace("：", ":").partition(":")
    return label.strip().casefold() if colon else ""


def _is_telling(value: Decimal) -> bool:
    """Return whether a number is hardly another's by chance: a great one, or of many digits."""
    _, digits, exponent = value.as_tuple()
    return value >= _TELLING or len(digits) >= _DIGITS or -int(exponent) > _TWO_PLACES


def _is_count_beside(own: Figure, said: Figure, statement: Statement) -> bool:
    """Return whether a sentence counts something else: 4 RCU are not 4 hours."""
    is_small = not said.has_decimals and abs(said.value) < _TELLING
    return bool(own.kind) and not said.kind and is_small and statement.kind != "cell"


def _is_code(text: str) -> bool:
    """Return whether digits are no amount: those of a telephone, 0600."""
    return text[:1] == "0" and text[1:2].isdigit()


def _has_fraction(value: Decimal) -> bool:
    return bool(value % 1) and digits_of(value) >= _PAIR


def _parted(amount: str) -> tuple[str, str, str]:
    """Return what stands before a number, the number, and what stands behind it."""
    digits = [at for at, char in enumerate(amount) if char.isdigit()]
    if not digits:
        return amount, "", ""
    begin, end = digits[0], digits[-1] + 1
    return amount[:begin], amount[begin:end], amount[end:]
