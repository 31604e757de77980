"""`tanlu ask`: a question, its progress, its answer."""

import asyncio
import os
import shlex
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from agent.cli.console import ANSWERED, CANCELLED, FAILED, USAGE, called_as, fail, is_terminal
from agent.cli.environment import configure_logging, read_environment
from agent.cli.request import Request, read_request
from agent.cli.review import review, spoken
from agent.client.run_result import Outcome, Pause
from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.export.geojson import answer_geojson
from agent.export.markdown import markdown_document
from agent.texts.language import Language, detect_language
from agent.texts.reasons import stop_of


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
        _answered(request, arguments, accepted)
    except AgentError as error:
        return fail(error.message, code=_code(error))
    except StoreFailed as error:
        return fail(f"{stop_of(error, _language(request))}{_go_on(request, arguments, accepted)}")
    except KeyboardInterrupt:
        return fail(f"cancelled{_go_on(request, arguments, accepted)}", code=CANCELLED)
    return ANSWERED


def _go_on(request: Request, arguments: Namespace, accepted: asyncio.Event) -> str:
    return f"; go on with: {_command(request, arguments, '')}" if accepted.is_set() else ""


def _code(error: AgentError) -> int:
    """What only shows later (a thread or a setting a server does not know) is bad usage, too."""
    named = isinstance(error, ConfigurationError) and error.name.startswith("--")
    return USAGE if named else FAILED


def _answered(request: Request, arguments: Namespace, accepted: asyncio.Event) -> None:
    """Ask, with a person's word in between where the run wants it, and show the answer."""
    language, shown = _language(request), False
    while True:
        came, noticed = asyncio.run(_ask(request, arguments, accepted, language))
        shown = shown or noticed
        if isinstance(came, Outcome):
            break
        if arguments.json or not is_terminal():
            where = _command(request, arguments, "")
            raise AgentError(f"review_plan: the run waits; answer on a terminal with: {where}")
        language = _chosen_language(request) or spoken(came)
        # Nothing runs meanwhile, so that Ctrl-C and line editing work as everywhere.
        answer = review(came, language)
        request = replace(request, question=None, follows_up=True, resume=answer)
    _show(came, request, arguments, notice_shown=shown)
    _save(came, arguments)


async def _ask(
    request: Request, arguments: Namespace, accepted: asyncio.Event, language: Language
) -> tuple[Outcome | Pause, bool]:
    """What came of it, and whether the notice of sample data was shown on the way."""
    from agent.cli.watch import telling_of_installs, watching

    silent = arguments.json
    with watching(language, silent=silent) as watcher, telling_of_installs(watcher, language):
        came: Outcome | Pause
        if request.url is None:
            from agent.cli.local import ask_here

            came = await ask_here(request, watcher, accepted)
        else:
            from agent.cli.remote import ask_server

            came = await ask_server(request, watcher, accepted)
    return came, watcher.notice_shown


def _language(request: Request) -> Language:
    """Of the progress lines; a run that is continued has no question here."""
    return _chosen_language(request) or detect_language(request.question or "继续")


def _chosen_language(request: Request) -> Language | None:
    chosen = request.context.get("answer_language")
    return chosen if chosen in ("zh", "en") else None


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
        _write("--geojson", arguments.geojson, answer_geojson(outcome.finished()))
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
