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

from agent.assistants.registry import ASSISTANTS, TAKE_FORMAT
from agent.cli.console import is_terminal
from agent.configuration import Configuration, configure
from agent.core.errors import ConfigurationError, InputError
from agent.evidence.geo import parse_lnglat
from agent.evidence.queries import clean_text
from agent.evidence.types import Point
from agent.settings import read_settings
from agent.texts import say

MAX_QUESTION = 20_000
"""Characters; the assistant refuses longer ones, too."""
MAX_REQUIREMENT = 2000
_PLANS = ("outing", "ics", "pocket_map")
"""Options for which a day is planned."""


@dataclass(frozen=True)
class AskRequest:
    """Hold a question (None: continue the thread) and the options to ask it with."""

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
    """Own documents to read; None is all for plan_execute, and none for the others."""
    saves: bool = False
    """True if the answer goes into a file, in which links should last."""
    resume: dict[str, Any] | None = None
    """A person's reply to the run's question, with which it goes on."""
    again: dict[str, Any] | None = None
    """The input of a question that is asked anew, with what was said before it."""

    def graph_input(self) -> dict[str, Any] | None:
        """Return the run's input; None continues the thread."""
        if self.question is None:
            return None
        values: dict[str, Any] = {"messages": [{"role": "user", "content": self.question}]}
        if self.near is not None:
            values["user_location"] = dict(self.near)
        if self.format_requirement is not None:
            values["format_requirement"] = self.format_requirement
        if self.collections is not None:
            values["collections"] = list(self.collections)
        # What is given now wins, but the question goes with what was said before it.
        return values if self.again is None else {**values, **_unless(self.again, values)}


def _unless(again: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: it for name, it in again.items() if name == "messages" or name not in given}


def read_request(arguments: Namespace) -> AskRequest:
    """Return the request; raise InputError or ConfigurationError naming the argument."""
    question = _question(arguments.question, arguments.thread)
    url = server_url(arguments.url, offline=arguments.offline)
    if url is None:
        check_assistant(arguments.assistant)
    for option in (*_FILES, "ics", "pocket_map", "log_file"):
        writable(f"--{option.replace('_', '-')}", getattr(arguments, option))
    pocket_map = Path(arguments.pocket_map or "").suffix.lower()
    if arguments.pocket_map and pocket_map not in (".svg", ".pdf"):
        raise misused("--pocket-map", "pocket_map")
    if arguments.pdf is not None or pocket_map == ".pdf":
        _pdf_extra("--pdf" if arguments.pdf is not None else "--pocket-map")
    context = _context(arguments, local=url is None)
    _check_review(arguments, context, has_question=question is not None)
    return AskRequest(
        question=question,
        assistant=arguments.assistant,
        thread_id=_thread(arguments.thread),
        follows_up=arguments.thread is not None,
        context=context,
        near=_near(arguments.near),
        format_requirement=_format_requirement(arguments, has_question=question is not None),
        collections=_collections(arguments, has_question=question is not None),
        url=url,
        saves=_saves(arguments),
    )


def misused(name: str, fault: str, **values: object) -> InputError:
    """Return what is wrong with an argument, worded for its log and for its reader alike."""
    told = {key: str(value) for key, value in values.items()}
    problem = say(f"faults.usage.{fault}", "en", **told)
    return InputError(name, problem, fault=f"usage.{fault}", **told)


def check_assistant(name: str) -> None:
    """Raise InputError for an assistant that this installation does not have."""
    if name not in ASSISTANTS:
        names = ", ".join(sorted(ASSISTANTS))
        raise misused("--assistant", "assistant", given=repr(name), names=names)


def split_sets(sets: Sequence[str]) -> dict[str, str]:
    """Parse `key=value` pairs; a later one wins."""
    pairs: dict[str, str] = {}
    for pair in sets:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise misused("--set", "pair", given=repr(pair))
        pairs[key.strip()] = value.strip()
    return pairs


def _question(words: Sequence[str], thread: str | None) -> str | None:
    if not words:
        if thread is None:
            raise misused("QUESTION", "question")
        return None
    raw = " ".join(words)
    if len(raw) > MAX_QUESTION:
        raise misused("QUESTION", "long", most=MAX_QUESTION)
    question = clean_text(raw, MAX_QUESTION)
    if not question:
        raise misused("QUESTION", "empty")
    return question


def _thread(value: str | None) -> str:
    """Return the thread's id, a new one for None; only a UUID, which cannot be part of a path."""
    return str(uuid.uuid4()) if value is None else thread_named("--thread", value)


def thread_named(option: str, value: str) -> str:
    """Return the id of the thread that an option names; raise InputError for what is none."""
    try:
        return str(uuid.UUID(value))
    except ValueError:
        raise misused(option, "thread") from None


def server_url(url: str | None, *, offline: bool) -> str | None:
    """Return the server's address, checked, without a slash at its end."""
    if url is None:
        return None
    if offline:
        raise misused("--offline", "offline")
    parts = urlsplit(url) if url.isprintable() else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise misused("--url", "url")
    return url.rstrip("/")


