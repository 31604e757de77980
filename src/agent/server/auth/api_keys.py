"""Identify callers by their keys, and read who may call from the settings."""

import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from langgraph_sdk.client import LangGraphClient
from starlette.requests import Request, cookie_parser

from agent.core.errors import ConfigurationError
from agent.core.redaction import hide
from agent.core.strings import is_plain_word
from agent.runs.engine import engine
from agent.server.auth.hosts import Host, parse_host, parse_origin
from agent.settings import AccessSettings, read_access_settings

COOKIE = "tanlu_key"
"""Where the page's sign-in keeps the key."""
OPEN_OWNER = ""
"""Everybody's name where no keys are set."""
STUDIO = "https://smith.langchain.com"
"""Its pages may call an open server on the developer's own machine."""
SHORTEST_KEY = 16
TOO_MANY = "too many wrong keys from this address; try again in a minute"
HEALTH_PATHS = frozenset({"/ok", "/healthz", "/readyz"})
"""What supervisors ask, under whatever name they know the server by."""
OPEN_PATHS = {
    "/", "/ok", "/app", "/app/", "/app/config.json", "/app/sign-in",
    "/app/sign-out", "/app/csp-report",
}  # fmt: skip
SHARED = "shared/"
"""Below it are pages that their owners share with whoever has the address."""
OPEN_FOLDERS = ("/app/files/", f"/{SHARED}")
_LONGEST_NAME = 64
"""What fits into a header: printable ASCII without spaces; a comma would end the entry."""


@dataclass(frozen=True)
class Access:
    """Hold who may call, by the settings; with a `problem` nobody may."""

    keys: Mapping[bytes, str] = field(default_factory=dict)
    """SHA-256 of a key → its owner's name."""
    hosts: frozenset[str] = frozenset()
    """`name` or `name:port`, as `str(Host)` writes them."""
    any_host: bool = False
    origins: frozenset[str] = frozenset()
    wrong_keys: int = 10
    """Different wrong keys a minute that one address may send."""
    header_seconds: float = 10
    waiting_connections: int = 256
    sharing_wanted: Literal["auto", "on", "off"] = "auto"
    upload_bytes: int = 50 << 20
    """Of a file that is given through the page; 0: none is taken."""
    owner_bytes: int = 1000 << 20
    memory: bool = False
    """Whether what a person prefers is kept."""
    problem: str = ""

    @property
    def open(self) -> bool:
        """Return whether nobody is asked for a key."""
        return not self.keys and not self.problem

    @property
    def sharing(self) -> bool:
        """Return whether answers may be shared, and what is shared can be read."""
        return self.sharing_wanted == "on" or (self.sharing_wanted == "auto" and self.open)

    @property
    def is_exposed(self) -> bool:
        """Return whether it may be called by other names than this machine's own."""
        return self.any_host or bool(self.hosts)

    @property
    def summary(self) -> str:
        """Return whom the server answers, in one line without any key or name."""
        if self.problem:
            return f"every request is refused until this is corrected: {self.problem}"
        if self.keys:
            return f"asks for a key; owners with one: {len(self.keys)}"
        if self.is_exposed:
            return "open to everybody who reaches it: TANLU_ALLOWED_HOSTS without TANLU_API_KEYS"
        return "open, to this machine only"

    def answers_to(self, host: Host) -> bool:
        """Return whether the server goes by this name."""
        if host.loopback or self.any_host:
            return True
        ports = (host.port,) if host.port is not None else (80, 443)
        written = {str(Host(host.name)), *(str(Host(host.name, port)) for port in ports)}
        return not written.isdisjoint(self.hosts)

    def owner_of(self, key: str) -> str | None:
        """Return the owner's name; the digest is looked up, so time tells nothing of the key."""
        return self.keys.get(key_digest(key))


@lru_cache(maxsize=1)
def access() -> Access:
    """Return the access of this process; never raises."""
    try:
        return read_access(read_access_settings())
    except ConfigurationError as error:
        return Access(problem=error.message)


