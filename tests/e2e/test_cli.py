"""`tanlu` as a process, as a person starts it."""

import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from geojson_pydantic import FeatureCollection

from agent.texts import say
from tests.support.command_line import (
    CANARY,
    EN,
    KEYS,
    NO_MAP,
    ZH,
    Cli,
    cli_fixture,
    failed_in_one_line,
    gemini_fixture,
    keyed,
)
from tests.support.standins import GeminiService

__all__ = ["cli_fixture", "gemini_fixture"]


def test_one_object_and_nothing_else(cli: Cli) -> None:
    done = cli.run("ask", "--offline", "--json", *NO_MAP, EN)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    found = json.loads(done.stdout)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["mode"] == "offline"
    assert found["sources"]
    for source in found["sources"]:
        assert f"[{source['number']}]({source['url']})" in found["answer"]
    assert found["usage"]["model_calls"] > 0
    assert "[^" not in found["answer"]


@pytest.mark.node
def test_a_question_about_a_place_gets_places(cli: Cli) -> None:
    html, places = cli.folder / "页面.html", cli.folder / "places.geojson"
    found = cli.ask("--offline", "--html", str(html), "--geojson", str(places), ZH)
    assert found["gaps"] == [] or all(g["provider"] != "amap" for g in found["gaps"])
    assert any(place["mentioned"] for place in found["places"])
    for place in found["places"]:
        assert 116 < place["wgs84"]["lng"] < 117
        assert place["location"]["crs"] == "GCJ-02"
        assert place["url"].startswith("https://uri.amap.com/marker")
    collection = json.loads(places.read_text("utf-8"))
    FeatureCollection.model_validate(collection)
    assert len([f for f in collection["features"] if f["id"] != "anchor"]) == len(found["places"])
    page = html.read_text("utf-8")
    assert "<svg" in page
    assert found["places"][0]["name"] in page
    assert "<script" not in page


def test_without_a_command_the_help_is_printed(cli: Cli) -> None:
    done = cli.run()
    assert done.returncode == 0
    assert done.stdout == cli.run("--help").stdout
    assert "tanlu ask" in done.stdout


def test_c_goes_on_with_the_last_thread_and_its_assistant_and_a_bare_thread_is_shown(
    cli: Cli,
) -> None:
    failed_in_one_line(cli.run("ask", "-c", "And the price?"), 2, "--continue")
    first = cli.ask("--offline", *NO_MAP, EN)
    last = cli.ask("--offline", *NO_MAP, "--assistant", "deep_research", EN)
    again = cli.ask("--offline", *NO_MAP, "-c", "And are they cheaper?")
    assert first["thread_id"] != last["thread_id"]
    assert again["run_id"] != last["run_id"]
    assert {q["round"] for q in again["queries"]} <= {1, 2}
    assert cli.ask("--offline", "--thread", last["thread_id"])["answer"] == again["answer"]
    assert (again["thread_id"], again["assistant"]) == (last["thread_id"], "deep_research")
    failed_in_one_line(cli.run("ask", "-c", "--url", "http://127.0.0.1:9", "q"), 2, "--continue")


@pytest.mark.parametrize("assistant", ["agent", "deep_research", "plan_execute"])
def test_who_asks_for_what_the_sample_lacks_learns_that_it_is_small(
    cli: Cli, assistant: str
) -> None:
    question = "How do I grow tomatoes on a balcony?"
    found = cli.ask("--offline", *NO_MAP, "--assistant", assistant, question)
    text = found["answer"]
    assert (found["sources"], bool(found["gaps"])) == ([], True)
    assert "Nothing was found on “How do I grow tomatoes on a balcony” in the sample data" in text
    assert "Wangfujing" in text
    assert "with keys" in text


@pytest.mark.node
def test_a_person_sees_the_notice_the_answer_the_places_and_what_it_used(cli: Cli) -> None:
    done = cli.run("ask", ZH)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("王府井附近带孩子"), "nothing stands before the answer"
    [notice] = [line for line in rest if line.startswith("> 示例模式")]
    assert "GEMINI_API_KEY" in notice
    for words in ("来源", "| 名称 |", "高德地图", "用量：", "追问：", "tanlu ask --thread "):
        assert words in done.stdout
    for words in ("检索词：", "地图：", "资料够了", "正在写答案"):
        assert words in done.stderr


