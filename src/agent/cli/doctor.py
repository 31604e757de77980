"""`tanlu doctor`: what is configured, and whether it works. Keys are never shown."""

import asyncio
import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from agent.cli.checks import Check, examine
from agent.cli.console import ANSWERED, FAILED, USAGE, fail, is_utf8, printable
from agent.cli.environment import read_environment
from agent.cli.logs import configure_logging
from agent.errors import AgentError

_STYLES = {"ok": "green", "off": "dim", "missing": "yellow", "broken": "bold red"}


def run(arguments: Namespace) -> int:
    """0 if what is configured works, 1 if something does not."""
    try:
        read_environment(offline=arguments.offline)
        configure_logging(os.environ.get("TANLU_LOG_LEVEL") or "ERROR", arguments.log_file)
    except AgentError as error:
        return fail(error.message, code=USAGE)
    checks = asyncio.run(examine())
    works = all(check["state"] != "broken" for check in checks)
    if arguments.json:
        text = json.dumps({"ok": works, "checks": checks}, ensure_ascii=not is_utf8(sys.stdout))
        print(text)  # noqa: T201
    else:
        _print_table(checks)
    return ANSWERED if works else FAILED


def _print_table(checks: Sequence[Check]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for heading in ("Check", "State", "Found"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "State")
    for check in checks:
        state = Text(check["state"], style=_STYLES[check["state"]])
        table.add_row(Text(check["name"]), state, Text(printable(check["detail"])))
    console = Console(highlight=False)
    console.print(table)
    for suggestion, those in _suggestions(checks).items():
        line = f"{', '.join(check['name'] for check in those)}: {suggestion}"
        console.print(Text(printable(line), style=_STYLES[those[0]["state"]]), soft_wrap=True)


def _suggestions(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Each suggestion once, with the checks it is made for."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        if check["suggestion"]:
            found.setdefault(check["suggestion"], []).append(check)
    return found
