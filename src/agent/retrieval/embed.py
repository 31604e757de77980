"""The embedder of a process, by EMBEDDING_MODEL; none unless it is set. Nothing is downloaded."""

from typing import Any

from agent.calls import Calls
from agent.errors import ConfigurationError
from agent.models.google import DEFAULT_URL
from agent.retrieval.embed_google import DIMENSIONS, GoogleEmbedder
from agent.retrieval.embed_http import OpenAIEmbedder, TeiEmbedder
from agent.retrieval.embedder import BatchEmbedder, ModelChoice
from agent.retrieval.remote import Server

_OPENAI_URL = "https://api.openai.com/v1"
_SERVICES = {"google": "google", "gemini": "google", "openai": "openai", "tei": "tei"}
_VARIABLE = "EMBEDDING_MODEL"


def build_embedder(settings: Any, calls: Calls) -> BatchEmbedder | None:
    """The embedder that is configured, or None; raises ConfigurationError naming what to set."""
    if not settings.embedding_model.strip():
        return None
    choice = chosen(settings.embedding_model, settings.embedding_dimensions)
    match choice.service:
        case "google":
            return _google(choice, settings, calls)
        case "tei":
            return _tei(choice, settings, calls)
    return _openai(choice, settings, calls)


def chosen(model: str, dimensions: int = 0) -> ModelChoice:
    """The parts of `service:name`; a bare name is Google's, and a TEI server needs no name."""
    prefix, colon, name = model.strip().partition(":")
    if not colon:
        prefix, name = "google", prefix
    service = _SERVICES.get(prefix.lower())
    if service is None:
        raise ConfigurationError(_VARIABLE, "must be google:NAME, openai:NAME or tei:NAME")
    name = name.strip().removeprefix("models/")
    if not name and service != "tei":
        raise ConfigurationError(_VARIABLE, f"{service}: needs the name of a model")
    if service == "google":
        return ModelChoice(service, name, dimensions or DIMENSIONS)
    # A TEI server cannot be asked for fewer; the number is then what its vectors must have.
    return ModelChoice(service, name or "default", dimensions or None)


def _google(choice: ModelChoice, settings: Any, calls: Calls) -> GoogleEmbedder:
    if (key := settings.google_key) is None:
        raise ConfigurationError("GEMINI_API_KEY", f"is not set; {_VARIABLE} needs it")
    url = (settings.google_gemini_base_url or DEFAULT_URL).rstrip("/")
    timeout = settings.embedding_timeout_seconds
    return GoogleEmbedder(choice, calls, url=url, key=key, timeout=timeout)


def _openai(choice: ModelChoice, settings: Any, calls: Calls) -> OpenAIEmbedder:
    own = settings.embedding_base_url
    base = own or settings.openai_base_url or _OPENAI_URL
    # A key goes only to the address it was given for.
    key = settings.embedding_api_key or (None if own else settings.openai_api_key)
    variable = "EMBEDDING_BASE_URL" if own else "OPENAI_BASE_URL"
    url = base.rstrip("/") + "/embeddings"
    timeout = settings.embedding_timeout_seconds
    return OpenAIEmbedder(choice, calls, Server("embed:openai", variable, url, key, timeout))


def _tei(choice: ModelChoice, settings: Any, calls: Calls) -> TeiEmbedder:
    if not settings.tei_embed_url:
        raise ConfigurationError("TEI_EMBED_URL", f"is not set; {_VARIABLE} needs it")
    url = settings.tei_embed_url.rstrip("/").removesuffix("/embed") + "/embed"
    timeout = settings.embedding_timeout_seconds
    server = Server("embed:tei", "TEI_EMBED_URL", url, settings.tei_api_key, timeout)
    return TeiEmbedder(choice, calls, server)
