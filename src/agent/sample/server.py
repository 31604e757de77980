"""Start the sample services of an offline process, once, at addresses of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from pydantic import SecretStr
from yarl import URL

from agent.sample.model.minimum import within_a_sentence
from agent.sample.model.recorded import is_recorded
from agent.sample.model.reply import SampleModel
from agent.sample.services import finance
from agent.sample.services.amap import AmapService
from agent.sample.services.filings import SecService
from agent.sample.services.gemini import GeminiService
from agent.sample.services.loopback import Background, Service
from agent.sample.services.pages import PagesService, sample_hosts
from agent.sample.services.scholar import OpenAlexService, SemanticScholarService, WikipediaService
from agent.sample.services.search import BochaService, SerperService, TavilyService
from agent.settings import Settings
from agent.texts import Language, say

KEY = "tanlu-sample-key"
SITE = "https://sample.tanlu.invalid"
"""Host of the links of made-up records; it leads nowhere."""
_CONTACT = "Tanlu sample sample@tanlu.invalid"


@dataclass(frozen=True)
class SampleServices:
    """Hold the running loopback services, and the settings that lead to them."""

    settings: Settings
    amap_url: str
    services: Mapping[str, Service]
    running: Background
    origins: dict[str, str]
    """Host of a sample page → the loopback origin that serves it."""
    forced: bool
    """True if offline was chosen, False if it is what is left without a key."""

    def notice(self, language: Language, looked_for: str) -> str:
        """Return the notice a reader must see before the first line."""
        return sample_notice(language, looked_for, forced=self.forced)

    def model_notice(self, question: str, language: Language) -> str:
        """Return where the answer to a question comes from: a recording, or no model at all."""
        return say("sample.recorded" if is_recorded(question) else "sample.no_model", language)

    def nothing_found(self, question: str, language: Language) -> str:
        """Return the answer to a question that the sample does not hold, which is small."""
        return say("sample.nothing", language, question=within_a_sentence(question))

    def stop(self) -> None:
        """End the services; their addresses are gone."""
        self.running.stop()


def sample_notice(language: Language, looked_for: str, *, forced: bool) -> str:
    """Return the notice that answers are from the sample; `forced` where that was chosen."""
    if forced:
        return say("sample.notice_forced", language)
    return say("sample.notice", language, looked_for=looked_for)


def start_sample_services(settings: Settings) -> SampleServices:
    """Start one application on loopback that speaks every protocol over the bundled sample."""
    services = sample_services()
    running = Background(application(services))
    running.start()
    origin = f"http://127.0.0.1:{running.port}"
    urls = {name: f"{origin}/{name}" for name in services}
    return SampleServices(
        settings=sample_settings(settings, urls),
        amap_url=urls["amap"],
        services=services,
        running=running,
        origins=dict.fromkeys(sample_hosts(), origin),
        forced=settings.model_configured,
    )


def sample_services() -> Mapping[str, Service]:
    """Build every service by its name."""
    return {
        "gemini": GeminiService(SampleModel(), key=KEY),
        "amap": AmapService(key=KEY),
        "tavily": TavilyService(key=KEY),
        "serper": SerperService(key=KEY),
        "bocha": BochaService(key=KEY),
        "wikipedia": WikipediaService(),
        "openalex": OpenAlexService(key=KEY),
        "semantic_scholar": SemanticScholarService(key=KEY),
        "sec": SecService(),
        "pages": PagesService(),
    }


def application(services: Mapping[str, Service]) -> web.Application:
    """Return all services as one: each below its name, the pages by the name of their host."""
    hosts = sample_hosts()
    for service in services.values():
        service.app.freeze()

    async def dispatch(request: web.Request) -> web.StreamResponse:
        name = request.path.split("/")[1]
        if request.host in hosts:
            return await services["pages"].app._handle(request)
        if name not in services:
            raise web.HTTPNotFound
        # A service knows its own addresses only, as when it stands alone.
        own = URL(request.raw_path.removeprefix(f"/{name}") or "/", encoded=True)
        return await services[name].app._handle(request.clone(rel_url=own))

    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", dispatch)
    return app


_KEYS = ("gemini", "amap_maps", "tavily", "serper", "bocha", "openalex", "semantic_scholar")
_NOT_ASKED = ("openai_api_key", "openai_base_url", "mineru_url", "tei_rerank_url", "rerank_url")
_SEARCHES = ("tavily", "serper", "bocha", "openalex", "semantic_scholar")


def sample_settings(settings: Settings, urls: dict[str, str]) -> Settings:
    """Return the operator's settings with every endpoint and key replaced by the sample's."""
    return settings.model_copy(
        update={
            **{f"{name}_api_key": SecretStr(KEY) for name in _KEYS},
            **{f"{name}_base_url": urls[name] for name in _SEARCHES},
            "google_gemini_base_url": urls["gemini"],
            # Another model, reranker, embedder or reader of PDF of the operator's is not asked.
            **dict.fromkeys(_NOT_ASKED),
            "embedding_model": "",
            "amap_qps": 1000.0,
            "model_rpm": 0,
            "wikipedia_user_agent": _CONTACT,
            "wikipedia_base_url": f"{urls['wikipedia']}/{{lang}}",
            "semantic_scholar_qps": 1000.0,
            "sec_user_agent": _CONTACT,
            "sec_edgar_qps": 1000.0,
            "sec_edgar_base_url": f"{urls['sec']}/{{host}}",
            # What the sample adds to the knowledge base stays out of the operator's own.
            "tanlu_data_dir": settings.tanlu_data_dir / "sample",
            "akshare_path": str(Path(finance.__file__).parent),
            "library_links_url": SITE,
        }
    )
