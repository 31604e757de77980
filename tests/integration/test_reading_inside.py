"""No URL, redirect, name server or proxy leads the reader inside: a server there counts hits."""

import asyncio
import socket
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import AgentError, ProviderUnavailable, UnsafeUrl
from agent.reading import fetch, guard
from agent.reading.fetch import Fetcher, FetchLimits
from agent.reading.guard import AddressGuard
from tests.support.hostile_urls import HOSTILE
from tests.support.meters import meter
from tests.support.ports import free_port
from tests.support.reading import (  # noqa: F401 - fixtures
    Outside,
    inside_fixture,
    names_fixture,
    outside_fixture,
    strange_pages,
)

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2", "::1"])


def open_to_ports(port: int) -> Fetcher:
    """Nothing but its guard keeps this fetcher from the server on that port."""
    return Fetcher(
        Calls(), FetchLimits(respect_robots=False), guard=AddressGuard(ports=(80, 443, port))
    )


async def test_the_server_inside_counts_who_comes_in(inside: Outside) -> None:
    await inside.fetcher().get(inside.url("/"), meter=meter())
    assert inside.asked() == ["/"]


async def test_no_hostile_url_reaches_the_server_inside(inside: Outside, names: list[str]) -> None:
    fetcher, port = open_to_ports(inside.running.port), str(inside.running.port)
    wrong = {}
    for url in HOSTILE:
        try:
            await fetcher.get(url.replace("{p}", port), meter=meter())
            wrong[url] = "was read"
        except UnsafeUrl:
            pass
        except AgentError as error:
            wrong[url] = repr(error)
    assert wrong == {}
    assert inside.asked(robots=True) == []
    assert "mixed.tanlu-test.com" in names


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_reaches_the_server_inside(
    outside: Outside, inside: Outside, names: list[str], status: int
) -> None:
    port = inside.running.port
    fetcher = outside.fetcher(ports=(port,), respect_robots=False)
    hostile = [url for url in HOSTILE if "://" in url and url.isprintable() and len(url) < 1000]
    assert len(hostile) > 90
    for url in hostile:
        led = "".join(f"%{byte:02x}" for byte in url.replace("{p}", str(port)).encode())
        with pytest.raises(AgentError):
            await fetcher.get(outside.url(f"/to/{status}?url={led}"), meter=meter())
    assert len(outside.asked()) >= len(hostile)
    assert inside.asked(robots=True) == []


async def test_robots_do_not_lead_inside_either(outside: Outside, inside: Outside) -> None:
    outside.pages.fail(
        "status",
        status=302,
        times=None,
        headers={"Location": inside.url("/")},
        match=lambda request, body: request.path == "/robots.txt",
    )
    fetcher, url = outside.fetcher(ports=(inside.running.port,)), outside.put("/a", b"words")
    with pytest.raises(UnsafeUrl):
        await fetcher.get(url, meter=meter())
    assert inside.asked(robots=True) == []


async def test_a_page_that_refreshes_to_the_inside_is_only_text(
    outside: Outside, inside: Outside
) -> None:
    refresh = f'<meta http-equiv="refresh" content="0;url={inside.url("/")}"><p>words here</p>'
    url = outside.put("/a", refresh.encode())
    await outside.reader().read(url, meter=meter())
    assert inside.asked(robots=True) == []


@pytest.fixture
def changing_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A name that is a public address when it is checked and this machine ever after."""
    given: list[str] = []

    def lookup(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        address = "127.0.0.1" if given else "127.0.0.2"
        given.append(host.decode() if isinstance(host, bytes) else str(host))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(guard, "is_public", lambda address: str(address) == "127.0.0.2")
    return given


@pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2")
async def test_a_name_that_changes_after_the_check_does_not_change_the_connection(
    inside: Outside, changing_names: list[str]
) -> None:
    port = inside.running.port
    with strange_pages("127.0.0.2", port) as public:
        public.put("/", b"public words")
        url = f"http://rebinding.tanlu-test.com:{port}/"
        page = await open_to_ports(port).get(url, meter=meter())
        assert page.body == b"public words"
        assert public.pages.requests[0].headers["Host"] == f"rebinding.tanlu-test.com:{port}"
        assert changing_names == ["rebinding.tanlu-test.com"]
        with pytest.raises(UnsafeUrl):
            await open_to_ports(port).get(url, meter=meter())
    assert inside.asked(robots=True) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2")
async def test_a_name_that_changes_between_robots_and_page_is_refused(
    inside: Outside, changing_names: list[str]
) -> None:
    port = inside.running.port
    with strange_pages("127.0.0.2", port) as public:
        public.put("/", b"public words")
        fetcher = Fetcher(Calls(), guard=AddressGuard(ports=(port,)))
        with pytest.raises(UnsafeUrl):
            await fetcher.get(f"http://rebinding.tanlu-test.com:{port}/", meter=meter())
        assert public.asked(robots=True) == []
    assert inside.asked(robots=True) == []


@pytest.mark.parametrize("spelling", [str.upper, str.lower])
async def test_proxies_are_not_used(
    outside: Outside, inside: Outside, monkeypatch: pytest.MonkeyPatch, spelling: Any
) -> None:
    for kind in ("http", "https", "all"):
        monkeypatch.setenv(spelling(f"{kind}_proxy"), inside.url(""))
    page = await outside.fetcher().get(outside.put("/a", b"words"), meter=meter())
    assert page.body == b"words"
    assert inside.asked(robots=True) == []


async def test_where_only_a_proxy_would_do_the_error_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("HTTP_PROXY", "http://user:a-secret-word@127.0.0.1:9")
    with pytest.raises(ProviderUnavailable) as caught:
        await Fetcher(Calls(), guard=AddressGuard(allow=(place,))).get(
            f"http://{place}/", meter=meter()
        )
    assert caught.value.code == "proxy"
    assert "a-secret-word" not in str(caught.value)


async def test_langchains_local_switch_opens_nothing(
    inside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGCHAIN_ENV", "local_test")
    with pytest.raises(UnsafeUrl):
        await open_to_ports(inside.running.port).get(inside.url("/"), meter=meter())
    assert inside.asked(robots=True) == []


def certificate(folder: Path, name: str) -> Path:
    """A certificate for that host name, signed by itself, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(*form, serialization.NoEncryption())
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


async def _say_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = await reader.readuntil(b"\r\n\r\n")
    body = next(line for line in asked.split(b"\r\n") if line.lower().startswith(b"host:"))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


async def test_tls_is_checked_for_the_name_though_the_address_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, seen = "secure.tanlu-test.com", []
    pem = certificate(tmp_path, name)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pem)
    serving.sni_callback = lambda _, asked, __: seen.append(asked)
    trusting = ssl.create_default_context(cafile=str(pem))
    monkeypatch.setattr(fetch, "authorities", lambda: trusting)

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server = await asyncio.start_server(_say_hello, "127.0.0.1", 0, ssl=serving)
    async with server:
        port = server.sockets[0].getsockname()[1]
        allowed = AddressGuard(allow=(f"{name}:{port}", f"other.com:{port}"), resolve=resolve)
        fetcher = Fetcher(Calls(), FetchLimits(respect_robots=False), guard=allowed)
        page = await fetcher.get(f"https://{name}:{port}/", meter=meter())
        assert (page.body, seen) == (f"Host: {name}:{port}".encode(), [name])
        with pytest.raises(ProviderUnavailable, match="takes no connection"):
            await fetcher.get(f"https://other.com:{port}/", meter=meter())
