"""A dossier over the bundled sample, where nothing may block an event loop."""

import pytest
from blockbuster import blockbuster_ctx

from agent.assistants.plan_execute.graph import build_graph
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.runs.reply_cache import ReplyCache
from agent.sample.services.filings import sample_companies
from agent.sample.services.pages import paper_files
from agent.sample.services.scholar import sample_articles, sample_papers
from agent.services import build_services
from agent.settings import read_settings
from tests.support import started_once
from tests.support.lab import told


async def test_a_dossier_blocks_no_event_loop_neither_ours_nor_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Tests' own way to a reader blocks.
    monkeypatch.setattr(started_once, "FORKED", [])
    for cached in (sample_articles, sample_papers, sample_companies, paper_files):
        cached.cache_clear()
    settings = read_settings(tanlu_mode="offline")
    services = build_services(settings, reply_cache=ReplyCache(settings.tanlu_data_dir))
    graph = build_graph(lambda: services).compile()
    try:
        with blockbuster_ctx():
            state = await graph.ainvoke(
                {"messages": "宁德时代钠离子电池的技术路线与同行相比如何"},
                context=PlanConfiguration(),
            )
    finally:
        await services.aclose()
    assert told(state)["gaps"] == []
    assert state["passages"]
    assert {source["kind"] for source in told(state)["sources"]} >= {"page", "paper", "document"}
