"""`tanlu config` and `tanlu completion`: settings of one's own, and the shell's Tab key."""

import os
import stat

import pytest

from tests.support.command_line import Cli, cli_fixture, failed_in_one_line
from tests.support.programs import Program

__all__ = ["cli_fixture"]
pytestmark = pytest.mark.slow
SECRET = "secret-key-0123456789"


def test_a_key_is_kept_for_every_folder_readable_by_its_user_and_never_shown(cli: Cli) -> None:
    environment = cli.terminal_environment()
    ours, theirs = os.openpty()
    with Program("-m", "agent", "config", "set", "GEMINI_API_KEY", folder=cli.folder,
                 env=environment, terminal=theirs) as process:  # fmt: skip
        os.close(theirs)
        screen = b""
        while b"GEMINI_API_KEY: " not in screen:
            screen += os.read(ours, 1000)
        os.write(ours, SECRET.encode() + b"\n")
        assert process.wait(60) == 0
        screen += os.read(ours, 10_000)
    os.close(ours)
    file = cli.folder / "config/tanlu/env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = cli.run("config", "list", ANSWER_LANGUAGE="en")
    assert listed.stdout.splitlines() == [str(file), "GEMINI_API_KEY=(set)"]
    assert SECRET in file.read_text("utf-8")
    assert SECRET not in screen.decode() + listed.stdout + listed.stderr


def test_a_folder_s_env_and_the_process_win_over_the_user_s_own(cli: Cli) -> None:
    def summary() -> str:
        return cli.run("doctor", "--json", WEB_SEARCH="off").stdout

    assert cli.run("config", "set", "map_tiles", "osm").returncode == 0
    assert "osm: the page" in summary()
    (cli.folder / ".env").write_text("MAP_TILES=none\n", "utf-8")
    assert "osm: the page" not in summary()
    assert cli.run("config", "unset", "MAP_TILES").returncode == 0
    assert "MAP_TILES" not in cli.run("config", "list").stdout


def test_what_is_no_setting_or_no_value_of_it_is_refused(cli: Cli) -> None:
    failed_in_one_line(cli.run("config", "set", "GEMINI_API_KYE", "x"), 2, "did you mean GEMINI")
    failed_in_one_line(cli.run("config", "set", "AMAP_QPS", "fast"), 2, "AMAP_QPS")
    failed_in_one_line(cli.run("config", "unset", "AMAP_QPS"), 2, "AMAP_QPS is not set")
    assert not (cli.folder / "config").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_gets_its_completion(cli: Cli, shell: str) -> None:
    done = cli.run("completion", shell)
    assert done.returncode == 0
    assert "tanlu" in done.stdout
    assert "_ARGCOMPLETE" in done.stdout


def test_the_shell_learns_commands_and_options(cli: Cli) -> None:
    answers = cli.folder / "answers"

    def completed(line: str) -> set[str]:
        cli.run(
            cold=True, _ARGCOMPLETE="1", COMP_LINE=line, COMP_POINT=str(len(line)),
            _ARGCOMPLETE_STDOUT_FILENAME=str(answers), _ARGCOMPLETE_IFS="\n",
        )  # fmt: skip
        return {word.strip() for word in answers.read_text("utf-8").splitlines()}

    assert completed("tanlu se") == {"search", "serve"}
    assert completed("tanlu ask --ge") == {"--geojson"}
