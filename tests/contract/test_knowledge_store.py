"""What every store of the knowledge base does, whatever keeps its vectors."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent.core.errors import ConfigurationError, InputError
from agent.knowledge.chroma import ChromaKnowledgeStore
from agent.knowledge.sqlite import SqliteKnowledgeStore
from agent.knowledge.types import Scope
from tests.support.knowledge_texts import chunks, document, found, keep, names

Store = SqliteKnowledgeStore | ChromaKnowledgeStore
Open = Callable[[str], Store]


@pytest.fixture(params=["sqlite", "chroma"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a store of this kind for a model, always over the same folder."""
    if request.param == "chroma":
        pytest.importorskip("chromadb", reason="no Chroma: uv sync --group stores")
    kind = {"sqlite": SqliteKnowledgeStore, "chroma": ChromaKnowledgeStore}[request.param]
    stores: list[Store] = []

    def open_for(model: str) -> Store:
        stores.append(kind(tmp_path, embedder=model))
        return stores[-1]

    yield open_for
    for store in stores:
        await store.aclose()


@pytest.fixture
def store(opened: Open) -> Store:
    return opened("small")


async def test_chinese_and_english_are_found_by_their_words(store: Store) -> None:
    await keep(store, "zh", "宁德时代发布了钠离子电池。")
    await keep(store, "en", "Sodium batteries were announced in 2021.")
    assert await names(store, "钠离子电池何时发布") == ["zh"]
    assert await names(store, "sodium battery") == ["en"]
    assert await names(store, "2021") == ["en"]
    assert await names(store, "宁") == ["zh"]
    assert await names(store, "氢燃料") == []


async def test_a_word_that_is_nowhere_is_found_in_its_other_forms(store: Store) -> None:
    await keep(store, "charging", "Charging in winter takes long.")
    await keep(store, "studied", "The pores were studied and planned.")
    assert await names(store, "charged") == ["charging"]
    assert await names(store, "study of pores, or a plan") == ["studied"]
    assert await names(store, "charger") == await names(store, "chart") == []
    await keep(store, "charged", "A charged cell.")
    assert await names(store, "charged") == ["charged"]


async def test_one_chinese_character_is_found_wherever_it_stands(store: Store) -> None:
    await keep(store, "end", "杭州有西湖。")
    await keep(store, "start", "湖面平静。")
    await keep(store, "heading", "水深两米。", headings=["西湖"])
    assert sorted(await names(store, "湖")) == ["end", "heading", "start"]
    assert (await names(store, "湖"))[0] == "start"
    assert await names(store, "湖", Scope(owner="eve", collections=("other",))) == []


async def test_a_hit_says_where_it_stands(store: Store) -> None:
    text = [*chunks("a", "first"), *chunks("a", "the lithium", headings=["Report", "Two"], page=7)]
    text[1]["number"] = 1
    known = document("a", "Report", metadata={"year": 2024}, url="https://example.org/a")
    await store.put(known, text)
    (hit,) = await store.search("lithium", Scope())
    assert hit.chunk == text[1]
    assert hit.document == {**known, "chunks": 2}
    assert hit.ranks == {"lexical": 1}


async def test_a_document_put_again_is_replaced_whole(store: Store) -> None:
    await keep(store, "a", "lithium", "cobalt", vectors=[[1, 0], [0, 1]], headings=["Old"])
    await keep(store, "a", "sodium", vectors=[[1, 0]], headings=["New"], title="second")
    assert await names(store, "lithium cobalt") == []
    (hit,) = await store.search("sodium", Scope(), vector=[1, 0.1])
    assert (hit.document["title"], hit.chunk["number"]) == ("second", 0)
    assert [d["chunks"] for d in await store.documents(Scope())] == [1]
    assert await store.headings(Scope()) == ["New"]


