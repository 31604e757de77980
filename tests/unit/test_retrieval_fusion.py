"""Several rankings as one."""

from agent.knowledge.ranking import fuse, places


def order(*rankings: list[str]) -> list[str]:
    return [thing for thing, _ in fuse(rankings)]


def test_one_ranking_stays_as_it_is() -> None:
    assert order(["a", "b", "c"]) == ["a", "b", "c"]


def test_what_both_lists_have_comes_before_what_one_has() -> None:
    assert order(["a", "b", "c"], ["d", "c", "e"])[0] == "c"


def test_a_score_is_the_sum_of_the_reciprocal_places() -> None:
    assert dict(fuse([["a", "b"], ["b"]])) == {"a": 1 / 61, "b": 1 / 62 + 1 / 61}


def test_equal_scores_keep_the_first_lists_order() -> None:
    assert order(["a"], ["b"]) == ["a", "b"]
    assert order(["a", "b"], ["b", "a"]) == ["a", "b"]


def test_a_thing_named_twice_in_a_list_counts_once_at_its_first_place() -> None:
    assert fuse([["a", "a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_empty_lists_give_nothing() -> None:
    assert fuse([]) == []
    assert fuse([[], []]) == []


def test_places_are_named_by_list() -> None:
    found = places({"lexical": ["a", "b"], "vector": ["b"]})
    assert found == {"a": {"lexical": 1}, "b": {"lexical": 2, "vector": 1}}
