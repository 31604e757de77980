"""Read the arguments of `tanlu ask` as one checked request; a fault here is bad usage."""

import importlib
import os
import uuid
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent.assistants.registry import ASSISTANTS, REVIEW_PLANS, TAKE_COLLECTIONS, TAKE_FORMAT
from agent.cli.console import is_terminal
from agent.configuration import Configuration, configure
from agent.core.errors import ConfigurationError, InputError
from agent.evidence.geo import parse_lnglat
from agent.evidence.queries import clean_text
from agent.evidence.types import Point

MAX_QUESTION = 20_000
"""Characters; the assistant refuses longer ones, too."""
MAX_REQUIREMENT = 2000


@dataclass(frozen=True)
class Request:
    """A question (None: go on with the thread), and how it is to be asked."""

    question: str | None
    assistant: str
    thread_id: str
    follows_up: bool
    context: dict[str, Any]
    near: Point | None = None
    url: str | None = None
    format_requirement: str | None = None
    """The form of the answer, for assistants that take it."""
    collections: tuple[str, ...] | None = None
    """Own documents to read, for assistants that do; None is all."""
    saves: bool = False
    """True if the answer goes into a file, in which links should last."""
    resume: dict[str, Any] | None = None
    """A person's reply to the run's question, with which it goes on."""

    def graph_input(self) -> dict[str, Any] | None:
        """Return the run's input; None goes on with what the thread has."""
        if self.question is None:
            return None
        given: dict[str, Any] = {"messages": [{"role": "user", "content": self.question}]}
        if self.near is not None:
            given["user_location"] = dict(self.near)
        if self.format_requirement is not None:
            given["format_requirement"] = self.format_requirement
        if self.collections is not None:
            given["collections"] = list(self.collections)
        return given


def read_request(arguments: Namespace) -> Request:
    """The request, or an InputError or ConfigurationError that names the argument."""
    question = _question(arguments.question, arguments.thread)
    url = server_url(arguments.url, offline=arguments.offline)
    if url is None:
        known_assistant(arguments.assistant)
    for option in ("html", "markdown", "pdf", "geojson", "gpx", "log_file"):
        writable(f"--{option.replace('_', '-')}", getattr(arguments, option))
    if arguments.pdf is not None:
        _pdf_extra()
    context = _context(arguments, local=url is None)
    _review(arguments, context, asked=question is not None)
    return Request(
        question=question,
        assistant=arguments.assistant,
        thread_id=_thread(arguments.thread),
        follows_up=arguments.thread is not None,
        context=context,
        near=_near(arguments.near),
        format_requirement=_format_requirement(arguments, asked=question is not None),
        collections=_collections(arguments, asked=question is not None),
        url=url,
        saves=_saves(arguments),
    )


def known_assistant(wanted: str) -> None:
    """Raises InputError for one that this installation does not have."""
    if wanted not in ASSISTANTS:
        known = ", ".join(sorted(ASSISTANTS))
        raise InputError("--assistant", f"there is no {wanted!r}; known: {known}")


def split_sets(sets: Sequence[str]) -> dict[str, str]:
    """`key=value` pairs; a later one wins."""
    pairs: dict[str, str] = {}
    for given in sets:
        key, equals, value = given.partition("=")
        if not equals or not key.strip():
            raise InputError("--set", f"must be SETTING=VALUE, not {given!r}")
        pairs[key.strip()] = value.strip()
    return pairs


def _question(words: Sequence[str], thread: str | None) -> str | None:
    if not words:
        if thread is None:
            raise InputError("QUESTION", "is missing (or give --thread ID to go on)")
        return None
    raw = " ".join(words)
    if len(raw) > MAX_QUESTION:
        raise InputError("QUESTION", f"is longer than {MAX_QUESTION} characters")
    question = clean_text(raw, MAX_QUESTION)
    if not question:
        raise InputError("QUESTION", "is empty")
    return question


def _thread(given: str | None) -> str:
    """A thread's id is a UUID everywhere; anything else could be part of a path."""
    if given is None:
        return str(uuid.uuid4())
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise InputError("--thread", "must be a thread's id (a UUID)") from None


def server_url(url: str | None, *, offline: bool) -> str | None:
    """The server's address without a slash at its end, checked."""
    if url is None:
        return None
    if offline:
        raise InputError("--offline", "is the server's choice: it cannot go with --url")
    parts = urlsplit(url) if url.isprintable() else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("--url", "must be http(s)://HOST[:PORT]")
    return url.rstrip("/")