async def test_a_title_weighs_more_than_a_heading_and_a_heading_more_than_the_body(
    store: Store,
) -> None:
    for name in ("filler", "other", "third", "fourth"):
        await keep(store, name, "nothing of the kind is here")
    await keep(store, "body", "graphene is here", title="x", headings=["y"])
    await keep(store, "heading", "nothing is here", title="x", headings=["graphene"])
    await keep(store, "title", "nothing is here", title="graphene", headings=["y"])
    assert await names(store, "graphene") == ["title", "heading", "body"]


async def test_a_text_on_a_company_comes_before_its_record(store: Store) -> None:
    await keep(
        store, "row", "宁德时代 电池 电池 福建 2011", title="宁德时代", layer="base", kind="csv"
    )
    await keep(store, "other", "比亚迪也做电池，" * 5, title="比亚迪")
    text = "公司的历史很长，写了许多别的事情，只提到一次电池。" * 6
    await keep(store, "text", text, title="宁德时代研究", headings=["历史"])
    found_names = await names(store, "宁德时代 电池 福建")
    assert found_names.index("text") < found_names.index("row")
    hits = await store.search("宁德时代 电池 福建", Scope())
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


async def test_an_owner_sees_what_is_his_and_what_is_shared(store: Store) -> None:
    await keep(store, "a", "lithium", owner="ada", vectors=[[1, 0]])
    await keep(store, "b", "lithium", owner="bob", vectors=[[1, 0]])
    await keep(store, "p", "lithium", owner="bob", shared=True, collection="papers",
               vectors=[[1, 0]])  # fmt: skip
    for owner, seen in (("ada", {"a", "p"}), ("bob", {"b", "p"}), ("", {"p"})):
        scope = Scope(owner=owner)
        hits = await store.search("lithium", scope, vector=[1, 0.1])
        assert set(found(hits)) == seen
        assert {d["id"] for d in await store.documents(scope)} == seen
    stolen = Scope(owner="ada", collections=("notes",), documents=("b",))
    assert await store.search("lithium", stolen, vector=[1, 0.1]) == []
    assert await store.headings(stolen) == []


async def test_collections_are_listed_for_whoever_may_read_them(store: Store) -> None:
    await keep(store, "a", "lithium", owner="ada")
    await keep(store, "p", "lithium", owner="bob", shared=True, collection="论文")
    await keep(store, "q", collection="论文", owner="bob", shared=True, status="failed")
    assert await store.collections("ada") == [
        {"name": "notes", "owner": "ada", "shared": False, "documents": 1},
        {"name": "论文", "owner": "bob", "shared": True, "documents": 1},
    ]
    await keep(store, "p", "lithium", owner="bob", collection="论文")
    assert [c["name"] for c in await store.collections("ada")] == ["notes"]


async def test_another_owners_document_cannot_be_replaced(store: Store) -> None:
    await keep(store, "a", "lithium", owner="ada")
    with pytest.raises(InputError, match="another owner"):
        await keep(store, "a", "cobalt", owner="bob", vectors=[[1, 0]])
    assert await names(store, "lithium", Scope(owner="ada")) == ["a"]
    assert await store.search("cobalt", Scope(owner="bob"), vector=[1, 0]) == []


async def test_a_scope_narrows_to_collections_and_documents(store: Store) -> None:
    for name, collection in (("a", "one"), ("b", "two"), ("c", "two")):
        await keep(store, name, "lithium", collection=collection, vectors=[[1, 0]])
    cases = [
        (Scope(collections=("two",)), {"b", "c"}),
        (Scope(collections=("two",), documents=("a", "c")), {"c"}),
        (Scope(documents=("a", "unknown")), {"a"}),
        (Scope(collections=("nowhere",)), set()),
    ]
    for scope, expected in cases:
        assert set(found(await store.search("lithium", scope, vector=[1, 0.2]))) == expected
        assert {d["id"] for d in await store.documents(scope)} == expected


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "x" * 65, 'a"', "a\n"])
async def test_a_collections_name_is_letters_digits_and_dashes(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="collection"):
        await keep(store, "a", "lithium", collection=name)


