"""`tanlu ask`: a question, its progress, its answer."""

import asyncio
import json
import os
import shlex
import sys
from argparse import Namespace
from pathlib import Path

from agent.cli.console import ANSWERED, CANCELLED, FAILED, USAGE, called_as, fail
from agent.cli.environment import read_environment
from agent.cli.logs import configure_logging
from agent.cli.request import Request, read_request
from agent.errors import AgentError, ConfigurationError
from agent.export.geojson import feature_collection
from agent.export.markdown import markdown_document
from agent.language import Language, detect_language
from agent.outcome import Outcome


def run(arguments: Namespace) -> int:
    """0 answered, 1 failed, 2 bad usage, 130 after Ctrl-C."""
    try:
        read_environment(offline=arguments.offline)
        request = read_request(arguments)
        configure_logging(os.environ.get("TANLU_LOG_LEVEL"), arguments.log_file)
    except AgentError as error:
        return fail(error.message, code=USAGE)
    accepted = asyncio.Event()
    try:
        asyncio.run(_ask(request, arguments, accepted))
    except AgentError as error:
        return fail(error.message, code=_code(error))
    except KeyboardInterrupt:
        go_on = f"; go on with: {_command(request, arguments, '')}" if accepted.is_set() else ""
        return fail(f"cancelled{go_on}", code=CANCELLED)
    return ANSWERED


def _code(error: AgentError) -> int:
    """What only shows later (a thread or a setting a server does not know) is bad usage, too."""
    named = isinstance(error, ConfigurationError) and error.name.startswith("--")
    return USAGE if named else FAILED


async def _ask(request: Request, arguments: Namespace, accepted: asyncio.Event) -> None:
    from agent.cli.watch import telling_of_installs, watching

    silent = arguments.json
    with watching(_language(request), silent=silent) as watcher, telling_of_installs(watcher):
        if request.url is None:
            from agent.cli.local import ask_here

            outcome = await ask_here(request, watcher, accepted)
        else:
            from agent.cli.remote import ask_server

            outcome = await ask_server(request, watcher, accepted)
    _show(outcome, request, arguments, notice_shown=watcher.notice_shown)
    _save(outcome, arguments)


def _language(request: Request) -> Language:
    """Of the progress lines; a run that is continued has no question here."""
    chosen = request.context.get("answer_language")
    if chosen in ("zh", "en"):
        return "zh" if chosen == "zh" else "en"
    return detect_language(request.question or "继续")


def _show(outcome: Outcome, request: Request, arguments: Namespace, *, notice_shown: bool) -> None:
    from agent.cli.render import print_json, print_outcome

    if arguments.json:
        print_json(outcome)
        return
    question = '"…"' if sys.stdout.encoding.lower().startswith("utf") else '"..."'
    follow_up = _command(request, arguments, question)
    # On one terminal the notice stands above the progress already.
    said = outcome.notice if notice_shown and sys.stdout.isatty() else ""
    print_outcome(outcome, follow_up=follow_up, notice=said)


def _command(request: Request, arguments: Namespace, question: str) -> str:
    """The command that follows up, or goes on where there is no question."""
    words = [*called_as(), "ask", "--thread", request.thread_id]
    if request.assistant != "agent":
        words += ["--assistant", request.assistant]
    if request.url is not None:
        words += ["--url", request.url]
    if arguments.offline:
        words.append("--offline")
    if not question:
        for given in arguments.sets:
            words += ["--set", given]
    return shlex.join(words) + (f" {question}" if question else "")


def _save(outcome: Outcome, arguments: Namespace) -> None:
    """Write the files that were asked for. Raises AgentError naming the option."""
    if arguments.geojson is not None:
        found = outcome.geojson or feature_collection(outcome.places, query=outcome.question)
        _write("--geojson", arguments.geojson, json.dumps(found, ensure_ascii=False, indent=2))
    if arguments.markdown is not None:
        _write("--markdown", arguments.markdown, markdown_document(outcome.finished()))
    if arguments.html is not None:
        from agent.export.html import html_page

        _write("--html", arguments.html, html_page(outcome.finished()))
    if arguments.pdf is not None:
        from agent.export.pdf import pdf_document

        _write("--pdf", arguments.pdf, pdf_document(outcome.finished()))


def _write(option: str, file: str, content: str | bytes) -> None:
    written = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        Path(file).write_bytes(written)
    except OSError as error:
        raise AgentError(f"{option}: {file} cannot be written: {error.strerror}") from None
