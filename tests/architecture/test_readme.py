"""The README's commands exist, in both languages; it stays short."""

import argparse
import functools
import io
import re
import shlex

import pytest
from dotenv import dotenv_values
from PIL import Image

from agent.cli import COMMANDS
from agent.cli.parser import build_parser
from agent.configuration import Configuration, configure
from agent.models.catalogue import parse
from agent.settings import Settings, read_settings
from tests.architecture.tree import ROOT

PAGES = ["README.md", "README.zh.md", "docs/deployment.md", "docs/operations.md",
         "docs/architecture.md", "docs/models.zh.md", "docs/first_minutes.md"]  # fmt: skip
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in PAGES}
VARIABLES = {name.upper() for name in (*Settings.model_fields, *Configuration.model_fields)}
OTHERS = {"LANGSMITH_TRACING", "LANGGRAPH_CHECKPOINTER", "TANLU_API_KEY", "TANLU_CACHE_DIR"}
_SNIPPET = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def snippets(text: str) -> list[str]:
    """Lines of code blocks, and inline code."""
    found = (block or inline for block, inline in _SNIPPET.findall(text))
    return [line.strip() for snippet in found for line in snippet.splitlines() if line.strip()]


def words_after(name: str, line: str) -> list[str] | None:
    """The arguments of a command in a line of a shell, without a trailing comment."""
    words = shlex.split(line, comments=True) if line.count('"') % 2 == 0 else line.split()
    return words[words.index(name) + 1 :] if name in words else None


@functools.cache
def subparsers() -> dict[str, argparse.ArgumentParser]:
    parser = build_parser(COMMANDS)
    (chosen,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(chosen.choices)


def tanlu_commands() -> list[tuple[str, list[str]]]:
    return [
        (page, words)
        for page, text in TEXTS.items()
        for line in snippets(text)
        if (words := words_after("tanlu", line))
    ]


@pytest.mark.parametrize(("page", "words"), tanlu_commands(), ids=str)
def test_a_command_that_is_shown_exists_with_its_options(page: str, words: list[str]) -> None:
    known = subparsers()
    if words[0] == "--help":
        return
    assert words[0] in known
    options = {option for action in known[words[0]]._actions for option in action.option_strings}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given - options == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_setting_that_is_shown_exists(page: str) -> None:
    shown = re.findall(r"--set ([a-z_]+)=", TEXTS[page])
    assert [
        name for name in shown if name not in {*Configuration.model_fields, "name", "key"}
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_variable_that_is_set_exists(page: str) -> None:
    shown = re.findall(r"^(?:# )?([A-Z][A-Z0-9_]{3,})=", TEXTS[page], re.MULTILINE)
    assert [name for name in shown if name not in VARIABLES | OTHERS] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_make_target_that_is_shown_exists(page: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = [words[0] for line in snippets(TEXTS[page]) if (words := words_after("make", line))]
    assert [name for name in shown if name not in targets] == []


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_readme_says_what_one_needs_first(page: str) -> None:
    text = TEXTS[page]
    assert 'pip install uv && uv run tanlu ask "王府井附近适合遛娃的好去处"' in text
    assert "uv run pytest" in text
    assert "--n-jobs-per-worker 64" in text
    assert "docs/images/page.webp" in text
    assert "docs/images/ask.svg" in text
    assert "http://127.0.0.1:2024/app" in text
    for name in ("GEMINI_API_KEY", "AMAP_MAPS_API_KEY", "Web服务", "GCJ-02", "WGS-84", "高德"):
        assert name in text


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_readme_is_under_six_kilobytes(page: str) -> None:
    assert len((ROOT / page).read_bytes()) < 6 * 1024


def test_the_moving_picture_is_ten_to_sixteen_seconds_and_light() -> None:
    picture = ROOT / "docs/images/page.webp"
    with Image.open(picture) as frames:
        shown = 0
        for number in range(frames.n_frames):
            frames.seek(number)
            frames.load()
            shown += frames.info["duration"]
    assert 10_000 <= shown <= 16_000
    assert picture.stat().st_size < 1_000_000


def test_four_services_that_are_reachable_in_china_are_shown() -> None:
    text = TEXTS["docs/models.zh.md"]
    assert "(docs/models.zh.md)" in TEXTS["README.zh.md"]
    assert text.count("OPENAI_BASE_URL=") >= 4
    assert text.count("TANLU_MODEL=openai:") >= 4
    for name in ("DeepSeek", "DashScope", "方舟", "Ollama", "BOCHA_API_KEY"):
        assert name in text


ENV_BLOCKS = re.findall(r"```\n(TANLU_MODEL=.*?)```", TEXTS["docs/models.zh.md"], re.DOTALL)


@pytest.mark.parametrize("block", ENV_BLOCKS, ids=lambda block: block.splitlines()[0])
def test_an_env_block_of_a_service_goes_online_with_that_model(
    block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in dotenv_values(stream=io.StringIO(block)).items():
        monkeypatch.setenv(name, value or "")
    settings, configuration = read_settings(), configure({})
    assert settings.mode == "online"
    assert settings.openai_extra_body
    assert parse(configuration.answer_model).provider == "openai"
    assert configuration.query_generator_model == configuration.answer_model


def test_the_picture_is_small_and_whole() -> None:
    picture = (ROOT / "docs/images/ask.svg").read_text("utf-8")
    assert len(picture.encode()) <= 120_000
    assert picture.rstrip().endswith("</svg>")
    assert "tanlu ask" in picture.replace("&#160;", " ")