def read_access(settings: AccessSettings) -> Access:
    """Read the access from settings; a ConfigurationError names the setting, never a key."""
    secret = settings.tanlu_api_keys
    keys = {} if secret is None else _keys(secret.get_secret_value())
    names = _parts(settings.tanlu_allowed_hosts)
    hosts = frozenset(str(_host(name)) for name in names if name != "*")
    origins = frozenset(_origin(text) for text in _parts(settings.tanlu_cors_origins))
    return Access(
        keys,
        hosts,
        "*" in names,
        origins,
        settings.tanlu_wrong_keys_per_minute,
        settings.tanlu_header_seconds,
        settings.tanlu_waiting_connections,
        settings.tanlu_sharing,
        settings.tanlu_upload_megabytes << 20,
        settings.tanlu_owner_megabytes << 20,
        settings.keeps_memory,
    )


def identify(headers: Mapping[str, str], access: Access) -> str | None:
    """Return the owner of a request's key, OPEN_OWNER in open mode; None where it has none.

    `headers` have names in lower case. `x-api-key` decides before `Authorization: Bearer`, and a
    header before the page's cookie: what was sent on purpose is not replaced by what is kept.
    """
    if access.open:
        return OPEN_OWNER
    key = sent_key(headers)
    return access.owner_of(key) if key else None


def sent_key(headers: Mapping[str, str]) -> str:
    """Return the key that decides, known or not; empty where none was sent."""
    key = headers.get("x-api-key", "").strip() or _bearer(headers.get("authorization", ""))
    return key or cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def needs_no_key(path: str) -> bool:
    """Return whether anybody may ask for a path, before a sign-in, too."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def _bearer(authorization: str) -> str:
    scheme, _, key = authorization.strip().partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def key_digest(key: str) -> bytes:
    """Return what stands for a key where it is looked up or remembered."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _keys(text: str) -> dict[bytes, str]:
    owners: dict[bytes, str] = {}
    for number, entry in enumerate(text.split(","), 1):
        name, _, key = (part.strip() for part in entry.partition(":"))
        hide(key or entry)
        if problem := _wrong(name, key):
            raise ConfigurationError("TANLU_API_KEYS", f"Entry {number}: {problem}")
        if name in owners.values() or key_digest(key) in owners:
            raise ConfigurationError("TANLU_API_KEYS", f"Entry {number}: name or key is used twice")
        owners[key_digest(key)] = name
    return owners


def _wrong(name: str, key: str) -> str:
    if not name or not key:
        return "must be name:key"
    is_plain = name.isascii() and all(sign.isalnum() or sign in "_.-" for sign in name)
    if not is_plain or len(name) > _LONGEST_NAME:
        return "the name must be 1 to 64 letters, digits, '.', '_' or '-'"
    if len(key) < SHORTEST_KEY:
        return f"the key must have {SHORTEST_KEY} characters or more"
    return (
        ""
        if is_plain_word(key) and "," not in key
        else "the key must be printable ASCII without spaces"
    )


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _host(text: str) -> Host:
    try:
        return Host(ipaddress.IPv6Address(text).compressed)
    except ValueError:
        pass
    try:
        host = parse_host(text if text.isascii() else text.encode("idna").decode())
    except UnicodeError:
        host = None
    if host is None:
        raise ConfigurationError(
            "TANLU_ALLOWED_HOSTS", f"must have names, name:port or *, not {text!r}"
        )
    return host


def _origin(text: str) -> str:
    origin = parse_origin(text) or parse_origin(text.removesuffix("/"))
    if origin is None:
        problem = f"must have origins such as https://studio.example.org, not {text!r}"
        raise ConfigurationError("TANLU_CORS_ORIGINS", problem)
    return str(origin)


_CARRIED = ("x-api-key", "authorization", "cookie")


def client_for(request: Request) -> LangGraphClient:
    """Return a client of the server's own API, as far as the caller of `request` may use it.

    The one place for access checks of what `serving` offers: everything it lists, reads, starts
    and cancels goes through the client returned here. With keys it is a caller like any other and
    carries the request's own; the in-process client of an open server passes by every rule.
    """
    if access().open:
        return engine().client(OPEN_OWNER)
    carried = {name: request.headers[name] for name in _CARRIED if name in request.headers}
    return engine().client_with(request.app, carried)
