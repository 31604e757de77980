"""Run `tanlu ask`: show the progress of a question, its answer, and save what was asked for."""

import asyncio
import contextlib
import sys
import tempfile
import webbrowser
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.disk import TraceFolder
from agent.cli.console import (
    ANSWERED,
    CANCELLED,
    FAILED,
    USAGE,
    command_line,
    fail,
    is_terminal,
    print_json,
    printable,
    tell_aside,
)
from agent.cli.environment import configure_logging, log_level, read_environment
from agent.cli.record import RunRecord
from agent.cli.request import AskRequest, misused, read_request, server_url, thread_named
from agent.cli.review import plan_language, review
from agent.client.run_result import Pause, RunResult
from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.core.faults import contained
from agent.export import export_failed
from agent.export.finished import FinishedAnswer
from agent.texts import Language, problem_text, say, stop_of
from agent.texts.languages import language_of_setting

if TYPE_CHECKING:
    from agent.client.asked_again import AnsweredBefore
    from agent.client.follow import RunListener
    from agent.client.local import LocalRunner
    from agent.runs.run_log import AcceptedRun


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 answered, 1 failed, 2 bad usage, 130 after Ctrl-C.

    An answer whose files could not all be written has failed in part, and returns 1, too.
    """
    try:
        read_environment(offline=arguments.offline)
        if arguments.follow_last:
            asyncio.run(_name_last_thread(arguments))
        before = _read_before(arguments) if arguments.again else None
        request = read_request(arguments)
        request = replace(request, again=before.input) if before else request
        level = log_level() or ("INFO" if arguments.verbose else None)
        configure_logging(level, arguments.log_file, terminal="ERROR")
        record = RunRecord(TraceFolder(Path(arguments.trace_dir)) if arguments.trace_dir else None)
    except AgentError as error:
        return fail(error, code=USAGE)
    if request.url is not None and (arguments.trace_dir or arguments.log_file):
        tell_aside(say("terminal.server_keeps", _language(request)))
    accepted = asyncio.Event()
    try:
        with record.listening(log_file=arguments.log_file is not None):
            outcome = _run_to_answer(request, arguments, accepted, before)
        all_saved = _save(outcome, arguments, record)
    except AgentError as error:
        with contextlib.suppress(AgentError):  # the folder's own problem came first
            record.fail(request.thread_id, error)
        told: str | AgentError = error
        if isinstance(error, ConfigurationError):
            told = problem_text(error, _language(request))
        return fail(told, code=_exit_code(error))
    except StoreFailed as error:
        return fail(stop_of(error, _language(request)), then=_go_on(request, arguments, accepted))
    except KeyboardInterrupt:
        then = _go_on(request, arguments, accepted)
        return fail(say("terminal.cancelled", _language(request)), code=CANCELLED, then=then)
    return ANSWERED if all_saved else FAILED


def _read_before(arguments: Namespace) -> "AnsweredBefore":
    """Read what is asked again, and have the arguments ask for it; raise InputError."""
    from agent.client.asked_again import read_before

    if arguments.question:
        raise misused("--again", "again")
    url = server_url(arguments.url, offline=arguments.offline)
    thread_id = thread_named("--again", arguments.again)
    before = asyncio.run(read_before(thread_id, url))
    arguments.question = [before.result.question]
    if arguments.assistant == "agent":
        arguments.assistant = before.result.assistant
    return before


async def _name_last_thread(arguments: Namespace) -> None:
    """Set the thread, and the assistant if none was chosen, to those of the last run.

    Raises InputError where nothing was asked yet.
    """
    from agent.runs.threads import last_run
    from agent.settings import read_settings

    if arguments.url is not None:
        raise misused("--continue", "continue_url")
    last = await last_run(read_settings())
    if last is None:
        raise misused("--continue", "continue_none")
    arguments.thread = last.thread_id
    if arguments.assistant == "agent":
        arguments.assistant = last.assistant


def _go_on(request: AskRequest, arguments: Namespace, accepted: asyncio.Event) -> str:
    command = _command(request, arguments, "")
    return say("terminal.go_on", _language(request), command=command) if accepted.is_set() else ""


def _exit_code(error: AgentError) -> int:
    """Return the exit code; a thread or setting that a server does not know is bad usage, too."""
    named = isinstance(error, ConfigurationError) and error.name.startswith("--")
    return USAGE if named else FAILED


def _run_to_answer(
    request: AskRequest,
    arguments: Namespace,
    accepted: asyncio.Event,
    before: "AnsweredBefore | None" = None,
) -> RunResult:
    """Run the question to its answer, reviewing its plan where it waits, and print it."""
    language, notice_shown = _language(request), ""
    while True:
        result, notice_seen = asyncio.run(_ask(request, arguments, accepted, language))
        notice_shown = notice_shown or notice_seen
        if isinstance(result, RunResult):
            break
        if arguments.json or not is_terminal():
            where = _command(request, arguments, "")
            raise AgentError(f"The plan waits for its review: answer on a terminal with `{where}`.")
        chosen = request.context.get("answer_language") or "auto"
        language = plan_language(result) if chosen == "auto" else language_of_setting(chosen, "")
        # Nothing runs meanwhile, so that Ctrl-C and line editing work as everywhere.
        answer = review(result, language)
        request = replace(request, question=None, follows_up=True, resume=answer)
    _show(result, request, arguments, before, notice_shown=notice_shown)
    return result


async def _ask(
    request: AskRequest, arguments: Namespace, accepted: asyncio.Event, language: Language
) -> tuple[RunResult | Pause, str]:
    """Return the outcome or the pause, and the notice of sample data that was shown."""
    from agent.cli.watch import open_watcher, show_log

    silent = arguments.json or arguments.quiet
    with open_watcher(language, accepted, silent=silent) as watcher, show_log(watcher, language):
        if request.url is None:
            return await ask_in_process(request, watcher), watcher.notice_shown
        from agent.cli.remote import ask_server

        return await ask_server(request, watcher), watcher.notice_shown


async def ask_in_process(request: AskRequest, listener: "RunListener") -> RunResult | Pause:
    """Run the assistant to its answer, or to where it waits for a review.

    Runs of killed processes are brought to their end besides, or before if they are on the same
    thread. Cancelling ends the run and closes everything. Raises AgentError.
    """
    from agent.client.local import LocalRunner
    from agent.runs.threads import open_threads
    from agent.services import close_process_services
    from agent.settings import read_settings

    try:
        async with open_threads(read_settings()) as threads:
            runner, killed = LocalRunner(threads), None
            if request.follows_up and request.question is not None:
                await runner.finish_others(_report_other)
            elif request.question is None and request.resume is None:
                killed = await runner.take_up(request.thread_id)
            others = asyncio.create_task(runner.finish_others(_report_other))
            try:
                outcome = await _run_here(runner, request, listener, killed)
                await others
            finally:
                others.cancel()
                await asyncio.gather(others, return_exceptions=True)
            return outcome
    finally:
        await close_process_services()


async def _run_here(
    runner: "LocalRunner",
    request: AskRequest,
    listener: "RunListener",
    run: "AcceptedRun | None",
) -> RunResult | Pause:
    """Run what was asked, or go on with `run`; return what is on a thread that has ended."""
    from agent.client.local import last_outcome

    assistant, thread_id = request.assistant, request.thread_id
    if run is None and request.question is None:
        snapshot = await runner.snapshot(assistant, thread_id)
        if not snapshot.values:
            raise misused("--thread", "no_thread", thread=thread_id)
        if ended := last_outcome(assistant, thread_id, snapshot):
            return ended
    if run is None:
        run = await runner.accept(
            assistant, thread_id, input=request.graph_input(), context=request.context,
            resume=request.resume,
        )  # fmt: skip
    return await runner.run(run, listener)


def _report_other(run: "AcceptedRun", status: str) -> None:
    command = command_line("ask", [], Namespace(thread=run.thread_id), "thread")
    if status == "continuing":
        tell_aside(f"tanlu: continuing a question that was interrupted (see it with: {command})")
    else:
        tell_aside(f"tanlu: the interrupted question ended: {status} ({command})")


def _language(request: AskRequest) -> Language:
    """Return the language of the progress lines; a continued run has no question here."""
    chosen = request.context.get("answer_language") or "auto"
    return language_of_setting(chosen, request.question or "继续")


def _show(
    outcome: RunResult,
    request: AskRequest,
    arguments: Namespace,
    before: "AnsweredBefore | None" = None,
    *,
    notice_shown: str,
) -> None:
    from agent.cli.render import changes_text, print_outcome
    from agent.client.asked_again import changes_since

    changes = changes_since(before.result, outcome) if before else None
    if arguments.json:
        print_json({**outcome.as_json(), **({"changes": changes} if changes else {})})
        return
    question = '"…"' if sys.stdout.encoding.lower().startswith("utf") else '"..."'
    follow_up = _command(request, arguments, question)
    # On one terminal the notice stands above the progress already.
    notice = notice_shown if sys.stdout.isatty() else ""
    print_outcome(outcome, follow_up="" if arguments.quiet else follow_up, notice=notice)
    if before and changes:
        print(printable(f"\n{changes_text(changes, before.at, outcome.language)}"))  # noqa: T201


def _command(request: AskRequest, arguments: Namespace, question: str) -> str:
    """Return the command that follows up, or continues where there is no question."""
    again = Namespace(thread=request.thread_id, url=request.url, offline=arguments.offline,
                      assistant=request.assistant if request.assistant != "agent" else None,
                      set=[] if question else arguments.sets)  # fmt: skip
    line = command_line("ask", [], again, "thread", "assistant", "url", "offline", "set")
    return f"{line} {question}" if question else line


def _save(outcome: RunResult, arguments: Namespace, record: RunRecord) -> bool:
    """Write the requested files and name each; return False if one could not be written.

    Each such file has a line with its option and the reason; the others are written all the same.
    """
    trace = record.finish(outcome)
    answer = replace(outcome.finished(), photo_hosts=_photo_hosts(arguments))
    files, all_saved = [str(trace)] if trace else [], True
    options = [name for name in _FORMATS if getattr(arguments, name) is not None]
    for option in [*options, *(["open"] if arguments.open else [])]:
        try:
            files.append(_written(option, arguments, answer))
        except AgentError as error:
            all_saved = False
            reason = {"option": f"--{option.replace('_', '-')}", "reason": error.message}
            fail(say("terminal.not_saved", outcome.language, **reason))
    if not (arguments.json or arguments.quiet):
        for file in dict.fromkeys(files):
            tell_aside(say("terminal.saved", outcome.language, file=file))
    return all_saved


def _photo_hosts(arguments: Namespace) -> Sequence[str]:
    """Return from where a page of this process's own run may load photos of places."""
    from agent.mcp.amap.records import PHOTO_HOSTS
    from agent.settings import read_settings

    return PHOTO_HOSTS if arguments.url is None and read_settings().place_photos else ()


