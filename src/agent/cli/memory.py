"""Run `tanlu memory`: show, set and forget what you prefer, here or on a server."""

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
from langgraph_sdk.client import HttpClient

from agent.cli.console import ANSWERED, FAILED, USAGE, fail, print_result
from agent.cli.environment import exit_code_of
from agent.cli.request import server_url
from agent.client.connection import connected, server_refusal, status_of, words_of
from agent.core.errors import ConfigurationError, InputError
from agent.runs.person import FIELDS, NOBODY, Person, PersonMemory
from agent.settings import read_settings

_PATH = "/memory"


@dataclass(frozen=True)
class Memory:
    """Hold what reads, changes and forgets what one person prefers, here or on a server."""

    read: Callable[[], Awaitable[Person]]
    change: Callable[[Mapping[str, Any]], Awaitable[object]]
    forget: Callable[[], Awaitable[object]]


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 done, 1 refused, 2 bad usage."""
    return exit_code_of(arguments, _run)


async def _run(arguments: Namespace) -> int:
    if arguments.action != "set" and arguments.fields:
        raise InputError("FIELD=VALUE", "belongs to `tanlu memory set`")
    if url := server_url(arguments.url, offline=False):
        async with connected(url) as client:
            try:
                return await _done(arguments, _served(client.http))
            except httpx.HTTPError as error:
                if (status := status_of(error)) in (403, 422):
                    return fail(words_of(error), code=USAGE if status == 422 else FAILED)
                raise server_refusal(url, error) from None
    settings = read_settings()
    if not settings.keeps_memory and arguments.action != "forget":
        raise ConfigurationError(
            "TANLU_MEMORY", "is off: nothing is kept of a person here (set it to 1)"
        )
    kept, owner = PersonMemory(settings.memory), arguments.owner
    own = Memory(partial(kept.of, owner), partial(kept.change, owner), partial(kept.forget, owner))
    return await _done(arguments, own)


def _served(http: HttpClient) -> Memory:
    """Return what a server keeps for the owner of our key."""

    async def read() -> Person:
        return Person.model_validate(await http.get(_PATH))

    return Memory(
        read, lambda told: http.patch(_PATH, json=dict(told)), partial(http.delete, _PATH)
    )


async def _done(arguments: Namespace, memory: Memory) -> int:
    match arguments.action:
        case "on" | "off":
            await memory.change({"on": arguments.action == "on"})
        case "set":
            await memory.change(_fields(arguments.fields))
        case "forget":
            await memory.forget()
            print_result({"forgotten": True}, "forgotten", as_json=arguments.json)
            return ANSWERED
    person = await memory.read()
    print_result(person.model_dump(), _lines(person), as_json=arguments.json)
    return ANSWERED


def _fields(given: Sequence[str]) -> dict[str, Any]:
    """Return what is to be set; a field without a value is emptied."""
    if not given:
        raise InputError("FIELD=VALUE", f"Name what to set: {', '.join(FIELDS)}")
    empty, told = NOBODY.model_dump(), dict[str, Any]()
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or name not in FIELDS:
            raise InputError(pair, f"must be FIELD=VALUE, of {', '.join(FIELDS)}")
        told[name] = value.strip() or empty[name]
    return told


def _lines(person: Person) -> str:
    named = {name: getattr(person, name) for name in FIELDS}
    told = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in named.items()
    }
    lines = [f"{name:<14}{'' if value in (None, False) else value}".rstrip()
             for name, value in told.items()]  # fmt: skip
    return "\n".join([f"{'switch':<14}{'on' if person.on else 'off'}", *lines])
