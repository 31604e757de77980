"""The program within what a model wrote: without fences, language words and talk around it."""

import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Final

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<word>[\w+.#-]*)[^`\n]*$")
LISTED: Final = (
    "math", "re", "json", "statistics", "datetime", "decimal", "fractions", "collections",
    "itertools", "functools", "operator", "string",
)  # fmt: skip
"""What a program may import."""
_SILENT: Final = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
)
_WORDS: Final = frozenset({"python", "python3", "py", "py3"})


def program_of(text: str) -> str:
    """Fenced blocks marked as Python, joined; else the first fenced block; else the whole text.

    A first line that is only a language's name goes, and so does common indentation. Nothing is
    parsed here: a hostile text can exhaust a parser, and this runs in our own process.
    """
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = _blocks(lines)
    if blocks:
        python = [body for word, body in blocks if word in _WORDS]
        lines = [line for body in python or [blocks[0][1]] for line in body]
    return _bare(lines)


def _blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Language word and lines of each fenced block; one that is never closed goes to the end."""
    blocks: list[tuple[str, list[str]]] = []
    mark = ""
    for line in lines:
        fence = _FENCE.match(line)
        if not mark and fence:
            mark = fence["mark"]
            blocks.append((fence["word"].lower(), []))
        elif mark and _closes(line, mark):
            mark = ""
        elif mark:
            blocks[-1][1].append(line)
    return blocks


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and set(bare) == {mark[0]}


def _bare(lines: list[str]) -> str:
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and lines[first].strip().lower() in _WORDS:
        first += 1
    lines = lines[first:]
    program = textwrap.dedent("\n".join(lines)).strip("\n")
    if "\n" not in program and len(program) > 2 and program[0] == program[-1] == "`":
        program = program.strip("`")
    return program


def unlisted_imports(program: str) -> list[tuple[str, int]]:
    """Modules that import statements name and the list does not, each with its line.

    Only cut into words, not parsed; what cannot be cut is left to whoever runs it.
    """
    found = []
    try:
        for name, line in _imports(program):
            if name not in LISTED:
                found.append((name, line))
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        pass
    return found


def _imports(program: str) -> Iterator[tuple[str, int]]:
    begins, statement, wanted = True, "", False
    for token in tokenize.generate_tokens(io.StringIO(program).readline):
        if token.type in _SILENT:
            continue
        if begins and token.string in ("import", "from"):
            statement, wanted = token.string, True
        elif wanted and token.type == tokenize.NAME:
            wanted = False
            yield token.string, token.start[0]
        elif statement == "import" and token.string == ",":
            wanted = True
        begins = token.type == tokenize.NEWLINE or token.string in (";", ":")
        if begins:
            statement, wanted = "", False