async def test_a_chinese_name_of_a_collection_is_one(store: Store) -> None:
    await keep(store, "a", "lithium", collection="电池_2024-年报", vectors=[[1, 0]])
    hits = await store.search("", Scope(collections=("电池_2024-年报",)), vector=[1, 0])
    assert found(hits) == ["a"]


async def test_words_and_vectors_are_fused_and_each_hit_says_how_it_was_found(
    store: Store,
) -> None:
    await keep(store, "words", "sodium cells", vectors=[[0, 0, 1]])
    await keep(store, "both", "sodium packs", vectors=[[1, 0, 0]])
    await keep(store, "meaning", "Na-ion accumulators", vectors=[[0.9, 0.1, 0]])
    hits = await store.search("sodium", Scope(), vector=[1, 0.05, 0])
    assert found(hits)[0] == "both"
    ranks = {hit.document["id"]: set(hit.ranks) for hit in hits}
    assert ranks == {
        "both": {"lexical", "vector"}, "words": {"lexical"}, "meaning": {"vector"},
    }  # fmt: skip


async def test_vectors_of_another_model_are_never_compared(opened: Open) -> None:
    before, after = opened("small"), opened("large")
    await keep(before, "old", "lithium", vectors=[[1, 0]])
    await keep(before, "words", "cobalt")
    assert await after.search("", Scope(), vector=[1, 0]) == []
    assert await names(after, "lithium") == ["old"]
    assert await after.not_embedded(Scope()) == ["old", "words"]
    await keep(after, "old", "lithium", vectors=[[1, 0]])
    assert found(await after.search("", Scope(), vector=[1, 0])) == ["old"]
    assert await after.not_embedded(Scope()) == ["words"]


async def test_a_vector_of_another_size_finds_nothing_or_says_so(store: Store) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        await keep(store, "a", "one", "two", vectors=[[1, 0]])
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        await keep(store, "a", "one", "two", vectors=[[1, 0], [1, 0, 0]])
    assert await store.documents(Scope()) == []


async def test_headings_are_of_texts_and_spread_over_them(store: Store) -> None:
    for name in ("a", "b"):
        parts = [c for n in range(3) for c in chunks(name, "x", headings=["Same", f"{name}{n}"])]
        for number, part in enumerate(parts):
            part["number"] = number
        await store.put(document(name), parts)
    await keep(store, "row", "x", headings=["a record"], layer="base")
    assert await store.headings(Scope(), limit=4) == ["Same", "a0", "b0", "a1"]


async def test_a_failed_document_is_known_and_never_found(store: Store) -> None:
    await keep(store, "bad", status="failed", error="encrypted", title="lithium")
    assert [d["error"] for d in await store.documents(Scope())] == ["encrypted"]
    assert await names(store, "lithium") == []
    assert await store.collections() == [
        {"name": "notes", "owner": "", "shared": False, "documents": 0}
    ]


async def test_what_is_deleted_is_gone_with_its_empty_collection(store: Store) -> None:
    await keep(store, "a", "lithium", vectors=[[1, 0]])
    await keep(store, "b", "cobalt", collection="two", vectors=[[1, 0]])
    await store.delete(["a", "unknown"])
    assert found(await store.search("lithium cobalt", Scope(), vector=[1, 0])) == ["b"]
    assert [c["name"] for c in await store.collections()] == ["two"]


async def test_what_was_put_is_there_after_opening_again(opened: Open) -> None:
    first = opened("small")
    await keep(first, "a", "lithium", vectors=[[1, 0]])
    await first.aclose()
    hits = await opened("small").search("lithium", Scope(), vector=[1, 0])
    assert [hit.ranks for hit in hits] == [{"lexical": 1, "vector": 1}]


@pytest.mark.parametrize(
    "query",
    ["", "   ", '"', "AND OR NOT", "a* NEAR(b)", "title:x", "（）", "🙂", "x" * 100_000, "\0"],
)
async def test_no_query_breaks_the_search(store: Store, query: str) -> None:
    await keep(store, "a", "lithium and more")
    assert isinstance(await store.search(query, Scope()), list)
