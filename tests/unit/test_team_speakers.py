"""What a turn says in lines that code reads."""

from agent.assistants.team_answer.speakers import (
    chosen_speaker,
    hypothesis_lines,
    next_in_turn,
    updated_hypotheses,
)
from agent.assistants.team_answer.state import SPEAKERS, Hypothesis, Speaker
from agent.assistants.team_answer.verdict import agreed_of, verdict_of, without_signals
from tests.support.rows import by_examples


def branch(text: str, score: float, pruned: bool = False) -> Hypothesis:
    return {"text": text, "score": score, "pruned": pruned}


@by_examples
def test_a_selection_counts_only_where_exactly_one_speaker_is_named(
    text: str, speaker: Speaker | None
) -> None:
    assert chosen_speaker(text, SPEAKERS) == speaker


def test_a_speaker_who_is_no_candidate_is_not_chosen() -> None:
    assert chosen_speaker("researcher", ["analyst", "verifier"]) is None


@by_examples
def test_a_line_that_is_only_terminate_is_not_shown(text: str) -> None:
    assert "TERMINATE" not in without_signals(text)


@by_examples
def test_the_last_verdict_line_counts(text: str, verdict: str | None) -> None:
    assert verdict_of(text) == verdict


@by_examples
def test_a_verdict_says_what_it_agrees_to(text: str, agreed: str) -> None:
    assert agreed_of(text) == agreed


def test_hypotheses_are_read_with_scores_and_what_was_pruned() -> None:
    lines = ["H1 [0.7] 1987年[^s0-0]", "- **H2** [20%]: 1990年（剪枝）", "H3 [.05] none (pruned)"]
    text = "\n".join(["先比较：", *lines, "所以"])
    assert updated_hypotheses(text, []) == [
        branch("1987年[^s0-0]", 0.7),
        branch("1990年", 0.2, True),
        branch("none", 0.05, True),
    ]


def test_a_known_hypothesis_is_scored_anew_by_its_number_and_others_stay() -> None:
    known = [branch("甲", 0.6), branch("乙", 0.4)]
    tree = updated_hypotheses("H2 [0.9]\nH7 [0.3] 丙", known)
    assert tree == [branch("甲", 0.6), branch("乙", 0.9), branch("丙", 0.3)]


def test_a_turn_without_hypothesis_lines_keeps_the_old_ones() -> None:
    known = [branch("甲", 0.6)]
    assert updated_hypotheses("H 1 可能对。见 H1。", known) == known


def test_more_than_four_live_hypotheses_are_pruned_by_score() -> None:
    text = "\n".join(f"H{n} [0.{n}] 说法{n}" for n in range(1, 7))
    tree = updated_hypotheses(text, [])
    assert [b["text"] for b in tree if not b["pruned"]] == ["说法3", "说法4", "说法5", "说法6"]


def test_the_tree_stays_small_however_many_branches_are_written() -> None:
    text = "\n".join(f"H{n} [0.{n:02}] 说法{n}" for n in range(1, 40))
    tree = updated_hypotheses(text, [])
    assert len(tree) == 8
    assert "说法39" in {b["text"] for b in tree}


def test_hypotheses_are_shown_as_they_are_written() -> None:
    tree = [branch("甲", 0.75), branch("乙", 0, True)]
    lines = hypothesis_lines(tree)
    assert lines == "H1 [0.75] 甲\nH2 [0] 乙 (pruned)"
    assert updated_hypotheses(lines, []) == tree


def test_what_is_said_besides_control_lines_is_kept() -> None:
    text = "H1 [0.7] 甲\n证据一致[^s0-0]。\nVERDICT: AGREE\nTERMINATE"
    assert without_signals(text) == "H1 [0.7] 甲\n证据一致[^s0-0]。"


@by_examples
def test_who_waited_longest_is_next_and_nobody_speaks_three_times_in_a_row(
    spoken_by: str, order: str
) -> None:
    names = {speaker[0]: speaker for speaker in SPEAKERS}
    found = next_in_turn([names[letter] for letter in spoken_by])
    assert found == [names[letter] for letter in order]
