"""Every search service: redirects, proxies, base addresses, event loops and sizes."""

import asyncio
import json

import pytest
from aiohttp import web

from agent.core.errors import ConfigurationError, MalformedReply, ProviderUnavailable
from agent.search.http import SearchHttp
from tests.contract.search_bench import Bench, bench_fixture, failure, running_fixture
from tests.support.meters import meter
from tests.support.served import serve_in_thread

__all__ = ["bench_fixture", "running_fixture"]


async def test_an_address_where_nobody_is_is_told_from_a_service_that_fails(bench: Bench) -> None:
    error = await failure(bench.provider(**{f"{bench.name}_base_url": "http://127.0.0.1:9"}))
    assert error.code == "unreachable"


async def test_a_redirect_is_not_followed(bench: Bench) -> None:
    elsewhere = {"Location": f"{bench.url}/elsewhere"}
    bench.service.fail("status", status=302, headers=elsewhere, times=None)
    error = await failure(bench.provider())
    assert f"{bench.name.upper()}_BASE_URL" in str(error)
    assert len(bench.service.requests) == 1


async def test_loopback_never_goes_through_a_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert await bench.provider().search("故宫", meter=meter())
    named = bench.url.replace("127.0.0.1", "localhost")
    provider = bench.provider(**{f"{bench.name}_base_url": named})
    assert await provider.search("故宫", meter=meter())


async def test_other_hosts_go_through_the_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.url)
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid/"})
    assert await provider.search("故宫", meter=meter())
    assert bench.service.requests[0].headers["Host"] == "search.invalid"


async def test_an_unusable_proxy_is_one_line_that_names_the_variable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks4://user:proxy-password@127.0.0.1:9")
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid"})
    with pytest.raises(ConfigurationError, match="ALL_PROXY") as caught:
        await provider.search("故宫", meter=meter())
    assert "proxy-password" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_proxy_of_no_use_does_not_keep_a_search_on_this_machine_from_working(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    assert await bench.provider().search("故宫", meter=meter())


async def test_a_proxy_is_read_as_the_model_client_reads_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"  {bench.url.removeprefix('http://')} ")
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid/"})
    assert await provider.search("故宫", meter=meter())
    monkeypatch.setenv("HTTP_PROXY", "socks://127.0.0.1:9")
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid/"})
    assert isinstance(await failure(provider), ProviderUnavailable)


async def test_a_dead_socks_proxy_is_unavailable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid"})
    assert isinstance(await failure(provider), ProviderUnavailable)


@pytest.mark.parametrize("base", ["ftp://example.com", "no address", "http://"])
async def test_an_unusable_base_url_names_its_variable(bench: Bench, base: str) -> None:
    error = await failure(bench.provider(**{f"{bench.name}_base_url": base}))
    assert error.code == "search_misconfigured"
    assert f"{bench.name.upper()}_BASE_URL" in str(error)


async def test_clients_of_several_loops_share_one_http(bench: Bench) -> None:
    provider = bench.provider()

    def elsewhere() -> int:
        async def search() -> int:
            found = await provider.search("故宫", meter=meter())
            # The loop ends here, so its connections have to be closed on it.
            await bench.http.aclose()
            return len(found)

        return asyncio.run(search())

    assert await asyncio.to_thread(elsewhere) == 8
    assert await provider.search("故宫", meter=meter())


async def test_the_size_limit_holds_for_the_decoded_reply() -> None:
    async def bomb(_: web.Request) -> web.Response:
        response = web.Response(text=json.dumps({"x": "0" * 5_000_000}))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    app = web.Application()
    app.router.add_post("/", bomb)
    http = SearchHttp()
    with serve_in_thread(app) as server:
        with pytest.raises(MalformedReply) as caught:
            await http.post("tavily", server.url + "/", {})
        await http.aclose()
    assert caught.value.code == "too_large"
