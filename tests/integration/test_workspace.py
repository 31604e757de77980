"""What a thread's runs have read, kept beside the reply cache: in a file, and in Postgres."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from agent.assistants.common.workspace import Item, Workspace, Workspaces
from agent.core.errors import StoreFailed
from agent.runs.sql import KEEP_SECONDS, Place
from agent.runs.workspace_store import KEPT_TURNS, Room, WorkspaceStore, room_of_turn
from agent.texts import say
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture, written_down

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]

SECRET = "the words of a page that nobody may find again"


def a_page(name: str, text: str = "words") -> Item:
    return Item(
        "page", name, f"https://example.org/{name}", text=text, query="q", date="2026-01-02"
    )


class House:
    """Stores of one place, as the processes of several machines have them."""

    def __init__(self, where: Place) -> None:
        self.where, self.stores = where, list[WorkspaceStore]()
        self.now = 1_000_000.0

    def store(self) -> WorkspaceStore:
        self.stores.append(WorkspaceStore(self.where, clock=lambda: self.now))
        return self.stores[-1]

    def workspace(
        self, turn: str = "t1", *, thread: str = "thread", owner: str = "", megabytes: float = 50
    ) -> Workspace:
        return Workspaces(self.store(), megabytes).of(Room(thread, owner, turn))


@pytest.fixture(name="house")
async def house_fixture(where: Place) -> AsyncIterator[House]:
    house = House(where)
    yield house
    for store in house.stores:
        await store.aclose()


async def test_a_page_says_whose_it_is_also_where_it_was_opened_by_its_address(
    house: House,
) -> None:
    page = replace(a_page("a"), url="https://www.gov.example/a")
    [kept] = await house.workspace().keep([page])
    assert kept.site == "gov.example"


async def test_what_is_kept_is_there_for_another_process_at_once(house: House) -> None:
    one, other = house.workspace(), house.workspace()
    kept = await one.keep([a_page("a", "What the page says.\n\nAnd more."), a_page("b")])
    assert [(i.title, i.text, i.date, i.query) for i in await other.items()] == [
        ("a", "What the page says.\n\nAnd more.", "2026-01-02", "q"),
        ("b", "words", "2026-01-02", "q"),
    ]
    assert [i.id for i in await other.items()] == [i.id for i in kept]
    assert await other.items([kept[1].id]) == [kept[1]]


async def test_an_id_stays_over_turns_and_processes_and_is_another_one_on_another_thread(
    house: House,
) -> None:
    (first,) = await house.workspace("t1").keep([a_page("a")])
    (later,) = await house.workspace("t2").keep([a_page("a")])
    (elsewhere,) = await house.workspace(thread="another").keep([a_page("a")])
    assert first.id == later.id != elsewhere.id


async def test_ids_do_not_follow_one_another(house: House) -> None:
    kept = await house.workspace().keep([a_page(str(n)) for n in range(100)])
    numbers = [int(item.id[1:4]) for item in kept]
    assert len({item.id for item in kept}) == 100
    assert sum(abs(a - b) == 1 for a, b in pairwise(numbers)) < 5


async def test_two_things_whose_ids_would_be_the_same_have_different_ones(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "agent.runs.workspace_store._id", lambda room, thing, attempt: f"w10{attempt}-10"
    )
    kept = await house.workspace().keep([a_page("a"), a_page("b"), a_page("c")])
    assert [item.id for item in kept] == ["w100-10", "w101-10", "w102-10"]


async def test_near_equal_addresses_are_one_thing_with_the_longer_text(house: House) -> None:
    workspace = house.workspace()
    short, long = a_page("a", "An excerpt."), a_page("a", "The whole page, an excerpt of which is.")
    again = replace(short, url=f"{short.url}/?utm_source=mail")
    ids = {(await workspace.keep([item]))[0].id for item in (short, long, again)}
    (kept,) = await workspace.items()
    assert ids == {kept.id}
    assert kept.text == long.text


async def test_what_a_known_page_says_anew_in_a_later_turn_is_kept_below_its_text(
    house: House,
) -> None:
    old = "Treatment takes six weeks.\nIt needs no heat."
    (first,) = await house.workspace("t1").keep([a_page("a", old)])
    new = a_page("a", "It needs no heat.\nAn object rests a day [^w0-1].")
    (later,) = await house.workspace("t2").keep([new])
    assert later.id == first.id
    assert later.text == f"{old}\nAn object rests a day."
    (again,) = await house.workspace("t3").keep([new])
    assert again.text == later.text
    (stored,) = await house.workspace("t3").items()
    assert stored.text == later.text


async def test_what_a_search_shows_of_a_page_and_its_reader_has_missed_is_kept_with_it(
    house: House,
) -> None:
    workspace, read = house.workspace(), "A node costs USD 0.202 an hour.\nPrices change."
    page = replace(a_page("a", read), snippet="A node costs USD 0.202 an hour.")
    (first,) = await workspace.keep([page])
    assert first.text == read
    shown = "A node costs **USD 0.202** an hour. The large node costs USD 0.397."
    (again,) = await workspace.keep([replace(page, snippet=shown)])
    assert again.text == f"{read}\nThe large node costs USD 0.397."
    (third,) = await workspace.keep([replace(page, snippet="It is billed by the second.")])
    assert third.text == f"{again.text}\nIt is billed by the second."


async def test_a_summary_by_a_model_is_no_part_of_a_page(house: House) -> None:
    summary = say("search.summary", "en", text="Nodes are cheap.")
    (kept,) = await house.workspace().keep([replace(a_page("a"), snippet=summary)])
    assert kept.text == a_page("a").text


async def test_many_who_keep_the_same_at_once_get_one_id(house: House) -> None:
    workspaces = [house.workspace() for _ in range(4)]
    pages = [a_page(str(n)) for n in range(8)]
    found = await asyncio.gather(*(workspace.keep(pages) for workspace in workspaces))
    assert len({tuple(item.id for item in kept) for kept in found}) == 1


async def test_another_owner_sees_nothing_of_a_thread(house: House) -> None:
    await house.workspace(owner="alice").keep([a_page("a")])
    assert await house.workspace(owner="bob").items() == []


async def test_a_page_cannot_write_a_marker(house: House) -> None:
    (kept,) = await house.workspace().keep([a_page("a", "As Reuters says [^w482-17] and [w0-1].")])
    assert kept.text == "As Reuters says and."


async def test_text_that_no_table_takes_is_kept_without_what_it_does_not_take(house: House) -> None:
    (kept,) = await house.workspace().keep([a_page("a", "half \ud83d and \0 none")])
    assert kept.text.startswith("half ")
    assert kept.text.endswith(" none")


async def test_beyond_its_megabytes_a_turn_keeps_of_a_thing_what_leads_back_to_it(
    house: House,
) -> None:
    workspace = house.workspace(megabytes=0.01)
    await workspace.keep([a_page(str(n), f"{n} " * 2000) for n in range(5)])
    kept = await workspace.items()
    assert [item.url for item in kept] == [f"https://example.org/{n}" for n in range(5)]
    assert [len(item.text) > 1000 for item in kept] == [True, True, False, False, False]
    assert all(item.text for item in kept)


async def test_a_follow_up_has_what_the_last_answers_cited(house: House) -> None:
    for n in range(KEPT_TURNS + 2):
        house.now += 1
        workspace = house.workspace(f"t{n}")
        cited, _ = await workspace.keep([a_page(f"cited {n}"), a_page(f"read {n}")])
        assert cited.title not in [item.title for item in await workspace.of_before()]
        await workspace.cite([cited.id, "w999-99"])
    house.now += 1
    following = house.workspace("next")
    before = [item.title for item in await following.of_before()]
    assert before[-KEPT_TURNS:] == ["cited 2", "cited 3", "cited 4"]
    await following.keep([a_page("new")])
    titles = [item.title for item in await following.items()]
    assert titles == ["cited 2", "read 2", "cited 3", "read 3", "cited 4", "read 4", "new"]


async def test_of_the_last_answer_alone_what_it_cited_is_told_by_choice(house: House) -> None:
    for n in range(3):
        house.now += 1
        workspace = house.workspace(f"t{n}")
        found = await workspace.keep([a_page("always"), a_page(f"cited {n}")])
        await workspace.cite([item.id for item in found])
    last = await house.workspace("next").of_before(last_only=True)
    assert {item.title for item in last} == {"always", "cited 2"}


async def test_what_is_cited_again_stays(house: House) -> None:
    (first,) = await house.workspace("t0").keep([a_page("a")])
    for n in range(1, KEPT_TURNS + 3):
        house.now += 1
        workspace = house.workspace(f"t{n}")
        await workspace.keep([a_page(f"of turn {n}")])
        await workspace.cite([first.id])
    assert "a" in [item.title for item in await house.workspace("next").of_before()]


async def test_a_deleted_thread_leaves_nothing_on_the_disk(house: House, where: Place) -> None:
    workspace = house.workspace()
    await workspace.keep([a_page(str(n), f"{SECRET} {n} " * 500) for n in range(30)])
    await house.workspace(thread="another").keep([a_page("kept", "kept words")])
    assert SECRET.encode() in written_down(where)
    await workspace.workspaces.forget("thread")
    assert await workspace.items() == []
    assert len(await house.workspace(thread="another").items()) == 1
    assert SECRET.encode() not in written_down(where)
    if isinstance(where, Path):
        assert (where / "runs.sqlite").stat().st_size < 600_000


async def test_what_nobody_has_read_for_long_goes_with_its_thread(house: House) -> None:
    for thread in ("gone", "kept"):
        await house.workspace(thread=thread).keep([a_page(thread)])
    store = house.store()
    await store.forget_unused(house.now - 1, ["kept"])
    assert len(await house.workspace(thread="gone").items()) == 1
    await store.forget_unused(house.now + 1, ["kept"])
    assert await house.workspace(thread="gone").items() == []
    assert len(await house.workspace(thread="kept").items()) == 1


async def test_a_turn_without_a_thread_is_forgotten_when_it_ends(house: House) -> None:
    store = house.store()
    room = room_of_turn("", "t1", None)
    workspace = Workspaces(store, 50).of(room)
    await workspace.keep([a_page("a")])
    await store.close_turn("t1")
    assert await workspace.items() == []


async def test_a_turn_without_a_thread_that_was_killed_is_forgotten_after_a_week(
    house: House,
) -> None:
    await Workspaces(house.store(), 50).of(room_of_turn("", "t1", None)).keep([a_page("a")])
    await house.workspace(thread="kept").keep([a_page("b")])
    house.now += KEEP_SECONDS + 1
    assert await Workspaces(house.store(), 50).of(room_of_turn("", "t1", None)).items() == []
    assert len(await house.workspace(thread="kept").items()) == 1


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from agent.assistants.common.workspace import Item, Workspaces
from agent.runs.workspace_store import Room, WorkspaceStore

async def read():
    workspace = Workspaces(WorkspaceStore(Path(sys.argv[1])), 50).of(Room("thread", "", "t1"))
    for n in range(3):
        await workspace.keep([Item("page", str(n), f"https://example.org/{n}", text="paid")])
    os.kill(os.getpid(), 9)

asyncio.run(read())
"""


async def test_a_killed_process_has_lost_nothing_of_what_it_has_read(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _KILLED, str(tmp_path)], timeout=60, check=False
    )
    assert done.returncode == -9
    house = House(tmp_path)
    try:
        assert [item.text for item in await house.workspace().items()] == ["paid"] * 3
    finally:
        await house.stores[0].aclose()


async def test_where_nothing_can_be_kept_nothing_more_is_read(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").mkdir()
    house = House(tmp_path)
    with pytest.raises(StoreFailed):
        await house.workspace().keep([a_page("a")])
    await house.stores[0].aclose()


async def test_the_nearest_passages_of_all_that_is_kept_are_shown(house: House) -> None:
    workspace = house.workspace()
    one, other = await workspace.keep(
        [a_page("a", "The licence is BSD."), a_page("b", "Replication needs three nodes.")]
    )
    chosen = await workspace.nearest(["which licence", "nodes for replication"], 500)
    assert [passage.source for passage in chosen] == [one.id, other.id]
    assert await workspace.nearest(["nodes"], 500, [one.id]) != []
