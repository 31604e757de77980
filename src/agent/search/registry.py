"""The services that answer with hits, in the order `auto` takes them.

To add one: its file here, its line in REGISTRY, its settings (`<NAME>_API_KEY`, `_BASE_URL`,
`_DEFAULT_COUNT`), its name in `WebChoice`, and its stand-in in `offline/search.py`.
"""

from typing import Any

from agent.calls import Calls
from agent.search.bocha import BochaSearch
from agent.search.hits import Endpoint, HitSearch
from agent.search.http import SearchHttp
from agent.search.serper import SerperSearch
from agent.search.tavily import TavilySearch

REGISTRY: dict[str, type[HitSearch]] = {
    kind.name: kind for kind in (BochaSearch, TavilySearch, SerperSearch)
}


def key_variable(name: str) -> str:
    """The environment variable that configures a service."""
    return f"{name.upper()}_API_KEY"


def configured(settings: Any, http: SearchHttp, calls: Calls) -> dict[str, HitSearch]:
    """The services that have what they need, by name; settings are read by their names."""
    found: dict[str, HitSearch] = {}
    for name, kind in REGISTRY.items():
        endpoint = Endpoint(
            base_url=getattr(settings, f"{name}_base_url"),
            key=getattr(settings, f"{name}_api_key"),
            default_count=getattr(settings, f"{name}_default_count"),
            timeout=settings.search_timeout_seconds,
        )
        if endpoint.secret() or getattr(settings, f"{name}_keyless", False):
            found[name] = kind(http, calls, endpoint)
    return found
