"""Run `tanlu share`: give an answer of a server an address that others can read; end it."""

import uuid
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import httpx

from agent.cli.console import ANSWERED, fail, print_result
from agent.cli.environment import exit_code_of
from agent.cli.request import misused, server_url
from agent.client.connection import connected, server_refusal, status_of, words_of
from agent.core.errors import AgentError

_SHOWN = {"position": "your position", "documents": "quotes of your own documents"}


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 done, 1 refused, 2 bad usage."""
    return exit_code_of(arguments, _run)


async def _run(arguments: Namespace) -> int:
    told = await _done(arguments)
    print_result(told, "\n".join(_lines(told)), as_json=arguments.json)
    if told.get("this_machine_only"):
        fail("Only this machine can open it: the server answers no other (TANLU_ALLOWED_HOSTS).")
    for shown in told.get("shows", ()):
        fail(f"The page may show {_SHOWN.get(shown, shown)}.")
    return ANSWERED


async def _done(arguments: Namespace) -> dict[str, Any]:
    url = server_url(arguments.url, offline=False) or ""
    path = f"/threads/{_thread(arguments.thread)}/share"
    async with connected(url) as client:
        try:
            if arguments.withdraw:
                named = {"message": arguments.message} if arguments.message else None
                await client.http.delete(path, params=named)
                return {"withdrawn": True}
            if arguments.list:
                told = await client.http.get(path)
                return {"shares": [_with_address(row, url) for row in told["shares"]]}
            body = {"days": arguments.days, "message": arguments.message}
            return _with_address(await client.http.post(path, json=body), url)
        except httpx.HTTPError as error:
            raise _refused(url, error) from None


def _thread(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise misused("THREAD", "thread") from None


def _with_address(row: Mapping[str, Any], url: str) -> dict[str, Any]:
    return {**row, "url": f"{url}/{row['path']}"}


def _refused(url: str, error: httpx.HTTPError) -> AgentError:
    """Return a refusal in the server's own words, where they are about the thread."""
    if status_of(error) in (403, 404, 409):
        return AgentError(f"{url}: {words_of(error)}")
    return server_refusal(url, error)


def _lines(told: Mapping[str, Any]) -> list[str]:
    if "withdrawn" in told:
        return ["withdrawn"]
    return [f"{row['url']}  until {row['ends_at'][:10]}" for row in told.get("shares", [told])]
