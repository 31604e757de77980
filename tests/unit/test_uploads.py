"""Files given through the page: whose they are, what is taken, and what is left of what is not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from blockbuster import blockbuster_ctx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect

from agent.core.calls import Calls
from agent.knowledge.base import KnowledgeBase, open_knowledge_base
from agent.knowledge.files import Destination
from agent.knowledge.formats import FAILURES
from agent.knowledge.types import Scope
from agent.knowledge.uploads import UploadLimits, Uploads, upload_name
from agent.server import documents
from agent.server.auth.api_keys import access
from agent.server.auth.guard import RequestGuard
from agent.settings import Settings
from agent.texts import has_text
from tests.support.two_owners import ALICE, BOB, KEYS

pytestmark = pytest.mark.slow

PATH = "/app/documents"
FILE = {"content-type": "application/octet-stream"}
MINE, OTHERS = {"x-api-key": ALICE}, {"x-api-key": BOB}
LEASE = b"# Lease\n\nThe deposit is 2,400 euros.\n"


@pytest.fixture(name="base")
async def base_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KnowledgeBase]:
    settings = Settings(tanlu_data_dir=tmp_path)
    base = open_knowledge_base(settings, Calls())
    services = SimpleNamespace(settings=settings, knowledge=lambda: base)
    monkeypatch.setattr(documents, "process_services", lambda: services)
    yield base
    await base.aclose()


@asynccontextmanager
async def door() -> AsyncIterator[httpx.AsyncClient]:
    """A client at the door of a server with these routes, its settings read anew."""
    access.cache_clear()
    app = RequestGuard(Starlette(routes=documents.document_routes()))
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:2024") as http:
        yield http


async def give(
    http: httpx.AsyncClient, name: str, body: bytes, collection: str = "lease", **headers: str
) -> httpx.Response:
    params = {"collection": collection, "name": name}
    return await http.post(PATH, params=params, content=body, headers={**FILE, **headers})


async def collections(http: httpx.AsyncClient, **headers: str) -> dict[str, Any]:
    listed = (await http.get(PATH, headers=headers)).json()["collections"]
    return {one["name"]: one for one in listed}


async def texts(base: KnowledgeBase, owner: str = "") -> list[str]:
    return [hit.chunk["text"] for hit in await base.texts(Scope((), owner), most=10_000)]


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "uploads").rglob("*") if path.is_file())


async def test_a_file_that_is_given_is_read_listed_and_removed_with_what_was_read(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    async with door() as http:
        reply = await give(http, "Lease.md", LEASE)
        assert (reply.status_code, reply.json()["outcome"]) == (201, "read")
        (file,) = (await collections(http))["lease"]["files"]
        assert (file["name"], file["uploaded"]) == ("Lease.md", True)
        assert "2,400" in (await texts(base))[0]
        params = {"collection": "lease", "file": file["id"]}
        assert (await http.delete(PATH, params=params)).json() == {"removed": 1}
        assert not await collections(http)
        assert (await http.delete(PATH, params=params)).status_code == 404
    assert not left(tmp_path)
    assert not await texts(base)


async def test_a_file_of_the_same_name_replaces_and_one_that_cannot_be_read_does_not(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    async with door() as http:
        await give(http, "Lease.pdf.md", LEASE)
        await give(http, "Lease.pdf.md", LEASE.replace(b"2,400", b"3,000"))
        assert "3,000" in "".join(await texts(base))
        assert "2,400" not in "".join(await texts(base))
        reply = await give(http, "Lease.pdf.md", b"%PDF-1.7 broken")
        assert reply.status_code == 422
        assert reply.json()["code"]
        assert "3,000" in "".join(await texts(base))
        assert (await give(http, "copy.md", LEASE.replace(b"2,400", b"3,000"))).json()[
            "outcome"
        ] == "same"
    assert left(tmp_path) == ["Lease.pdf.md"]


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("photo.png", b"\x89PNG\r\n\x1a\n" + b"\x00" * 64, "page_kind"),
        ("empty.txt", b"", "page_empty"),
        ("broken.pdf", b"%PDF-1.7\nnothing", "page_unreadable"),
        ("bomb.docx", b"PK\x03\x04" + b"\x00" * 400, "page_unreadable"),
        (" ../. ", LEASE, "no_name"),
    ],
)
async def test_what_cannot_be_read_says_why_and_leaves_nothing(
    base: KnowledgeBase, tmp_path: Path, name: str, body: bytes, code: str
) -> None:
    async with door() as http:
        reply = await give(http, name, body)
        assert (reply.status_code, reply.json()["code"]) == (422, code)
        assert not left(tmp_path)
        assert not await collections(http)
        again = await give(http, name, body)
        assert again.json()["code"] == code


async def test_a_connection_that_is_cut_leaves_nothing_and_blocks_no_event_loop(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield LEASE
        raise ClientDisconnect

    uploads = Uploads(tmp_path / "uploads", base, UploadLimits(1 << 20, 1 << 20))
    with blockbuster_ctx(), pytest.raises(ClientDisconnect):
        await uploads.take(Destination("lease", ""), "Lease.md", cut())
    assert not left(tmp_path)


async def test_a_file_whose_reading_was_killed_is_listed_and_can_be_removed(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    async with door() as http:
        await give(http, "Lease.md", LEASE, collection="other")
        (folder := tmp_path / "uploads" / "of-" / "in-lease").mkdir()
        (folder / "Half.md").write_bytes(LEASE)
        (file,) = (await collections(http))["lease"]["files"]
        assert (file["name"], file["passages"], file["uploaded"]) == ("Half.md", 0, True)
        params = {"collection": "lease", "file": file["id"]}
        assert (await http.delete(PATH, params=params)).json() == {"removed": 1}
        assert (await collections(http)).keys() == {"other"}
    assert left(tmp_path) == ["Lease.md"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\租约.docx", "租约.docx"),
        (".bashrc", "bashrc"),
        ("a\nb\x00c\u202ed.txt", "a bcd.txt"),
        ("名" * 200 + ".pdf", "名" * 48 + ".pdf"),
        ("..", ""),
        ("cafe\u0301.md", "café.md"),
    ],
)
def test_a_files_name_stays_within_its_folder(name: str, kept: str) -> None:
    assert upload_name(name) == kept


@pytest.mark.parametrize("collection", ["", "../x", "a b", "papers", "x" * 65])
async def test_a_collection_needs_a_name_of_its_own(base: KnowledgeBase, collection: str) -> None:
    async with door() as http:
        assert (await give(http, "a.md", LEASE, collection)).status_code == 422


async def test_no_owner_sees_or_removes_what_another_has_given(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    async with door() as http:
        assert (await give(http, "a.md", LEASE)).status_code == 401
        await give(http, "a.md", LEASE, **MINE)
        (file,) = (await collections(http, **MINE))["lease"]["files"]
        assert not await collections(http, **OTHERS)
        params = {"collection": "lease", "file": file["id"]}
        assert (await http.delete(PATH, params=params, headers=OTHERS)).status_code == 404
        assert await texts(base, "alice")
        assert not await texts(base, "bob")


async def test_a_page_of_others_cannot_give_a_file(base: KnowledgeBase) -> None:
    async with door() as http:
        foreign = await give(http, "a.md", LEASE, origin="https://elsewhere.example")
        led = await give(http, "a.md", LEASE, **{"sec-fetch-site": "cross-site"})
        assert foreign.status_code == led.status_code == 403
        assert not await texts(base)


async def test_only_a_file_may_be_larger_than_other_bodies_and_only_as_large_as_set(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TANLU_UPLOAD_MEGABYTES", "2")
    monkeypatch.setenv("TANLU_OWNER_MEGABYTES", "3")
    # Most of it is a comment, which is stored and not read: reading is what takes long.
    line = b"<!-- The deposit is 2,400 euros. -->\n"
    async with door() as http:
        as_text = {"content-type": "text/plain"}
        assert (await give(http, "a.md", line * 40_000, **as_text)).status_code == 413
        assert (await give(http, "a.md", LEASE + line * 40_000)).status_code == 201
        assert (await give(http, "b.md", line * 72_000)).status_code == 413

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield line * 32_000

        params = {"collection": "lease", "name": "c.md"}
        chunked = await http.post(PATH, params=params, content=pieces(), headers=FILE)
        assert chunked.status_code == 413
        full = await give(http, "d.md", line * 56_000)
        assert (full.status_code, full.json()["code"]) == (413, "no_room")
    assert left(tmp_path) == ["a.md"]


async def test_a_server_that_takes_no_files_says_so(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_UPLOAD_MEGABYTES", "0")
    async with door() as http:
        reply = await give(http, "a.md", LEASE)
        assert (reply.status_code, reply.json()["code"]) == (403, "off")


def test_the_page_says_in_its_languages_why_a_file_is_not_taken() -> None:
    codes = [*FAILURES, *documents._REFUSED, "name", "away"]
    assert [code for code in codes if not has_text(f"page.documents.codes.{code}")] == []
