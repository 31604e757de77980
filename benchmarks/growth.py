"""Does work over text from outside grow in proportion to the text?

    uv run python -m benchmarks.growth [--only evidence.places] [--atoms digits,blanks] [--all]

Every public function of the rooms below that takes a text is given hostile repeats of 3, 12, 48
and 96 kB, in a child process that its own processor time ends (a pattern cannot be interrupted).
Functions and their texts are found by their type hints: each parameter that can hold a text gets
the repeat in turn, the others an ordinary value; then all get it. One row a function and parameter;
the command ends with 1 where something grows faster than its text, or takes too long.
"""

import argparse
import collections.abc
import dataclasses
import datetime
import decimal
import functools
import gc
import importlib
import inspect
import itertools
import math
import multiprocessing
import pkgutil
import re
import signal
import sys
import time
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from typing_extensions import is_typeddict

from agent.assistants.common.forms import SearchQueryList
from agent.assistants.team_answer import state as team_state
from agent.evidence.figures import Figure, figures
from agent.evidence.types import Place, Route, Weather
from agent.mcp.reply_text import LONGEST

ROOMS = (
    "evidence", "reading", "search", "export", "batch", "mcp", "assistants", "knowledge", "models",
    "nodes", "prompts", "texts", "core", "sample",
)  # fmt: skip
SIZES = (3_000, 12_000, 48_000, 96_000)
MOST_SECONDS = 1.0
"""The most that any text of 96 kB may take."""
MOST_GROWTH = 2.5
"""The most by which the time may grow where the text doubles; 2 is in proportion."""
FLOOR_SECONDS = 0.05
"""Below it growth is the clock's noise."""
KILLED_SECONDS = 8.0
"""A call that holds several texts may take a few seconds."""
OURS = frozenset({"tag"})
"""Parameters that only our own words are given for."""
CUT = (Place, Route, Weather)
"""Records whose texts are cut to LONGEST characters where the map's replies enter."""
ORDINARY = "故宫附近 2 公里，门票 60 元。See page 3."
ATOMS = {
    "digits": "1",
    "full-width digits": "１２３",
    "blanks": " ",
    "wide blanks": "\u3000",
    "tabs": "\t",
    "lines": "\n",
    "brackets": "[",
    "closed brackets": "]",
    "parentheses": "(",
    "links": "[1](",
    "images": "![a](http://a",
    "tags": "<a ",
    "braces": '{"a": ',
    "pipes": "|",
    "hyphens": "-",
    "rows": "|---",
    "cells": "|a|1|\n",
    "Han numerals": "一点",
    "Han": "的",
    "markers": "[^w0-0]",
    "open markers": "[^w0-0",
    "abbreviations": "Mr. ",
    "short abbreviations": "a. ",
    "capitals": "Aa ",
    "letters": "a",
    "commas": ",",
    "Han commas": "，",
    "counts": "1,",
    "ranges": "1-1-",
    "sums": "1+1=",
    "times": "1:00 ",
    "points": "1.",
    "stars": "*",
    "underscores": "_a",
    "backticks": "`",
    "quotes": "“",
    "straight quotes": '"a',
    "slashes": "/",
    "addresses": "http://",
    "hashes": "#",
    "tildes": "~",
    "percents": "%",
    "entities": "&amp",
    "thoughts": "<think>",
    "comments": "<!--",
    "titles": "《",
    "bold": "**a",
    "amounts": "¥1 ",
    "from to": "从到",
    "and": "和",
}


class Answers(dict[str, Any]):
    """A mapping that holds the text under whatever further name it is asked for."""

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._text = text

    def __missing__(self, key: str) -> str:
        return self._text

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self._text)


class CannotBeMade(Exception):
    """A parameter of a type that no text makes: a service, a connection, a running task."""


