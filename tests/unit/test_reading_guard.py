"""Which URLs are public, whatever they are written like; no socket is opened."""

import pytest

from agent.core.errors import ProviderUnavailable, UnsafeUrl
from agent.reading.guard import AddressGuard
from tests.support.hostile_urls import HOSTILE, PUBLIC, answers
from tests.support.rows import by_examples


async def told(host: str, port: int) -> list[str]:
    return answers(host)


def guard() -> AddressGuard:
    return AddressGuard(ports=(80, 443, 8099), resolve=told)


@pytest.mark.parametrize("url", HOSTILE, ids=ascii)
async def test_a_url_that_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(UnsafeUrl):
        await guard().check(url.replace("{p}", "8099"))


def test_the_table_is_as_long_as_the_threat_model_asks() -> None:
    assert len(set(HOSTILE)) >= 45


@by_examples
async def test_a_public_url_is_kept_in_its_plain_form(url: str, plain: str) -> None:
    target = await guard().check(url)
    assert target.url == plain
    assert target.addresses


@by_examples
def test_a_name_that_is_not_public_is_refused_by_its_text(host: str) -> None:
    with pytest.raises(UnsafeUrl):
        AddressGuard().parse(f"http://{host}/")


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "8-8-8-8.dns.tanlu-test.com", "v1.2.3.tanlu-test.com", "www.dpm.org.cn",
             "2024-11-22-10-30.tanlu-test.com", "999-0-0-1.tanlu-test.com"],
)  # fmt: skip
def test_a_public_name_may_have_numbers_in_it(host: str) -> None:
    assert AddressGuard().parse(f"http://{host}/").host == host


async def test_a_chinese_host_is_looked_up_by_its_ascii_name() -> None:
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return [PUBLIC]

    target = await AddressGuard(resolve=resolve).check("https://例え。中国/")
    assert asked == [("xn--r8jz45g.xn--fiqs8s", 443)]
    assert (target.authority, target.addresses) == ("xn--r8jz45g.xn--fiqs8s", (PUBLIC,))


@pytest.mark.parametrize("failure", [OSError("no such host"), None])
async def test_a_host_nobody_knows_is_unresolved(failure: OSError | None) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        if failure:
            raise failure
        return []

    with pytest.raises(ProviderUnavailable) as caught:
        await AddressGuard(resolve=resolve).check("https://public.tanlu-test.com/")
    assert caught.value.code == "page_unresolved"


async def test_only_the_exact_host_and_port_that_is_allowed_is_let_in() -> None:
    allowing = AddressGuard(allow=("127.0.0.1:8099",), ports=(80, 8099, 8100), resolve=told)
    assert (await allowing.check("http://127.0.0.1:8099/x")).addresses == ("127.0.0.1",)
    for url in ("http://127.0.0.1:8100/", "http://127.0.0.2:8099/", "http://localhost:8099/"):
        with pytest.raises(UnsafeUrl):
            await allowing.check(url)


async def test_an_allowed_name_may_lead_to_loopback_but_nowhere_else_inside() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.1"]

    with pytest.raises(UnsafeUrl):
        await AddressGuard(allow=("lab.tanlu-test.com:80",), resolve=resolve).check(
            "http://lab.tanlu-test.com/"
        )


async def test_a_host_with_an_origin_of_its_own_is_not_looked_up() -> None:
    origins = {"sample.tanlu.invalid": "http://127.0.0.1:8099"}
    target = await AddressGuard(origins=origins).check("https://sample.tanlu.invalid/a")
    assert (target.through, target.url) == (
        "http://127.0.0.1:8099",
        "https://sample.tanlu.invalid/a",
    )
