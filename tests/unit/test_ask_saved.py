"""The files of an answer: those that can be written are, and the others are named."""

from argparse import Namespace
from pathlib import Path

import pytest

from agent.cli.ask import _FORMATS, _save
from agent.cli.record import RunRecord
from agent.client.run_result import RunName, RunResult, outcome_of
from agent.texts import say
from tests.unit.export_samples import place


def outcome(**metadata: object) -> RunResult:
    said = {"type": "ai", "content": "好的。", "additional_kwargs": metadata}
    values = {"messages": [{"type": "human", "content": "西湖附近酒店"}, said]}
    return outcome_of(values, RunName("agent", "t", "r"), 1.0)


def saved(folder: Path, answer: RunResult, **files: str) -> bool:
    names = {option: str(folder / name) for option, name in files.items()}
    options = {**dict.fromkeys(_FORMATS), **names, "open": False, "json": False, "quiet": False}
    return _save(answer, Namespace(url=None, **options), RunRecord(None))


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"html": "a.html", "pdf": "b.pdf", "pocket_map": "c.pdf", "ics": "d.ics"}
    assert not saved(tmp_path, outcome(places=[place()]), **files)
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "b.pdf"}
    lines = capsys.readouterr().err.splitlines()
    assert sum("没有排好的行程" in line for line in lines) == 2
    assert [line for line in lines if "--pocket-map" in line] == [
        f"tanlu: --pocket-map 没有保存：{say('export.no_outing', 'zh')}。"
    ]


def test_all_files_written_is_success(tmp_path: Path) -> None:
    assert saved(tmp_path, outcome(places=[place()]), gpx="a.gpx", geojson="a.geojson")


def test_a_map_file_of_an_answer_without_positions_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not saved(tmp_path, outcome(), gpx="a.gpx", markdown="a.md")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
    assert "--gpx 没有保存：没有可画的" in capsys.readouterr().err
