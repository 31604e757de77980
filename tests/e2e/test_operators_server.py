"""What an operator sees of one question on a real server: metrics, the trace, the audit log."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.collector import Collector, collecting
from tests.support.dev_server import DevServer, dev_server

pytestmark = [pytest.mark.server]
KEY = "alice-key-0123456789"
QUESTION = "How do sodium-ion batteries work?"
ASK = {"assistant_id": "agent", "input": {"messages": QUESTION},
       "context": {"geo_routing": "never"}, "if_not_exists": "create"}  # fmt: skip
THREAD = "018f3c1e-7d20-7000-8000-000000000001"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[DevServer]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        "TANLU_API_KEYS": f"alice:{KEY}",
        "TANLU_AUDIT_LOG": str(folder / "audit.jsonl"),
        "TANLU_OTLP_ENDPOINT": collector.url,
    }
    with dev_server(folder, env=environment) as started:
        yield started


def audited(folder: Path) -> list[tuple[str, str, str]]:
    rows = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    return [(row["event"], row["outcome"], row["owner"]) for row in rows]


def test_one_question_is_counted_traced_and_written_down(
    server: DevServer, collector: Collector
) -> None:
    with httpx.Client(
        base_url=server.url, headers={"x-api-key": KEY}, timeout=120, trust_env=False
    ) as http:
        assert http.post(f"/threads/{THREAD}/runs/wait", json=ASK).status_code == 200
        assert http.post("/runs", json={**ASK, "webhook": "http://10.0.0.1"}).status_code == 422
        assert http.get(f"/app/runs/{THREAD}/answer.md").status_code == 200
        text = http.get("/metrics").text
        assert http.delete(f"/threads/{THREAD}").status_code == 204
    signed = httpx.post(f"{server.url}/app/sign-in", json={"key": KEY}, trust_env=False)
    assert signed.status_code == 200
    assert 'tanlu_runs_total{assistant="agent",status="success"} 1.0' in text
    assert re.search(r'tanlu_calls_total\{kind="model:google",outcome="ok"\} [1-9]', text)
    assert audited(server.folder) == [
        ("run", "accepted", "alice"),
        ("run", "refused", "alice"),
        ("export", "accepted", "alice"),
        ("deletion", "accepted", "alice"),
        ("sign_in", "accepted", "alice"),
    ]
    server.stop()
    (root,) = [span for span in collector.spans if not span.parent]
    assert root.name == "invoke_agent agent"
    assert root.attributes["user.id"] == "alice"
    assert root.attributes["gen_ai.conversation.id"] == THREAD
    assert len({span.trace for span in collector.spans}) == 1
    everything = b"".join(collector.bodies) + (server.folder / "audit.jsonl").read_bytes()
    for word in (KEY, "sodium"):
        assert word.encode() not in everything
    assert "Blocking" not in server.output()