PLAIN: dict[Any, Callable[[str], Any]] = {
    str: lambda text: text,
    bytes: lambda text: text.encode(),
    int: lambda _: 3,
    float: lambda _: 3.0,
    bool: lambda _: True,
    type(None): lambda _: None,
    decimal.Decimal: lambda _: decimal.Decimal(3),
    datetime.date: lambda _: datetime.date(2026, 5, 1),
    datetime.datetime: lambda _: datetime.datetime(2026, 5, 1, 9, tzinfo=datetime.UTC),
    re.Pattern: lambda _: re.compile("公里"),
    Any: lambda text: text,
    object: lambda text: text,
    SecretStr: SecretStr,
    type: lambda _: SearchQueryList,
    Figure: lambda _: figures(ORDINARY)[0],  # a few characters that we read of a text
}


def made(kind: Any, text: str, depth: int = 0) -> Any:
    """Return a value of a type with the text wherever it can hold one; raise CannotBeMade."""
    if depth > 8:
        raise CannotBeMade(str(kind))
    origin, within = get_origin(kind) or kind, get_args(kind)
    if (plain := PLAIN.get(origin)) is not None:
        return plain(text)
    if isinstance(kind, typing.TypeVar):
        return text
    if origin is Literal:
        return within[0]
    if origin in (typing.Union, types.UnionType):
        best = str if str in within else next(k for k in within if k is not type(None))
        return made(best, text, depth + 1)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing.Final):
        return made(within[0], text, depth + 1)
    if isinstance(origin, type):
        return _made_class(origin, within, text, depth + 1)
    raise CannotBeMade(str(kind))


def _made_class(kind: type, within: Sequence[Any], text: str, depth: int) -> Any:
    fields = within or (str, str)
    text = text[:LONGEST] if kind in CUT else text
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        values = {name: made(hint, text, depth) for name, hint in hints.items()}
        return Answers(text, values) if is_typeddict(kind) else _filled(kind, values)
    if issubclass(kind, BaseModel):
        chosen = kind.model_fields.items()
        return kind.model_construct(**{n: made(f.annotation, text, depth) for n, f in chosen})
    if issubclass(kind, tuple):
        of = [fields[0]] if fields[-1] is Ellipsis else fields
        return tuple(made(each, text, depth) for each in of)
    if issubclass(kind, Mapping) and fields[-1] is not Any:
        return {made(fields[0], text, depth): made(fields[1], text, depth)}
    if issubclass(kind, Mapping):
        return Answers(text, {"text": text, text: text})
    if issubclass(kind, set | frozenset):
        return kind([made(fields[0], text, depth)])
    if kind in (collections.abc.Callable,):
        return lambda *_, **__: made(fields[-1], ORDINARY, depth)
    if issubclass(list, kind):
        return [made(fields[0], text, depth)]
    if kind.__module__.startswith("agent.") and not issubclass(kind, Exception):
        return kind(**_needed(kind, text, depth))
    raise CannotBeMade(str(kind))


def _needed(kind: type, text: str, depth: int) -> dict[str, Any]:
    """Return what a class of ours must be given, by the hints of its `__init__`."""
    hints = typing.get_type_hints(kind.__init__)
    parameters = list(inspect.signature(kind).parameters.values())
    needed = [each.name for each in parameters if each.default is each.empty]
    return {name: made(hints.get(name, Any), text, depth) for name in needed}


def _filled(kind: type, values: Mapping[str, Any]) -> Any:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    return kind(**{name: values[name] for name, field in fields.items() if field.init})


