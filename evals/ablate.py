"""Which rules no labelled row needs: `python -m evals.ablate [KIND ...]`, or `make ablate`.

Each public function of a kind's modules, and each alternative of their word lists (the top of a
compiled pattern, a table of words), is switched off alone; a row that was right and then is not
needs it. What no row needs is listed last, and should go. `--half dev` judges by the rows that the
rules were written with; the others stay unseen.
"""

import argparse
import ast
import importlib
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.evidence import (
    constraints,
    figures,
    foreign_numerals,
    formulas,
    hours,
    intent,
    numerals,
    places,
    queries,
    shown_sums,
    stated,
)
from agent.evidence.claims import proof, sums
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from evals import geo_intent
from evals.demands import __main__ as demands
from evals.figures import __main__ as figure_pairs
from evals.questions import __main__ as questions
from evals.statements import __main__ as labelled
from evals.statements import played

ROWS = Path(__file__).with_name("rules")

Check = Callable[[], bool]
"""Whether one labelled row is read rightly."""


@dataclass(frozen=True)
class Kind:
    """Name the modules of some rules, and the rows that are to need them."""

    modules: Sequence[ModuleType]
    checks: Callable[[str], dict[str, Check]]


def rows(name: str) -> list[dict[str, Any]]:
    """Return labelled rows: sentences of tests, as they were."""
    lines = (ROWS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _intent_checks(half: str) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    for row in geo_intent.load():
        if half == "all" or row["split"] == half:
            checks[f"geo {row['query']}"] = partial(_is_routed, row)
    if half != "test":
        for row in geo_intent.load(geo_intent.RESEARCH):
            checks[f"research {row['query']}"] = partial(_is_offered, row)
        for row in rows("everyday"):
            checks[f"everyday {row['query']}"] = partial(_is_detected, row)
        for row in rows("map_tasks"):
            checks[f"task {row['query']}"] = partial(_has_task, row)
        for row in rows("needs"):
            checks[f"needs {row['query']}"] = partial(_has_needs, row)
        for row in rows("ways"):
            checks[f"way {row['query']}"] = partial(_has_ends, row)
    for row in questions.load({"dev": "odd", "test": "even"}.get(half, "all")):
        checks[f"question {row['text']}"] = partial(_has_tasks, row)
    return checks


def _is_routed(row: dict[str, Any]) -> bool:
    if intent.detect_location_query(row["query"]) != row["geo"]:
        return False
    wanted = row["place"].casefold() if row["geo"] and row["place"] else ""
    found = [part.casefold() for part in intent.extract_place(row["query"]) or () if part]
    return not wanted or any(wanted in part or part in wanted for part in found)


def _is_detected(row: dict[str, Any]) -> bool:
    return intent.detect_location_query(row["query"]) == row["geo"]


def _is_offered(row: dict[str, Any]) -> bool:
    return intent.names_known_place(row["query"]) == row["geo"]


def _has_task(row: dict[str, Any]) -> bool:
    task: dict[str, Any] = dict(intent.map_task_by_rules(row["query"]) or {})
    return row["task"] == {key: task.get(key) for key in row["task"]}


def _has_ends(row: dict[str, Any]) -> bool:
    task: dict[str, Any] = dict(intent.map_task_by_rules(row["query"]) or {})
    return all(task.get(key) == row[key] for key in ("origin", "destination", "mode"))


def _has_needs(row: dict[str, Any]) -> bool:
    found = "place" if intent.needs_place(row["query"]) else ""
    found = "origin" if intent.needs_origin(row["query"]) else found
    return found == row["needs"]


def _has_tasks(row: questions.Row) -> bool:
    reading = {"queries": [intent.map_task_by_rules(row["text"])]}
    tallies = questions.tallied([(row, reading)]).values()
    return not any(each.counts["wrong"] + each.counts["missed"] for each in tallies)


def _query_checks(_: str) -> dict[str, Check]:
    pairs = rows("query_pairs")
    return {f"pair {row['a']} | {row['b']}": partial(_is_told, row) for row in pairs}


def _is_told(row: dict[str, Any]) -> bool:
    one, other = queries.same_search(row["a"], row["b"]), queries.same_search(row["b"], row["a"])
    return bool(one) == bool(other) == row["same"]


def _demand_checks(half: str) -> dict[str, Check]:
    own = demands.load({"dev": "odd", "test": "even"}.get(half, "all"))
    return {f"demand {row['id']}": partial(_is_met_as_labelled, row) for row in own}


def _is_met_as_labelled(row: demands.Row) -> bool:
    return demands.is_right(row, demands.verdict(row))


def _figure_checks(_: str) -> dict[str, Check]:
    pairs = figure_pairs.load()
    return {f"{row['sentence']} | {row['source']}": partial(_is_the_same, row) for row in pairs}


def _is_the_same(row: dict[str, Any]) -> bool:
    return figure_pairs.stands(row["sentence"], row["source"]) == bool(row["same"])


def proved_row(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what code makes of a row's rulings, as its labels are told."""
    told = {name: one if isinstance(one, dict) else {"texts": [one]}
            for name, one in row["records"].items()}  # fmt: skip
    evidence = Evidence(
        {name: Record(one["texts"], one.get("place")) for name, one in told.items()},
        **{key: row[key] for key in ("question", "today", "now", "known") if key in row},
    )
    rulings = {int(at): Ruling(**ruling) for at, ruling in row["rulings"].items()}
    found, has_fix = [], any("fix" in one for one in row["expect"])
    for one in proof.proved(statements(row["text"], MARKED), rulings, evidence):
        fields = {"spans": list(one.spans), "cite": one.cite and list(one.cite)}
        fix = {"fix": one.fix} if has_fix else {}
        found.append({"verdict": one.verdict, **{k: v for k, v in fields.items() if v}, **fix})
    return found


def _is_proved(row: dict[str, Any]) -> bool:
    return proved_row(row) == row["expect"]


def _is_taken(row: labelled.Row) -> bool:
    [found] = played.outcomes([row], played.as_labelled([row])).values()
    return bool((found["verdict"] in labelled.FALSE) == (row["label"] in labelled.FALSE))


def _claim_checks(half: str) -> dict[str, Check]:
    own = {f"{row['kind']} {n}": partial(_is_proved, row) for n, row in enumerate(rows("claims"))}
    all_ = labelled.load({"dev": "odd", "test": "even"}.get(half, "all"))
    return own | {f"statement {row['id']}": partial(_is_taken, row) for row in all_}


KINDS = {
    "intent": Kind((intent, places), _intent_checks),
    "queries": Kind((queries,), _query_checks),
    "demands": Kind((constraints, hours), _demand_checks),
    "figures": Kind((figures, numerals, foreign_numerals), _figure_checks),
    "claims": Kind((proof, sums, formulas, shown_sums, stated), _claim_checks),
}


@dataclass(frozen=True)
class Switch:
    """One thing that can be switched off and on again."""

    name: str
    off: Callable[[], None]
    on: Callable[[], None]


def switches(module: ModuleType) -> Iterator[Switch]:
    """Yield the functions of a module, then the alternatives of its patterns and tables."""
    for name, value in list(vars(module).items()):
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            holders = {id(m): m for m in (module, *_agent_modules())}.values()
            users = [(m, own) for m in holders for own, it in vars(m).items() if it is value]
            nothing = _nothing(value)
            yield Switch(
                f"{module.__name__}.{name}()",
                partial(_set_all, users, lambda *_, _n=nothing, **__: _n),
                partial(_set_all, users, value),
            )
    for name in _assigned(module):
        yield from _of_value(f"{module.__name__}.{name}", vars(module), name, vars(module)[name])


def _assigned(module: ModuleType) -> list[str]:
    """Return the names that a module gives values to itself; what it imports is another's."""
    if not (path := getattr(module, "__file__", None)):
        return list(vars(module))
    body = ast.parse(Path(path).read_text("utf-8")).body
    assigned = [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [t for node in assigned for t in getattr(node, "targets", None) or [node.target]]  # type: ignore[union-attr]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _of_value(label: str, holder: Any, key: Any, value: Any) -> Iterator[Switch]:
    """Yield the alternatives of a pattern, or of the patterns in a table of them."""
    if isinstance(value, re.Pattern) and isinstance(holder, MutableMapping):
        parts = alternatives(value.pattern)
        for part in dict.fromkeys(parts) if len(parts) > 1 else ():
            one = _Alternative(holder, key, part)
            yield Switch(f"{label} «{part}»", one.off, one.on)
    elif isinstance(value, dict) and any(isinstance(v, re.Pattern) for v in value.values()):
        for inner, pattern in list(value.items()):
            yield from _of_value(f"{label}[{inner!r}]", value, inner, pattern)


@dataclass
class _Alternative:
    """Take one alternative out of the pattern that is there now, and put that back."""

    holder: MutableMapping[Any, Any]
    key: Any
    part: str
    before: re.Pattern[str] | None = None

    def off(self) -> None:
        self.before = now = self.holder[self.key]
        others = [part for part in alternatives(now.pattern) if part != self.part]
        try:
            self.holder[self.key] = re.compile("|".join(others) or "(?!)", now.flags)
        except re.error:
            self.holder[self.key] = re.compile("(?!)")

    def on(self) -> None:
        self.holder[self.key] = self.before


def alternatives(pattern: str) -> list[str]:
    """Return what stands between the outermost bars of a pattern."""
    parts, depth, at, begin, in_class = list[str](), 0, 0, 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += pattern[at + 1 : at + 2] in ("]", "^")
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and not depth:
            parts.append(pattern[begin:at])
            begin = at + 1
        at += 1
    return [*parts, pattern[begin:]]


def _nothing(function: Any) -> Any:
    """Return what a function says where it has found nothing."""
    told = typing.get_type_hints(function).get("return")
    origin = typing.get_origin(told) or told
    if type(None) in typing.get_args(told) or told is type(None):
        return None
    return origin() if origin in (bool, int, float, str, list, tuple, dict, frozenset) else None


def _agent_modules() -> list[ModuleType]:
    return [m for name, m in sys.modules.items() if name.startswith(("agent.", "evals.")) and m]


def _set_all(users: Sequence[tuple[ModuleType, str]], value: Any) -> None:
    for module, name in users:
        setattr(module, name, value)


def _clear_caches(modules: Sequence[ModuleType]) -> None:
    for module in modules:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def is_right(check: Check) -> bool:
    """Return whether a row is read rightly; a rule that fails without another reads nothing."""
    try:
        return check()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def ablate(kind: Kind, half: str, *, together: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each switch's name with the rows that need what it switches off.

    `together` leaves off what no row needs: two that stand in for each other are not both idle.
    """
    checks = kind.checks(half)
    _clear_caches(kind.modules)
    right = {name: check for name, check in checks.items() if is_right(check)}
    for module in kind.modules:
        for switch in list(switches(module)):
            switch.off()
            _clear_caches(kind.modules)
            try:
                lost = [name for name, check in right.items() if not is_right(check)]
            finally:
                if not together or lost:
                    switch.on()
            yield switch.name, lost
    _clear_caches(kind.modules)


def main(arguments: Sequence[str]) -> int:
    """Print what each rule is needed for; return 1 where one is needed for nothing."""
    parser = argparse.ArgumentParser(prog="python -m evals.ablate", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--half", choices=("dev", "test", "all"), default="all")
    parser.add_argument("--together", action="store_true", help="leave off what no row needs")
    options = parser.parse_args(arguments)
    needless: list[str] = []
    for name in options.kinds:
        kind = KINDS[name]
        importlib.invalidate_caches()
        checks = kind.checks(options.half)
        wrong = [row for row, check in checks.items() if not is_right(check)]
        print(f"# {name}: {len(checks)} rows, {len(wrong)} of them read wrongly")
        for switch, lost in ablate(kind, options.half, together=options.together):
            print(f"{len(lost):4}  {switch}  {lost[0] if lost else ''}".rstrip())
            needless += [] if lost else [switch]
    print(f"# needed by no row: {len(needless)}", *needless, sep="\n")
    return bool(needless)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
