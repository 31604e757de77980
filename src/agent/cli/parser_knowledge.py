"""The arguments of `tanlu ingest` and `tanlu search`. Standard library only."""

import argparse


def declare_ingest(chosen: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Documents into the knowledge base."""
    ingest = chosen.add_parser(
        "ingest",
        help="read documents into the knowledge base",
        description="Read PDF, Markdown, HTML, text and CSV files into the knowledge base; only "
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
    """A query of the knowledge base."""
    search = chosen.add_parser(
        "search",
        help="search the knowledge base",
        description="Search the knowledge base; exit 1 if nothing is found.",
    )
    search.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    search.add_argument("--collection", action="append", default=[], dest="collections",
                        metavar="NAME", help="only this one (repeatable)")  # fmt: skip
    _declare_owner(search, "what this owner may read, by the name of a server's key")
    search.add_argument("--limit", type=_count, default=10, metavar="N",
                        help="passages at most (default: 10)")  # fmt: skip
    _declare_common(search, "print one JSON object and nothing else")


def _declare_owner(command: argparse.ArgumentParser, owner_help: str) -> None:
    told = f"{owner_help} (default: your own, as on a server without keys)"
    command.add_argument("--owner", default="", metavar="NAME", help=told)


def _declare_common(command: argparse.ArgumentParser, json_help: str) -> None:
    command.add_argument("--json", action="store_true", help=json_help)
    command.add_argument("--offline", action="store_true",
                         help="use the bundled sample's services, no key needed")  # fmt: skip
    command.add_argument("--log-file", metavar="FILE", help="write the log to this file")


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 200:
        raise argparse.ArgumentTypeError("must be between 1 and 200")
    return value