@functools.cache
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the hints of a function, some of which its module knows for type checkers only."""
    return typing.get_type_hints(function, localns=vars(team_state))


@functools.cache
def can_hold_text(kind: Any) -> bool:
    """Return whether a value of the type can hold a text from outside."""
    try:
        return ORDINARY in repr(made(kind, ORDINARY))
    except (CannotBeMade, TypeError, ValueError, RecursionError):
        return False


@dataclasses.dataclass(frozen=True)
class Case:
    """A function, and which of its parameters get the hostile text."""

    function: Callable[..., Any]
    hostile: frozenset[str]

    @property
    def name(self) -> str:
        module = self.function.__module__.removeprefix("agent.")
        return f"{module}.{self.function.__qualname__}({', '.join(sorted(self.hostile))})"

    @functools.cached_property
    def texts(self) -> int:
        """Return how many times the call holds the text: a finished answer has many fields."""
        mark = "\x02"
        return max(1, repr(self.call(mark)).count(repr(mark)))

    def call(self, text: str) -> Callable[[], Any]:
        """Return the call with the text where it belongs; its arguments are ready."""
        hints, plain, named = hints_of(self.function), [], {}
        parameters = inspect.signature(self.function).parameters.values()
        takes_more = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        for parameter in parameters:
            if parameter.name not in self.hostile and parameter.default is not parameter.empty:
                continue
            given = text if parameter.name in self.hostile else ORDINARY
            first = takes_more and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            if first or parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                plain.append(made(hints[parameter.name], given))
            elif parameter.kind is not parameter.VAR_KEYWORD:
                named[parameter.name] = made(hints[parameter.name], given)
        return functools.partial(self.function, *plain, **named)


def cases(only: str) -> tuple[list[Case], list[str]]:
    """Return what is measured, and the functions whose other arguments no text makes."""
    found, left = [], []
    for function in sorted(set(_functions(only)), key=lambda f: (f.__module__, f.__qualname__)):
        try:
            found += _cases_of(function)
        except (CannotBeMade, NameError, TypeError, ValueError, RecursionError) as error:
            left.append(f"{function.__module__}.{function.__qualname__}: {error}")
    return found, left


def _cases_of(function: Callable[..., Any]) -> list[Case]:
    hints = hints_of(function)
    parameters = inspect.signature(function).parameters
    texts = [n for n in parameters if n not in OURS and can_hold_text(hints.get(n))]
    wanted = [frozenset({name}) for name in texts]
    if len(texts) > 1:
        wanted.append(frozenset(texts))
    found = [Case(function, hostile) for hostile in wanted]
    for case in found:
        case.call(ORDINARY)
    return found


def _functions(only: str) -> Iterator[Callable[..., Any]]:
    for module in _modules():
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            function = inspect.unwrap(value) if callable(value) else None
            if not own or name.startswith("_") or not inspect.isfunction(function):
                continue
            if not inspect.iscoroutinefunction(function) and only in f"{module.__name__}.{name}":
                yield value


def _modules() -> Iterator[types.ModuleType]:
    for room in ROOMS:
        module = importlib.import_module(f"agent.{room}")
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"agent.{room}."):
            yield importlib.import_module(found.name)


def measured(case: Case, text: str) -> tuple[float, str]:
    """Return the processor's seconds of one call, and what it raised."""
    call, raised = case.call(text), ""
    gc.collect()
    began = time.process_time()
    try:
        result = call()
        if isinstance(result, Iterator):
            collections.deque(result, maxlen=0)
    except Exception as error:  # noqa: BLE001 (what a function refuses is not this table's)
        raised = type(error).__name__
    return time.process_time() - began, raised


@dataclasses.dataclass
class Row:
    """What one case took with one repeat, by size; KILLED_SECONDS where it was ended."""

    case: Case
    atom: str
    seconds: dict[int, float] = dataclasses.field(default_factory=dict)
    raised: str = ""

    @property
    def growth(self) -> float:
        """Return by how much the time grew at most where the text doubled."""
        most = 0.0
        for less, more in itertools.pairwise(sorted(self.seconds)):
            if self.seconds[more] > FLOOR_SECONDS:
                times = self.seconds[more] / max(self.seconds[less], FLOOR_SECONDS / 2)
                most = max(most, times ** (1 / math.log2(more / less)))
        return most

    @property
    def worst(self) -> float:
        return max(self.seconds.values(), default=0.0)

    @property
    def holds(self) -> bool:
        return self.growth <= MOST_GROWTH and self.worst <= min(
            MOST_SECONDS * self.case.texts, KILLED_SECONDS * 0.9
        )

    def text(self) -> str:
        times = "  ".join(f"{self.seconds[size]:6.3f}" for size in sorted(self.seconds))
        name = f"{'✓' if self.holds else '✗'} {self.case.name:<70} {self.atom:<20}"
        return f"{name} ×{self.growth:4.2f}  {times}  {self.raised}".rstrip()


