"""Search the web for a run: pick the service, fall back once, turn failures into gaps.

To add one: its file here, its line in REGISTRY, its settings (`<NAME>_API_KEY`, `_BASE_URL`,
`_DEFAULT_COUNT`), its name in `WebChoice`, and its stand-in in `sample/services/search.py`.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, ProviderError
from agent.core.faults import contained
from agent.evidence.types import Gap
from agent.models.client import ModelClient
from agent.search.bocha import BochaSearch
from agent.search.google import GoogleHits, GoogleSearch
from agent.search.hits import (
    LABELS,
    Endpoint,
    Hit,
    HitSearch,
    PageContent,
    SearchProvider,
    WebChoice,
    WebResult,
    WebTask,
    as_found,
    failure_gap,
    search_gap,
)
from agent.search.http import SearchHttp
from agent.search.rules import ANY, SearchRules, today_here
from agent.search.serper import SerperSearch
from agent.search.tavily import TavilySearch

REGISTRY: dict[str, type[HitSearch]] = {
    kind.name: kind for kind in (BochaSearch, TavilySearch, SerperSearch)
}


def key_variable(name: str) -> str:
    """Return the environment variable that configures a service."""
    return f"{name.upper()}_API_KEY"


def configured_services(settings: Any, http: SearchHttp, calls: Calls) -> dict[str, HitSearch]:
    """Return the configured services by name; settings are read by their names."""
    adapters: dict[str, HitSearch] = {}
    for name, kind in REGISTRY.items():
        endpoint = Endpoint(
            base_url=getattr(settings, f"{name}_base_url"),
            key=getattr(settings, f"{name}_api_key"),
            default_count=getattr(settings, f"{name}_default_count"),
            timeout=settings.search_timeout_seconds,
        )
        if endpoint.secret() or getattr(settings, f"{name}_keyless", False):
            adapters[name] = kind(http, calls, endpoint)
    return adapters


_PROBE = "weather today"


class RuledSearch:
    """Search a service under the rules of a run, on its asker's day."""

    def __init__(self, service: HitSearch, rules: SearchRules, today: str) -> None:
        self.name, self._service, self._rules, self._today = service.name, service, rules, today

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        """Return the hits that the rules allow; raise ProviderError."""
        return await self._service.search(
            query, meter=meter, count=count, rules=self._rules, today=self._today
        )


