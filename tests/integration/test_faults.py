"""Any single fault of a model at any stage: the run ends in time, with an answer and a gap."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.core.errors import ConfigurationError
from agent.sample.model.request import ModelReply
from agent.texts import problem_text, say
from tests.integration.faults import (
    STAGES,
    Ended,
    at,
    ended,
    leaving_no_process,
    moody,
    turn_at,
    well_again,
)
from tests.support.lab import ZH, Lab, laboratory
from tests.support.standins import gemini_error

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]
Switch = Callable[[Lab, str, int | None], None]
JSON_STAGES = ("generate_query", "reflection")
ENDS = ("generate_query", "answer")
"""A reply that comes whole and one that is streamed. What the client makes one error of, as another
kind that goes through all stages, is the same to every node between them."""


@dataclass(frozen=True)
class Kind:
    """A way to fail. `lasting_gap`: whether it leaves a gap when it never stops."""

    name: str
    switch: Switch
    stages: tuple[str, ...] = STAGES
    passes: bool = True
    """Whether asking again once it is over brings the answer, without a gap."""
    lasting_gap: bool = True


def wire(kind: str, **details: Any) -> Switch:
    def switch(lab: Lab, stage: str, times: int | None) -> None:
        lab.gemini.fail(kind, match=at(stage), times=times, **details)  # type: ignore[arg-type]

    return switch


def stream(kind: str, after: int) -> Switch:
    def switch(lab: Lab, stage: str, times: int | None) -> None:
        lab.gemini.fail_stream(kind, after=after, match=turn_at(stage), times=times)

    return switch


def says(answer: ModelReply) -> Switch:
    def switch(lab: Lab, stage: str, times: int | None) -> None:
        moody(lab).say(stage, answer, times)

    return switch


KEY_REFUSED = wire("status", status=400, body=gemini_error(400, "API_KEY_INVALID"))
NO_VERDICT = {"is_sufficient": False, "knowledge_gap": "", "follow_up_queries": []}
KINDS = (
    Kind("429", wire("status", status=429), ENDS),
    Kind("429_with_retry_info",
         wire("status", status=429, body=gemini_error(429, None, 0.01)), ENDS),
    Kind("429_for_today", wire("status", status=429, body=gemini_error(
        429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier")), passes=False),
    Kind("key_refused", KEY_REFUSED, tuple(s for s in STAGES if s != "generate_query"),
         passes=False),
    Kind("403", wire("status", status=403, body=gemini_error(403)), passes=False),
    Kind("404", wire("status", status=404, body=gemini_error(404)), ENDS, passes=False),
    Kind("500", wire("status", status=500), ENDS),
    Kind("503", wire("status", status=503, body=gemini_error(503))),
    Kind("dropped", wire("drop"), ENDS),
    Kind("dropped_mid_body", wire("drop_mid_body"), ENDS[:1]),
    Kind("malformed_json", wire("garbage")),
    Kind("cut_json", wire("cut_json"), ENDS[:1]),
    Kind("deep_json", wire("deep_json"), ENDS),
    Kind("brackets_without_end", says(ModelReply(text='{"query": ' + "[" * 1500)), JSON_STAGES),
    Kind("html", wire("html", status=502), ENDS),
    Kind("html_with_200", wire("html", status=200), ENDS),
    Kind("empty_body", wire("empty"), ENDS),
    Kind("prompt_blocked", says(ModelReply(finish="PROMPT_BLOCKED")), ENDS, passes=False),
    Kind("safety", says(ModelReply(finish="SAFETY")), passes=False),
    Kind("no_candidates", says(ModelReply(finish="NONE"))),
    Kind("empty_text", says(ModelReply(text=""))),
    Kind("max_tokens_half_json", says(ModelReply(text='{"query": [{"que', finish="MAX_TOKENS")),
         JSON_STAGES),
    Kind("prose", says(ModelReply(text="I would search for parks.")), JSON_STAGES),
    Kind("wrong_schema", says(ModelReply(json={"queries": "none", "verdict": 7})), JSON_STAGES),
    Kind("empty_lists", says(ModelReply(json={"query": [], "rationale": "", **NO_VERDICT})),
         JSON_STAGES, lasting_gap=False),
    Kind("malformed_call", says(ModelReply(finish="MALFORMED_FUNCTION_CALL")), ("amap_research",)),
    Kind("stream_dropped_at_once", stream("drop", 0), ("answer",)),
    Kind("stream_dropped_midway", stream("drop", 80), ("answer",)),
    Kind("stream_error_midway", stream("error", 80), ("answer",)),
    Kind("stream_without_finish", stream("no_finish", 80), ("answer",)),
    Kind("stream_cut_at_its_limit", stream("max_tokens", 80), ("answer",)),
    Kind("stream_stopped_for_safety", stream("safety", 80), ("answer",), passes=False),
)  # fmt: skip
CASES = [(kind, stage) for kind in KINDS for stage in kind.stages]
MATRIX = [(kind, stage, times) for kind, stage in CASES for times in (1, None)]
_survived: set[str] = set()


def name_of(kind: Kind, stage: str, times: int | None) -> str:
    return f"{kind.name}-in-{stage}-{'once' if times else 'for-ever'}"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    folder: Path = tmp_path_factory.mktemp("data")
    with leaving_no_process():
        async with laboratory(tanlu_mode="offline", tanlu_data_dir=folder) as built:
            yield built


@pytest.mark.parametrize(("kind", "stage", "times"), MATRIX, ids=[name_of(*c) for c in MATRIX])
async def test_a_fault_of_a_model_is_survived(
    lab: Lab, kind: Kind, stage: str, times: int | None
) -> None:
    well_again(lab)
    kind.switch(lab, stage, times)
    result = await ended(lab, ZH)
    assert result.error is None
    assert result.kept["checks"]["cited"] > 0
    assert_told(result, kind, stage, times)
    _survived.add(name_of(kind, stage, times))


def assert_told(result: Ended, kind: Kind, stage: str, times: int | None) -> None:
    """Passed faults leave no trace; lasting ones leave a gap, and an answer says it is degraded."""
    lasting = times is None
    if kind.passes and not lasting:
        assert result.gaps == []
    elif lasting and kind.lasting_gap:
        assert result.gaps
    if stage != "answer" or (kind.passes and not lasting):
        assert not result.kept["degraded"]
    elif lasting:
        assert result.kept["degraded"]


async def test_a_key_refused_at_the_first_call_ends_the_run_by_its_name(lab: Lab) -> None:
    well_again(lab)
    KEY_REFUSED(lab, "generate_query", None)
    before = len(lab.gemini.requests)
    with pytest.raises(ConfigurationError) as caught:
        await lab.ask(ZH, "a key refused")
    assert caught.value.name == "GEMINI_API_KEY"
    assert problem_text(caught.value, "en").startswith("GEMINI_API_KEY is not valid")
    assert say("faults.key_refused", "zh") in str(caught.value), "a page tells it as it was raised"
    assert len(lab.gemini.requests) - before == 1


async def test_the_matrix_of_faults_was_survived_whole(request: pytest.FixtureRequest) -> None:
    here = sum(item.function is test_a_fault_of_a_model_is_survived  # type: ignore[attr-defined]
               for item in request.session.items if item.path == request.path)  # fmt: skip
    if here < len(MATRIX):
        pytest.skip("only a part of the matrix was run")
    assert f"faults survived {len(_survived)}/{len(MATRIX)}" == (
        f"faults survived {len(MATRIX)}/{len(MATRIX)}"
    )
