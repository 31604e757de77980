"""Paired tests against values computed by hand, or published with the methods."""

import random
from pathlib import Path
from statistics import fmean

import pytest

from agent.evaluation.answers import FileAnswer
from agent.evaluation.comparison import (
    Side,
    common_judge,
    compare,
    compare_classes,
    compare_scores,
    least_split,
    mcnemar,
    verdicts_by,
)
from agent.evaluation.verdicts import CRITERIA, JudgeVerdict


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, 1.0),
        (3, 3, 1.0),  # both tails cover everything
        (0, 5, 2 / 32),
        (0, 6, 2 / 64),
        (1, 6, 2 * (1 + 7) / 128),
        (6, 1, 2 * (1 + 7) / 128),
        (2, 8, 2 * (1 + 10 + 45) / 1024),
        (4, 10, 2 * (1 + 14 + 91 + 364 + 1001) / 16384),
    ],
)
def test_mcnemar_s_exact_p_is_two_tails_of_a_fair_coin(only_a: int, only_b: int, p: float) -> None:
    assert mcnemar(only_a, only_b) == pytest.approx(p)


def test_mcnemar_takes_numbers_that_no_float_holds() -> None:
    assert mcnemar(1000, 1000) == 1.0
    assert 0.0 <= mcnemar(0, 3000) < 1e-300


def test_six_split_questions_are_the_least_that_can_show_anything() -> None:
    assert least_split() == 6


def pairs(both: int, only_a: int, only_b: int, neither: int) -> list[tuple[bool, bool]]:
    return (
        [(True, True)] * both
        + [(True, False)] * only_a
        + [(False, True)] * only_b
        + [(False, False)] * neither
    )


def test_classes_are_compared_with_shares_split_and_chance() -> None:
    found = compare_classes(pairs(20, 4, 10, 16))
    assert (found.pairs, found.a, found.b) == (50, 24 / 50, 30 / 50)
    assert (found.only_a, found.only_b, found.split) == (4, 10, 14)
    assert found.value == pytest.approx(0.12)
    assert found.p == pytest.approx(2942 / 16384)
    assert not found.is_clear


def test_the_interval_of_two_shares_is_newcombe_s_for_pairs() -> None:
    """Worked by hand, with Wilson's intervals and the correlation of the two outcomes.

    A 24 of 50: Wilson 0.3480 to 0.6149. B 30 of 50: 0.4618 to 0.7239.
    φ = max(0, 20·16 − 4·10 − 25) / √(24·26·30·20) = 255 / 611.88 = 0.41675.
    Down √(0.1382² − 2φ·0.1382·0.1349 + 0.1349²) = 0.14752,
    up √(0.1239² − 2φ·0.1239·0.1320 + 0.1320²) = 0.13833.
    """
    found = compare_classes(pairs(20, 4, 10, 16))
    assert found.low == pytest.approx(0.12 - 0.14752, abs=2e-4)
    assert found.high == pytest.approx(0.12 + 0.13833, abs=2e-4)


def test_newcombe_s_own_example_comes_out_as_published() -> None:
    """Newcombe 1998 (Statistics in Medicine 17), 36, 12, 2 and 0: 0.0569 to 0.3404."""
    found = compare_classes(pairs(36, 2, 12, 0))
    assert (found.low, found.high) == pytest.approx((0.0569, 0.3404), abs=5e-4)


def test_nothing_different_has_an_interval_around_zero_and_no_chance_to_be_clear() -> None:
    found = compare_classes(pairs(5, 0, 0, 0))
    assert (found.value, found.p) == (0.0, 1.0)
    assert found.low <= 0 <= found.high


def test_swapping_the_two_turns_the_difference_round() -> None:
    one, other = compare_classes(pairs(9, 2, 7, 4)), compare_classes(pairs(9, 7, 2, 4))
    assert one.value == pytest.approx(-other.value)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.p == other.p


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0, 1.0, 1.0], 2 / 8),  # +++ and −−−
        ([1.0, 2.0, 3.0, 4.0], 2 / 16),
        ([-1.0, 2.0, 3.0, 4.0], 4 / 16),  # ±(−1 2 3 4), ±(1 2 3 4)
        ([0.5, 0.0, 0.0], 1.0),  # zeros say nothing, one sign neither
        ([0.0, 0.0], 1.0),
        ([1.0, -1.0], 1.0),
    ],
)
def test_few_scores_are_tried_with_every_sign(differences: list[float], p: float) -> None:
    found = compare_scores([(5.0, 5.0 + difference) for difference in differences])
    assert found.p == pytest.approx(p)
    assert found.value == pytest.approx(fmean(differences))
    assert min(differences) <= found.low <= found.value <= found.high <= max(differences)


