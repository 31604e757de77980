"""The bundled papers: PDF that readers understand, in both languages; the bundled documents."""

import io
from urllib.parse import urlsplit

import pytest
from pypdf import PdfReader
from tools.sample_papers import FOLDER, pdf

from agent.sample.services.pages import paper_files, sample_documents
from agent.sample.services.scholar import sample_articles, sample_papers


def text_of(page: int, body: bytes) -> str:
    return PdfReader(io.BytesIO(body)).pages[page - 1].extract_text()


@pytest.mark.parametrize("name", paper_files())
def test_a_paper_is_a_small_pdf_of_several_pages_with_its_title(name: str) -> None:
    body = paper_files()[name]
    reader = PdfReader(io.BytesIO(body), strict=True)
    assert len(body) < 40_000
    assert 2 <= len(reader.pages) <= 4
    assert reader.metadata is not None
    title = str(reader.metadata.title)
    assert title.startswith(("[示例]", "[Sample]"))
    assert title.split()[-1] in reader.pages[0].extract_text()


def test_pages_hold_their_own_text_in_both_languages() -> None:
    assert "去除结晶水要在真空下加热" in text_of(2, paper_files()["sodium-cathodes"]).replace(
        "\n", ""
    )
    english = " ".join(text_of(3, paper_files()["westlake-landscape"]).split())
    assert "replaced in a cycle of about fifteen years." in english


def test_every_offered_pdf_is_there_under_the_title_it_is_found_by() -> None:
    offered = {paper.pdf: paper.title for paper in sample_papers() if paper.pdf}
    assert len(offered) == len(paper_files())
    for url, title in offered.items():
        name = urlsplit(url).path.removeprefix("/papers/").removesuffix(".pdf")
        metadata = PdfReader(io.BytesIO(paper_files()[name])).metadata
        assert metadata is not None
        assert metadata.title == title


def test_no_line_of_chinese_begins_with_a_closing_sign_or_breaks_a_number() -> None:
    lines = text_of(1, pdf("# 题\n" + "钠1234.5，" * 100)).splitlines()[1:]
    assert len(lines) > 5
    assert all(line[0] not in "，。" and "1234.5" in line for line in lines)


def test_each_paper_is_what_its_source_says() -> None:
    sources = {source.stem: source.read_text("utf-8") for source in FOLDER.glob("*.md")}
    assert {name: pdf(source) for name, source in sources.items()} == {**paper_files()}


def test_bundled_records_say_that_they_are_samples() -> None:
    for record in (*sample_articles(), *sample_papers()):
        assert record.title.startswith(("[示例] ", "[Sample] "))
        assert "sample.tanlu.invalid" in record.url
    ids = [record.id for record in (*sample_articles(), *sample_papers())]
    assert len(set(ids)) == len(ids)


def test_bundled_documents_are_of_several_kinds_and_say_that_they_are_samples() -> None:
    files = sorted(sample_documents().iterdir())
    assert {file.suffix for file in files} == {".md", ".csv", ".txt"}
    for file in files:
        text = file.read_text("utf-8")
        assert "示例" in text or "[Sample]" in text, file.name
