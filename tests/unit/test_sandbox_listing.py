"""The program within what a model wrote, and the kernel's list, read as the kernel reads it."""

import struct
import sys

import pytest

from agent.sandbox.process import MACHINES, filter_for
from agent.sandbox.programs import LISTED, fenced_program, unlisted_imports

PROGRAM = "x = 1\nif x:\n    print(x)"
ALLOWED, REFUSED, KILLED = 0x7FFF0000, 0x00050001, 0x80000000


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM,
        f"```python\n{PROGRAM}\n```",
        f"```\n{PROGRAM}\n```",
        f"```Python3\n{PROGRAM}\n```\n",
        f"~~~py\n{PROGRAM}\n~~~",
        f"````python\n{PROGRAM}\n````",
        f"``` python title=a\n{PROGRAM}\n```",
        f"我们用下面的代码计算：\n\n```python\n{PROGRAM}\n```\n\n结果就是答案。",
        f"Here it is:\r\n```py\r\n{PROGRAM}\r\n```\r\nDone.",
        f"```python\n{PROGRAM}",
        f"python\n{PROGRAM}",
        f"\ufeff\n\npy\n{PROGRAM}\n\n",
        "    " + PROGRAM.replace("\n", "\n    "),
        "  ```python\n  " + PROGRAM.replace("\n", "\n  ") + "\n  ```",
        f"```python\n{PROGRAM}\n```\n输出：\n```\n1\n```",
        f"```text\n1\n```\n```python\n{PROGRAM}\n```",
    ],
)
def test_only_the_program_is_left_of_what_a_model_wrote(text: str) -> None:
    assert fenced_program(text) == PROGRAM


def test_blocks_of_python_are_one_program() -> None:
    assert (
        fenced_program("```python\na = 1\n```\n然后\n```python\nprint(a)\n```") == "a = 1\nprint(a)"
    )


def test_a_single_line_loses_its_backticks() -> None:
    assert fenced_program("`1 + 1`") == "1 + 1"


def test_backticks_within_a_line_stay() -> None:
    assert fenced_program("s = '```'\nprint(s)") == "s = '```'\nprint(s)"


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert fenced_program("````\nprint('''\n```\n''')\n````") == "print('''\n```\n''')"


@pytest.mark.parametrize("text", ["", "```", "```python\n```", "\n\n", "python"])
def test_nothing_is_an_empty_program(text: str) -> None:
    assert fenced_program(text).strip("`") == ""


@pytest.mark.parametrize("text", ["`" * 50_000, "```\n" * 50_000, " \n" * 50_000, "~" * 50_000])
def test_a_hostile_text_is_read_in_no_time(text: str) -> None:
    fenced_program(text)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import math, re as r, json", []),
        ("from collections import Counter, os", []),
        ("import collections.abc", []),
        ("import os", [("os", 1)]),
        ("x = 1\nif x:\n    import math, sys as s", [("sys", 3)]),
        ("try: import os\nexcept ImportError: pass", [("os", 1)]),
        ("x = 1; from os.path import join", [("os", 1)]),
        ("from \\\n  time import sleep", [("time", 2)]),
        ("s = '''\nimport os\n'''\n# import os\nprint('import os')", []),
        ("def g():\n    yield from os\nraise E from time", []),
        ("d = {'import': 1}\nd[1:2]", []),
        ("import (", []),
        ("x = '''", []),
        ("  x\n y", []),
        ("(" * 5000, []),
        ("", []),
    ],
)
def test_imports_outside_the_list_are_seen_without_parsing(
    program: str, found: list[tuple[str, int]]
) -> None:
    assert unlisted_imports(program) == found


@pytest.mark.skipif(sys.platform != "linux", reason="the child imports what only Linux has")
def test_both_ways_of_running_code_have_one_list() -> None:
    from agent.sandbox import child

    assert child.LISTED == LISTED


def verdict(lines: bytes, audit: int, number: int) -> int:
    """What the kernel would return: an interpreter of the few instructions we use."""
    program, at, loaded = list(struct.iter_unpack("=HBBI", lines)), 0, 0
    while True:
        code, then, otherwise, value = program[at]
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            loaded = {0: number, 4: audit}[value]
        else:
            holds = loaded == value if code == 0x15 else loaded >= value
            at += then if holds else otherwise


@pytest.mark.parametrize("name", MACHINES)
def test_only_listed_calls_pass_the_filter(name: str) -> None:
    machine, lines = MACHINES[name], filter_for(name)
    assert lines is not None
    passed = {n for n in range(1024) if verdict(lines, machine.audit, n) == ALLOWED}
    assert passed == set(machine.calls)
    refused = {verdict(lines, machine.audit, n) for n in range(1024) if n not in passed}
    assert refused == {REFUSED}


@pytest.mark.parametrize("name", MACHINES)
def test_calls_of_another_architecture_kill(name: str) -> None:
    machine, lines = MACHINES[name], filter_for(name)
    assert lines is not None
    foreign = {0x40000003, 0x40000028, *(m.audit for m in MACHINES.values())} - {machine.audit}
    assert {verdict(lines, audit, n) for audit in foreign for n in machine.calls} == {KILLED}


def test_the_other_numbers_of_a_64_bit_machine_kill() -> None:
    lines = filter_for("x86_64")
    assert lines is not None
    numbers = (0x40000000, 0x40000001, 0x40000027, 0xFFFFFFFF)
    assert {verdict(lines, MACHINES["x86_64"].audit, n) for n in numbers} == {KILLED}


@pytest.mark.parametrize("name", ["riscv64", "i686", "armv7l", ""])
def test_an_unknown_machine_has_no_filter(name: str) -> None:
    assert filter_for(name) is None
