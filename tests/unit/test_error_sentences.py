"""What somebody is told of an error, wherever it comes out, is a sentence."""

import pytest

from agent.cli import main
from agent.cli.console import fail
from agent.cli.request import local_context
from agent.client.connection import run_error
from agent.configuration import configure
from agent.core.errors import AgentError, ConfigurationError, InputError, StoreFailed
from agent.core.strings import as_sentence
from agent.server.http import private_json
from agent.texts import problem_text, reason_of, say

SENTENCES = [
    ("nothing was found", "Nothing was found."),
    ("--url must be an address", "--url must be an address."),
    ("max_searches: bad", "max_searches: bad."),
    ("messages: The last one", "messages: The last one."),
    ("GEMINI_API_KEY is missing.", "GEMINI_API_KEY is missing."),
    ("did you mean this?", "Did you mean this?"),
    ("读不了", "读不了。"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "sentence"), SENTENCES)
def test_a_message_is_a_sentence_and_a_name_in_it_stays(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence
    assert as_sentence(sentence) == sentence


def test_a_problem_goes_on_from_its_name_or_stands_behind_it() -> None:
    assert ConfigurationError("AMAP_QPS", "must be 1").message == "AMAP_QPS must be 1."
    assert InputError("id", "There is no such one").message == "id: There is no such one."
    wrong = ConfigurationError("AMAP_QPS", "?", fault="greater_than", gt="0")
    assert problem_text(wrong, "en") == "AMAP_QPS must be more than 0."
    assert problem_text(wrong, "zh") == "AMAP_QPS：必须大于 0"
    assert reason_of(wrong, "en") == "AMAP_QPS must be more than 0"


def test_a_servers_setting_is_told_by_its_name_however_its_version_words_it() -> None:
    for message in ("AMAP_QPS: is not set", "AMAP_QPS is not set."):
        error = run_error({"error": "ConfigurationError", "message": message})
        assert isinstance(error, ConfigurationError)
        assert (error.name, error.message) == ("AMAP_QPS", "AMAP_QPS is not set.")


def test_the_command_line_tells_sentences_and_a_command_as_it_is_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail(AgentError("the server is away"))
    fail(StoreFailed("TANLU_DATA_DIR", "the disk is full"), then="Go on with: tanlu ask --thread 1")
    fail(f"it broke → {say('remedies.other', 'en')}")
    one, two, three, four = capsys.readouterr().err.splitlines()
    assert one == "tanlu: The server is away."
    assert two.startswith("tanlu: TANLU_DATA_DIR: the disk is full; nothing more")
    assert two.endswith("from here. Go on with: tanlu ask --thread 1")
    assert (three, four[:23]) == ("tanlu: It broke.", "tanlu: Try again later,")


def test_a_refusal_of_the_server_is_a_sentence() -> None:
    refused = private_json({"detail": "there is no such thread"}, 404)
    assert refused.body == b'{"detail":"There is no such thread."}'
    assert private_json({"details": "kept"}).body == b'{"details":"kept"}'


@pytest.mark.parametrize(("raised", "told"), [
    (ConfigurationError("GEMINI_API_KEY", "is not valid", fault="key_refused"),
     "tanlu: GEMINI_API_KEY：无效：服务拒绝了这个密钥"),
    (KeyboardInterrupt(), "tanlu: 提问已取消。"),
])  # fmt: skip
def test_what_ends_a_question_is_told_in_its_language(
    raised: BaseException, told: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def ended(*_: object) -> None:
        raise raised

    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    monkeypatch.setattr("agent.cli.ask._run_to_answer", ended)
    assert main(["ask", "--offline", "故宫几点开门"]) in (1, 130)
    assert capsys.readouterr().err.startswith(told)


def test_all_wrong_settings_are_told_at_once_by_the_names_that_were_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CLAIM_SECONDS", "SEARCH_TIMEOUT_SECONDS", "MAP_CALL_SECONDS"):
        monkeypatch.setenv(name, "3000")
    with pytest.raises(ConfigurationError) as raised:
        local_context({}, saves=False)
    assert problem_text(raised.value, "en") == (
        "CLAIM_SECONDS must be 600 or less. MAP_CALL_SECONDS must be 600 or less. "
        "SEARCH_TIMEOUT_SECONDS must be 600 or less."
    )
    assert problem_text(raised.value, "zh") == (
        "CLAIM_SECONDS：不能大于 600；MAP_CALL_SECONDS：不能大于 600；"
        "SEARCH_TIMEOUT_SECONDS：不能大于 600"
    )


def test_a_setting_of_a_request_is_told_by_the_name_that_it_has_there() -> None:
    with pytest.raises(ConfigurationError, match="claim_seconds"):
        configure({"claim_seconds": 3000})
