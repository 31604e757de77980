"""Keep what a person prefers: what they set themselves, in LangGraph's store, an item a field.

It lies beside the threads: a file of its own in TANLU_DATA_DIR, or the store's tables in Postgres.
Nothing is learned from questions or answers.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import uuid4

from langgraph.store.base import BaseStore, GetOp, Item, PutOp
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from agent.core.errors import ConfigurationError, InputError, StoreFailed
from agent.core.strings import one_line
from agent.evidence.types import Diet
from agent.runs.engine import store_label
from agent.runs.sql import Place, connect_sqlite, erase, failures_of
from agent.texts.languages import TAG

if TYPE_CHECKING:
    from langgraph.store.sqlite import SqliteStore

T = TypeVar("T")
LONGEST = 80
_KIND, _VALUE = "person", "value"


def _short(value: object) -> object:
    return one_line(value, longest=2 * LONGEST) if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Read `vegan, halal`, as a command line has it."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


class Person(BaseModel):
    """Hold what a person prefers; a field that is empty says nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    on: bool = False
    """The person's own switch: nothing is used without it."""
    home_city: Annotated[str, BeforeValidator(_short), Field(max_length=LONGEST)] = ""
    with_children: bool = False
    budget: int | None = Field(None, ge=1, le=1_000_000)
    """A head, at most."""
    currency: str = Field("CNY", pattern=r"^[A-Z]{3}$")
    """Of the budget."""
    diet: Annotated[list[Diet], BeforeValidator(_listed), Field(max_length=5)] = []
    language: str = Field("", pattern=rf"^({TAG.pattern})?$", max_length=35)
    """A tag, as `fi` or `zh-Hant`."""

    def preferred(self) -> dict[str, Any]:
        """Return what is set, by name: the currency with the budget, nothing of the switch."""
        told = self.model_dump(exclude={"on", "currency"})
        named = {name: value for name, value in told.items() if value}
        return {**named, "currency": self.currency} if self.budget else named


NOBODY = Person()
FIELDS = tuple(name for name in Person.model_fields if name != "on")


def read_person(told: Mapping[str, Any]) -> Person:
    """Return what somebody sets; raise InputError naming the field that is wrong."""
    try:
        return Person.model_validate(dict(told))
    except ValidationError as error:
        problem = ConfigurationError.of(error)
        name = str(next(iter(error.errors()[0]["loc"]), "body"))
        raise InputError(name, problem.problem) from None


class PersonMemory:
    """Keep persons by their owners; raises StoreFailed where that cannot be done."""

    def __init__(self, where: Place) -> None:
        self._where = where

    async def of(self, owner: str) -> Person:
        """Return what an owner prefers; nothing, and switched off, where nothing was set."""
        if isinstance(self._where, Path) and not _file(self._where).exists():
            return NOBODY
        return await self._run(lambda store: _stored(store, owner))

    async def change(self, owner: str, told: Mapping[str, Any]) -> Person:
        """Set these fields of an owner; return all. Raises InputError naming one that is wrong.

        Only these are written: what another process sets meanwhile stays.
        """
        person = read_person(told)
        values = person.model_dump(include=person.model_fields_set)

        def work(store: BaseStore) -> Person:
            _put(store, owner, values)
            return _stored(store, owner)

        return await self._run(work)

    async def forget(self, owner: str) -> None:
        """Delete all that is kept of an owner."""
        await self._run(lambda store: _put(store, owner, NOBODY.model_dump()))

    async def _run(self, work: Callable[[BaseStore], T]) -> T:
        def run() -> T:
            with _opened(self._where) as store:
                return work(store)

        return await asyncio.to_thread(run)


def _stored(store: BaseStore, owner: str) -> Person:
    gets = [GetOp(_namespace(owner), name, refresh_ttl=False) for name in Person.model_fields]
    items = [item for item in store.batch(gets) if isinstance(item, Item)]
    try:
        return Person.model_validate({item.key: item.value[_VALUE] for item in items})
    except ValidationError:
        # A later release's: it is the person's to set again.
        return NOBODY


def _put(store: BaseStore, owner: str, values: Mapping[str, Any]) -> None:
    """Write fields; of those that say nothing, nothing is kept."""
    nothing, namespace = NOBODY.model_dump(), _namespace(owner)
    store.batch(
        [
            PutOp(namespace, name, None if value == nothing[name] else {_VALUE: value})
            for name, value in values.items()
        ]
    )


def _namespace(owner: str) -> tuple[str, ...]:
    return (store_label(owner), _KIND)


def _file(folder: Path) -> Path:
    return folder / "store.sqlite"


def _opened(where: Place) -> AbstractContextManager[BaseStore]:
    return _in_folder(where) if isinstance(where, Path) else _in_database(where)


@contextmanager
def _in_folder(folder: Path) -> Iterator[BaseStore]:
    path = _file(folder)
    with failures_of(path):
        if not path.exists():
            _make(path)
        with _connected(path) as (store, connection):
            # What is deleted is overwritten.
            connection.execute("PRAGMA secure_delete=ON")
            yield store
            erase(connection)


def _make(path: Path) -> None:
    """Make the file whole or not at all: its tables are made in steps that bear no second maker."""
    new = path.with_name(f"store-{uuid4().hex}.sqlite")
    try:
        with _connected(new) as (store, _):
            store.setup()
        with suppress(FileExistsError):
            path.hardlink_to(new)
    except OSError as error:
        raise StoreFailed("TANLU_DATA_DIR", f"{path} cannot be made: {error.strerror}") from None
    finally:
        # A full disk leaves its log, too.
        for left in new.parent.glob(f"{new.name}*"):
            left.unlink(missing_ok=True)


@contextmanager
def _connected(path: Path) -> Iterator[tuple["SqliteStore", sqlite3.Connection]]:
    from langgraph.store.sqlite import SqliteStore

    with closing(connect_sqlite(path)) as connection:
        # The store begins its transactions itself.
        connection.isolation_level = None
        yield SqliteStore(connection), connection


@contextmanager
def _in_database(url: SecretStr) -> Iterator[BaseStore]:
    import psycopg
    from langgraph.store.postgres import PostgresStore

    from agent.runs.postgres import NAME, connect_postgres, error_line, setting_up

    try:
        with closing(connect_postgres(url)) as connection:
            store = PostgresStore(connection)
            with setting_up(connection):
                store.setup()
            yield store
    except psycopg.Error as error:
        raise StoreFailed(NAME, f"the store cannot be used: {error_line(error)}") from None