def _written(option: str, arguments: Namespace, answer: FinishedAnswer) -> str:
    """Write the file of one option and return its name; raise AgentError where it cannot be."""
    if option == "open":
        return _opened(answer, arguments.html)
    file: str = getattr(arguments, option)
    in_pdf = option == "pocket_map" and file.lower().endswith(".pdf")
    _write(file, _document("pdf.pocket_document" if in_pdf else _FORMATS[option], answer))
    return file


def _opened(answer: FinishedAnswer, saved: str | None) -> str:
    """Open the answer as a page in the browser; return its file, a new one unless it is saved."""
    path = Path(saved) if saved else Path(tempfile.mkdtemp(prefix="tanlu-"), "answer.html")
    if not saved:
        _write(str(path), _document(_FORMATS["html"], answer))
    webbrowser.open(path.absolute().as_uri())
    return str(path)


_FORMATS = {
    "geojson": "geojson.answer_geojson",
    "gpx": "gpx.answer_gpx",
    "ics": "outing.calendar",
    "pocket_map": "outing.pocket_map",
    "markdown": "markdown.markdown_document",
    "html": "html.html_page",
    "pdf": "pdf.pdf_document",
    "docx": "word.word_document",
    "bibtex": "bibliography.bibtex",
    "ris": "bibliography.ris",
}
"""The options that save an answer, and who writes it in `agent.export`, imported when needed."""


def _document(writer: str, answer: FinishedAnswer) -> str | bytes:
    module, _, name = writer.partition(".")
    with contained(writer, export_failed):
        document: str | bytes = getattr(import_module(f"agent.export.{module}"), name)(answer)
    return document


def _write(file: str, content: str | bytes) -> None:
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise AgentError(f"{file} cannot be written: {error.strerror}") from None
