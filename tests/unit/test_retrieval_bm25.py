"""BM25 with scores from 0 to 1, and what it does for the labelled set."""

import pytest
from evals.rerank import DEPTH, Case, load, ndcg

from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.terms import terms
from tests.unit.cpu_time import takes_less

CASES = load()


def test_the_text_on_the_question_scores_highest() -> None:
    texts = ["公园里的树木", "钠离子电池的成本分析", "锂电池安全"]
    scores = Bm25(texts).scores("钠离子电池成本")
    assert best_first(scores)[0][0] == 1
    assert scores[0] == 0


def test_scores_are_between_nothing_and_one() -> None:
    scores = Bm25(["battery " * 500, "battery", "a garden"]).scores("battery")
    assert 0.9 < scores[0] < 1
    assert scores[2] == 0


def test_an_average_text_with_each_term_once_scores_the_same_whatever_the_query() -> None:
    texts = ["sodium cell cost study", "garden tree bird water", "urban heat island roof"]
    scores = Bm25(texts)
    assert scores.scores("sodium")[0] == pytest.approx(1 / 2.2)
    assert scores.scores("sodium cost study")[0] == pytest.approx(1 / 2.2)


def test_texts_that_miss_the_point_score_low_even_the_best_of_them() -> None:
    texts = ["a method for gardens", "a method for roofs", "birds"]
    scores = Bm25(texts).scores("method of sodium battery recycling")
    assert 0 < max(scores) < 0.15


def test_a_rare_term_weighs_more_than_a_common_one() -> None:
    texts = ["battery cost", "battery safety", "battery life", "cost cost"]
    scores = Bm25(texts).scores("battery safety")
    assert best_first(scores)[0][0] == 1
    assert scores[1] > 2 * scores[0]


def test_a_lone_chinese_character_is_found_inside_words() -> None:
    assert Bm25(["锂电池", "钠电池"]).scores("锂")[0] > 0


@pytest.mark.parametrize("texts", [[], [""], ["", "  "]])
def test_empty_texts_score_nothing(texts: list[str]) -> None:
    assert Bm25(texts).scores("battery") == [0.0] * len(texts)


def test_a_question_without_words_scores_nothing() -> None:
    assert Bm25(["battery", "cost"]).scores("…?!") == [0.0, 0.0]


def test_equal_scores_keep_the_given_order() -> None:
    assert best_first([0.2, 0.5, 0.2]) == [(1, 0.5), (0, 0.2), (2, 0.2)]


def test_sixty_abstracts_are_scored_in_thirty_milliseconds_of_cpu() -> None:
    words = " ".join(case.texts[0] for case in CASES if case.language == "en").split()
    texts = [" ".join((words[n:] + words)[:220]) for n in range(60)]
    query = "sodium-ion battery cost compared with lithium iron phosphate"
    # Twice the bound: the tests share their machine.
    assert takes_less(lambda: Bm25(texts).scores(query), 0.06)


def order(case: Case) -> list[int]:
    scores = Bm25(case.texts).scores(case.query)
    return [case.grades[at] for at, _ in best_first(scores)]


@pytest.mark.parametrize("language", ["en", "zh", "mixed"])
def test_bm25_improves_the_order_of_the_labelled_set(language: str) -> None:
    cases = [case for case in CASES if case.language == language]
    given = sum(ndcg(case.grades) for case in cases) / len(cases)
    ranked = sum(ndcg(order(case)) for case in cases) / len(cases)
    assert ranked > given + 0.1
    assert ranked > 0.85


def test_no_query_of_the_labelled_set_is_made_worse() -> None:
    worse = [case.query for case in CASES if ndcg(order(case)) < ndcg(case.grades)]
    assert worse == []


def test_the_labelled_set_is_as_large_as_it_should_be() -> None:
    assert len(CASES) >= 25
    assert {len(case.texts) for case in CASES} == {DEPTH}
    assert all(max(case.grades) == 3 for case in CASES)
    assert all(terms(case.query) for case in CASES)


def test_ndcg_is_one_for_the_best_order_and_less_for_others() -> None:
    assert ndcg([3, 1, 0]) == 1
    assert ndcg([0, 1, 3]) == pytest.approx((1 / 1.584963 + 7 / 2) / (7 + 1 / 1.584963))
    assert ndcg([0, 0]) == 1