def _format_requirement(arguments: Namespace, *, has_question: bool) -> str | None:
    """Return the form of the answer; only a server knows what its own assistants take."""
    value: str | None = arguments.format_requirement
    if value is None:
        return None
    if not has_question:
        raise misused("--format-requirement", "with_question")
    assistant = arguments.assistant
    if assistant in ASSISTANTS and assistant not in TAKE_FORMAT:
        others = ", ".join(sorted(TAKE_FORMAT))
        raise misused("--format-requirement", "not_taken", assistant=assistant, others=others)
    if len(value) > MAX_REQUIREMENT or not (requirement := clean_text(value, MAX_REQUIREMENT)):
        raise misused("--format-requirement", "length", most=MAX_REQUIREMENT)
    return requirement


def _collections(arguments: Namespace, *, has_question: bool) -> tuple[str, ...] | None:
    """Return the collections to read; only the assistant knows which exist."""
    value: list[str] | None = arguments.collections
    if value is None:
        return None
    if not has_question:
        raise misused("--collection", "with_question")
    return tuple(dict.fromkeys(value))


def _near(value: str | None) -> Point | None:
    if value is None:
        return None
    point = parse_lnglat(value)
    if point is None:
        raise misused("--near", "near")
    return Point(lng=point[0], lat=point[1])


def _context(arguments: Namespace, *, local: bool) -> dict[str, Any]:
    """Return this run's settings; a server checks its own against its schema."""
    context: dict[str, Any] = split_sets(arguments.sets)
    if option := next((name for name in _PLANS if getattr(arguments, name)), None):
        if arguments.assistant != "agent":
            taken = {"assistant": arguments.assistant, "others": "agent"}
            raise misused(f"--{option.replace('_', '-')}", "not_taken", **taken)
        context["outing"] = "on"
    given = {"--since": ("search_since", arguments.since or ""),
             "--site": ("search_sites", ",".join(arguments.sites or []))}  # fmt: skip
    for option, (name, value) in given.items():
        if value:
            context |= _checked(option, name, value)
    return local_context(context, saves=_saves(arguments)) if local else context


def _checked(option: str, name: str, value: str) -> dict[str, str]:
    """Return a setting that an option of its own gives; its fault is one of that option."""
    try:
        configure({name: value})
    except ConfigurationError as error:
        raise InputError(option, error.problem, fault=error.fault, **error.values) from None
    return {name: value}


def local_context(context: Mapping[str, Any], *, saves: bool) -> dict[str, Any]:
    """Return settings of a run in this process in their types; raise ConfigurationError.

    With `saves` (an answer that is kept in a file) links are resolved.
    """
    values = dict(context)
    for key in values:
        if key not in Configuration.model_fields:
            names = ", ".join(Configuration.model_fields)
            raise misused(f"--set {key}", "setting", names=names)
    if saves and "resolve_links" not in values and not os.environ.get("RESOLVE_LINKS"):
        values["resolve_links"] = True
    checked = _checked_with_settings(values)
    return {key: getattr(checked, key) for key in values}


def _checked_with_settings(values: Mapping[str, Any]) -> Configuration:
    """Return the settings of a run; with what is wrong there what is wrong in the program's."""
    try:
        return configure(values)
    except ConfigurationError as error:
        problems = [error]
    try:
        read_settings()
    except ConfigurationError as error:
        problems.append(error)
    raise ConfigurationError.of_all(problems)


def refuse_review(context: Mapping[str, Any], *, local: bool) -> None:
    """Raise ConfigurationError where a plan would wait for a person who cannot be asked."""
    if local:
        waits = configure(context).review_plan
    else:
        waits = str(context.get("review_plan")).lower() in ("true", "1", "yes", "on")
    if waits:
        raise misused("review_plan", "review")


def _check_review(arguments: Namespace, context: Mapping[str, Any], *, has_question: bool) -> None:
    if has_question and (arguments.json or not is_terminal()):
        refuse_review(context, local=arguments.url is None)


_FILES = ("html", "markdown", "pdf", "docx", "bibtex", "ris", "geojson", "gpx")


def _saves(arguments: Namespace) -> bool:
    return any(getattr(arguments, option) is not None for option in _FILES)


def _pdf_extra(option: str) -> None:
    try:
        importlib.import_module("reportlab")
    except ImportError:
        hint = "needs the extra tanlu[pdf]: `pip install 'tanlu[pdf]'`"
        raise ConfigurationError(option, hint) from None


_LONGEST_NAME = 200
"""Bytes of a file's name; systems allow 255, and what stands beside it has an ending more."""


def writable(option: str, file: str | None) -> None:
    """Raise InputError for a file that cannot be written, before the question is paid for."""
    if file is None:
        return
    length = len(os.fsencode(Path(file).name))
    if length > _LONGEST_NAME:
        raise misused(option, "long_name", length=length, most=_LONGEST_NAME)
    try:
        _check_place(option, Path(file))
    except OSError as error:
        raise misused(option, "unwritable", why=error.strerror) from None


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise misused(option, "folder")
    if not path.absolute().parent.is_dir():
        raise misused(option, "no_folder", path=path.absolute().parent)
    place = path if path.exists() else path.absolute().parent
    if not os.access(place, os.W_OK):
        raise misused(option, "unwritable", why=place)
