"""What `tanlu doctor` says of the sample's services, and of documents kept beside them."""

from pathlib import Path
from typing import Any

import pytest

from agent.cli.doctor import _knowledge, _label, _print_groups, _search
from agent.configuration import Configuration
from agent.knowledge.base import build_knowledge
from agent.knowledge.ingest import Target
from agent.settings import Settings


class Found:
    """Services of which two searches answer; `sample` tells whether they are the sample's."""

    def __init__(self, *, sample: bool, knowledge: Any = None) -> None:
        self.sample = object() if sample else None
        self.web, self.calls = self, None
        self._knowledge = knowledge

    async def health(self, _model: str | None = None) -> list[dict[str, Any]]:
        report = {"configured": True, "works": True, "message": "answers"}
        return [{**report, "provider": name} for name in ("google", "bocha")]

    def knowledge(self) -> Any:
        return self._knowledge


async def test_the_search_of_sample_mode_is_the_sample_s(
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = await _search(Found(sample=True), Configuration())
    _print_groups(checks, every=True)
    first, *details = capsys.readouterr().out.splitlines()
    assert "google" not in first
    assert first.endswith("sample data")
    assert details[0].endswith("search: google: sample data: answers")
    live = await _search(Found(sample=False), Configuration())
    assert [_label(check, "en") for check in live] == ["google", "bocha"]


async def test_documents_kept_for_runs_with_a_key_are_counted_beside_the_sample_s(
    tmp_path: Path,
) -> None:
    def settings(name: str) -> Settings:
        return Settings(_env_file=None, tanlu_data_dir=tmp_path / name)

    bases = {name: build_knowledge(settings(name), None) for name in ("sample", "own")}  # type: ignore[arg-type]
    services = Found(sample=True, knowledge=bases["sample"])
    assert len(await _knowledge(services, settings("own"))) == 2
    file = tmp_path / "a.txt"
    file.write_text("Words of a document. " * 9)
    run = await bases["own"].ingest([file], target=Target("documents"))
    await run.run()
    checks = {check["name"]: check for check in await _knowledge(services, settings("own"))}
    assert checks["knowledge base: sqlite"]["detail"] == "0 documents in 0 collections"
    kept = checks["knowledge base: own documents"]
    assert (kept["state"], kept["detail"]) == (
        "off", "1 document in 1 collection, kept for runs with a key",
    )  # fmt: skip
    for base in bases.values():
        await base.aclose()