class WebSearch:
    """Search with the services that are configured.

    `settings` has, by name, each service's key, base URL and count, and the search time-out.
    """

    def __init__(
        self,
        settings: Any,
        models: ModelClient,
        calls: Calls,
        *,
        http: SearchHttp | None = None,
        today: Callable[[], str] = today_here,
    ) -> None:
        self._timeout: float = settings.search_timeout_seconds
        self.http = http or SearchHttp(timeout=self._timeout)
        self._models = models
        self._google = GoogleSearch(models)
        self._hits: dict[str, HitSearch] = configured_services(settings, self.http, calls)
        self._today = today

    async def research(self, task: WebTask, *, meter: Meter) -> WebResult:
        """Return the marked text of one query; every failure is a gap in it."""
        routes = self._routes(task.choice, task.model, task.rules)
        if not routes:
            return WebResult("", gaps=[self._missing(task)])
        gaps: list[Gap] = []
        for name, following in zip(routes, [*routes[1:], None], strict=True):
            try:
                with contained(name):
                    web_result = await self._by(name, task, meter)
            except BudgetExceeded as error:
                return WebResult("", gaps=[*gaps, failure_gap(task, name, error, text="failed")])
            except (ProviderError, ConfigurationError) as error:
                gaps.append(_failure_of(task, name, following, error))
            else:
                return _with_gaps(web_result, gaps)
        return WebResult("", gaps=gaps)

    def provider(
        self,
        choice: WebChoice = "auto",
        *,
        model: str,
        rules: SearchRules = ANY,
        today: str = "",
    ) -> SearchProvider:
        """Return a service that answers with hits; Google's by `model`, where that can search.

        `today` is the asker's day, without it this machine's. Raises ConfigurationError naming
        what to set.
        """
        routes = self._routes(choice, model, rules)
        if not routes:
            raise ConfigurationError("web_search", self._needs(choice))
        return self._provider(routes[0], model, rules, today)

    @property
    def can_extract(self) -> bool:
        """Return whether a configured service reads pages."""
        return isinstance(self._hits.get("tavily"), TavilySearch)

    async def extract(self, urls: Sequence[str], *, meter: Meter) -> list[PageContent]:
        """Return the texts of the readable pages; raise ProviderError, BudgetExceeded."""
        service = self._hits.get("tavily")
        if not isinstance(service, TavilySearch):
            raise ConfigurationError("web_search", f"needs {key_variable('tavily')} to read pages")
        return await service.extract(urls, meter=meter)

    async def health(self, research_model: str | None = None) -> list[dict[str, Any]]:
        """Return {provider, configured, works, message} for each service; probe configured ones.

        `works` is None where nothing was tried. Google is tried only with a `research_model`.
        """
        google = research_model is not None and self._models.is_google(research_model)
        reports = [await self._probe("google", research_model)] if google else []
        for name in REGISTRY:
            if name in self._hits:
                reports.append(await self._probe(name, research_model))
            else:
                reports.append(_report(name, False, None, f"{key_variable(name)} is not set"))
        return reports

    async def aclose(self) -> None:
        await self.http.aclose()

    def _routes(self, choice: WebChoice, model: str, rules: SearchRules = ANY) -> list[str]:
        """Return the services to try, at most two: a query falls back once.

        Where sites are ruled in or out, those come first that can search by them.
        """
        if choice == "off":
            return []
        google = ["google"] if self._models.is_google(model) else []
        if choice == "auto" and (rules.sites or rules.without):
            return [*self._hits, *google][:2]
        if choice == "auto":
            return [*google, *self._hits][:2]
        if choice == "google":
            return [*google, *self._hits][:2] if google else []
        return [choice] if choice in self._hits else []

    def _provider(
        self, name: str, model: str, rules: SearchRules = ANY, today: str = ""
    ) -> SearchProvider:
        if name == "google":
            return GoogleHits(self._google, model, today=today or self._today(), rules=rules)
        service = self._hits[name]
        return RuledSearch(service, rules, today) if rules else service

    async def _by(self, name: str, task: WebTask, meter: Meter) -> WebResult:
        if name == "google":
            return await self._google.research(task, meter=meter)
        hits = await self._hits[name].search(
            task.query, meter=meter, rules=task.rules, today=task.today
        )
        return replace(as_found(task, hits, provider=name), executed=[task.query])

    def _missing(self, task: WebTask) -> Gap:
        match task.choice:
            case "off":
                return search_gap(task, "web", "search_off")
            case "auto":
                return search_gap(
                    task, "web", "search_not_configured", variables=", ".join(_variables())
                )
            case "google":
                return search_gap(
                    task,
                    "google",
                    "search_not_configured",
                    text="google_model_needed",
                    model=task.model,
                )
        return search_gap(
            task, task.choice, "search_key_missing", variables=key_variable(task.choice)
        )

    def _needs(self, choice: WebChoice) -> str:
        if choice in REGISTRY:
            return f"needs {key_variable(choice)} for {choice}"
        if choice == "google":
            return "needs a research model of Google's and GEMINI_API_KEY for google"
        return "is off" if choice == "off" else f"is not configured; set {', '.join(_variables())}"

    async def _probe(self, name: str, model: str | None) -> dict[str, Any]:
        limits = Limits(
            max_searches=5,
            max_model_calls=10,
            max_map_calls=0,
            max_run_tokens=100_000,
            max_run_seconds=self._timeout,
            answer_seconds=0,
        )
        # A turn of its own, so that no earlier probe's reply is taken for this one's.
        meter = Budget(f"probe-{uuid.uuid4().hex}", limits).meter()
        try:
            hits = await self._provider(name, model or "").search(_PROBE, meter=meter, count=1)
        except AgentError as error:
            return _report(name, True, False, error.message)
        return _report(name, True, True, "answers" if hits else "answers, without results")


def _variables() -> list[str]:
    return ["GEMINI_API_KEY", *(key_variable(name) for name in REGISTRY)]


def _report(name: str, is_configured: bool, works: bool | None, message: str) -> dict[str, Any]:
    return {
        "provider": name,
        "configured": is_configured,
        "works": works,
        "message": message,
    }


def _failure_of(task: WebTask, name: str, following: str | None, error: AgentError) -> Gap:
    if following is None:
        return failure_gap(task, name, error, text="failed")
    return failure_gap(task, name, error, text="fallback", other=LABELS[following])


def _with_gaps(web_result: WebResult, gaps: list[Gap]) -> WebResult:
    """Return the findings of a service that stood in for those that left these gaps."""
    recovered = [Gap(**{**gap, "recovered": True}) for gap in gaps] if web_result.text else gaps
    return replace(web_result, gaps=[*recovered, *web_result.gaps])
