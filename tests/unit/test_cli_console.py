import io
import json
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from rich.console import Console

from agent.cli.console import console_language, prepare_streams, print_json, printable
from agent.cli.environment import RUN_ID, configure_logging
from agent.cli.render import follow_up_line, print_outcome, usage_line
from agent.cli.watch import LiveWatcher, PlainWatcher, show_log
from agent.client.run_result import RunName, RunResult, outcome_of
from agent.core.errors import AgentError
from agent.core.progress import event
from agent.core.redaction import hide
from agent.core.strings import one_line
from agent.texts import OF_ANSWERS, Language, event_line, say
from tests.unit.export_samples import ANSWER, HOSTILE, NOTICE, place, source

KEYS = [
    "assistant", "mode", "thread_id", "run_id", "answer", "sources", "places", "routes",
    "weather", "gaps", "queries", "usage", "checks", "degraded", "needs",
    "final_answer", "answered", "verified",
]  # fmt: skip
RUN = RunName("agent", "thread-1", "run-1")


def values(text: str = ANSWER, **kept: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "assistant": "agent",
        "mode": "offline",
        "sources": [source()],
        "places": [place(1), place(2, "书店", mentioned=False)],
        "queries": [{"query": "遛娃", "map": None, "round": 1, "rationale": "x"}],
        "usage": {
            "model_calls": 6, "input_tokens": 8123, "output_tokens": 900, "searches": 3,
            "map_calls": 5, "seconds": 12.34, "cost_usd": 0.0123,
        },
        "checks": {"cited": 2, "unknown_ids_removed": 0, "places_rejected": 0},
        "degraded": False,
        "needs": None,
    }  # fmt: skip
    question = HumanMessage("王府井附近适合遛娃的好去处")
    return {"messages": [question, AIMessage(text, additional_kwargs=told | kept)]}


def outcome(text: str = ANSWER, **kept: Any) -> RunResult:
    return outcome_of(values(text, **kept), RUN, 1.0)


