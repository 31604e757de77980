"""Define the operator's secrets and endpoints, one field per line of .env.example."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import platformdirs
from dotenv import load_dotenv, set_key
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agent.core.errors import ConfigurationError
from agent.core.outside import parse_json
from agent.core.private_files import FILE, private_folder
from agent.core.redaction import hide
from agent.core.strings import is_plain_word

PMTILES = "pmtiles:"
"""Begins MAP_TILES where it names a file of vector tiles."""
_Read = TypeVar("_Read", bound="AccessSettings")


class _Variables(BaseSettings):
    """Read variables as people write them: blanks around a value do not count."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, values: dict[str, Any]) -> dict[str, Any]:
        bare = {n: v.strip() if isinstance(v, str) else v for n, v in values.items()}
        # Blanks where keys belong are a mistake: as if unset, they would open the server.
        kept = {name: values[name] for name in ("tanlu_api_keys",) if name in values}
        return {name: value for name, value in bare.items() if value != ""} | kept

    @field_validator("*")
    @classmethod
    def _possible_key(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse a key that no service has given out, before one is asked."""
        is_key = isinstance(value, SecretStr) and str(info.field_name).endswith("_api_key")
        if is_key and not is_plain_word(value.get_secret_value()):
            raise PydanticCustomError("key_characters", "has characters that no key has")
        return value


class AccessSettings(_Variables):
    """Decide who may call; apart, because a mistake in any other setting must not decide that."""

    tanlu_api_keys: SecretStr | None = None
    """`name:key,name:key`: every route then needs a key, and what is made has an owner."""
    tanlu_cors_origins: str = ""
    """Comma-separated origins whose pages may call this server."""
    tanlu_allowed_hosts: str = ""
    """Comma-separated names this server answers to besides loopback; `*` is any."""
    tanlu_wrong_keys_per_minute: int = Field(10, ge=1, le=1000)
    """Different wrong keys that one address may send, before it waits."""
    tanlu_runs_per_minute: int = Field(0, ge=0, le=100_000)
    """Runs that an owner may begin in a minute; 0 is unlimited, as for the two that follow."""
    tanlu_open_runs: int = Field(0, ge=0, le=100_000)
    """Threads of an owner on which a run is under way or waits."""
    tanlu_daily_usd: float = Field(0, ge=0, le=1_000_000)
    """What an owner's runs may cost a day (UTC) before no further one is begun."""
    tanlu_audit_log: Path | None = None
    """A file that gets a line for each run, sign-in, export, share and deletion."""
    tanlu_sharing: Literal["auto", "on", "off"] = "auto"
    """Whether an owner may share an answer with whoever has its address; auto: without keys."""
    tanlu_memory: bool = False
    """Whether a person may have what they prefer kept and used, which each switches on."""
    tanlu_upload_megabytes: int = Field(50, ge=0, le=1000)
    """Of a file that is given through the page; 0: none is taken."""
    tanlu_owner_megabytes: int = Field(1000, ge=1, le=1_000_000)
    """Of all files that an owner has given."""
    tanlu_header_seconds: float = Field(10, gt=0, le=600)
    """For the head of a request; a connection that takes longer is closed."""
    tanlu_waiting_connections: int = Field(256, ge=1, le=100_000)
    """Connections that may be without one at once; further ones have a second."""

    @property
    def keeps_memory(self) -> bool:
        """Return whether what a person prefers is kept: not where strangers would share one."""
        has_owners = self.tanlu_api_keys is not None
        return self.tanlu_memory and (has_owners or not self.tanlu_allowed_hosts)

    def model_post_init(self, _: Any) -> None:
        for value in self.__dict__.values():
            if isinstance(value, SecretStr):
                hide(value.get_secret_value())


class RetentionSettings(_Variables):
    """Decide what is kept of threads; apart, as a server reads it whatever else is wrong."""

    tanlu_keep_history: bool = False
    """Keep a checkpoint of each turn and the one before it: for Studio's time travel."""
    tanlu_keep_days: int = Field(0, ge=0, le=36_500)
    """Days after which a thread that nobody worked on is deleted; 0 keeps all."""


class Settings(AccessSettings, RetentionSettings):
    """Read from the environment; empty values count as unset."""

    gemini_api_key: SecretStr | None = None
    google_api_key: SecretStr | None = None
    google_gemini_base_url: str | None = None
    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    openai_extra_body: Annotated[dict[str, Any] | None, NoDecode] = None
    structured_method: Literal["auto", "json_schema", "function_calling", "json_mode", "prompt"] = (
        "auto"
    )
    tanlu_model: str | None = None
    model_rpm: int = Field(0, ge=0, le=100_000)
    """Model calls a minute, for the whole process; 0 is unlimited."""
    model_timeout_seconds: float = Field(60, gt=0, le=3600)
    model_concurrency: int | None = Field(None, ge=0, le=1000)
    """Model calls at once, for the whole process; 0 is unlimited, None fits the endpoint."""
    model_reply_characters: int = Field(400_000, ge=20_000, le=10_000_000)
    """Of one reply with its thoughts: three times what the longest needs; one of more runs away."""

    map_servers: str = "amap,osm"
    """Comma-separated, the first that covers a place is asked: Amap in China, osm elsewhere; by key
    tencent in China, mapbox elsewhere."""
    amap_maps_api_key: SecretStr | None = None
    amap_qps: float = Field(2.5, gt=0, le=1000)
    amap_daily_search_limit: int = Field(0, ge=0)
    """Place searches a day we allow ourselves; 0 leaves it to Amap."""
    amap_mcp_url: str | None = Field(None, pattern=r"^https?://[^\s?#]+$")
    """Amap's own hosted server, reached by HTTP, in place of the pinned package."""
    amap_mcp_command: Annotated[list[str] | None, NoDecode] = None
    amap_mcp_env: str = ""
    """Comma-separated names of further variables the map server's process gets."""
    tencent_map_key: SecretStr | None = None
    tencent_mcp_url: str = Field("https://mcp.map.qq.com/mcp", pattern=r"^https?://[^\s?#]+$")
    mapbox_access_token: SecretStr | None = None
    mapbox_mcp_url: str = Field("https://mcp.mapbox.com/mcp", pattern=r"^https?://[^\s?#]+$")
    nominatim_base_url: str = "https://nominatim.openstreetmap.org"
    overpass_base_url: str = "https://overpass-api.de/api/interpreter"
    osrm_base_url: str = "https://routing.openstreetmap.de/routed-{profile}"
    """{profile} is foot, bike or car."""
    open_meteo_base_url: str = "https://api.open-meteo.com"
    osm_qps: float = Field(1, gt=0, le=1000)
    """Calls a second to each of the four; the public ones allow one."""
    map_start_seconds: float = Field(20, gt=0, le=600)
    map_call_seconds: float = Field(15, gt=0, le=600)
    map_idle_seconds: float = Field(300, gt=0)

    tavily_api_key: SecretStr | None = None
    tavily_base_url: str = "https://api.tavily.com"
    tavily_default_count: int = Field(8, ge=1, le=20)
    tavily_keyless: bool = False
    serper_api_key: SecretStr | None = None
    serper_base_url: str = "https://google.serper.dev"
    serper_default_count: int = Field(8, ge=1, le=20)
    bocha_api_key: SecretStr | None = None
    bocha_base_url: str = "https://api.bochaai.com"
    bocha_default_count: int = Field(8, ge=1, le=50)
    search_timeout_seconds: float = Field(20, gt=0, le=600)

    tanlu_contact: str | None = Field(None, pattern=r"^[\x21-\x7e]{3,150}$")
    """Whom services may turn to that ask for it: an address or a mailbox of whoever runs this."""
    wikipedia_user_agent: str | None = Field(None, pattern=r"^[\x20-\x7e]{1,200}$")
    """Names the program and a contact; without them the service refuses."""
    wikipedia_base_url: str = "https://{lang}.wikipedia.org"
    wikipedia_default_count: int = Field(5, ge=1, le=20)
    openalex_api_key: SecretStr | None = None
    openalex_base_url: str = "https://api.openalex.org"
    openalex_default_count: int = Field(10, ge=1, le=50)
    semantic_scholar_api_key: SecretStr | None = None
    semantic_scholar_base_url: str = "https://api.semanticscholar.org"
    semantic_scholar_default_count: int = Field(10, ge=1, le=100)
    semantic_scholar_qps: float = Field(1, gt=0, le=100)
    sec_user_agent: str | None = Field(None, pattern=r"^[\x20-\x7e]{1,200}$")
    """`Company Name me@example.org`; without it the SEC refuses."""
    sec_edgar_base_url: str = "https://{host}.sec.gov"
    sec_edgar_default_count: int = Field(5, ge=1, le=20)
    sec_edgar_qps: float = Field(8, gt=0, le=10)
    """Beyond ten a second the SEC shuts an address out for ten minutes."""
    akshare_timeout_seconds: float = Field(40, gt=0, le=600)
    akshare_path: str | None = None
    """A folder the library is taken from, if it is not installed."""
    library_links_url: str | None = None
    """URL where links of filings, statements and papers lead, instead of to their publishers."""

    respect_robots: bool = True
    reader_user_agent: str = Field("tanlu-reader/0.1", pattern=r"^[\x20-\x7e]{1,200}$")
    reader_timeout_seconds: float = Field(20, gt=0, le=600)
    reader_max_bytes: int = Field(8 << 20, ge=1024, le=1 << 30)
    """Of one page, decompressed."""
    silent_host_seconds: float = Field(300, ge=0, le=86_400)
    """For which a host that is not found or takes no connection is not asked again."""
    paper_timeout_seconds: float = Field(60, gt=0, le=3600)
    paper_max_bytes: int = Field(50 << 20, ge=1024, le=1 << 30)
    """Of one downloaded PDF."""

    workspace_megabytes: float = Field(50, gt=0, le=10_000)
    """What is kept of all that one question has read."""

    tei_rerank_url: str | None = None
    rerank_url: str | None = None
    """The full address, path included, of a service in the shape of Jina's."""
    rerank_api_key: SecretStr | None = None
    rerank_model: str = ""
    rerank_timeout_seconds: float = Field(15, gt=0, le=600)
    embedding_model: str = Field("", max_length=200)
    """google:NAME, openai:NAME or tei:NAME; empty: no vectors."""
    embedding_dimensions: int = Field(0, ge=0, le=8192)
    """0: 768 with Google's, else the model's own."""
    embedding_base_url: str | None = None
    embedding_api_key: SecretStr | None = None
    """Address and key of openai:… embeddings where they are not OPENAI_*."""
    embedding_timeout_seconds: float = Field(60, gt=0, le=600)
    tei_embed_url: str | None = None
    tei_api_key: SecretStr | None = None

    mineru_url: str | None = None
    """A MinerU server that reads PDF files of the knowledge base; pypdf where it is not set."""
    mineru_api_key: SecretStr | None = None
    knowledge_store: Literal["sqlite", "chroma"] = "sqlite"
    chroma_url: str | None = None
    """A Chroma server; without it Chroma keeps a folder under the data directory."""

    code_sandbox: Literal["auto", "process", "monty", "off"] = "auto"
    code_wall_seconds: float = Field(3, gt=0, le=600)
    code_cpu_seconds: float = Field(2, gt=0, le=600)
    code_memory_mb: int = Field(128, ge=16, le=65_536)
    code_output_bytes: int = Field(65_536, ge=256, le=1 << 24)
    code_parallel: int = Field(2, ge=1, le=64)

    map_tiles: str = "osm"
    """The page's streets: `none`, `osm`, `tianditu`, or `pmtiles:` and a path or an address."""
    tianditu_key: str | None = Field(None, pattern=r"^[0-9a-fA-F]{8,64}$")
    """A key for browsers: the page hands it out with the addresses of the tiles."""
    place_photos: bool = True
    """Show places' photos on the page, which their hosts then see being fetched."""

    tanlu_mode: Literal["auto", "online", "offline"] = "auto"
    database_url: SecretStr | None = None
    """Postgres for threads, runs and paid replies, in place of files in the data directory."""
    tanlu_redis_url: SecretStr | None = None
    """Redis that all processes book MODEL_RPM, AMAP_QPS and the other limits in."""
    tanlu_otlp_endpoint: str | None = None
    """A collector's address up to /v1/traces, that traces and metrics are sent to."""
    tanlu_otlp_headers: SecretStr | None = None
    """`name=value,name=value`: what the collector wants to let them in."""
    tanlu_data_dir: Path = Field(default_factory=lambda: platformdirs.user_data_path("tanlu"))
    tanlu_log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("tanlu_log_level", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("openai_base_url", "google_gemini_base_url", "embedding_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None or _is_address(value):
            return value
        raise PydanticCustomError(
            "no_address", "must begin with http:// or https://, without blanks"
        )

    @field_validator("map_tiles")
    @classmethod
    def _known_tiles(cls, value: str) -> str:
        if value == "off":
            return "none"
        if value in ("none", "osm", "tianditu") or value.removeprefix(PMTILES) not in ("", value):
            return value
        expected = "'none', 'osm', 'tianditu', 'pmtiles:PATH' / 'pmtiles:https://…'"
        raise PydanticKnownError("literal_error", {"expected": expected})

    @field_validator("amap_mcp_command", mode="before")
    @classmethod
    def _command_list(cls, value: Any) -> Any:
        parsed = _json(value, "a JSON list of strings")
        if parsed is not None and not (
            isinstance(parsed, list) and parsed and all(isinstance(p, str) for p in parsed)
        ):
            raise ValueError("must be a JSON list of strings")
        return parsed

    @field_validator("openai_extra_body", mode="before")
    @classmethod
    def _extra_body(cls, value: Any) -> Any:
        parsed = _json(value, "a JSON object")
        if parsed is not None and not isinstance(parsed, dict):
            raise ValueError("must be a JSON object")
        return parsed

    @property
    def memory(self) -> Path | SecretStr:
        """Return the folder or the database of threads, runs and paid replies."""
        return self.database_url or self.tanlu_data_dir

    @property
    def google_key(self) -> SecretStr | None:
        """Return GEMINI_API_KEY, or GOOGLE_API_KEY where it is not set."""
        return self.gemini_api_key or self.google_api_key

    def key_name(self, provider: str) -> str:
        """Return the variable that the key of a provider's models comes from."""
        if provider != "google":
            return f"{provider.upper()}_API_KEY"
        return "GEMINI_API_KEY" if self.gemini_api_key else "GOOGLE_API_KEY"

    @property
    def model_configured(self) -> bool:
        return bool(self.google_key or self.openai_api_key or self.openai_base_url)

    @property
    def mode(self) -> Literal["online", "offline"]:
        """Return the mode; `auto` is offline only when no model is configured."""
        if self.tanlu_mode == "auto":
            return "online" if self.model_configured else "offline"
        return self.tanlu_mode


def _json(value: Any, expected: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        raise ValueError(f"must be {expected}") from None


def read_settings(**overrides: Any) -> Settings:
    """Read the settings from the environment; raise ConfigurationError that names the variable."""
    return _read(Settings, overrides)


def read_access_settings() -> AccessSettings:
    """Read the settings of who may call, whatever else is wrong."""
    return _read(AccessSettings, {})


def _read(kind: type[_Read], overrides: dict[str, Any]) -> _Read:
    try:
        return kind(**overrides)
    except ValidationError as error:
        raise ConfigurationError.of(error, str.upper) from None


def user_env_file() -> Path:
    """Return the file of `tanlu config`, which counts in every folder."""
    return platformdirs.user_config_path("tanlu") / "env"


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        # Reading a wrong port raises, too.
        is_whole = bool(parts.hostname) and parts.port != 0 and not any(map(str.isspace, text))
        return is_whole and text.startswith(("http://", "https://"))
    except ValueError:
        return False


def keep_user_setting(name: str, value: str) -> None:
    """Write a setting to the user's own file, which only they can read. Raises OSError."""
    path = user_env_file()
    private_folder(path.parent)
    path.touch(mode=FILE)
    path.chmod(FILE)
    set_key(path, name, value)
    path.chmod(FILE)


def load_env_file(path: Path = Path(".env")) -> None:
    """Read `.env` into the process environment, which wins. Tests never call this."""
    if path.is_file():
        load_dotenv(path, override=False)
