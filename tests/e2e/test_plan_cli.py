"""`tanlu ingest --sample` and `tanlu ask --assistant plan_execute` without any key."""

import io
import json
import re
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.support.command_line import KEYS, Cli, cli_fixture

__all__ = ["cli_fixture"]

COMPANY = "宁德时代钠离子电池的技术路线与同行相比如何"
SODIUM = "Sodium-ion batteries: chemistry, cost and uses"
PLAN = ("ask", "--offline", "--assistant", "plan_execute")


def test_a_company_from_statements_papers_pages_and_own_documents(cli: Cli) -> None:
    read = cli.run("ingest", "--sample")
    assert read.returncode == 0, read.stderr
    done = cli.run(*PLAN, "--json", "--html", "d.html", "--markdown", "d.md", "--pdf", "d.pdf",
                   COMPANY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["assistant"] == "plan_execute"
    assert not found["degraded"]
    kinds = {source["kind"] for source in found["sources"]}
    assert {"page", "paper", "filing", "document"} <= kinds
    pages = [s for s in found["sources"] if s["url"].endswith("#page=2")]
    assert [page["title"].endswith("，第 2 页") for page in pages] == [True]
    assert_saved(cli.folder, found["answer"])


def assert_saved(folder: Path, answer: str) -> None:
    """Title, a figure with its unit, and the sources are in every file."""
    title, told = "宁德时代钠离子电池的技术路线与同行相比如何", "锂钠混搭"
    assert title in answer
    markdown = (folder / "d.md").read_text("utf-8")
    html = (folder / "d.html").read_text("utf-8")
    pdf = PdfReader(io.BytesIO((folder / "d.pdf").read_bytes()))
    printed = "".join(page.extract_text() for page in pdf.pages).replace("\n", "")
    for text in (markdown, html, printed):
        assert title in text
        assert told in text
        assert "3620.13" in text
    assert "[^" not in markdown


@pytest.mark.node
def test_a_technology_with_papers_and_its_progress(cli: Cli) -> None:
    done = cli.run(*PLAN, SODIUM)
    assert done.returncode == 0, done.stderr
    for heading in ("Summary", "Chemistry", "Uses"):
        assert f"## {heading}\n" in done.stdout
    assert re.search(r"Hard carbon anodes.*, p\. \d", done.stdout)
    for told in ("Plan of 3 tasks", "Full text: [Sample] Hard carbon", "Writing the answer"):
        assert told in done.stderr
    assert "Traceback" not in done.stderr
    thread = re.search(r"--thread (\S+) --assistant plan_execute", done.stdout)
    assert thread


def test_ingest_without_a_path_says_what_can_be_given(cli: Cli) -> None:
    done = cli.run("ingest")
    assert done.returncode == 2
    assert "--sample" in done.stderr
