"""What runs do is told to those who listen, and counted for Prometheus."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from prometheus_client import REGISTRY, generate_latest

from agent.core.telemetry import (
    STEP,
    Cost,
    Event,
    Exchange,
    NodeStep,
    RunEnd,
    StepEnd,
    listening,
    tell_listeners,
)
from agent.server import metrics
from tests.architecture.tree import ROOT
from tests.support.lab import EN, Lab, laboratory, told

DASHBOARD = ROOT / "deploy/grafana/tanlu.json"


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


def value(name: str, labels: Mapping[str, str]) -> float:
    return REGISTRY.get_sample_value(name, dict(labels)) or 0.0


async def test_a_run_tells_of_its_steps_its_calls_and_its_end(lab: Lab) -> None:
    events: list[Event] = []
    with listening(events.append):
        state = await lab.ask(EN)
    turn = state["turn"]["id"]
    steps = [event for event in events if isinstance(event, StepEnd)]
    assert [s.step.node for s in steps][0 :: len(steps) - 1] == [
        "generate_query",
        "finalize_answer",
    ]
    assert {s.step.assistant for s in steps} == {"agent"}
    assert {s.step.turn_id for s in steps} == {turn}
    calls = [event for event in events if isinstance(event, Exchange)]
    assert len(calls) >= told(state)["usage"]["model_calls"]
    assert {call.turn_id for call in calls} == {turn}
    spent = sum(call.tokens.input + call.tokens.output for call in calls)
    usage = told(state)["usage"]
    assert spent == usage["input_tokens"] + usage["output_tokens"] > 0
    (end,) = [event for event in events if isinstance(event, RunEnd)]
    assert (end.status, end.claims) == (
        "success",
        {k: v for k, v in told(state)["checks"]["claims"].items() if k not in ("version", "total")},
    )
    assert any(isinstance(event, Cost) and event.usd for event in events)


async def test_a_run_that_fails_ends_once(lab: Lab) -> None:
    events: list[Event] = []
    with listening(events.append), pytest.raises(Exception, match="user_location"):
        await lab.ask(EN, user_location={"lng": "east"})
    assert [e.status for e in events if isinstance(e, RunEnd)] == ["error"]


async def test_runs_calls_gaps_and_verdicts_are_counted(lab: Lab) -> None:
    ended = {"assistant": "agent", "status": "success"}
    before, calls = (
        value("tanlu_runs_total", ended),
        value("tanlu_calls_total", {"kind": "model:google", "outcome": "ok"}),
    )
    with metrics.counting():
        state = await lab.ask(EN)
    await lab.ask(EN, thread="nobody counts")
    assert value("tanlu_runs_total", ended) == before + 1
    assert value("tanlu_run_seconds_count", {"assistant": "agent"}) >= 1
    made = value("tanlu_calls_total", {"kind": "model:google", "outcome": "ok"}) - calls
    assert made == told(state)["usage"]["model_calls"]
    text = generate_latest().decode()
    assert re.search(r'tanlu_claims_total\{verdict="supported"\} [1-9]', text)


def test_a_repeated_call_counts_each_attempt_and_a_reply_paid_before_counts_as_reused() -> None:
    def count(outcome: str) -> float:
        return value("tanlu_calls_total", {"kind": "probe", "outcome": outcome})

    with metrics.counting():
        tell_listeners(Exchange("probe", {}, "reply", retried=["timeout", "timeout"]))
        tell_listeners(Exchange("probe", {}, "reply", reused=True))
        tell_listeners(Exchange("probe", {}, problem="no", code="refused"))
    assert [count(o) for o in ("ok", "timeout", "reused", "refused")] == [1, 2, 1, 1]
    assert value("tanlu_call_seconds_count", {"kind": "probe"}) == 2


def test_costs_are_the_owner_s_and_the_labels_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "is_free", lambda: False)
    with metrics.counting():
        for number in range(150):
            token = STEP.set(NodeStep("agent", "node", owner=f"owner-{number}"))
            tell_listeners(Cost(f"openai:model-{number}", 0.5))
            STEP.reset(token)
        tell_listeners(Cost("unpriced", None))
    samples = [s for m in metrics.COST.collect() for s in m.samples if s.name.endswith("_total")]
    assert len({s.labels["owner"] for s in samples}) == 101
    assert len({s.labels["model"] for s in samples}) == 101
    others = [s.value for s in samples if s.labels["owner"] == metrics.OTHER]
    assert sum(others) >= 25
    assert sum(s.value for s in samples if s.labels["owner"] == "owner-1") == 0.5


def test_sample_services_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "is_free", lambda: True)
    with metrics.counting():
        tell_listeners(Cost("sample-model", 0.5))
    assert 'model="sample-model"' not in generate_latest().decode()


def expressions(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["expr"]] if "expr" in value else []
        return own + [text for part in value.values() for text in expressions(part)]
    return [text for part in value for text in expressions(part)] if isinstance(value, list) else []


def test_the_dashboard_shows_every_metric_and_knows_no_other() -> None:
    shown = {
        re.sub(r"_(total|bucket)$", "", name)
        for text in expressions(json.loads(DASHBOARD.read_text("utf-8")))
        for name in re.findall(r"tanlu_\w+", text)
    }
    counted = {metric.describe()[0].name for metric in metrics.METRICS}
    assert shown == counted


def test_the_dashboard_groups_by_labels_that_exist() -> None:
    labels = {label for metric in metrics.METRICS for label in metric._labelnames} | {"le"}
    for text in expressions(json.loads(DASHBOARD.read_text("utf-8"))):
        for names in re.findall(r"by \(([^)]*)\)", text):
            assert {name.strip() for name in names.split(",")} <= labels, text
