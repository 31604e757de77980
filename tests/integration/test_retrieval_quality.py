"""What the knowledge base finds of the sample, by questions written before it was asked any.

Questions that only documents in the other language answer are left out of the bound: words do not
cross languages, vectors may.
"""

import asyncio
from pathlib import Path

import pytest
from evals.retrieval.__main__ import Found, by_vectors, by_words, groups, mean_recall, table
from evals.retrieval.documents import export
from evals.retrieval.questions import CROSS, Label, Question, load

from agent.knowledge.types import Chunk, KnowledgeHit, KnownDocument
from tests.support.served import serve_in_thread
from tests.support.standins import RankingService

BOUND = 0.85
QUESTIONS = load()
ASKED = {name: part for name, part in groups(QUESTIONS).items() if name != CROSS}
QUOTES = [
    Question(f"{asked.id}/{number}", label.contains, asked.language, "quote", (label,))
    for asked in QUESTIONS
    for number, label in enumerate(asked.relevant)
]
"""The words of each label, asked for themselves."""


@pytest.fixture(scope="module", name="files")
def files_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    export(folder)
    return folder


@pytest.fixture(scope="module", name="lexical")
def lexical_fixture(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("words")
    return asyncio.run(by_words(files, folder, [*QUESTIONS, *QUOTES]))["lexical"]


def test_the_set_has_sixty_questions_and_a_share_of_each_language() -> None:
    assert len(ASKED["zh+en"]) >= 60
    assert min(len(ASKED["zh"]), len(ASKED["en"])) >= 25
    assert len({asked.id for asked in QUESTIONS}) == len(QUESTIONS)


def test_every_label_is_a_passage_of_the_knowledge_base(lexical: Found) -> None:
    assert [quote.id for quote in QUOTES if not quote.recall(lexical[quote.id], depth=20)] == []


@pytest.mark.parametrize("language", ASKED)
def test_words_find_the_passages_in_the_language_of_the_question(
    lexical: Found, language: str
) -> None:
    assert mean_recall(ASKED[language], lexical) >= BOUND


def test_the_table_has_the_number_of_questions_and_cross_language_ones_apart(
    lexical: Found,
) -> None:
    heads, recall, rank = table(QUESTIONS, {"lexical": lexical}).splitlines()
    own = [asked for asked in QUESTIONS if asked.language != CROSS]
    assert f"zh+en ({len(own)})" in heads
    assert f"{CROSS} ({len(QUESTIONS) - len(own)})" in heads
    assert recall.startswith("lexical recall@5")
    assert rank.startswith("lexical MRR")


async def test_vectors_and_both_together_are_measured_where_an_embedder_is_set(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_in_thread(RankingService().app) as server:
        monkeypatch.setenv("EMBEDDING_MODEL", "tei:stand-in")
        monkeypatch.setenv("TEI_EMBED_URL", server.url)
        found = await by_vectors(files / "documents", tmp_path, QUESTIONS[:3])
    assert list(found) == ["vector", "hybrid"]
    for hits in found["vector"].values():
        assert [hit.ranks["vector"] for hit in hits] == list(range(1, 21))
    assert any("lexical" in hit.ranks for hits in found["hybrid"].values() for hit in hits)


def test_recall_is_the_share_of_passages_and_the_rank_is_the_first_ones() -> None:
    labels = (Label("papers/a.pdf", "two words"), Label("papers/b.pdf", "other"))
    asked = Question("q", "", "en", "exact", labels)
    elsewhere, first, second = (
        hit("papers/c.pdf", "two words"),
        hit("papers/a.pdf", "these two\nwords"),
        hit("papers/b.pdf", "other"),
    )
    assert asked.recall([elsewhere, first]) == 0.5
    assert asked.recall([first, elsewhere, second], depth=2) == 0.5
    assert asked.recall([second, first]) == 1
    assert asked.reciprocal_rank([elsewhere, second]) == 0.5
    assert asked.reciprocal_rank([elsewhere]) == asked.recall([]) == 0


def hit(path: str, text: str) -> KnowledgeHit:
    chunk = Chunk(document=path, number=0, text=text, headings=[], page=None)
    document = KnownDocument(
        id=path,
        collection="sample",
        title=path,
        path=f"/somewhere/{path}",
        url=None,
        kind="pdf",
        layer="upper",
        sha256="",
        status="ready",
        error=None,
        chunks=1,
    )
    return KnowledgeHit(chunk, document, 1.0)
