"""Run `tanlu memory`: show, set and forget what you prefer, here or on a server."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import httpx

from agent.cli.console import ANSWERED, FAILED, USAGE, fail, print_json, printable
from agent.cli.environment import carry_out
from agent.cli.request import server_url
from agent.client.connection import connected, refusal, status_of, words_of
from agent.core.errors import ConfigurationError, InputError
from agent.runs.person import FIELDS, NOBODY, Person, PersonMemory
from agent.settings import read_settings

_PATH = "/memory"


class Memory(Protocol):
    """Keep what one person prefers."""

    async def read(self) -> Person: ...

    async def change(self, told: Mapping[str, Any]) -> None: ...

    async def forget(self) -> None: ...


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 done, 1 refused, 2 bad usage."""
    return carry_out(arguments, _run)


async def _run(arguments: Namespace) -> int:
    if arguments.action != "set" and arguments.fields:
        raise InputError("FIELD=VALUE", "belongs to `tanlu memory set`")
    if url := server_url(arguments.url, offline=False):
        async with connected(url) as client:
            try:
                return await _done(arguments, _Served(client.http))
            except httpx.HTTPError as error:
                if (status := status_of(error)) in (403, 422):
                    return fail(words_of(error), code=USAGE if status == 422 else FAILED)
                raise refusal(url, error) from None
    settings = read_settings()
    if not settings.keeps_memory and arguments.action != "forget":
        raise ConfigurationError(
            "TANLU_MEMORY", "is off: nothing is kept of a person here (set it to 1)"
        )
    return await _done(arguments, _Local(PersonMemory(settings.memory), arguments.owner))


async def _done(arguments: Namespace, memory: Memory) -> int:
    match arguments.action:
        case "on" | "off":
            await memory.change({"on": arguments.action == "on"})
        case "set":
            await memory.change(_fields(arguments.fields))
        case "forget":
            await memory.forget()
            _print({"forgotten": True}, "forgotten", as_json=arguments.json)
            return ANSWERED
    person = await memory.read()
    _print(person.model_dump(), _lines(person), as_json=arguments.json)
    return ANSWERED


def _fields(given: Sequence[str]) -> dict[str, Any]:
    """Return what is to be set; a field without a value is emptied."""
    if not given:
        raise InputError("FIELD=VALUE", f"name what to set: {', '.join(FIELDS)}")
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


def _print(told: Mapping[str, Any], words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        print(printable(words))  # noqa: T201


class _Local:
    """Keep it in the data folder or database of the settings."""

    def __init__(self, kept: PersonMemory, owner: str) -> None:
        self._kept, self._owner = kept, owner

    async def read(self) -> Person:
        return await self._kept.of(self._owner)

    async def change(self, told: Mapping[str, Any]) -> None:
        await self._kept.change(self._owner, told)

    async def forget(self) -> None:
        await self._kept.forget(self._owner)


class _Served:
    """Keep it on a server, for the owner of our key."""

    def __init__(self, http: Any) -> None:
        self._http = http

    async def read(self) -> Person:
        return Person.model_validate(await self._http.get(_PATH))

    async def change(self, told: Mapping[str, Any]) -> None:
        await self._http.patch(_PATH, json=told)

    async def forget(self) -> None:
        await self._http.delete(_PATH)
