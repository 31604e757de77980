"""`tanlu ask --assistant deep_research` without any key: a report of several topics."""

import json
import re
from typing import Any

import pytest
from pypdf import PdfReader

from tests.support.command_line import KEYS, Cli, cli_fixture, failed_in_one_line

__all__ = ["cli_fixture"]

LAKE = "西湖一日游：交通、门票、餐饮"
LAKE_AGAIN = "杭州西湖一日游：交通、门票和吃饭"
LAKE_EN = "A day at West Lake: transport, tickets, food"
ASPECTS = ["要点", "一天怎么走", "交通", "门票", "餐饮", "没有查到的"]
DEEP = ("ask", "--offline", "--assistant", "deep_research", "--set", "geo_routing=never")


def headings(answer: str) -> list[str]:
    return re.findall(r"^## (.+)$", answer, re.MULTILINE)


def resolved(found: dict[str, Any]) -> bool:
    """Whether every link of the text is a numbered one of a listed source, and every source used.

    The list of sources at the end is code's and has links of its own.
    """
    body = re.split(r"\n\n\*\*(?:来源|Sources)\*\*\n\n", found["answer"])[0]
    links = set(re.findall(r"\[([^\]]*)\]\((https?://[^)]+)\)", body))
    listed = {(str(source["number"]), source["url"]) for source in found["sources"]}
    return bool(listed) and links == listed and "[^" not in found["answer"]


def ask(cli: Cli, question: str, *options: str) -> dict[str, Any]:
    done = cli.run(*DEEP, "--json", *options, question)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_day_at_west_lake_is_reported_by_the_aspects_asked_for_and_anew_in_its_thread(
    cli: Cli,
) -> None:
    found = ask(cli, LAKE)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["assistant"] == "deep_research"
    assert len(found["sources"]) >= 3
    assert found["gaps"] == []
    assert not found["degraded"]
    again = ask(cli, LAKE_AGAIN, "--thread", found["thread_id"])
    assert again["thread_id"] == found["thread_id"]
    for report in (found, again):
        assert headings(report["answer"]) == ASPECTS
        assert resolved(report)
    assert all("西湖" in query["query"] for query in found["queries"])
    assert any("西湖" in query["query"] for query in again["queries"])


@pytest.mark.node
def test_a_question_about_a_place_brings_records_of_the_map_with_it(cli: Cli) -> None:
    found = ask(cli, LAKE, "--set", "geo_routing=llm")
    assert resolved(found)
    assert [place["name"] for place in found["places"] if place["mentioned"]]
    assert all(120 < place["wgs84"]["lng"] < 121 for place in found["places"])


def test_an_english_question_gets_english_words_on_the_way_and_an_english_report(cli: Cli) -> None:
    done = cli.run(*DEEP, LAKE_EN)
    assert done.returncode == 0, done.stderr
    for words in ("Thinking", "Searching", "topic", "Reading", "Writing"):
        assert words in done.stderr
    found = cli.ask("--offline", "--thread", done.stdout.split("--thread ")[1].split()[0])
    assert {"In short", "Transport", "Tickets"} <= set(headings(found["answer"]))
    assert resolved(found)
    assert not re.search("[一-鿿]", found["answer"])
    assert "could not" not in found["answer"]


def test_a_person_sees_what_happens_and_saves_the_report_as_markdown_and_as_pdf(cli: Cli) -> None:
    markdown, pdf = cli.folder / "报告.md", cli.folder / "报告.pdf"
    done = cli.run(*DEEP, "--markdown", str(markdown), "--pdf", str(pdf), LAKE)
    assert done.returncode == 0, done.stderr
    told = [done.stderr.find(word) for word in ("思考", "搜索", "子题", "阅读 ", "正在写")]
    assert -1 not in told, done.stderr
    assert told[0] < told[3] < told[4]
    assert "## " in done.stdout
    written = markdown.read_text("utf-8")
    assert "## 交通" in written
    assert written.count(f"# {LAKE}") == written.count("> 示例模式") == 1
    text = "\n".join(page.extract_text() for page in PdfReader(pdf).pages)
    for words in (LAKE, "示例模式", "要点", "交通", "来源", "1. [示例]"):
        assert words in text


def test_without_the_extra_a_pdf_is_refused_before_the_run_starts(cli: Cli) -> None:
    # A folder in which the package is hidden, as where the extra is not installed.
    (cli.folder / "sitecustomize.py").write_text(
        "import sys\nsys.modules['reportlab'] = None\n", "utf-8"
    )
    done = cli.run(*DEEP, "--pdf", "a.pdf", LAKE, PYTHONPATH=str(cli.folder))
    failed_in_one_line(done, 2, "--pdf", "tanlu[pdf]")
    assert not (cli.folder / "data").exists()