def pretty(found: RunResult, notice: str = "", width: int = 100) -> str:
    console = Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=None, _environ={}
    )
    print_outcome(found, follow_up='tanlu ask --thread T "…"', notice=notice, console=console)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_GB.UTF-8", "ANSWER_LANGUAGE": "zh"}, "zh"),
        ({"LANG": "de_DE.UTF-8", "ANSWER_LANGUAGE": "auto"}, "en"),
    ],
)
def test_lines_that_answer_no_question_are_in_the_reader_s_language(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "ANSWER_LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert console_language() == language


LISTED = """两处：

- 书店 — 440 m[2](https://b.example)
- **儿童乐园** — 距离 220 m，可以推婴儿车[1](https://a.example)

"""
"""Two places in the answer's order; the second is cited by the first number."""


def listed(more: str = "") -> RunResult:
    sources = [source(1, "https://a.example"), source(2, "https://b.example", "书店")]
    ids = [each["id"] for each in sources]
    told = [
        place(2, "书店", source=ids[1]) | {"number": 1},
        place(1, source=ids[0]) | {"number": 2},
        place(3, "茶馆", mentioned=False) | {"number": 3},
    ]
    references = "**来源**\n\n1. [儿童乐园](https://a.example)\n2. [书店](https://b.example)"
    return outcome(f"{LISTED}{more}{references}", sources=sources, places=told)


def test_a_terminal_tells_each_place_once_in_one_line_with_its_pin_s_number() -> None:
    lines = [line.strip() for line in pretty(listed()).splitlines() if line.strip()]
    facts = "★ 4.6 · ¥88/人 · 10:00-22:00 · 王府井大街138号"
    assert lines[:5] == [
        "两处：",
        f"1 书店 · 距王府井 440 m · {facts}",
        f"2 儿童乐园 · {facts} [1]",
        "距离 220 m，可以推婴儿车[1]",
        f"3 茶馆 · 距王府井 660 m · {facts}",
    ]
    assert sum("书店" in line for line in lines) == 1
    assert "来源" not in lines


def test_a_place_s_line_has_the_number_by_which_sentences_cite_it() -> None:
    """[7], [9] and [12] stood in what cards say, and nothing told which sources these are."""
    facts = "★ 4.6 · ¥88/人 · 10:00-22:00 · 王府井大街138号"
    shown = pretty(listed("雨天去书店[2](https://b.example)。\n\n"))
    assert f"1 书店 · 距王府井 440 m · {facts} [2]" in shown
    assert f"1 书店 · 距王府井 440 m · {facts} [2]" not in pretty(listed())
    assert f"2 儿童乐园 · {facts} [1]" in shown


def test_the_sums_of_a_calculation_stand_at_its_entry_among_the_sources() -> None:
    entry = "3. 两次 — 计算\n   - 两次：417 \\* 3 = 1251 元\n4. 丁"
    lines = [
        line.strip()
        for line in pretty(outcome(f"两次。\n\n**来源**\n\n1. x\n{entry}")).splitlines()
    ]
    at = lines.index("[3] 两次 — 计算")
    assert lines[at : at + 3] == ["[3] 两次 — 计算", "– 两次：417 * 3 = 1251 元", "[4] 丁"]


def test_one_line_says_how_much_of_the_answer_its_sources_bear(
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked = outcome(checks={"claims": {"total": 3, "quoted": 2, "marked": 1}, "statements": []})
    print_outcome(checked, follow_up="")
    line = "3 句：2 有原文 · 1 无来源"
    assert line in capsys.readouterr().out
    assert line in pretty(checked)
    assert "有原文" not in pretty(outcome())


def test_the_object_has_exactly_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(outcome().as_json())
    found = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    assert found["thread_id"] == "thread-1"
    assert found["queries"] == [{"query": "遛娃", "map": None, "round": 1}]
    assert list(found["usage"]) == [
        "model_calls", "input_tokens", "output_tokens", "searches", "map_calls", "seconds",
        "cost_usd",
    ]  # fmt: skip


def test_what_an_assistant_counts_and_keeps_beside_its_message_comes_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = {"cited": 2, "claims": {"total": 9}, "statements": [{"start": 0, "verdict": "marked"}]}
    print_json(outcome(checks=checks, tasks=[{"id": "t1"}], a_field_of_next_year="kept").as_json())
    found = json.loads(capsys.readouterr().out)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["checks"] == {"unknown_ids_removed": 0, "places_rejected": 0, **checks}
    assert (found["tasks"], found["a_field_of_next_year"]) == ([{"id": "t1"}], "kept")


def test_a_server_s_dicts_give_the_same_outcome() -> None:
    here = values()
    there = {"messages": [m.model_dump() for m in here["messages"]]}
    assert outcome_of(there, RUN, 1.0) == outcome_of(here, RUN, 1.0)
    blocks = [{"type": "text", "text": ANSWER[:10]}, {"type": "text", "text": ANSWER[10:]}]
    there["messages"][-1]["content"] = blocks
    assert outcome_of(there, RUN, 1.0) == outcome_of(here, RUN, 1.0)


@pytest.mark.parametrize("messages", [[], [HumanMessage("q")], [AIMessage(" ")]])
def test_a_run_without_an_answer_is_a_failure(messages: list[Any]) -> None:
    with pytest.raises(AgentError, match="without an answer"):
        outcome_of({"messages": messages}, RUN, 0)


def test_an_unknown_cost_stays_unknown() -> None:
    found = outcome(usage={"model_calls": 1})
    assert found.usage["cost_usd"] is None
    assert found.usage["seconds"] == 1.0
    assert "$" not in usage_line(found)


@pytest.mark.parametrize("language", ["zh", "zh-Hant", *OF_ANSWERS])
def test_the_lines_below_an_answer_are_in_its_language(language: Language) -> None:
    usage = usage_line(replace(outcome(), language=language))
    follow_up = follow_up_line("tanlu ask -c", language)
    assert ("Used" in usage, "Follow up" in follow_up) == (False, False)
    assert "6" in usage
    assert ("8,123" in usage) is (language in ("zh", "zh-Hant", "ar", "ja", "ko")), "else a decimal"
    assert "0.0123" in usage.replace(",", ".")
    assert say("terminal.saved", language, file="a") != say("terminal.saved", "en", file="a")


def test_the_terminal_shows_answer_places_usage_and_the_next_command() -> None:
    shown = pretty(outcome())
    assert shown.count("步行街两侧") == 1
    assert shown.count("停车场价格") == 1
    assert shown.count(NOTICE) == 1
    assert "带孩子[1]" in shown
    assert "遛娃指南 https://example.com/a" in shown
    for fact in ("儿童乐园", "220 m", "4.6", "10:00-22:00", "王府井大街138号", "高德地图"):
        assert fact in shown
    assert "模型调用 6 次，token 8,123 入 900 出，搜索 3 次，地图调用 5 次，12.3 秒" in shown
    assert 'tanlu ask --thread T "…"' in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://example.com/{'a' * 120}", f"https://example.com/{'a' * 60}…"),
        ("https://example.com/%E5%8C%97%E4%BA%AC", "https://example.com/北京"),
        ("https://example.com/%1B%5B2Jx", "https://example.com/[2Jx"),
    ],
)
def test_an_address_is_read_as_it_is_written_and_cut_where_it_is_long(url: str, shown: str) -> None:
    text = f"见[官网]({url})。\n\n**来源**\n\n1. [遛娃指南]({url}) — example.com"
    told = pretty(outcome(text, places=[], sources=[source(1, url)]), width=200)
    assert f"官网 {shown}。" in told
    assert f"遛娃指南 {shown}" in told
    assert f"{shown} — example.com" not in told, "the address says whose it is"


