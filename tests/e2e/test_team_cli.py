"""`tanlu ask --assistant team_answer` without any key: every turn is told, the answer is bare."""

import json

from agent.texts import say
from tests.support.command_line import KEYS, NO_MAP, Cli, cli_fixture

__all__ = ["cli_fixture"]

TEAM = ("ask", "--offline", "--assistant", "team_answer", *NO_MAP)
UNKNOWN = "月球背面的格林威治咖啡馆是哪一年开业的？"


def test_the_object_has_the_bare_answer_and_whether_there_is_one(cli: Cli) -> None:
    done = cli.run(*TEAM, "--json", UNKNOWN, "--format-requirement", "年份")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["assistant"] == "team_answer"
    assert (found["final_answer"], found["answered"], found["verified"]) == ("", False, False)
    assert say("team_answer.answer.none", "zh") in found["answer"]
    others = cli.ask("--offline", *NO_MAP, "钠离子电池是什么？")
    assert (others["final_answer"], others["answered"], others["verified"]) == (None, None, None)


def test_every_turn_of_the_discussion_shows_with_its_speaker(cli: Cli) -> None:
    done = cli.run(*TEAM, UNKNOWN)
    assert done.returncode == 0, done.stderr
    for words in ("要回答的是：", "分解为：", "研究员：", "核查员："):
        assert words in done.stderr
    assert "**试过的**" in done.stdout
    assert "--assistant team_answer" in done.stdout
