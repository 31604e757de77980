"""The fetcher against a server that gives too much, too slowly, elsewhere, or nothing."""

import asyncio
import time

import pytest

from agent.core.calls import Calls
from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    RateLimited,
)
from agent.reading.fetch import Fetcher, FetchLimits, HostLimits
from agent.reading.guard import AddressGuard
from tests.support.meters import meter
from tests.support.ports import free_port
from tests.support.reading import Outside, outside_fixture  # noqa: F401 - a fixture
from tests.support.rows import by_examples

MEGABYTE = 1 << 20


async def failure(fetcher: Fetcher, url: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await fetcher.get(url, meter=meter())
    return caught.value


async def test_a_page_comes_with_its_type_and_final_address(outside: Outside) -> None:
    outside.put("/a", "西湖".encode())
    page = await outside.fetcher().get(outside.url("/to/302?url=/a%23top"), meter=meter())
    assert (page.body.decode(), page.content_type) == ("西湖", "text/html; charset=utf-8")
    assert page.final_url == outside.url("/a")
    sent = outside.pages.requests[-1].headers
    assert sent["Host"] == outside.place
    assert sent["User-Agent"] == "tanlu-reader/0.1"
    assert {"Cookie", "Authorization", "Referer"} & set(sent) == set()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw", "members", "identity"])
async def test_a_compressed_page_is_unpacked(outside: Outside, encoding: str) -> None:
    page = await outside.fetcher().get(outside.url(f"/as/{encoding}"), meter=meter())
    assert page.body.decode() == "压缩的文字"


async def test_a_compression_we_did_not_ask_for_is_malformed(outside: Outside) -> None:
    assert isinstance(await failure(outside.fetcher(), outside.url("/as/br")), MalformedReply)


@pytest.mark.parametrize("path", ["/big", "/big?quiet", "/endless", "/bomb"])
async def test_a_page_too_large_is_cut_off_at_the_limit(outside: Outside, path: str) -> None:
    error = await failure(outside.fetcher(max_bytes=MEGABYTE, seconds=60), outside.url(path))
    assert error.code == "too_large"
    assert outside.asked() == [path.partition("?")[0]]
    assert outside.pages.sent < 32 * MEGABYTE


@pytest.mark.parametrize("path", ["/slow", "/silent"])
async def test_a_slow_page_ends_when_its_time_is_up(outside: Outside, path: str) -> None:
    started = time.monotonic()
    error = await failure(outside.fetcher(seconds=0.5), outside.url(path))
    assert error.code == "timeout"
    assert time.monotonic() - started < 30


async def test_redirects_are_followed_five_times_and_not_fifty(outside: Outside) -> None:
    page = await outside.fetcher().get(outside.url("/round/5"), meter=meter())
    assert page.body == b"the end"
    assert (await failure(outside.fetcher(), outside.url("/round/50"))).code == "page_redirects"
    assert len(outside.asked()) == 12


@by_examples
async def test_a_status_is_told_apart(outside: Outside, status: int, code: str, times: int) -> None:
    outside.pages.fail("status", status=status, times=None, match=lambda r, b: r.path == "/a")
    assert (await failure(outside.fetcher(), outside.url("/a"))).code == code
    assert outside.asked() == ["/a"] * times


async def test_a_host_that_asks_for_long_patience_is_not_waited_for(outside: Outside) -> None:
    outside.pages.fail(
        "status", status=429, headers={"Retry-After": "600"}, match=lambda r, b: r.path == "/a"
    )
    error = await failure(outside.fetcher(), outside.url("/a"))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 600


@pytest.mark.parametrize("kind", ["drop", "drop_mid_body", "status"])
async def test_a_short_failure_is_tried_once_more(outside: Outside, kind: str) -> None:
    url = outside.put("/a", b"words" * 100)
    outside.pages.fail(kind, match=lambda r, b: r.path == "/a")  # type: ignore[arg-type]
    page = await outside.fetcher().get(url, meter=meter())
    assert page.body == b"words" * 100


async def test_only_the_kinds_asked_for_are_read(outside: Outside) -> None:
    url = outside.put("/film", b"x" * MEGABYTE, "video/mp4")
    with pytest.raises(ProviderRefused) as caught:
        await outside.fetcher().get(url, meter=meter(), kinds=("text/html",))
    assert caught.value.code == "page_kind"


async def test_a_site_that_asks_not_to_be_read_is_left_alone(outside: Outside) -> None:
    outside.pages.robots = "User-agent: *\nDisallow: /private"
    url, fetcher = outside.put("/private", b"words"), outside.fetcher()
    outside.put("/open", b"words")
    assert (await failure(fetcher, url)).code == "page_robots"
    await fetcher.get(outside.url("/open"), meter=meter())
    assert outside.asked(robots=True) == ["/robots.txt", "/open"]


async def test_robots_are_asked_once_by_many_readers_at_once(outside: Outside) -> None:
    fetcher = outside.fetcher()
    urls = [outside.put(f"/{n}", b"words") for n in range(8)]
    await asyncio.gather(*(fetcher.get(url, meter=meter()) for url in urls))
    assert outside.asked(robots=True).count("/robots.txt") == 1


async def test_a_site_is_read_anyway_where_the_operator_says_so(outside: Outside) -> None:
    outside.pages.robots = "User-agent: *\nDisallow: /"
    url = outside.put("/private", b"words")
    page = await outside.fetcher(respect_robots=False).get(url, meter=meter())
    assert page.body == b"words"
    assert outside.asked(robots=True) == ["/private"]


async def test_a_redirect_does_not_lead_around_robots(outside: Outside) -> None:
    outside.pages.robots = "User-agent: *\nDisallow: /private"
    outside.put("/private", b"words")
    error = await failure(outside.fetcher(), outside.url("/to/301?url=/private"))
    assert error.code == "page_robots"


async def test_a_page_read_a_moment_ago_is_not_asked_for_again(outside: Outside) -> None:
    url, fetcher = outside.put("/a", b"words"), outside.fetcher()
    first = await fetcher.get(url, meter=meter())
    again = await fetcher.get(f"{url}#part", meter=meter())
    assert (again.body, again.url) == (first.body, f"{url}#part")
    assert outside.asked() == ["/a"]


async def test_a_host_is_asked_for_two_pages_at_a_time(outside: Outside) -> None:
    here, most = [0], [0]
    held = asyncio.Event()

    async def busy() -> None:
        async with limits.turn("a.com"):
            here[0] += 1
            most[0] = max(most[0], here[0])
            await held.wait()
            here[0] -= 1

    limits = HostLimits(at_once=2, rate=0)
    tasks = [asyncio.create_task(busy()) for _ in range(6)]
    async with limits.turn("b.com"):
        await asyncio.sleep(0)
        tasks[3].cancel()
        held.set()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert (most[0], here[0]) == (2, 0)
    async with limits.turn("a.com"), limits.turn("a.com"):
        pass


async def test_waiting_for_a_turn_does_not_count_against_a_page(outside: Outside) -> None:
    outside.pages.latency = lambda request, body: 0.0 if "robots" in request.path else 0.5
    fetcher = outside.fetcher(seconds=2)
    urls = [outside.put(f"/{n}", b"words") for n in range(10)]
    pages = await asyncio.gather(*(fetcher.get(url, meter=meter()) for url in urls))
    assert len(pages) == 10


async def test_a_run_whose_time_is_over_reads_nothing(outside: Outside) -> None:
    with pytest.raises(BudgetExceeded):
        await outside.fetcher().get(outside.url("/a"), meter=meter(seconds=0.0))
    assert outside.asked(robots=True) == []


async def test_a_host_that_takes_no_connection_is_named() -> None:
    port = free_port()
    fetcher = Fetcher(Calls(), FetchLimits(), guard=AddressGuard(allow=(f"127.0.0.1:{port}",)))
    with pytest.raises(AgentError, match="takes no connection"):
        await fetcher.get(f"http://127.0.0.1:{port}/", meter=meter())