def test_behind_an_address_that_says_whose_it_is_stands_from_when_the_page_is() -> None:
    url = "https://example.com/a"
    text = f"好。[1]({url})\n\n**来源**\n\n1. [遛娃指南]({url}) — example.com · 2026-03-28"
    told = pretty(outcome(text, places=[], sources=[source(1, url)]), width=200)
    assert f"遛娃指南 {url} · 2026-03-28" in told


@pytest.mark.parametrize("title", ["https://example.com/a", "example.com/a/", "www.example.com/a"])
def test_a_title_that_is_the_address_stands_once(title: str) -> None:
    url = "https://www.example.com/a" if title.startswith("www") else "https://example.com/a"
    text = f"好。[1]({url})\n\n**来源**\n\n1. [{title}]({url})"
    told = pretty(outcome(text, places=[], sources=[source(1, url, title)]), width=200)
    assert told.count("example.com/a") == 1


def test_a_long_cell_of_a_table_stands_whole_on_several_lines() -> None:
    cell = "从曲院风荷走上苏堤约二点八公里步行大约四十分钟南端接花港观鱼再走十几分钟到雷峰塔"
    shown = pretty(outcome(f"| 时段 | 走法 |\n|---|---|\n| 下午 | {cell} |"), width=60)
    assert cell in "".join(shown.split())
    assert "…" not in shown.partition("时段")[2].partition("儿童乐园")[0]


def test_the_notice_is_not_repeated_below_the_progress() -> None:
    assert NOTICE not in pretty(outcome(), notice=NOTICE)
    assert outcome().notice == NOTICE
    assert outcome(mode="online").notice == ""


def test_a_narrow_terminal_keeps_every_word() -> None:
    shown = pretty(outcome(), width=40).replace("\n", "")
    assert "220 m" in shown
    assert 'tanlu ask --thread T "…"' in shown


