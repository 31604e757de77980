"""The web search over running stand-ins, and what their models say; import the fixture."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import ConfigurationError, ProviderRefused, ProviderUnavailable, RateLimited
from agent.sample.services.loopback import Service
from agent.sample.services.search import KEY
from agent.search.web import WebSearch
from agent.settings import Settings
from tests.contract.search_bench import SERVICES, pages
from tests.support.search_scripts import ScriptedModels, text_reply
from tests.support.served import serve_in_thread

WRITTEN = text_reply("第一页说了。[^w0-0] 第二页也说了[^w0-1]，没有人说过[^w0-99]。")
REFUSALS = [
    ProviderRefused("model:google", "this key may not use the model", code="model_forbidden"),
    ProviderRefused("model:google", "the quota of the day is spent", code="model_quota_day"),
    ProviderRefused("model:google", "not available from this location", code="model_region"),
    RateLimited("model:google", "too many requests"),
    ProviderUnavailable("model:google", "the service failed (HTTP 503)"),
    ConfigurationError("GEMINI_API_KEY", "is not set"),
]
Build = Callable[..., tuple[WebSearch, dict[str, Service]]]


@pytest.fixture(name="build")
async def build_fixture() -> AsyncIterator[Build]:
    """A search over running stand-ins of the named services."""
    async with AsyncExitStack() as stack:

        def make(
            models: ScriptedModels, *names: str, **more: Any
        ) -> tuple[WebSearch, dict[str, Service]]:
            services: dict[str, Service] = {}
            for name in names:
                services[name] = SERVICES[name](pages=pages)
                url = stack.enter_context(serve_in_thread(services[name].app)).url
                more |= {f"{name}_api_key": KEY, f"{name}_base_url": url}
            search = WebSearch(Settings(**more), models, Calls(), today=lambda: "2026-11-21")
            stack.push_async_callback(search.aclose)
            return search, services

        yield make
