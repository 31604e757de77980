"""Text from outside is made valid: nothing that a store refuses or a screen obeys is left."""

import json

import pytest

from agent.core.outside import parse_json
from agent.core.strings import cut_at_break, ends_in_half, shares, valid_json, valid_text
from tests.support.rows import by_examples

HALF, OTHER_HALF = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (f"{HALF}故宫", "\ufffd故宫"),
        (f"a{OTHER_HALF}", "a\ufffd"),
        (f"{HALF}{OTHER_HALF}", "😀"),
        (f"{HALF}{HALF}{OTHER_HALF}!", "\ufffd😀!"),
        ("a\x00b", "ab"),
        ("\x1b[31mred\x9b0m", "[31mred0m"),
        ("exe.\u202egnp", "exe.gnp"),
        ("\u2066a\u2069 \u202ab\u202c", "a b"),
        ("one\x0ctwo\x85three", "one\ntwo\nthree"),
        ("a\ufffeb\uffff", "ab"),
    ],
)
def test_what_no_store_takes_or_what_steers_a_screen_is_replaced(text: str, valid: str) -> None:
    assert valid_text(text) == valid
    assert valid_text(valid) == valid
    valid.encode()


@by_examples
def test_characters_that_belong_to_writing_stay(text: str) -> None:
    assert valid_text(text) is text


def test_names_and_values_of_json_are_valid_at_any_depth() -> None:
    found = valid_json({f"a{HALF}": [{"b": ("\x00c", 1, None, b"\x00")}], "d": 0.5})
    assert found == {"a\ufffd": [{"b": ["c", 1, None, b"\x00"]}], "d": 0.5}


def test_escapes_in_json_are_valid_characters_too() -> None:
    assert parse_json(json.dumps({"name": f"\x00{HALF}"})) == {"name": "\ufffd"}
    assert parse_json(json.dumps("😀")) == "😀"
    assert parse_json(r'["a\bb", "c\fd", "\\unit"]') == ["ab", "c\nd", r"\unit"]


def test_what_no_store_takes_goes_from_json_without_escapes_too() -> None:
    assert parse_json('{"a\u202eb": ["\u200d", "c\x7f"]}') == {"ab": ["\u200d", "c"]}


def test_objects_of_json_may_be_read_by_a_hook() -> None:
    assert parse_json('[{"n": 1}]', lambda value: value["n"]) == [1]


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe\x00 no", b"[" * 100_000])
def test_what_is_no_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(raw)


def test_a_piece_may_end_in_the_first_half_of_a_character() -> None:
    assert ends_in_half(f"a{HALF}")
    assert not any(map(ends_in_half, ("", "a", "😀", OTHER_HALF, f"{HALF}a")))


@pytest.mark.parametrize(
    ("text", "longest", "cut"),
    [
        ("short", 10, "short"),
        ("one place: too far; another place: too far on foot", 40, "one place: too far…"),
        (
            "白堤：直线就有 1395 米；断桥：直线就有 1716 米，步行超过 800 米",
            30,
            "白堤：直线就有 1395 米…",
        ),
        (
            "what is still missing is the price of the evening boats",
            30,
            "what is still missing is the…",
        ),
        (
            "A month for all of them together costs 12,345 euros",
            48,
            "A month for all of them together costs 12,345…",
        ),
        ("x" * 50, 10, "x" * 9 + "…"),
    ],
)
def test_what_is_cut_ends_between_clauses_or_words(text: str, longest: int, cut: str) -> None:
    assert cut_at_break(text, longest) == cut


def test_what_small_ones_leave_of_a_room_goes_to_larger_ones() -> None:
    """A topic of the map was cut to a fourteenth of a room that stayed half empty."""
    assert shares([10, 900, 50, 300], 500) == [10, 220, 50, 220]
    assert shares([1, 2], 10) == [1, 2]
    assert shares([], 10) == []
