"""The knowledge base's vectors in Chroma: what it must not do, a server, and crashes."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.core.errors import ConfigurationError, ProviderUnavailable
from agent.knowledge.base import build_store
from agent.knowledge.chroma import ChromaKnowledgeStore
from agent.knowledge.types import Scope
from agent.settings import read_settings
from tests.support.knowledge_texts import found, keep, names
from tests.support.ports import free_port


def settings(folder: Path, **more: Any) -> Any:
    return read_settings(tanlu_data_dir=folder, knowledge_store="chroma", **more)


def test_without_the_extra_the_command_to_install_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] == "chromadb"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(ConfigurationError, match=r"tanlu\[chroma\]"):
        build_store(settings(tmp_path), embedder="small")


def test_without_an_embedder_nothing_is_downloaded_but_the_setting_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        build_store(settings(tmp_path))


class TestWithChroma:
    """What needs the library."""

    @pytest.fixture(autouse=True)
    def library(self) -> Any:
        return pytest.importorskip("chromadb", reason="no Chroma: uv sync --group stores")

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ChromaKnowledgeStore]:
        opened = build_store(settings(tmp_path), embedder="small")
        assert isinstance(opened, ChromaKnowledgeStore)
        yield opened
        await opened.aclose()

    async def test_vectors_of_a_crash_between_both_files_are_never_found(
        self, store: ChromaKnowledgeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await keep(store, "a", "lithium", vectors=[[1, 0]])

        async def dies(_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(store, "keep", dies)
            with pytest.raises(KeyboardInterrupt):
                await keep(store, "a", "cobalt", vectors=[[0, 1]])
        (hit,) = await store.search("", Scope(), vector=[0.1, 1])
        assert hit.chunk["text"] == "lithium"
        await keep(store, "a", "nickel", vectors=[[0, 1]])
        (hit,) = await store.search("", Scope(), vector=[0.1, 1])
        assert hit.chunk["text"] == "nickel"

    def test_a_bad_address_names_the_setting(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="CHROMA_URL"):
            build_store(settings(tmp_path, chroma_url="chroma:8000"), embedder="small")

    async def test_a_server_that_is_away_is_said_and_words_still_find(self, tmp_path: Path) -> None:
        url = f"http://127.0.0.1:{free_port()}"
        store = build_store(settings(tmp_path, chroma_url=url), embedder="small")
        await keep(store, "a", "lithium")
        with pytest.raises(ProviderUnavailable, match="Chroma"):
            await store.search("lithium", Scope(), vector=[1, 0])
        assert await names(store, "lithium") == ["a"]
        await store.aclose()

    async def test_a_server_keeps_the_vectors(self, tmp_path: Path, server: str) -> None:
        store = build_store(settings(tmp_path, chroma_url=server), embedder="small")
        await keep(store, "a", "lithium", vectors=[[1, 0]], owner="ada")
        await keep(store, "b", "cobalt", vectors=[[1, 0]], owner="bob")
        assert found(await store.search("", Scope(owner="ada"), vector=[1, 0])) == ["a"]
        assert not (tmp_path / "chroma").exists()
        await store.aclose()

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[str]:
        port = free_port()
        command = Path(sys.executable).parent / "chroma"
        process = subprocess.Popen(
            [command, "run", "--path", tmp_path / "server", "--host", "127.0.0.1",
             "--port", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        transport = httpx.HTTPTransport(retries=8)
        try:
            with httpx.Client(transport=transport, trust_env=False) as client:
                assert client.get(f"{url}/api/v2/heartbeat", timeout=20).status_code == 200
            yield url
        finally:
            process.kill()
            process.wait()
