"""The arguments of `tanlu batch`. Standard library only."""

import argparse

_DESCRIPTION = """Ask every question of a file and write a row for each answer.

Start the same command again to go on: questions with a row are not asked again, and one that
was under way goes on from its last step. Ctrl-C lets what is in flight finish (a second one
leaves it for the next start)."""
_EPILOG = """exit codes: 0 nothing is left to do; 1 something failed, is paused or is left;
2 bad usage; 130 after Ctrl-C.  The file formats: docs/batch.md"""


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
                       help="JSON lines or CSV (--offline has some of its own)")  # fmt: skip
    batch.add_argument("-o", "--output", metavar="ANSWERS", help="where the rows go (JSON lines)")
    batch.add_argument("--assistant", default="team_answer", metavar="ID",
                       help="who answers (default: team_answer)")  # fmt: skip
    batch.add_argument("--concurrency", type=_positive, default=8, metavar="N",
                       help="questions at once (default: 8)")  # fmt: skip
    batch.add_argument("--limit", type=_positive, metavar="N", help="only the first N questions")
    batch.add_argument("--retry-failed", action="store_true", help="ask failed questions again")
    batch.add_argument("--max-cost", type=_amount, metavar="USD",
                       help="begin nothing new once the file has cost this much")  # fmt: skip
    _declare_files(batch)
    batch.add_argument("--url", metavar="SERVER",
                       help="run them on a server (key: TANLU_API_KEY)")  # fmt: skip
    batch.add_argument("--set", action="append", default=[], dest="sets", metavar="KEY=VALUE",
                       help="a setting of every run (repeatable)")  # fmt: skip
    batch.add_argument("--offline", action="store_true", help="use the bundled sample, no key")


def _declare_files(batch: argparse.ArgumentParser) -> None:
    """What is read and written beside the rows."""
    batch.add_argument("--format", choices=("rows", "gaia", "minimal"), default="rows",
                       help="what ANSWERS looks like (default: rows)")  # fmt: skip
    batch.add_argument("--score", action="store_true",
                       help="compare with the expected answers by GAIA's rule")  # fmt: skip
    batch.add_argument("--decrypt", action="store_true",
                       help="decrypt benchmark rows by their canary")  # fmt: skip
    batch.add_argument("--trace-dir", metavar="DIR", help="a file a question: how it was answered")
    batch.add_argument("--log-file", metavar="FILE", help="the log (default: ANSWERS.log)")


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
