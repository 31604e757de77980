"""The arguments of every command. Standard library only: `tanlu --help` must be instant."""

import argparse
import re
from collections.abc import Iterable, Sequence

from agent import __version__
from agent.cli.parser_batch import declare_batch
from agent.cli.parser_knowledge import declare_ingest, declare_search

_NEGATIVE = re.compile(r"-[\d.]")
_EPILOG = """examples:
  tanlu ask "王府井附近适合遛娃的好去处"
  tanlu ask "coffee near me" --near 116.41,39.91 --html answer.html
  tanlu ask --thread ID "那附近有停车场吗"
  tanlu ask --assistant team_answer "故宫博物院是哪一年成立的？" --format-requirement "年份"
  tanlu batch questions.jsonl -o answers.jsonl --score
  tanlu ingest ~/reports --collection reports
  tanlu search "钠离子电池 能量密度"
  tanlu doctor"""


def build_parser(commands: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of `tanlu`; `commands` are those this installation has."""
    parser = argparse.ArgumentParser(
        prog="tanlu",
        description="Research on the web and on the map, answered with sources you can check.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tanlu {__version__}")
    chosen = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in commands:
        _DECLARED[command](chosen)
    return parser


def join_negative_values(argv: Sequence[str]) -> list[str]:
    """`--near -0.12,51.50` as one argument: argparse takes a leading minus for an option."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] == "--near" and _NEGATIVE.match(argument):
            joined[-1] = f"--near={argument}"
        else:
            joined.append(argument)
    return joined


def _declare_ask(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    ask = chosen.add_parser(
        "ask",
        help="ask a question",
        description="Ask a question; without one, --thread ID continues an interrupted run.",
    )
    ask.add_argument("question", nargs="*", metavar="QUESTION", help="the question")
    ask.add_argument("--assistant", default="agent", metavar="ID",
                     help="who answers: agent (default), deep_research, team_answer, "
                     "plan_execute")  # fmt: skip
    ask.add_argument("--format-requirement", metavar="TEXT",
                     help='the form of the answer, such as "a year" (team_answer)')  # fmt: skip
    ask.add_argument("--collection", action="append", dest="collections", metavar="NAME",
                     help="own documents to read (plan_execute; repeatable)")  # fmt: skip
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument("--geojson", metavar="FILE", help="save the places as GeoJSON (WGS-84)")
    ask.add_argument("--html", metavar="FILE", help="save answer, sources and map as one page")
    ask.add_argument("--markdown", metavar="FILE", help="save answer and sources as Markdown")
    ask.add_argument("--pdf", metavar="FILE", help="save the same as PDF (needs tanlu[pdf])")
    ask.add_argument("--url", metavar="SERVER", help="ask a running server (key: TANLU_API_KEY)")
    ask.add_argument("--thread", metavar="ID", help="follow up, or continue an interrupted run")
    ask.add_argument("--near", metavar="LNG,LAT", help="where you are, WGS-84 degrees")
    ask.add_argument(
        "--set",
        action="append",
        default=[],
        dest="sets",
        metavar="KEY=VALUE",
        help="a setting of this run, such as max_research_loops=1 (repeatable)",
    )
    ask.add_argument("--offline", action="store_true", help="use the bundled sample, no key needed")
    ask.add_argument("--log-file", metavar="FILE", help="write the log to this file")


def _declare_doctor(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    doctor = chosen.add_parser(
        "doctor",
        help="show what is configured and what works",
        description="Show what is configured and what works; exit 1 if something does not.",
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object")
    doctor.add_argument("--offline", action="store_true", help="check the bundled sample instead")
    doctor.add_argument("--log-file", metavar="FILE", help="write the log to this file")


_DECLARED = {
    "ask": _declare_ask,
    "batch": declare_batch,
    "ingest": declare_ingest,
    "search": declare_search,
    "doctor": _declare_doctor,
}
