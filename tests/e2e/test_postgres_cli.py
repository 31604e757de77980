"""Two command lines with data folders of their own and one database."""

from typing import Any

from pydantic import SecretStr

from tests.support.command_line import (
    ASPECTS_EN,
    NO_MAP,
    Cli,
    cli_fixture,
    gemini_fixture,
    keyed,
    searched,
    searches,
    until,
)
from tests.support.postgres import database_fixture, postgres_fixture, rows
from tests.support.standins import GeminiService

__all__ = ["cli_fixture", "database_fixture", "gemini_fixture", "postgres_fixture"]


class AllButTheFirst:
    """Matches every search but the first, which is answered."""

    def __init__(self) -> None:
        self.first: Any = None

    def __call__(self, request: Any, body: Any) -> bool:
        if not searches(request, body):
            return False
        self.first = self.first or body
        return bool(body != self.first)


def test_after_kill_9_another_process_goes_on_and_answers_a_follow_up_question(
    cli: Cli, gemini: GeminiService, database: SecretStr
) -> None:
    here = {**keyed(gemini), "DATABASE_URL": database.get_secret_value()}
    there = {**here, "TANLU_DATA_DIR": str(cli.folder / "another machine's folder")}
    gemini.fail("hang", times=None, match=AllButTheFirst())
    process = cli.start("ask", *NO_MAP, ASPECTS_EN, **here)
    until(lambda: searched(gemini) > 1)
    until(lambda: paid(database) == 2)
    process.kill()
    process.communicate(timeout=240)
    gemini.faults.clear()

    ((thread,),) = rows(database, "SELECT thread_id FROM runs WHERE status = 'open'")
    before = len(gemini.requests)
    found = cli.ask("--thread", thread, *NO_MAP, "And what do they cost?", **there)
    assert (found["thread_id"], bool(found["sources"])) == (thread, True)
    queries = [str(r.body) for r in gemini.requests if "<task>generate_query" in str(r.body)]
    assert len(queries) == 2, "the first question's queries are paid for once"
    assert ASPECTS_EN in queries[1], "the second process knows what the first was asked"
    first = next(r.body for r in gemini.requests if is_search(r))
    assert first not in [r.body for r in gemini.requests[before:]]
    assert rows(database, "SELECT DISTINCT status FROM runs") == [("success",)]
    assert not list(cli.folder.rglob("threads.sqlite*"))


def is_search(request: Any) -> bool:
    return searches(None, request.body)


def paid(database: SecretStr) -> int:
    """The replies kept so far: the queries, then a search each."""
    return int(rows(database, "SELECT count(*) FROM replies")[0][0])
