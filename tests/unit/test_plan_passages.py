"""Passages chosen from what targets found, and how they are cited."""

from typing import Any

import pytest

from agent.assistants.common.own_documents import papers_of, read_by_default, shown_path
from agent.assistants.plan_execute.search_info import (
    Found,
    best_of_each_target,
    sources_of_passages,
)
from agent.assistants.plan_execute.write_dossier import consulted_rows
from agent.evidence.citations import Citer
from agent.knowledge.terms import bears_on
from agent.knowledge.types import Chunk, KnowledgeHit, KnownDocument
from agent.texts import say
from tests.unit.page_sources import source


def hit(name: str, number: int = 0, page: int | None = None, **more: Any) -> KnowledgeHit:
    given: dict[str, Any] = {
        "id": name, "collection": "own", "title": name, "path": f"notes/{name}.md", "url": None,
        "kind": "markdown", "layer": "upper", "sha256": "", "status": "ready", "error": None,
        "chunks": 9, **more,
    }  # fmt: skip
    text = f"Text {number} of {name} [^e1-0]."
    document: KnownDocument = given  # type: ignore[assignment]
    chunk = Chunk(document=name, number=number, text=text, headings=[name], page=page)
    return KnowledgeHit(chunk, document, 1.0)


def found(number: int, *hits: KnowledgeHit) -> Found:
    return Found(number, f"target {number}", [(each, 1.0 - n / 10) for n, each in enumerate(hits)])


def ids(*given: Found, limit: int = 24) -> list[str]:
    return [passage["id"] for passage, _ in best_of_each_target(given, limit)]


def test_passages_are_numbered_within_their_target() -> None:
    assert ids(found(0, hit("a", 0), hit("a", 1)), found(1, hit("b"))) == ["d0-0", "d0-1", "d1-0"]


def test_a_passage_of_two_targets_belongs_to_the_one_that_ranks_it_higher() -> None:
    both = hit("a", 7)
    chosen = best_of_each_target([found(0, hit("b"), both), found(1, both)], 24)
    assert [(p["id"], p["title"]) for p, _ in chosen] == [("d0-0", "b"), ("d1-0", "a")]


def test_every_target_gets_its_best_before_any_gets_its_second() -> None:
    many = found(0, *(hit("a", n) for n in range(9)))
    assert ids(many, found(1, hit("b")), found(2, hit("c")), limit=4) == [
        "d0-0", "d0-1", "d1-0", "d2-0",
    ]  # fmt: skip


def test_no_passages_where_none_are_wanted_or_found() -> None:
    assert ids(found(0, hit("a")), limit=0) == []
    assert ids() == []


def test_a_passage_cannot_cite_for_us() -> None:
    ((passage, _),) = best_of_each_target([found(0, hit("a"))], 5)
    assert "e1-0" not in passage["text"]


def test_a_paper_is_cited_by_the_page_of_its_public_address() -> None:
    paper = hit("p", 0, 3, kind="pdf", url="https://x.example/p.pdf#top", collection="papers")
    (source,) = sources_of_passages(best_of_each_target([found(0, paper)], 5), "en")
    assert source["url"] == "https://x.example/p.pdf#page=3"
    assert (source["title"], source["provider"]) == (
        "p, p. 3",
        say("plan_execute.sources.papers", "en"),
    )
    assert source["kind"] == "document"


def test_an_own_document_is_cited_by_its_file() -> None:
    (source,) = sources_of_passages(best_of_each_target([found(0, hit("成本", 0, 2))], 5), "zh")
    assert (source["url"], source["title"]) == ("", "成本，第 2 页 (notes/成本.md)")
    assert source["provider"] == say("plan_execute.sources.documents", "zh")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("notes/a.md", "notes/a.md"),
        ("/srv/secret/a.md", "a.md"),
        ("D:\\secret\\a.md", "a.md"),
        ("\\\\server\\share\\a.md", "a.md"),
    ],
)
def test_a_private_folder_is_never_shown(path: str, shown: str) -> None:
    assert shown_path(path) == shown
    ((passage, _),) = best_of_each_target([found(0, hit("a", path=path))], 5)
    assert passage["path"] == shown


def test_passages_of_one_page_are_one_citation_with_the_words_of_each() -> None:
    chosen = best_of_each_target([found(0, hit("a", 0, 1), hit("a", 1, 1), hit("a", 2, 2))], 5)
    citer = Citer({source["id"]: source for source in sources_of_passages(chosen, "en")})
    text = citer.feed("One[^d0-0], two[^d0-1], three[^d0-2].") + citer.flush()
    assert text == "One[1], two[1], three[2]."
    assert [source["quotes"] for source in citer.used] == [
        ["Text 0 of a.", "Text 1 of a."], ["Text 2 of a."],
    ]  # fmt: skip


def test_papers_stay_apart_from_own_documents_and_from_the_sample() -> None:
    assert papers_of("online") != papers_of("offline")
    known = ["own", papers_of("online"), papers_of("offline")]
    # Those of earlier questions are read only by their name.
    assert read_by_default(known) == ["own"]


def test_one_common_word_does_not_make_a_text_bear_on_a_question() -> None:
    text = "概况\n西湖位于杭州市区西部，水面面积约6.5平方千米。"
    assert not bears_on("克莱因瓶 拓扑性质 概况", text)
    assert bears_on("西湖的水面面积", text)
    assert not bears_on("of the", text)
    assert not bears_on("Northvolt benefits and uses", "A sodium cell for other uses.")
    assert bears_on("sodium uses", "A sodium cell.")


def test_a_word_counts_in_its_other_forms_and_within_a_glued_name() -> None:
    assert bears_on("determinism", "Workflows are deterministic.")
    assert bears_on("temporal worker", "pip install temporalio")
    assert bears_on("airflow", "Deploy apacheairflow here.")
    assert not bears_on("action", "A transaction is rolled back.")
    assert not bears_on("internal audit", "International trade")


def test_what_was_consulted_counts_documents_and_not_their_pages() -> None:
    pages = found(0, hit("a", 0, 1), hit("a", 1, 2), hit("b", 0, 7))
    own = sources_of_passages(best_of_each_target([pages], 24), "zh")
    page = source("w0-0")
    state: Any = {"sources_gathered": [*own, page], "executor_result": [
        {"documents": [{"id": "w0-0", "kind": "page"}]}
    ]}  # fmt: skip
    rows = consulted_rows(state, [*own[:2], page], "zh")
    assert [row.split("|")[2:5] for row in rows] == [
        [" 文档 ", " 2 ", " 1 "],
        [" 网页 ", " 1 ", " 1 "],
    ]
