"""The programs the team runs: arithmetic, dates and comparisons are theirs, never the rules'."""

from collections.abc import Sequence

from agent.language import Language

from .rules_team_ask import Ask
from .rules_team_facts import Fact
from .rules_team_seen import Card, Seen
from .rules_team_steps import candidates

_WEEKDAYS: dict[Language, list[str]] = {
    "zh": ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"],
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
}
_TELL = (
    "print(', '.join(row[-1] if len(row) > 2 else row[0] for row in chosen), "
    "*(row[0] for row in chosen if len(row) > 2), sep=' | ')"
)
"""The answer first, then whose it is."""
_CLOCK = (
    "def minutes(text, late):\n"
    "    hour, minute = (int(part) for part in text.split(':'))\n"
    "    return (hour + (24 if late and hour < 6 else 0)) * 60 + minute\n"
)


def program(ask: Ask, facts: Sequence[Fact | None], seen: Seen, *, again: bool = False) -> str:
    """The program that brings the answer, or (`again`) checks it another way; empty where none
    is needed or a figure is missing."""
    if ask.best:
        return _best_program(ask, seen, again=again)
    if not facts or any(fact is None for fact in facts):
        return ""
    known = [fact for fact in facts if fact]
    if ask.operation == "value":
        return _value_program(known[0], again=again) if known[0].factor else ""
    if any("-" in fact.value and not fact.value[:4].isdigit() for fact in known):
        return ""
    if ask.operation in ("weekday", "days", "years"):
        return _date_program(ask, [fact.value for fact in known], again=again)
    if ask.operation in ("least", "most"):
        return _choice_program(ask, known, again=again)
    return _sum_program(ask, known, again=again)


def _figure(fact: Fact, again: bool) -> str:
    kind = "Fraction" if again else "Decimal"
    return f'{kind}("{fact.value}") {fact.factor}'.strip()


def _value_program(fact: Fact, *, again: bool) -> str:
    return f"print({_shown(_figure(fact, again), 3)})"


def _shown(formula: str, digits: int) -> str:
    """An expression for the rounded number without useless zeros."""
    return f"f'{{round(float({formula}), {digits}):.15g}}'"


def _sum_program(ask: Ask, facts: Sequence[Fact], *, again: bool) -> str:
    a = _figure(facts[0], again)
    b = _figure(facts[1], again) if len(facts) > 1 else ""
    formula = {
        "difference": "abs(a - b)" if not again else "max(a, b) - min(a, b)",
        "sum": "a + b" if not again else "sum([b, a])",
        "ratio": "a / b",
        "percent": "a / b * 100" if not again else "100 * a / b",
        "product": f"a * {ask.factor}" if not again else f"sum([a] * {ask.factor})",
    }[ask.operation]
    digits = ask.decimals if ask.operation in ("ratio", "percent") else 3
    lines = [f"a = {a}", f"b = {b}" if b else "", f"print({_shown(formula, digits)})"]
    return "\n".join(filter(None, lines))


def _date_program(ask: Ask, values: Sequence[str], *, again: bool) -> str:
    if ask.operation == "years":
        first, second = (value[:4] for value in values)
        return f"print(abs({second} - {first}))" if not again else (
            "from datetime import date\n"
            f"print(abs(date({second}, 1, 1).year - date({first}, 1, 1).year))"
        )  # fmt: skip
    made = [f"date({', '.join(str(int(part)) for part in value.split('-'))})" for value in values]
    head = "from datetime import date\n"
    if ask.operation == "days":
        left, right = made
        sure = f"{right}.toordinal() - {left}.toordinal()" if again else f"({right} - {left}).days"
        return f"{head}print(abs({sure}))"
    names = _WEEKDAYS[ask.language]
    index = f"({made[0]}.toordinal() - 1) % 7" if again else f"{made[0]}.weekday()"
    return f"{head}print({names!r}[{index}])"


def _choice_program(ask: Ask, facts: Sequence[Fact], *, again: bool) -> str:
    """Which of two subjects has the less or the more."""
    clock = any(":" in fact.value for fact in facts)
    rows = ", ".join(
        f"({name!r}, {_clock(fact.value, ask) if clock else _figure(fact, again)})"
        for name, fact in zip(ask.names, facts, strict=True)
    )
    head = _CLOCK if clock else ""
    return f"{head}rows = [{rows}]\n{_pick('least' if ask.operation == 'least' else 'most', again)}"


def _clock(value: str, ask: Ask) -> str:
    late = any(need.attribute == "closes" for need in ask.needs)
    return f'minutes("{value}", {late})'


def _pick(way: str, again: bool) -> str:
    if again:
        turned = "True" if way == "most" else "False"
        return (
            f"rows.sort(key=lambda row: row[1], reverse={turned})\n"
            "chosen = [row for row in rows if row[1] == rows[0][1]]\n" + _TELL
        )
    chosen = "max" if way == "most" else "min"
    return (
        f"best = {chosen}(row[1] for row in rows)\n"
        "chosen = [row for row in rows if row[1] == best]\n" + _TELL
    )


def _best_program(ask: Ask, seen: Seen, *, again: bool) -> str:
    """The best of the looked-up places, or what is asked of it."""
    best = ask.best
    if best is None:
        return ""
    rows = []
    for place, card in enumerate(candidates(best, seen)):
        measure, wanted = _measure(best.by, card, place), _wanted(ask, card, seen)
        if measure:
            rows.append(f"({card.name!r}, {measure}{wanted})")
    if not rows:
        return ""
    head = _CLOCK if best.by in ("opens", "closes") else ""
    listed = "[\n    " + ",\n    ".join(rows) + ",\n]"
    return f"{head}rows = {listed}\n{_pick('most' if best.most else 'least', again)}"


def _measure(by: str, card: Card, place: int) -> str:
    """What places are compared by, as a program writes it; places nearer come earlier."""
    if by in ("rating", "cost"):
        value = card.rating if by == "rating" else card.cost
        return f'Decimal("{value}")' if value else ""
    if by == "distance":
        return str(place + 1)
    if not card.spans:
        return ""
    return (
        f'minutes("{card.spans[0][0]}", False)'
        if by == "opens"
        else f'minutes("{card.spans[-1][1]}", True)'
    )


def _wanted(ask: Ask, card: Card, seen: Seen) -> str:
    """The attribute of a hop, as a third column."""
    from .rules_team_facts import map_fact

    if not ask.needs:
        return ""
    fact = map_fact(ask.needs[0], card, seen)
    return f", {fact.value!r}" if fact else ", ''"
