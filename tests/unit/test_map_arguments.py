import pytest

from agent.core.errors import ProviderRefused, ProviderUnavailable
from agent.mcp.amap.tools import cache_key, clean_arguments, with_city_before
from agent.mcp.servers import amap_command
from agent.settings import Settings


def test_what_a_model_leaves_empty_is_not_sent() -> None:
    given = {"location": "116.4,39.9", "keywords": None, "radius": "null"}
    assert clean_arguments("maps_around_search", given) == {"location": "116.400000,39.900000"}


def test_numbers_and_lists_become_text() -> None:
    given = {"location": [116.4, 39.9], "radius": 1500.0, "keywords": ["咖啡", "书店"]}
    assert clean_arguments("maps_around_search", given) == {
        "location": "116.400000,39.900000",
        "radius": "1500",
        "keywords": "咖啡 书店",
    }


@pytest.mark.parametrize(("radius", "sent"), [(1, "100"), ("99999", "50000"), ("2e3", "2000")])
def test_a_radius_is_kept_in_its_bounds(radius: object, sent: str) -> None:
    cleaned = clean_arguments("maps_around_search", {"location": "116.4,39.9", "radius": radius})
    assert cleaned["radius"] == sent


def test_latitude_before_longitude_is_turned_round() -> None:
    cleaned = clean_arguments("maps_regeocode", {"location": "39.9, 116.4"})
    assert cleaned["location"] == "116.400000,39.900000"


def test_many_origins_are_each_put_right() -> None:
    given = {"origins": "39.9,116.4|116.5,39.8", "destination": {"lng": 116.41, "lat": 39.91}}
    cleaned = clean_arguments("maps_distance", given)
    assert cleaned["origins"] == "116.400000,39.900000|116.500000,39.800000"
    assert cleaned["destination"] == "116.410000,39.910000"


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("maps_geo", {}, "address"),
        ("maps_direction_walking", {"origin": "王府井", "destination": "116.4,39.9"}, "origin"),
        ("maps_around_search", {"location": "116.4,39.9", "radius": "far"}, "radius"),
        ("maps_geo", {"address": "x" * 2000}, "address"),
        ("maps_everything", {}, "maps_everything"),
    ],
)
def test_bad_arguments_are_refused_by_name(tool: str, given: dict[str, object], named: str) -> None:
    with pytest.raises(ProviderRefused, match=named) as caught:
        clean_arguments(tool, given)
    assert caught.value.code == "map_bad_request"


@pytest.mark.parametrize(
    ("address", "city", "sent"),
    [
        ("王府井", "北京", "北京王府井"),
        ("北京王府井", "北京市", "北京王府井"),
        ("The Bund", "Shanghai", "Shanghai The Bund"),
        ("the bund, shanghai", "Shanghai", "the bund, shanghai"),
    ],
)
def test_the_city_stands_before_an_address_once(address: str, city: str, sent: str) -> None:
    assert with_city_before(address, city) == sent
    assert clean_arguments("maps_geo", {"address": address, "city": city}) == {"address": sent}


def test_a_search_in_a_city_is_limited_to_it_and_unsent_types_are_dropped() -> None:
    cleaned = clean_arguments(
        "maps_text_search", {"keywords": "咖啡", "city": "北京", "types": "050500", "foo": 1}
    )
    assert cleaned == {"citylimit": "true", "keywords": "咖啡", "city": "北京"}


def test_calls_a_metre_apart_share_a_reply_and_others_do_not() -> None:
    def key(location: str) -> str:
        return cache_key("maps_regeocode", {"location": location})

    assert key("116.400000,39.900000") == key("116.400001,39.900001")
    assert key("116.400000,39.900000") != key("116.401000,39.900000")


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        (" 127.0.0.1:7890 ", {"HTTPS_PROXY": "http://127.0.0.1:7890", "NODE_USE_ENV_PROXY": "1"}),
        ("socks://127.0.0.1:7891", {}),
        ("", {}),
    ],
)
def test_the_maps_process_gets_a_proxy_as_node_knows_it_and_none_of_socks(
    monkeypatch: pytest.MonkeyPatch, value: str, passed: dict[str, str]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    command = amap_command(Settings(amap_mcp_command=["true"]))
    environment = {name: value for name, value in command.env.items() if "PROXY" in name.upper()}
    assert environment == passed


def test_a_proxy_of_no_use_is_the_maps_failure_and_names_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks4://127.0.0.1:1")
    with pytest.raises(ProviderUnavailable, match="HTTPS_PROXY"):
        amap_command(Settings(amap_mcp_command=["true"]))
