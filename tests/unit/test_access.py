"""Keys, hosts and origins as the operator writes them, and whose key a request carries."""

import pytest

from agent.core.errors import ConfigurationError
from agent.core.redaction import scrub
from agent.server.auth.api_keys import (
    OPEN_OWNER,
    Access,
    access,
    identify,
    needs_no_key,
    read_access,
)
from agent.server.auth.hosts import Host, parse_host, parse_origin
from agent.settings import AccessSettings
from tests.support.rows import by_examples

ANNA, BO = "anna-0123456789abcdef", "bo:with=colon-0123456789"
KEYS = f"anna:{ANNA}, bo:{BO}"


def of(keys: str = "", hosts: str = "", origins: str = "") -> Access:
    given = {"tanlu_allowed_hosts": hosts, "tanlu_cors_origins": origins}
    return read_access(AccessSettings(tanlu_api_keys=keys or None, **given))  # type: ignore[arg-type]


RULES = of(KEYS)


def answers(rules: Access, header: str) -> bool:
    host = parse_host(header)
    return host is not None and rules.answers_to(host)


def test_without_settings_everybody_is_the_same_open_owner() -> None:
    assert access() == Access()
    assert access().open
    assert not access().is_exposed
    assert identify({"x-api-key": "whatever"}, access()) == OPEN_OWNER


@pytest.mark.parametrize(
    ("headers", "owner"),
    [
        ({"x-api-key": ANNA}, "anna"),
        ({"x-api-key": BO}, "bo"),
        ({"authorization": f"Bearer {ANNA}"}, "anna"),
        ({"authorization": f"bearer  {ANNA} "}, "anna"),
        ({"cookie": f"theme=dark; tanlu_key={ANNA}"}, "anna"),
        ({"x-api-key": BO, "cookie": f"tanlu_key={ANNA}"}, "bo"),
        ({"authorization": "Basic eDp5", "cookie": f"tanlu_key={ANNA}"}, "anna"),
        ({"x-api-key": "", "cookie": f"tanlu_key={ANNA}"}, "anna"),
        ({}, None),
        ({"x-api-key": "anna"}, None),
        ({"x-api-key": ANNA.upper()}, None),
        ({"x-api-key": ANNA[:-1]}, None),
        ({"x-api-key": "wrong", "cookie": f"tanlu_key={ANNA}"}, None),
        ({"authorization": "Bearer wrong", "cookie": f"tanlu_key={ANNA}"}, None),
        ({"authorization": ANNA}, None),
        ({"authorization": "Bearer"}, None),
        ({"x-api-key": "ä\udcff"}, None),
        ({"cookie": f"other={ANNA}"}, None),
    ],
)
def test_a_key_names_its_owner_and_a_wrong_header_is_not_replaced_by_the_cookie(
    headers: dict[str, str], owner: str | None
) -> None:
    assert identify(headers, RULES) == owner


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (" ", "Entry 1: must be name:key"),
        (",", "Entry 1: must be name:key"),
        (ANNA, "Entry 1: must be name:key"),
        (f"anna:{ANNA},", "Entry 2: must be name:key"),
        (f"anna:{ANNA},bo:", "Entry 2: must be name:key"),
        (f":{ANNA}", "Entry 1: must be name:key"),
        (f"an na:{ANNA}", "Entry 1: the name"),
        (f"安娜:{ANNA}", "Entry 1: the name"),
        (f"{'a' * 65}:{ANNA}", "Entry 1: the name"),
        ("anna:fifteen-letters", "Entry 1: the key must have 16"),
        ("anna:sixteen letters and more", "Entry 1: the key must be printable"),
        ("anna:ключ-ключ-ключ-ключ", "Entry 1: the key must be printable"),
        (f"anna:{ANNA},anna:{BO}", "Entry 2: name or key is used twice"),
        (f"anna:{ANNA},bo:{ANNA}", "Entry 2: name or key is used twice"),
    ],
)
def test_a_bad_entry_is_named_by_its_number_and_never_shown(text: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^TANLU_API_KEYS: {named}") as caught:
        of(text)
    for key in (ANNA, BO, "fifteen-letters", "sixteen letters", "ключ"):
        assert key not in str(caught.value)


def test_a_bad_setting_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", "anna:short")
    rules = access()
    assert rules.problem.startswith("TANLU_API_KEYS: Entry 1")
    assert not rules.open
    assert identify({"x-api-key": "short"}, rules) is None


def test_a_mistake_elsewhere_does_not_decide_who_may_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMAP_QPS", "many")
    monkeypatch.setenv("TANLU_API_KEYS", KEYS)
    assert sorted(access().keys.values()) == ["anna", "bo"]


def test_keys_are_kept_as_digests_and_hidden_in_text() -> None:
    assert ANNA not in repr(RULES)
    assert BO not in repr(RULES)
    assert scrub(f"failed with {ANNA} and {BO}") == "failed with [hidden] and [hidden]"


@pytest.mark.parametrize(
    "header",
    [
        "localhost", "localhost:2024", "LOCALHOST:2024", "localhost.", "localhost.:2024",
        "127.0.0.1", "127.0.0.1:2024", "127.8.9.10:1", "app.localhost:2024", "[::1]", "[::1]:2024",
        "[0:0:0:0:0:0:0:1]:2024", "[::ffff:127.0.0.1]",
    ],
)  # fmt: skip
def test_the_server_goes_by_every_name_of_this_machine(header: str) -> None:
    assert answers(Access(), header)


@by_examples
def test_it_goes_by_no_other_name(header: str) -> None:
    assert not answers(Access(), header)


@by_examples
def test_further_names_are_those_of_the_setting(written: str, header: str, meant: bool) -> None:
    rules = of(hosts=written)
    assert rules.is_exposed
    assert answers(rules, header) == meant


@pytest.mark.parametrize("text", ["https://a.example", "a b", "a/b", "*.example.org", "a@b", "."])
def test_a_host_that_is_none_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigurationError, match="TANLU_ALLOWED_HOSTS must have names"):
        of(hosts=text)


def test_origins_are_read_as_browsers_write_them() -> None:
    written = "https://Studio.Example.org/ , http://localhost:3000,https://a.example:443"
    expected = {"https://studio.example.org", "http://localhost:3000", "https://a.example"}
    assert of(origins=written).origins == expected


@pytest.mark.parametrize("text", ["*", "null", "studio.example.org", "https://a.example/path"])
def test_an_origin_that_is_none_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigurationError, match="TANLU_CORS_ORIGINS must have origins"):
        of(origins=text)


@by_examples
def test_the_page_can_be_loaded_before_signing_in_and_nothing_else(path: str, free: bool) -> None:
    assert needs_no_key(path) == free


@pytest.mark.parametrize(
    "text", ["http://\u212aarl.example", "\u212ax://a.example", "null", "://a"]
)
def test_an_origin_of_other_letters_is_none_though_they_become_ours_in_lower_case(
    text: str,
) -> None:
    assert parse_origin(text) is None


def test_a_host_is_written_as_it_is_read() -> None:
    assert str(Host("::1", 80)) == "[::1]:80"
    assert str(parse_host("Example.ORG:80")) == "example.org:80"