def test_many_scores_are_drawn_and_give_everybody_the_same_figures() -> None:
    chance = random.Random(1)
    better = [(x := chance.uniform(4, 7), x + chance.gauss(0.5, 0.5)) for _ in range(60)]
    equal = [(x := chance.uniform(4, 7), x + chance.gauss(0.0, 0.5)) for _ in range(60)]
    found, none = compare_scores(better), compare_scores(equal)
    assert found == compare_scores(better)
    assert found.is_clear
    assert found.low > 0
    assert not none.is_clear
    assert none.low < 0 < none.high


def test_a_drawn_interval_is_about_that_of_the_normal_distribution() -> None:
    """With 100 differences of 0 and of 1, half and half, the mean's standard error is 0.05."""
    found = compare_scores([(0.0, float(n % 2)) for n in range(100)])
    assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.011)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.011)


# two files


def answer(id: str, config: str, **row: object) -> FileAnswer:
    return FileAnswer(id, f"question {id}?", f"{config} says {id}", "answered", config, row=row)


def verdict(
    answer: FileAnswer, judge: str = "m", version: str = "v", **outcome: object
) -> JudgeVerdict:
    common = {"key": answer.subject, "id": answer.id, "subject": answer.subject, "judge": judge,
              "by": judge, "version": version, "at": "", "cost_usd": 0.0}  # fmt: skip
    rubric = "report" if "scores" in outcome else "short"
    return JudgeVerdict(**common, rubric=rubric, **outcome)  # type: ignore[typeddict-item]


def side(answers: list[FileAnswer], classes: str) -> Side:
    names = {"c": "correct", "i": "incorrect", "n": "not_attempted"}
    verdicts = [verdict(a, verdict=names[c]) for a, c in zip(answers, classes, strict=False)]
    return Side(answers, {v["subject"]: v for v in verdicts})


def test_files_are_paired_by_the_question_and_the_rest_is_counted() -> None:
    usage = {"usage": {"cost_usd": 0.5}, "seconds": 2.0}
    a = side([answer(str(n), "a", **usage) for n in range(5)], "ccin")
    b = side([answer(str(n), "b", **usage) for n in range(1, 6)], "icccc")
    found = compare(a, b)
    assert found.short is not None
    assert (found.pairs, found.unpaired) == (3, 3)
    assert (found.short.only_a, found.short.only_b) == (1, 2)
    assert (found.scores, found.claims) == ({}, None)
    assert (found.cost_usd, found.seconds) == ((0.5, 0.5), (2.0, 2.0))


def test_the_same_id_with_another_question_is_no_pair() -> None:
    one = answer("1", "a")
    other = FileAnswer("1", "another question?", "b", "answered", "b")
    found = compare(side([one], "c"), side([other], "c"))
    assert (found.pairs, found.unpaired) == (0, 1)


def test_reports_are_compared_by_criterion_overall_and_by_claims_borne_out() -> None:
    def reports(config: str, scores: list[float], marked: int) -> Side:
        claims = {"claims": {"total": 12, "quoted": 8, "own": 2, "marked": marked}}
        answers = [answer(str(n), config, **claims) for n in range(len(scores))]
        verdicts = [
            verdict(one, scores={**dict.fromkeys(CRITERIA, score), "insight": score + 1})
            for one, score in zip(answers, scores, strict=True)
        ]
        return Side(answers, {v["subject"]: v for v in verdicts})

    found = compare(reports("a", [5.0, 6.0], 2), reports("b", [6.0, 8.0], 0))
    assert found.short is None
    assert found.scores["overall"].value == pytest.approx(1.5)
    assert found.scores["insight"].a == pytest.approx(6.5)
    assert found.claims is not None
    assert (found.claims.a, found.claims.b) == (0.8, 1.0)
    assert found.cost_usd is None


def test_verdicts_count_only_by_one_judge_with_the_same_prompts(tmp_path: Path) -> None:
    one, other = answer("1", "a"), answer("1", "b")
    a = [verdict(one, "m", "v1"), verdict(one, "n", "v1")]
    b = [verdict(other, "m", "v2"), verdict(other, "n", "v1")]
    assert common_judge(a, b) == "n"
    assert verdicts_by("n", a, b) == {one.subject: a[1]}
    assert verdicts_by("m", a, b) == {}
    assert common_judge(a[:1], b) is None
