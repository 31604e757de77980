"""Parse the arguments of every command; standard library only, `--help` must be instant."""

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from agent import __version__

_DESCRIPTION = """Ask every question of a file and write a row for each answer.

Start the same command again to go on: questions with a row are not asked again, and one that
was under way goes on from its last step. Ctrl-C lets what is in flight finish (a second one
leaves it for the next start)."""
_EPILOG = """exit codes: 0 nothing is left to do; 1 something failed, is paused or is left;
2 bad usage; 130 after Ctrl-C.  The file formats: docs/batch.md"""

_BENCHMARKS = ("browsecomp", "browsecomp_zh", "xbench", "simpleqa", "frames", "gaia",
               "webwalkerqa", "deepresearch_bench")  # fmt: skip
"""The keys of `batch.benchmarks.BENCHMARKS`, which `--help` must not wait for."""


def declare_batch(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of `tanlu`."""
    batch = chosen.add_parser(
        "batch",
        help="ask every question of a file; resumable",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    batch.add_argument("questions", nargs="?", metavar="QUESTIONS",
                       help="JSON, CSV or a workbook (--offline has some of its own)")  # fmt: skip
    batch.add_argument("-o", "--output", metavar="ANSWERS", help="where the rows go (JSON lines)")
    batch.add_argument("--assistant", default="team_answer", metavar="ID",
                       help="who answers (default: team_answer)")  # fmt: skip
    batch.add_argument("--concurrency", type=_positive, default=8, metavar="N",
                       help="questions at once (default: 8)")  # fmt: skip
    batch.add_argument("--limit", type=_positive, metavar="N", help="only the first N questions")
    batch.add_argument("--retry-failed", action="store_true", help="ask failed questions again")
    batch.add_argument("--dry-run", action="store_true",
                       help="estimate searches, tokens, cost and hours; ask nothing")  # fmt: skip
    batch.add_argument("--max-cost", type=_amount, metavar="USD",
                       help="begin nothing new once the file has cost this much")  # fmt: skip
    _declare_files(batch)
    batch.add_argument("--url", metavar="SERVER",
                       help="run them on a server (key: TANLU_API_KEY)")  # fmt: skip
    batch.add_argument("--set", action="append", default=[], dest="sets", metavar="KEY=VALUE",
                       help="a setting of every run (repeatable)")  # fmt: skip
    batch.add_argument("--offline", action="store_true", help="use the bundled sample, no key")


def _declare_files(batch: argparse.ArgumentParser) -> None:
    """Declare the files beside the rows."""
    batch.add_argument("--format", choices=("rows", "gaia", "deepresearch_bench", "minimal"),
                       default="rows", help="what ANSWERS looks like (default: rows)")  # fmt: skip
    _declare_benchmark(batch)
    batch.add_argument("--score", action="store_true",
                       help="compare with the expected answers by GAIA's rule")  # fmt: skip
    batch.add_argument("--trace-dir", metavar="DIR", help="a file a question: how it was answered")
    batch.add_argument("--log-file", metavar="FILE", help="the log (default: ANSWERS.log)")


def _declare_benchmark(command: argparse.ArgumentParser) -> None:
    """Declare how a file of questions is read."""
    command.add_argument("--benchmark", choices=_BENCHMARKS, metavar="NAME",
                         help="take QUESTIONS for this one's: " + ", ".join(_BENCHMARKS)
                         + " (default: told from the columns)")  # fmt: skip
    command.add_argument("--decrypt", action="store_true",
                         help="decrypt benchmark rows by their canary")  # fmt: skip


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


_JUDGE_DESCRIPTION = """Score every answer of a file with a model, by a rubric of our own.

Short answers are correct, incorrect or not attempted (after SimpleQA), reports get 0 to 10 for
each of four criteria (after RACE). The cost is estimated first. Verdicts are kept beside ANSWERS;
start the same command again to go on."""


def declare_judge(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of `tanlu`."""
    judge = chosen.add_parser(
        "judge",
        help="score the answers of a batch with a model",
        description=_JUDGE_DESCRIPTION,
        epilog="exit codes: 0 all judged; 1 something is left; 2 bad usage; 130 after Ctrl-C.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judge.add_argument("answers", metavar="ANSWERS",
                       help="rows of a batch, or JSON lines with id and answer; ANSWERS#CONFIG "
                       "for one of several configurations")  # fmt: skip
    judge.add_argument("--questions", metavar="QUESTIONS",
                       help="questions and expected answers, if ANSWERS has none")  # fmt: skip
    _declare_benchmark(judge)
    judge.add_argument("--model", metavar="NAME", help="who judges (default: REFLECTION_MODEL)")
    judge.add_argument("--rubric", choices=("auto", "short", "report"), default="auto",
                       help="auto: short where an answer is expected (default)")  # fmt: skip
    judge.add_argument("--dry-run", action="store_true", help="estimate the cost and end")
    judge.add_argument("--max-cost", "--max-usd", type=_amount, metavar="USD",
                       help="begin no verdict by which the file's would cost more")  # fmt: skip
    judge.add_argument("--concurrency", type=_positive, default=4, metavar="N",
                       help="verdicts at once (default: 4)")  # fmt: skip
    judge.add_argument("--limit", type=_positive, metavar="N", help="only the first N answers")
    judge.add_argument("--card", metavar="FILE", help="write the result card: .json or .md")
    judge.add_argument("--log-file", metavar="FILE", help="write the log to this file")


def declare_compare(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of `tanlu`."""
    compare = chosen.add_parser(
        "compare",
        help="say whether two judged batches differ",
        description="Say by paired tests whether two judged files of answers differ.",
    )
    compare.add_argument("a", metavar="A", help="ANSWERS, judged; or ANSWERS#CONFIG")
    compare.add_argument("b", metavar="B", help="the same of the other configuration")
    compare.add_argument("--model", metavar="NAME", help="whose verdicts, if there are several's")
    compare.add_argument("--json", action="store_true", help="print one JSON object")


def declare_ingest(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of `tanlu`."""
    ingest = chosen.add_parser(
        "ingest",
        help="read documents into the knowledge base",
        description="Read in PDF, Word, Excel, slides, mail, web pages, tables, any text; only "
        "what is new or has changed. Exit 1 if a file could not be read.",
    )
    ingest.add_argument("paths", nargs="*", metavar="PATH", help="a file or a folder")
    ingest.add_argument("--sample", action="store_true",
                        help="the bundled sample documents; means --offline")  # fmt: skip
    ingest.add_argument("--collection", default="documents", metavar="NAME",
                        help="where they go (default: documents)")  # fmt: skip
    _declare_owner(ingest, "whose collection it is, by the name of a server's key")
    ingest.add_argument("--shared", action="store_true",
                        help="let every owner on a server read this collection")  # fmt: skip
    ingest.add_argument("--prune", action="store_true",
                        help="take out what was read from PATH and is gone")  # fmt: skip
    ingest.add_argument("--retry", action="store_true",
                        help="try again what failed before and has not changed")  # fmt: skip
    _declare_common(ingest, "print one JSON object at the end")


def declare_search(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of `tanlu`."""
    search = chosen.add_parser(
        "search",
        help="search the knowledge base",
        description="Search the knowledge base; exit 1 if nothing is found.",
    )
    search.add_argument("query", nargs="+", type=_utf8, metavar="QUERY", help="what to look for")
    search.add_argument("--collection", action="append", default=[], dest="collections",
                        metavar="NAME", help="only this one (repeatable)")  # fmt: skip
    _declare_owner(search, "what this owner may read, by the name of a server's key")
    search.add_argument("--limit", type=_count, default=10, metavar="N",
                        help="passages at most (default: 10)")  # fmt: skip
    _declare_common(search, "print one JSON object and nothing else")


def _declare_owner(command: argparse.ArgumentParser, owner_help: str) -> None:
    help_text = f"{owner_help} (default: your own, as on a server without keys)"
    command.add_argument("--owner", default="", metavar="NAME", help=help_text)


def _declare_common(command: argparse.ArgumentParser, json_help: str) -> None:
    command.add_argument("--json", action="store_true", help=json_help)
    command.add_argument("--offline", action="store_true",
                         help="use the bundled sample's services, no key needed")  # fmt: skip
    command.add_argument("--log-file", metavar="FILE", help="write the log to this file")


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


_NEGATIVE = re.compile(r"-[\d.]")
_EXCLUDED = re.compile(r"-[^-]")
_TANLU_EPILOG = """examples:
  tanlu ask "王府井附近适合遛娃的好去处"
  tanlu ask "coffee near me" --near 116.41,39.91 --html answer.html
  tanlu ask -c "那附近有停车场吗"
  tanlu ask --assistant team_answer "故宫博物院是哪一年成立的？" --format-requirement "年份"
  tanlu batch questions.jsonl -o answers.jsonl --score
  tanlu judge answers.jsonl --max-cost 1 --card card.md
  tanlu compare answers.jsonl other.jsonl
  tanlu ingest ~/reports --collection reports
  tanlu search "钠离子电池 能量密度"
  tanlu threads list
  tanlu share THREAD
  tanlu serve --open
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
    for command in commands:
        _DECLARED[command](chosen)
    return parser


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


def _declare_ask(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    ask = chosen.add_parser(
        "ask",
        help="ask a question",
        description="Ask a question; without one, --thread ID continues an interrupted run.",
    )
    ask.add_argument("question", nargs="*", type=_utf8, metavar="QUESTION", help="the question")
    ask.add_argument("--assistant", default="agent", metavar="ID",
                     help="who answers: agent (default), deep_research, team_answer, "
                     "plan_execute")  # fmt: skip
    ask.add_argument("--format-requirement", type=_utf8, metavar="TEXT",
                     help='the form of the answer, such as "a year" (team_answer)')  # fmt: skip
    ask.add_argument("--collection", action="append", dest="collections", metavar="NAME",
                     help="own documents to read (repeatable; plan_execute reads all)")  # fmt: skip
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    _declare_saves(ask)
    _declare_pages(ask)
    ask.add_argument("-q", "--quiet", action="store_true", help="print the answer and nothing else")
    ask.add_argument("-v", "--verbose", action="store_true", help="show the log")
    ask.add_argument("--url", metavar="SERVER", help="ask a running server (key: TANLU_API_KEY)")
    thread = ask.add_mutually_exclusive_group()
    thread.add_argument("-c", "--continue", action="store_true", dest="follow_last",
                        help="go on with the last question of this data folder")  # fmt: skip
    thread.add_argument(
        "--thread",
        metavar="ID",
        help="follow up, or go on with an interrupted run; ID is the UUID that"
        " `tanlu threads list` and --json show, a new one begins a thread",
    )
    thread.add_argument("--again", metavar="THREAD",
                        help="ask the last question of a thread anew, on a thread of its own, and"
                        " say what changed")  # fmt: skip
    ask.add_argument("--outing", action="store_true",
                     help="order the places into a day: stops, times, ways (agent)")  # fmt: skip
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
    ask.add_argument("--log-file", metavar="FILE",
                     help="write the log, with all prompts, replies and tool calls")  # fmt: skip
    ask.add_argument("--trace-dir", metavar="DIR",
                     help="write the same as one JSON file of the run")  # fmt: skip


def _declare_pages(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--since", metavar="WHEN",
                     help="only pages since day, week, month or year ago, or a date")  # fmt: skip
    ask.add_argument("--site", action="append", default=[], dest="sites", metavar="SITE",
                     help="only pages of this site; -SITE: none of it (repeatable)")  # fmt: skip


def _declare_saves(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--geojson", metavar="FILE", help="save the places as GeoJSON (WGS-84)")
    ask.add_argument("--gpx", metavar="FILE", help="save the places as GPX, for navigation")
    ask.add_argument("--html", metavar="FILE", help="save answer, sources and map as one page")
    ask.add_argument("--markdown", metavar="FILE", help="save answer and sources as Markdown")
    ask.add_argument("--pdf", metavar="FILE", help="save the same as PDF (needs tanlu[pdf])")
    ask.add_argument("--docx", metavar="FILE", help="save the same for Word")
    ask.add_argument("--bibtex", metavar="FILE", help="save the sources as BibTeX")
    ask.add_argument("--ris", metavar="FILE", help="save them as RIS: Zotero, EndNote, NoteExpress")
    ask.add_argument("--ics", metavar="FILE",
                     help="plan a day over the places and save it for a calendar")  # fmt: skip
    ask.add_argument("--pocket-map", metavar="FILE",
                     help="plan a day and save it on a page: .svg or .pdf")  # fmt: skip
    ask.add_argument("--open", action="store_true", help="open that page in a browser")


def _declare_doctor(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    doctor = chosen.add_parser(
        "doctor",
        help="show what is configured and what works",
        description="Show what is configured and what works; exit 1 if something does not.",
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object")
    doctor.add_argument("-v", "--verbose", action="store_true", help="show every check")
    doctor.add_argument("--offline", action="store_true", help="check the bundled sample instead")
    doctor.add_argument("--log-file", metavar="FILE", help="write the log to this file")


def _declare_threads(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    threads = chosen.add_parser(
        "threads",
        help="list, show and delete conversations",
        description="List, show and delete threads, with all that belongs to them; prune deletes "
        "those on which nobody worked for some days.",
    )
    threads.add_argument("action", choices=("list", "show", "delete", "prune"))
    threads.add_argument("threads", nargs="*", metavar="THREAD", help="which to show or delete")
    threads.add_argument("--url", metavar="SERVER",
                         help="those of a server (key: TANLU_API_KEY)")  # fmt: skip
    threads.add_argument("--owner", metavar="NAME",
                         help="list those of this key of a server only")  # fmt: skip
    threads.add_argument("--limit", type=_count, default=20, metavar="N",
                         help="threads listed at most (default: 20)")  # fmt: skip
    threads.add_argument("--days", type=_positive, metavar="N",
                         help="prune what is older (default: TANLU_KEEP_DAYS)")  # fmt: skip
    threads.add_argument("--dry-run", action="store_true", help="prune nothing, list what would go")
    threads.add_argument("--json", action="store_true", help="print one JSON object")


def _declare_share(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    share = chosen.add_parser(
        "share",
        help="give an answer an address that others can read",
        description="Share an answer of a server's thread as a page that needs no key, until its "
        "end date: whoever has the address reads it. What the answer shows is on the page, quotes "
        "of your own documents among it; the rest of the thread is not.",
    )
    share.add_argument("thread", metavar="THREAD", help="whose last answer (tanlu threads list)")
    share.add_argument("--message", metavar="ID", help="another answer of the thread")
    share.add_argument("--days", type=_positive, default=30, metavar="N",
                       help="how long, 365 at most (default: 30)")  # fmt: skip
    share.add_argument("--list", action="store_true", help="show what of the thread is shared")
    share.add_argument("--withdraw", action="store_true",
                       help="end it now: of --message, or of the whole thread")  # fmt: skip
    share.add_argument("--url", default="http://127.0.0.1:2024", metavar="SERVER",
                       help="where the thread is (key: TANLU_API_KEY; default: "
                       "http://127.0.0.1:2024)")  # fmt: skip
    share.add_argument("--json", action="store_true", help="print one JSON object")


def _declare_serve(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = chosen.add_parser(
        "serve",
        help="run the server with its page (needs tanlu[server])",
        description="Run the server: the page, the SDK's API, Studio and MCP. Ctrl-C ends it.",
    )
    serve.add_argument("--port", type=_port, default=2024, metavar="N",
                       help="the first port to try (default: 2024)")  # fmt: skip
    serve.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                       help="where to listen (default: 127.0.0.1)")  # fmt: skip
    serve.add_argument("--open", action="store_true", help="open the page in a browser")
    serve.add_argument("--offline", action="store_true", help="use the bundled sample, no key")
    serve.add_argument("--engine", choices=["langgraph", "aegra"], default="langgraph",
                       help="aegra: one of several instances on Postgres and Redis")  # fmt: skip
    serve.add_argument("-v", "--verbose", action="store_true", help="show the whole log")


def _declare_mcp(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    mcp = chosen.add_parser(
        "mcp",
        help="offer the assistants to an MCP client over stdio",
        description="Offer the assistants as tools over stdio, to a client that starts this.",
    )
    mcp.add_argument("--offline", action="store_true", help="use the bundled sample, no key")
    mcp.add_argument("--log-file", metavar="FILE", help="write the log to this file")


def _port(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 65_535:
        raise argparse.ArgumentTypeError("must be between 1 and 65535")
    return value


def _declare_config(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    config = chosen.add_parser(
        "config",
        help="keep settings and keys for every folder",
        description="Keep settings of your own, for every folder; a folder's .env and the "
        "process environment win. The names are those of .env.example.",
        epilog="tanlu config set GEMINI_API_KEY   asks for the key, without showing it",
    )
    config.add_argument("action", choices=("list", "set", "unset"))
    config.add_argument("key", nargs="?", metavar="KEY", help="the variable")
    config.add_argument("value", nargs="?", metavar="VALUE", help="asked for if left out")


def _declare_completion(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    completion = chosen.add_parser(
        "completion",
        help="print a shell's completion",
        description="Print what makes a shell complete commands and options.",
        epilog=_COMPLETION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "powershell"))


_COMPLETION = """bash, zsh    eval "$(tanlu completion bash)"    in ~/.bashrc or ~/.zshrc
fish         tanlu completion fish | source      in ~/.config/fish/config.fish
powershell   tanlu completion powershell | Out-String | Invoke-Expression   in $PROFILE"""
_DECLARED = {
    "ask": _declare_ask,
    "serve": _declare_serve,
    "mcp": _declare_mcp,
    "batch": declare_batch,
    "judge": declare_judge,
    "compare": declare_compare,
    "ingest": declare_ingest,
    "search": declare_search,
    "threads": _declare_threads,
    "share": _declare_share,
    "doctor": _declare_doctor,
    "config": _declare_config,
    "completion": _declare_completion,
}
