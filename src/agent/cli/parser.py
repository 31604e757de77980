"""Parse the arguments of every command, which `commands.toml` lists; `--help` must be instant."""

import argparse
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NoReturn

from agent import __version__


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _amount(text: str) -> float:
    amount = float(text)
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError("must be 0 or more")
    return amount


def _utf8(text: str) -> str:
    """Return the text of an argument that the locale's encoding (ASCII) could not read."""
    try:
        return text.encode("ascii", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return text


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 200:
        raise argparse.ArgumentTypeError("must be between 1 and 200")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 65_535:
        raise argparse.ArgumentTypeError("must be between 1 and 65535")
    return value


_READERS = {"amount": _amount, "count": _count, "port": _port, "positive": _positive, "text": _utf8}
"""What reads a value, by the name of its `type`."""
_NEGATIVE = re.compile(r"-[\d.]")
_EXCLUDED = re.compile(r"-[^-]")
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


class _Parser(argparse.ArgumentParser):
    """Refuse an unknown command or option with the one that was probably meant."""

    command: str | None = None

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse as usual, and note the command, whose options may be meant."""
        namespace, rest = super().parse_known_args(args, namespace)
        self.command = getattr(namespace, "command", None)
        return namespace, rest

    def error(self, message: str) -> NoReturn:
        """End with usage and the message, naming a close command or option."""
        import difflib

        match = re.search(r"invalid choice: '([^']*)'|unrecognized arguments: (-[^\s=]+)", message)
        word = (match[1] or match[2]) if match else ""
        meant = difflib.get_close_matches(word, self._words(), 1, cutoff=0.65)
        super().error(f"{message}; did you mean {meant[0]}?" if meant else message)

    def _words(self) -> list[str]:
        """Return the commands, and the options of the one in the arguments."""
        words = [option for action in self._actions for option in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                words += action.choices
                chosen = action.choices.get(self.command or "")
                words += chosen._option_string_actions if chosen else []
        return words


def build_parser(commands: Iterable[str]) -> argparse.ArgumentParser:
    """Build the parser of `tanlu`; `commands` are those this installation has."""
    parser: argparse.ArgumentParser = _Parser(
        prog="tanlu",
        description="Research on the web and on the map, answered with sources you can check.",
        epilog=_TANLU_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tanlu {__version__}")
    chosen = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    told = tomllib.loads(files(__package__).joinpath("commands.toml").read_text(encoding="utf-8"))
    for command in commands:
        _declare(chosen, command, **told[command])
    return parser


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
    command = chosen.add_parser(name, formatter_class=shown, **words)
    groups: dict[str, argparse._ActionsContainer] = {}
    for names, row in arguments.items():
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
        if joined and joined[-1] == "--near" and _NEGATIVE.match(argument):
            joined[-1] = f"--near={argument}"
        elif joined and joined[-1] == "--site" and _EXCLUDED.match(argument):
            joined[-1] = f"--site={argument}"
        else:
            joined.append(argument)
    return joined