def _work(jobs: Sequence[Row], size: int, begin: int, out: Connection) -> None:
    """Measure rows from one on; the kernel ends the process where one takes too long."""
    gc.freeze()
    warm = set[Case]()
    for number in range(begin, len(jobs)):
        case, repeat = jobs[number].case, ATOMS[jobs[number].atom]
        signal.setitimer(signal.ITIMER_PROF, KILLED_SECONDS)
        if case not in warm:
            measured(case, ORDINARY)
            warm.add(case)
        found = measured(case, (repeat * (size // len(repeat) + 1))[:size])
        signal.setitimer(signal.ITIMER_PROF, 0)
        out.send((number, *found))
    out.close()


def measure(jobs: Sequence[Row], size: int) -> Iterator[tuple[float, str]]:
    """Yield seconds and errors row by row, each process going on where the last was ended."""
    context, done = multiprocessing.get_context("fork"), 0
    while done < len(jobs):
        receiving, sending = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(jobs, size, done, sending))
        child.start()
        sending.close()
        try:
            while done < len(jobs):
                _, seconds, raised = receiving.recv()
                done += 1
                yield seconds, raised
        except EOFError:
            done += 1
            yield KILLED_SECONDS, ""
        finally:
            child.join()


def rows(found: Sequence[Case], atoms: Sequence[str]) -> list[Row]:
    """Measure the largest size of all, and the smaller ones of what is not at once done."""
    table = [Row(case, atom) for case in found for atom in atoms]
    _measure_all(table, SIZES[-1])
    slow = [row for row in table if row.worst > FLOOR_SECONDS]
    for size in SIZES[:-1]:
        _measure_all(slow, size)
    # What seems slow may have been another process: the better of two counts.
    for size in SIZES:
        _measure_all([row for row in slow if not row.holds], size)
    return table


def _measure_all(table: Sequence[Row], size: int) -> None:
    for row, (seconds, raised) in zip(table, measure(table, size), strict=True):
        row.seconds[size] = min(seconds, row.seconds.get(size, KILLED_SECONDS))
        row.raised = row.raised or raised


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="part of the names of functions")
    parser.add_argument("--atoms", default="", help="names of repeats, by commas")
    parser.add_argument("--all", action="store_true", help="print rows that hold, too")
    options = parser.parse_args(arguments)
    found, left = cases(options.only)
    if not found:
        parser.error(f"no function with a text is called {options.only}")
    table = rows(found, options.atoms.split(",") if options.atoms else list(ATOMS))
    for row in sorted(table, key=lambda row: -row.worst):
        if options.all or not row.holds:
            print(row.text())
    for line in left:
        print("- not measured:", line)
    for case, of_case in itertools.groupby(table, key=lambda row: row.case):
        # Whether it takes long where it does not refuse the text is not known.
        if refused := {row.raised for row in of_case} - {""}:
            print(f"- refused: {case.name}: {', '.join(sorted(refused))}")
    functions = len({row.case.function for row in table})
    failing = [row for row in table if not row.holds]
    print(
        f"{functions} functions, {len(table)} rows of function and repeat: {len(failing)} fail; "
        f"growth at most ×{max(r.growth for r in table):.2f} a doubling, "
        f"{max(r.worst for r in table):.3f} s"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
