"""The collections of own documents: what their labels say, and how texts are scored."""

import functools
import json
from importlib.resources import files
from pathlib import Path

import pytest
from evals.own_documents import __main__ as measuring
from evals.own_documents import sets

from agent.evidence.figures import Figure, figures
from agent.knowledge.formats import KINDS
from agent.knowledge.terms import terms

PROMPTS = Path(str(files("agent.prompts")))
LABELS = pytest.mark.parametrize("label", sets.load(), ids=lambda label: label["collection"])


@LABELS
def test_labelled_words_stand_in_their_file_and_in_no_other(label: sets.Label) -> None:
    files = sets.sources(label["collection"])
    for each in sets.passages(label):
        found = [name for name, text in files.items() if sets.stands(each["words"], text)]
        assert found == [each["file"]]
    assert {*label["distractors"], *label["unlike"]} <= {*files}
    assert {Path(name).suffix for name in files} <= {*KINDS}


@LABELS
def test_a_question_tells_none_of_what_is_looked_for(label: sets.Label) -> None:
    for row in (*label["facts"], *label["contradictions"]):
        assert not sets.is_told(row, sets.question(label, only=True))


@LABELS
def test_a_file_that_is_unlike_the_question_shares_no_term_with_it(label: sets.Label) -> None:
    asked = {term for term in terms(label["question"]) if len(term) > (3 if term.isascii() else 1)}
    for name in label["unlike"]:
        assert not asked & {*terms(sets.sources(label["collection"])[name])}


@functools.cache
def examples() -> list[tuple[Path, list[Figure]]]:
    """Return the figures of each example of each prompt."""
    return [
        (path, [f for f in figures(example.partition(")")[0]) if f.kind or f.date])
        for path in PROMPTS.glob("*.md")
        for example in path.read_text(encoding="utf-8").split("(")[1:]
    ]


@LABELS
def test_no_example_of_a_prompt_tells_what_is_to_be_found_in_a_collection(
    label: sets.Label,
) -> None:
    texts = sets.sources(label["collection"]).values()
    known = {(f.date and f.date[1:], f.kind, f.amount) for t in texts for f in figures(t)}
    for path, told in examples():
        assert sum((f.date and f.date[1:], f.kind, f.amount) in known for f in told) < 2, path


def test_generated_files_are_the_same_each_time_and_more_than_a_prompt_takes() -> None:
    files = sets.sources("en_council")
    assert sum(map(len, files.values())) > 5 * 100_000
    sets.sources.cache_clear()
    assert sets.sources("en_council") == files


def test_a_fact_is_told_by_one_spelling_of_each_group_whatever_its_blanks() -> None:
    row = {"told": [["3,000", "3000"], ["三个月", "3 个月"]]}
    assert sets.is_told(row, "最多扣 ３,000 元，提前3个月。")
    assert not sets.is_told(row, "最多扣 3,000 元。")
    assert not sets.is_told(row, "提前3个月，最多扣 13,000 元。")
    assert not sets.is_told({"told": [["6 ℃"]]}, "升到 11.6 ℃。")
    assert sets.is_told({"told": [["24小时"]]}, "须书面，24小时内报告。")
    assert not sets.is_told({"told": [["000"]]}, "最多扣 3,000 元。")


def test_pieces_of_a_row_stand_in_one_line() -> None:
    assert sets.stands("a|3", "a,2\na,b,3")
    assert not sets.stands("a|3", "a,2\nb,3")


def test_texts_of_a_folder_are_scored_and_what_they_lack_is_named(tmp_path: Path) -> None:
    (label,) = (each for each in sets.load() if each["collection"] == "en_station")
    told = "The logger's highest was 2.37 m, the staff said over 2.90 m; its zero is 0.20 m lower."
    (tmp_path / "en_station-plan.md").write_text(told, "utf-8")
    assert [
        " ".join(line.split()) for line in measuring.scored([label], measuring.texts_in(tmp_path))
    ] == [
        "en_station-plan facts 2/3 (66.7%), contradictions 1/1 (100.0%)",
        "lacks swapped the accumulator about half past seven",
        "all facts 2/3 (66.7%), contradictions 1/1 (100.0%)",
    ]


def test_a_collection_is_exported_with_its_two_questions(tmp_path: Path) -> None:
    (label,) = (each for each in sets.load() if each["collection"] == "zh_canteen")
    measuring.export([label], tmp_path)
    assert (tmp_path / "zh_canteen" / "园区来函.pdf").read_bytes().startswith(b"%PDF")
    written = (tmp_path / "zh_canteen.jsonl").read_text("utf-8")
    rows = [json.loads(row) for row in written.splitlines()]
    assert [row["id"] for row in rows] == ["zh_canteen", "zh_canteen-only"]
    answers = tmp_path / "a.jsonl"
    told = [json.dumps({**row, "answer": "周五 280 份。"}) for row in rows]
    answers.write_text("\n".join(told), "utf-8")
    assert measuring.texts_in(answers) == {row["id"]: "周五 280 份。" for row in rows}