def test_a_terminal_says_each_place_once_with_its_number() -> None:
    park = source(1, "https://uri.amap.com/marker?poiid=B1", "[示例] 儿童乐园")
    page = source(2, title="儿童乐园的介绍")
    listed = [f"{s['number']}. [{s['title'].strip('[]')}]({s['url']})" for s in (park, page)]
    credited = "数据 © 高德地图，查询于 19:40"
    text = "\n".join(["去儿童乐园[1]。", "", credited, "", "**来源**", "", *listed])
    shown = pretty(outcome(text, sources=[park, page], places=[place(1, source=park["id"])]))
    assert (
        "1 儿童乐园 · 距王府井 220 m · ★ 4.6 · ¥88/人 · 10:00-22:00 · 王府井大街138号 [1]" in shown
    )
    assert "示例] 儿童乐园" not in shown
    assert "[2] 儿童乐园的介绍" in shown
    assert shown.count("高德地图") == 1


def test_a_page_that_leads_nowhere_is_its_title_alone(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://sample.tanlu.invalid/a"
    text = f"适合带孩子[1]({url})。\n\n**来源**\n\n1. [\\[示例\\] 指南]({url}) — 示例"
    told = outcome(text, sources=[source(1, url)], places=[])
    shown = pretty(told)
    assert "适合带孩子[1]。" in shown
    assert "[1] [示例] 指南 — 示例" in shown
    assert url not in shown
    print_outcome(told, follow_up="")
    assert url not in capsys.readouterr().out


def test_a_pipe_gets_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(outcome(), follow_up="tanlu ask --thread T")
    shown = capsys.readouterr().out
    assert shown.startswith("**步行街两侧**适合带孩子[1]，雨天去室内[2]。\n")
    assert "| [儿童乐园][2] | 220 m |" in shown
    assert "\x1b" not in shown


def test_hostile_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = [place(1, f"{HOSTILE}[bold]\x1b]0;x\x07\u202e")]
    for shown in (pretty(outcome(ANSWER + "\x1b[2J", places=hostile)),):
        assert "[bold]" in shown
        assert "\x1b]0" not in shown
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
    print_outcome(outcome(ANSWER + "\x1b[2J", places=hostile), follow_up="f")
    assert "\x1b" not in capsys.readouterr().out
    assert printable("a\tb\nc\r\x9b") == "a\tb\nc"
    assert one_line("a\nb\x1b[2Jc") == "a b [2Jc"


@pytest.mark.parametrize("encoding", ["gbk", "ascii", "cp1252"])
def test_output_never_fails_on_a_small_encoding(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    for name in ("stdout", "stderr"):
        stream = written if name == "stdout" else io.BytesIO()
        monkeypatch.setattr(sys, name, io.TextIOWrapper(stream, encoding, write_through=True))
    prepare_streams()
    result = outcome(f"{ANSWER} ☕ 🧒 \u2022")
    PlainWatcher("zh").show({"type": "queries", "node": "n", "text": "☕ 遛娃"})
    print_outcome(result, follow_up="f")
    print_outcome(result, follow_up="f", console=Console(force_terminal=True))
    print("OBJECT")
    print_json(result.as_json())
    answer = json.loads(written.getvalue().decode(encoding).split("OBJECT")[1])["answer"]
    assert answer.endswith("☕ 🧒 \u2022")


def test_help_imports_nothing_heavy() -> None:
    for module in ("agent", "agent.cli"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", module, "--help"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        assert "tanlu ask" in done.stdout
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        heavy = ("langgraph", "langchain", "google", "mcp", "rich", "pydantic", "httpx", "asyncio")
        assert not [name for name in imported if name.split(".")[0].startswith(heavy)]


def test_the_version_is_the_package_s() -> None:
    from importlib.metadata import version

    import agent

    assert agent.__version__ == version("tanlu")


def test_progress_is_told_in_the_question_s_language() -> None:
    queries = event("queries", "n", text="a\nb", count=2)
    assert event_line(queries, "zh") == "检索词：a；b"
    assert event_line(queries, "en") == "Queries: a; b"
    done = event("search_done", "n", text="{count}\x1b", count=3, seconds=1.24)
    assert event_line(done, "en") == "3 sources for “{count} ” (1.2 s)"
    assert event_line(event("reflection", "n", text="", count=0), "zh") == say(
        "progress.events.enough", "zh"
    )
    assert event_line(event("done", "n", count=1), "zh") == ""
    assert event_line({"type": "unheard of"}, "zh") == ""


async def test_plain_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = PlainWatcher("en")
    watcher.show(event("gap", "n", text="the map is down"))
    await watcher.token("answer")
    shown = capsys.readouterr()
    assert shown.err == "- Note: the map is down\n"
    assert shown.out == ""


def test_installing_the_map_server_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    source = logging.getLogger("agent.mcp.servers")
    with show_log(PlainWatcher("en"), "en"):
        source.info("installing the map server once (npm ci)")
    with show_log(PlainWatcher("zh"), "zh"):
        source.info("installing the map server once (npm ci)")
        source.info("map server installed in 12 s")
    source.info("not heard")
    assert capsys.readouterr().err.splitlines() == [
        "- Map: installing the map server once (npm ci)",
        f"- 地图：{say('progress.installing', 'zh')}",
        "- 地图：地图服务已安装",
    ]


async def test_live_progress_keeps_finished_steps_and_the_end_of_the_answer() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    watcher = LiveWatcher(console, "en")
    watcher.show(event("notice", "n", text="sample data"))
    watcher.show(event("search_started", "n", text="tea"))
    watcher.show(event("search_done", "n", text="tea", count=2))
    await watcher.token("\n".join(f"line {n}" for n in range(20)))
    kept = console.file
    assert isinstance(kept, io.StringIO)
    assert watcher.notice_shown
    assert "sample data" in kept.getvalue()
    assert "2 sources for “tea”" in kept.getvalue()
    with console.capture() as now:
        console.print(watcher)
    assert "Searching: tea" in now.get()
    assert "line 19" in now.get()
    assert "line 11" not in now.get()
    watcher.show(event("withdrawn", "n", text=""))
    await watcher.token("the answer")
    with console.capture() as now:
        console.print(watcher)
    assert "the answer" in now.get()
    assert "line 19" not in now.get()


def test_log_lines_carry_the_run_and_no_key(tmp_path: Path) -> None:
    hide("sk-canary-12345")
    file = tmp_path / "log.txt"
    try:
        configure_logging(None, str(file))
        RUN_ID.set("run-7")
        logging.getLogger("agent.test").info("key %s", "sk-canary-12345")
        logging.getLogger("httpx").info("GET https://a/?key=abcdefghijk")
        logging.getLogger("agent.test").debug("too fine")
    finally:
        configure_logging(None, None)
    written = file.read_text("utf-8")
    assert "[run-7] key [hidden]" in written
    assert "sk-canary" not in written
    assert "GET" not in written
    assert "too fine" not in written


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_log_that_cannot_be_written_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        configure_logging(None, "/dev/full")
        for _ in range(3):
            logging.getLogger("agent.test").info("lost")
    finally:
        configure_logging(None, None)
    told = capsys.readouterr().err
    assert told == "tanlu: The log /dev/full cannot be written: No space left on device.\n"


def test_the_log_level_decides_what_the_terminal_gets(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        configure_logging("debug", None)
        logging.getLogger("agent.test").debug("fine")
        configure_logging(None, None)
        logging.getLogger("agent.test").info("not shown")
        logging.getLogger("agent.test").warning("shown")
    finally:
        for writer in list(logging.getLogger().handlers):
            if getattr(writer, "tanlu", False):
                logging.getLogger().removeHandler(writer)
    shown = capsys.readouterr().err
    assert "fine" in shown
    assert "not shown" not in shown
    assert "] shown" in shown
