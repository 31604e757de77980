"""Run `tanlu config`: settings of the user's own for every folder; a folder's `.env` wins."""

import difflib
import getpass
import os
import sys
from argparse import Namespace

from dotenv import dotenv_values, unset_key
from pydantic import SecretStr

from agent.cli.console import ANSWERED, USAGE, console_language, fail, is_terminal, tell_aside
from agent.client.connection import KEY_NAME
from agent.configuration import Configuration, configure
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.settings import Settings, keep_user_setting, read_settings, user_env_file
from agent.texts import say

_KNOWN = {name.upper(): field.annotation
          for model in (Settings, Configuration)
          for name, field in model.model_fields.items()} | {KEY_NAME: SecretStr}  # fmt: skip


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0, or 2 for a key or value that cannot be used."""
    if arguments.action == "list":
        _list()
        return ANSWERED
    try:
        if arguments.action == "set":
            _set(_name(arguments.key), arguments.value)
        else:
            _unset(_name(arguments.key))
    except AgentError as error:
        return fail(error, code=USAGE)
    except OSError as error:
        return fail(f"{user_env_file()}: {error.strerror}", code=USAGE)
    return ANSWERED


def _name(key: str | None) -> str:
    """Return the variable's name; raise InputError for one that is no setting."""
    name = (key or "").upper()
    if name not in _KNOWN:
        close = difflib.get_close_matches(name, _KNOWN, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(
            "KEY", f"must name a setting, not {key!r}{hint}" if key else f"is missing{hint}"
        )
    return name


def _is_secret(name: str) -> bool:
    return "SecretStr" in str(_KNOWN.get(name, "SecretStr")) or name.endswith("_KEY")


def _list() -> None:
    path = user_env_file()
    values = dotenv_values(path)
    print(path)  # noqa: T201
    for name, value in values.items():
        text = say("config.is_set", console_language()) if _is_secret(name) else value
        print(f"{name}={text}")  # noqa: T201


def _set(name: str, value: str | None) -> None:
    value = (_ask(name) if value is None else value).strip()
    if not value or not value.isprintable():
        raise InputError("VALUE", "must be one line of text; `tanlu config unset KEY` removes")
    _check(name, value)
    keep_user_setting(name, value)
    _say("saved", name)


def _ask(name: str) -> str:
    """Read the value: without echo on a terminal if it is a secret, else a line of the input."""
    try:
        if not is_terminal():
            return sys.stdin.readline()
        return getpass.getpass(f"{name}: ") if _is_secret(name) else input(f"{name}: ")
    except EOFError:
        raise KeyboardInterrupt from None


def _check(name: str, value: str) -> None:
    """Raise ConfigurationError for a value that the setting does not take."""
    os.environ[name] = value
    try:
        read_settings()
        configure({})
    except ConfigurationError as error:
        if error.name.upper() == name:
            raise


def _unset(name: str) -> None:
    path = user_env_file()
    if name not in dotenv_values(path):
        raise InputError(name, f"is not set in {path}")
    unset_key(path, name)
    _say("removed", name)


def _say(key: str, name: str) -> None:
    tell_aside(say(f"config.{key}", console_language(), name=name, file=user_env_file()))
