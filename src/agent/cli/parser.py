"""Parse the arguments of every command, which `commands.toml` lists; `--help` must be instant."""

import argparse
import functools
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NoReturn

from agent import __version__
from agent.cli.console import USAGE, called_as, console_language, fail


def _whole(most: float = float("inf")) -> Callable[[str], int]:
    """Return the reader of a whole number from 1 to `most`; it raises ValueError."""

    def read(text: str) -> int:
        if not 1 <= (number := int(text)) <= most:
            raise ValueError
        return number

    return read


def _amount(text: str) -> float:
    if not 0 <= (amount := float(text)) < float("inf"):
        raise ValueError
    return amount


def _utf8(text: str) -> str:
    """Return the text of an argument that the locale's encoding (ASCII) could not read."""
    try:
        return text.encode("ascii", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return text


_READERS: Mapping[str, Callable[[str], object]] = {
    "amount": _amount,
    "count": _whole(200),
    "port": _whole(65_535),
    "positive": _whole(),
    "text": _utf8,
}
"""What reads a value, by the name of its `type`; the texts `parser` say what each takes."""
_TANLU_EPILOG = """examples:
  tanlu ask "王府井附近适合遛娃的好去处"
  tanlu ask -c "那附近有停车场吗"
  tanlu ask "coffee near me" --near 116.41,39.91 --html answer.html
  tanlu ask --assistant team_answer "故宫博物院是哪一年成立的？" --format-requirement "年份"
  tanlu batch questions.jsonl -o answers.jsonl --score
  tanlu judge answers.jsonl --max-cost 1 --card card.md
  tanlu compare answers.jsonl other.jsonl
  tanlu ingest ~/reports --collection reports
  tanlu search "钠离子电池 能量密度"
  tanlu threads list
  tanlu share THREAD
  tanlu serve --open
  tanlu memory set home_city=北京 budget=100
  tanlu doctor
  tanlu config set GEMINI_API_KEY"""


class _Refusal(argparse.ArgumentError):
    """Hold the whole sentence that says what is wrong with an argument."""

    def __str__(self) -> str:
        """Return the sentence: it names the argument itself."""
        return self.message


class _Parser(argparse.ArgumentParser):
    """Say what is wrong in a sentence of the reader's language, and what was probably meant."""

    command: str | None = None

    def parse_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Return the arguments; end with usage for one that nothing takes."""
        found, rest = self.parse_known_args(args, namespace)  # type: ignore[no-untyped-call]
        if rest:
            given = rest[0].partition("=")[0]
            told = _said("option" if given.startswith("-") else "too_many", given=given)
            self._end(_with_meant(told, given, self._words()))
        return found

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse as usual, and note the command, whose options may be meant."""
        namespace, rest = super().parse_known_args(args, namespace)
        self.command = getattr(namespace, "command", None)
        return namespace, rest

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            told = _said("wrong", name=_name(action), wanted=_wanted(action), given=arg_string)
            raise _Refusal(action, told) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError:
            wanted = _wanted(action)
            if isinstance(action, argparse._SubParsersAction):
                told = _said("command", given=value)
            elif action.option_strings:
                told = _said("wrong", name=_name(action), wanted=wanted, given=value)
            else:
                told = _said("none_such", given=value, wanted=wanted)
            raise _Refusal(action, _with_meant(told, value, action.choices or ())) from None

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            told = _said("value", name=_name(action), wanted=_wanted(action))
            raise _Refusal(action, told) from None

    def error(self, message: str) -> NoReturn:
        """End with usage: what argparse says itself is told in sentences of our own."""
        refused = sys.exc_info()[1]
        if isinstance(refused, _Refusal):
            self._end(message)
        name = getattr(refused, "argument_name", None)
        if name is None:
            named = message.rpartition(": ")[2].split(", ")
            lacking = [_wanted(action) for action in self._actions if _name(action) in named]
            self._end(_said("missing", wanted=", ".join(lacking)))
        other = message.rpartition(" ")[2]
        grouped = [
            {_name(action) for action in group._group_actions}
            for group in self._mutually_exclusive_groups
        ]
        if any({name, other} <= names for names in grouped):
            self._end(_said("conflict", name=name, other=other))
        self._end(_said("switch", name=name))

    def _end(self, told: str) -> NoReturn:
        """Print the sentence, and what tells all arguments unless it ends in a guess."""
        words = [*called_as(), *self.prog.split()[1:], self.command or "", "--help"]
        command = " ".join(filter(None, words))
        if told.endswith(("?", "？")):
            sys.exit(fail(told, code=USAGE))
        then = _said("help", command=command)
        sys.exit(fail(_said("sentence", text=told), code=USAGE, then=then))

    def _words(self) -> list[str]:
        """Return the commands, and the options of the one in the arguments."""
        words = [option for action in self._actions for option in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                words += action.choices
                chosen = action.choices.get(self.command or "")
                words += chosen._option_string_actions if chosen else []
        return words


def _name(action: argparse.Action) -> str:
    return argparse._get_action_name(action) or ""


def _wanted(action: argparse.Action) -> str:
    """Return what an argument takes: one of some words, a kind of number, or as its help has it."""
    if action.choices is not None:
        return _said("one_of", choices=", ".join(map(str, action.choices)))
    reader = next((name for name, read in _READERS.items() if read is action.type), "text")
    return str(action.metavar) if reader == "text" else _said(reader)


def _with_meant(told: str, given: str, words: Iterable[str]) -> str:
    import difflib

    meant = difflib.get_close_matches(given, list(words), 1, cutoff=0.65)
    return _said("meant", text=told, word=meant[0]) if meant else told


def _said(key: str, **values: object) -> str:
    """Say a text of `parser`; the texts are only read where something is wrong."""
    from agent.texts import say

    return say(f"parser.{key}", console_language(), **values)


def build_parser(
    commands: Iterable[str], words: Sequence[str] | None = None
) -> argparse.ArgumentParser:
    """Build the parser of `tanlu`; `commands` are those this installation has.

    Where the words to be parsed are given, only their command knows its arguments: the others
    take two thirds of the time.
    """
    parser: argparse.ArgumentParser = _Parser(
        prog="tanlu",
        allow_abbrev=False,
        description="Research on the web and on the map, answered with sources you can check.",
        epilog=_TANLU_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tanlu {__version__}")
    chosen = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in commands:
        told = _commands()[command]
        used = words is None or command in words[:1]
        _declare(chosen, command, **(told if used else {**told, "arguments": {}}))
    return parser


@functools.cache
def _commands() -> dict[str, Any]:
    text = files(__package__).joinpath("commands.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _declare(
    chosen: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    *,
    arguments: Mapping[str, dict[str, Any]],
    raw: bool = False,
    **words: Any,
) -> None:
    """Add a command to the parser of `tanlu`."""
    shown = argparse.RawDescriptionHelpFormatter if raw else argparse.HelpFormatter
    command = chosen.add_parser(name, formatter_class=shown, allow_abbrev=False, **words)
    groups: dict[str, argparse._ActionsContainer] = {}
    for names, told in arguments.items():
        row = dict(told)
        group = row.pop("group", "")
        if group and group not in groups:
            groups[group] = command.add_mutually_exclusive_group()
        if row.pop("switch", False):
            row["action"] = "store_true"
        if "type" in row:
            row["type"] = _READERS[row["type"]]
        groups.get(group, command).add_argument(*names.split(), **row)


def join_negative_values(argv: Sequence[str]) -> list[str]:
    """Join `--near -0.12,51.50` and `--site -b.com`: the minus would begin an option."""
    joined: list[str] = []
    for argument in argv:
        option, sign, value = joined[-1:], argument[:1], argument[1:2]
        is_number = option == ["--near"] and (value.isdigit() or value == ".")
        if sign == "-" and (is_number or (option == ["--site"] and value not in ("", "-"))):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
