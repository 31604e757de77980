"""Typical programs give what Python gives; Monty differs where decision 0009 says so."""

import ast
import contextlib
import decimal
import io
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agent.sandbox import monty, process
from agent.sandbox.programs import CodeLimits
from tests.integration.sandbox_attacks import ENVIRONMENT, READING, SECRET, WRITING, Attack
from tests.integration.sandbox_programs import GIVEN, GREEDY, MONTY_DIFFERS, TYPICAL
from tests.support.rows import by_examples

LIMITS = CodeLimits(wall_seconds=60, cpu_seconds=5)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
with_monty = pytest.mark.skipif(not monty.installed(), reason="needs tanlu[sandbox]")


def expected(program: str) -> str:
    """What this interpreter prints, else the value of the last expression as print shows it."""
    tree, scope, printed = ast.parse(program), {"__name__": "__main__"}, io.StringIO()
    exec(GIVEN, scope)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value: Any = None
    with contextlib.redirect_stdout(printed), decimal.localcontext():
        exec(compile(tree, "", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "", "eval"), scope)
    shown = "" if value is None else str(value)
    return (printed.getvalue() or shown).rstrip("\n")


def run(program: str) -> tuple[str, str]:
    result = process.run_program(program, LIMITS, threading.Event())
    return result.output, result.error


@on_linux
@pytest.mark.parametrize("name", TYPICAL)
def test_a_program_gives_exactly_what_python_gives(name: str) -> None:
    assert run(TYPICAL[name]) == (expected(TYPICAL[name]), "")


@on_linux
@by_examples
def test_an_error_is_one_line_that_names_the_programs_line(program: str, error: str) -> None:
    assert run(program)[1].startswith(error)
    assert bool(run(program)[1]) == bool(error)


@on_linux
def test_what_goes_to_stderr_is_no_part_of_the_output() -> None:
    program = "print('out')\nprint('err', file=re.enum.sys.stderr)\nre.enum.sys.stderr.write('x')"
    assert run(program) == ("out", "")


@on_linux
def test_an_import_that_fails_can_be_caught() -> None:
    program = "try:\n    import numpy\nexcept ImportError:\n    print('without')"
    assert run(program) == ("without", "")


@on_linux
def test_half_a_character_in_an_error_can_still_be_encoded() -> None:
    assert run("raise ValueError('\\ud800')")[1] == "ValueError: \N{REPLACEMENT CHARACTER} (line 1)"


@on_linux
def test_a_forged_report_is_only_text() -> None:
    forged = "re.enum.sys.modules['os'].write(2, b'{{\"error\": {}}}\\n')\n1 / 0"
    assert run(forged.format('"fine"'))[1] == "ZeroDivisionError: division by zero (line 2)"


@on_linux
def test_the_local_time_is_that_of_this_process() -> None:
    from datetime import datetime

    shown, error = run("datetime.datetime.now().astimezone().isoformat()")
    told = datetime.fromisoformat(shown)
    assert error == ""
    assert told.utcoffset() == datetime.now().astimezone().utcoffset()
    assert abs((datetime.now().astimezone() - told).total_seconds()) < 60


def on_monty(program: str) -> tuple[str, str]:
    result = monty.run_program(program, LIMITS, threading.Event())
    return result.output, result.error


@with_monty
@pytest.mark.parametrize("name", [name for name in TYPICAL if name not in MONTY_DIFFERS])
def test_monty_gives_what_python_gives(name: str) -> None:
    assert on_monty(TYPICAL[name]) == (expected(TYPICAL[name]), "")


@with_monty
@pytest.mark.parametrize("name", MONTY_DIFFERS)
def test_monty_differs_where_it_is_documented(name: str) -> None:
    assert on_monty(TYPICAL[name]) != (expected(TYPICAL[name]), "")


@with_monty
def test_on_monty_an_import_outside_the_list_is_the_same_error() -> None:
    error = "ModuleNotFoundError: os is not available here, only math, re, json,"
    assert on_monty("import math\nimport os")[1].startswith(error)
    assert on_monty("import math\nimport os")[1].endswith("(line 2)")


@with_monty
@by_examples
def test_on_monty_a_greedy_program_ends_at_a_limit(name: str, error: str) -> None:
    tight = CodeLimits(wall_seconds=60, cpu_seconds=0.3, memory_mb=16, output_bytes=2000)
    result = monty.run_program(GREEDY[name], tight, threading.Event())
    assert result.error.startswith(error)
    assert len(result.output) <= 2000


@with_monty
@pytest.mark.parametrize("attack", [*READING, *ENVIRONMENT, *WRITING], ids=lambda a: a.name)
def test_on_monty_nothing_outside_is_reached(attack: Attack, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    program = attack.program.replace("@FOLDER@", str(tmp_path))
    output, error = on_monty(program.replace("@FILE@", str(tmp_path / "secret")))
    assert error
    assert SECRET not in output + error
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert (tmp_path / "secret").read_text() == SECRET