def test_a_question_is_asked_again_on_a_thread_of_its_own_and_what_changed_is_said(
    cli: Cli,
) -> None:
    first = cli.ask("--offline", *NO_MAP, EN)
    again = cli.ask("--offline", *NO_MAP, "--again", first["thread_id"])
    assert again["thread_id"] != first["thread_id"]
    assert [s["url"] for s in again["sources"]] == [s["url"] for s in first["sources"]]
    assert again["changes"].keys() == {"new", "gone", "figures", "same"}
    assert (again["changes"]["same"] > 0, again["changes"]["new"]) == (True, [])
    printed = cli.run("ask", "--offline", *NO_MAP, "--again", first["thread_id"]).stdout
    assert "**What changed since " in printed
    for words in (["--again", "x"], ["--again", first["thread_id"], EN],
                  ["--again", "00000000-0000-4000-8000-000000000007"]):  # fmt: skip
        refused = cli.run("ask", "--offline", *words)
        assert (refused.returncode, refused.stderr.count("--again")) == (2, 1)


@pytest.mark.parametrize("encoding", ["gbk", "ascii"])
def test_a_small_console_does_not_end_a_run(cli: Cli, encoding: str) -> None:
    cold = encoding == "ascii"
    done = cli.run("ask", "--offline", *NO_MAP, EN, cold=cold, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "--thread" in done.stdout


def test_bad_settings_are_one_line(cli: Cli) -> None:
    failed_in_one_line(cli.run("ask", EN, TANLU_MODE="online"), 1, "GEMINI_API_KEY")
    failed_in_one_line(cli.run("ask", EN, AMAP_MCP_COMMAND="node x"), 1, "AMAP_MCP_COMMAND")
    failed_in_one_line(cli.run("ask", EN, MODEL_RPM="many"), 1, "MODEL_RPM")
    failed_in_one_line(cli.run("ask", "--set", "nothing=1", EN), 2, "nothing")
    unknown = "5d4f5a64-7f0c-4a55-9d0c-6ad3c9b9f001"
    failed_in_one_line(cli.run("ask", "--offline", "--thread", unknown), 2, "--thread", unknown)


def test_a_service_that_refuses_everything_is_one_line_and_recorded_without_the_key(
    cli: Cli, gemini: GeminiService
) -> None:
    gemini.fail("status", status=403, times=None)
    options = ("--log-file", "log.txt", "--trace-dir", "traces")
    done = cli.run("ask", *NO_MAP, EN, *options, **keyed(gemini))
    failed_in_one_line(done, 1)
    (file,) = (cli.folder / "traces").iterdir()
    written, kept = (cli.folder / "log.txt").read_text("utf-8"), file.read_text("utf-8")
    assert "run accepted" in written
    assert CANARY not in done.stdout + done.stderr + written + kept
    trace = json.loads(kept)
    assert trace["error"]
    assert trace["calls"]
    assert all(call["problem"] and not call["reply"] for call in trace["calls"])


def test_the_record_of_a_run_has_prompts_replies_and_result(
    cli: Cli, gemini: GeminiService
) -> None:
    options = ("--log-file", "log.txt", "--trace-dir", "traces")
    done = cli.run("ask", *NO_MAP, EN, *options, **keyed(gemini))
    assert done.returncode == 0, done.stderr
    written = (cli.folder / "log.txt").read_text("utf-8")
    order = ("run accepted", "<task>generate_query</task>", "[reply]", "<task>web_research</task>",
             "<task>reflection</task>", "run ended", "[answer]", '"checks"')  # fmt: skip
    places = [written.index(part) for part in order]
    assert places == sorted(places)
    (file,) = (cli.folder / "traces").iterdir()
    assert f"traces/{file.name}" in done.stderr
    trace = json.loads(file.read_text("utf-8"))
    assert trace["question"] == EN
    assert {call["provider"] for call in trace["calls"]} == {"model:google"}
    assert all(call["messages"] and call["reply"] for call in trace["calls"])
    assert trace["state"]["web_research_result"]
    assert CANARY not in written + file.read_text("utf-8")
    if os.name == "posix":
        assert (cli.folder / "log.txt").stat().st_mode & 0o077 == 0


def test_doctor_knows_the_sample(cli: Cli) -> None:
    done = cli.run("doctor", "--json", MAP_TILES="tianditu")
    found = json.loads(done.stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert "offline" in checks["mode"]["detail"]
    assert checks["GEMINI_API_KEY"]["detail"] == "not set"
    models = [check for name, check in checks.items() if name.startswith("model: ")]
    assert {check["state"] for check in models} == {"ok"}
    assert checks["MAP_TILES"]["state"] == "missing"
    assert "TIANDITU_KEY" in checks["MAP_TILES"]["detail"]
    assert done.returncode == (0 if found["ok"] else 1)


def test_doctor_names_what_does_not_work_and_shows_no_key(cli: Cli, gemini: GeminiService) -> None:
    env = keyed(gemini) | {"ANSWER_MODEL": "gemini-2.0-flash", "TAVILY_API_KEY": CANARY + "t"}
    env["TAVILY_BASE_URL"] = env["SEMANTIC_SCHOLAR_BASE_URL"] = "http://127.0.0.1:9"
    done = cli.run("doctor", **env)
    assert done.returncode == 1
    assert "gemini-3.5-flash-lite" in done.stdout
    assert "retired" in done.stdout
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    done = cli.run("doctor", TANLU_MODE="online", TANLU_API_KEYS="anna:too-short-3141")
    assert done.returncode == 1
    assert "GEMINI_API_KEY" in done.stdout
    assert "correct or remove TANLU_API_KEYS" in done.stdout
    assert "3141" not in done.stdout


def test_doctor_has_a_line_a_group_in_the_reader_s_language_and_every_check_with_v(
    cli: Cli,
) -> None:
    lines = cli.run("doctor", ANSWER_LANGUAGE="zh").stdout.splitlines()
    assert [line.split()[1] for line in lines if line[0] in "✓!–✗"] == [
        "模型", "搜索", "地图", "文档", "本机",
    ]  # fmt: skip
    assert say("doctor.sample", "zh") in lines[0]
    assert any("tanlu config set GEMINI_API_KEY" in line for line in lines)
    assert "TAVILY_API_KEY" not in "".join(lines)
    assert "– TAVILY_API_KEY: not set" in cli.run("doctor", "-v").stdout


def test_quiet_prints_the_answer_and_nothing_else(cli: Cli) -> None:
    done = cli.run("ask", "-q", EN, "--markdown", "answer.md", *NO_MAP)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Follow up" not in done.stdout
    assert done.stdout.strip()
    assert (cli.folder / "answer.md").is_file()


def test_open_hands_the_answer_as_a_page_to_the_browser(cli: Cli) -> None:
    browser = cli.folder / "browser.py"
    browser.write_text('import sys; open("opened", "w").write(sys.argv[1])', "utf-8")
    done = cli.run("ask", EN, "--open", *NO_MAP, BROWSER=f"{sys.executable} {browser} %s")
    assert done.returncode == 0
    url = (cli.folder / "opened").read_text("utf-8")
    file = Path(url2pathname(urlsplit(url).path))
    assert "<html" in file.read_text("utf-8")
    assert f"Saved {file}" in done.stderr
    file.unlink()
    file.parent.rmdir()


def test_retries_are_progress_not_log_lines(cli: Cli, gemini: GeminiService) -> None:
    env = keyed(gemini) | {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}
    done = cli.run("ask", EN, *NO_MAP, "--log-file", "log", **env)
    assert done.returncode == 1
    assert "WARNING" not in done.stderr
    assert "- Attempt 2: the model service cannot be reached" in done.stderr
    assert done.stderr.count("- Attempt ") == 1, "one line a reason"
    reason, remedy = done.stderr.splitlines()[-2:]
    assert reason.startswith("tanlu: Every source failed: ")
    assert remedy.startswith("tanlu: Check the network, or set a proxy (HTTPS_PROXY")
    assert "attempt 1 of 4" in (cli.folder / "log").read_text("utf-8")