def _format_requirement(arguments: Namespace, *, asked: bool) -> str | None:
    """The form of the answer; what a server's own assistants take, only it can say."""
    given: str | None = arguments.format_requirement
    if given is None:
        return None
    if not asked:
        raise InputError("--format-requirement", "goes with a question")
    assistant = arguments.assistant
    if assistant in ASSISTANTS and assistant not in TAKE_FORMAT:
        hint = f"is not taken by {assistant}; use --assistant {', '.join(sorted(TAKE_FORMAT))}"
        raise InputError("--format-requirement", hint)
    if len(given) > MAX_REQUIREMENT or not (kept := clean_text(given, MAX_REQUIREMENT)):
        hint = f"must have 1 to {MAX_REQUIREMENT} characters"
        raise InputError("--format-requirement", hint)
    return kept


def _collections(arguments: Namespace, *, asked: bool) -> tuple[str, ...] | None:
    """The collections to read; whether they exist, only the assistant can say."""
    given: list[str] | None = arguments.collections
    if given is None:
        return None
    if not asked:
        raise InputError("--collection", "goes with a question")
    assistant = arguments.assistant
    if assistant in ASSISTANTS and assistant not in TAKE_COLLECTIONS:
        hint = f"is not taken by {assistant}; use --assistant {', '.join(sorted(TAKE_COLLECTIONS))}"
        raise InputError("--collection", hint)
    return tuple(dict.fromkeys(given))


def _near(given: str | None) -> Point | None:
    if given is None:
        return None
    point = parse_lnglat(given)
    if point is None:
        raise InputError("--near", "must be LNG,LAT in degrees (WGS-84), such as 116.41,39.91")
    return Point(lng=point[0], lat=point[1])


def _context(arguments: Namespace, *, local: bool) -> dict[str, Any]:
    """This run's settings; the ones of a server are checked against its own schema."""
    context: dict[str, Any] = split_sets(arguments.sets)
    return local_context(context, saves=_saves(arguments)) if local else context


def local_context(context: Mapping[str, Any], *, saves: bool) -> dict[str, Any]:
    """Settings of a run in this process, in their types; raises ConfigurationError naming one.

    With `saves` (an answer that is kept in a file) links are resolved.
    """
    given = dict(context)
    for key in given:
        if key not in Configuration.model_fields:
            known = ", ".join(Configuration.model_fields)
            raise ConfigurationError(f"--set {key}", f"there is no such setting; known: {known}")
    if saves and "resolve_links" not in given and not os.environ.get("RESOLVE_LINKS"):
        given["resolve_links"] = True
    checked = configure(given)
    return {key: getattr(checked, key) for key in given}


def refuse_review(context: Mapping[str, Any], by: str, *, local: bool) -> None:
    """Raises where a plan would wait for somebody who cannot be asked."""
    if local:
        wanted = configure(context).review_plan
    else:
        wanted = str(context.get("review_plan")).lower() in ("true", "1", "yes", "on")
    if wanted:
        raise ConfigurationError(
            "review_plan", f"cannot be answered {by}; give --set review_plan=false"
        )


def _review(arguments: Namespace, context: Mapping[str, Any], *, asked: bool) -> None:
    local, assistant = arguments.url is None, arguments.assistant
    if assistant in ASSISTANTS and assistant not in REVIEW_PLANS:
        if local and context.get("review_plan"):
            hint = f"is not taken by {assistant}; use --assistant {', '.join(REVIEW_PLANS)}"
            raise ConfigurationError("--set review_plan", hint)
    elif asked and (arguments.json or not is_terminal()):
        by = "with --json" if arguments.json else "without a terminal"
        refuse_review(context, by, local=local)


def _saves(arguments: Namespace) -> bool:
    files = (arguments.html, arguments.markdown, arguments.pdf, arguments.geojson, arguments.gpx)
    return any(file is not None for file in files)


def _pdf_extra() -> None:
    try:
        importlib.import_module("reportlab")
    except ImportError:
        hint = "needs the extra tanlu[pdf]: pip install 'tanlu[pdf]'"
        raise ConfigurationError("--pdf", hint) from None


def writable(option: str, file: str | None) -> None:
    """Raise InputError for a file that cannot be written, before the question is paid for."""
    if file is None:
        return
    path = Path(file)
    if path.is_dir():
        raise InputError(option, "is a folder")
    if not path.absolute().parent.is_dir():
        raise InputError(option, f"there is no folder {path.absolute().parent}")
    place = path if path.exists() else path.absolute().parent
    if not os.access(place, os.W_OK):
        raise InputError(option, f"{place} cannot be written to")
