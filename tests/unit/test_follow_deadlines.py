"""How long a run is waited for on a server."""

from agent.client.follow import (
    MOST_RETURNS,
    Deadlines,
    FollowLimits,
    ServerActivity,
    max_run_seconds,
)

LIMITS = FollowLimits(run=100, margin=20, away=50)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def deadlines_now() -> tuple[Deadlines, Clock, ServerActivity]:
    clock, activity = Clock(), ServerActivity()
    return Deadlines(LIMITS, activity, clock), clock, activity


def test_a_run_has_its_own_limit_and_a_margin() -> None:
    deadlines, clock, _ = deadlines_now()
    clock.now = 120
    deadlines.count("work")
    assert deadlines.overdue() is None
    clock.now = 121
    deadlines.count("work")
    assert "within 120 s" in str(deadlines.overdue())


def test_time_in_the_queue_counts_only_while_the_server_begins_none_of_our_runs() -> None:
    deadlines, clock, activity = deadlines_now()
    for _ in range(10):
        clock.now += 100
        activity.seen()
        deadlines.count("queue")
    assert deadlines.overdue() is None
    clock.now += 121
    deadlines.count("queue")
    assert "began no run" in str(deadlines.overdue())


def test_a_server_that_came_back_gives_a_question_its_time_again_but_not_for_ever() -> None:
    deadlines, clock, _ = deadlines_now()
    for _ in range(10):
        clock.now += 40
        deadlines.count("away")
        clock.now += 1
        deadlines.count("work")
    assert deadlines.returns == 10
    assert deadlines.away_too_long
    clock.now += 120 * (1 + MOST_RETURNS)
    deadlines.count("work")
    assert deadlines.overdue() is not None


def test_absence_is_measured_from_the_last_answer() -> None:
    deadlines, clock, _ = deadlines_now()
    for _ in range(MOST_RETURNS):
        clock.now += 40
        deadlines.count("away")
        assert not deadlines.away_too_long
        deadlines.count("work")
    clock.now += 51
    deadlines.count("away")
    assert deadlines.away_too_long


def test_only_a_server_that_was_away_may_lose_many_runs() -> None:
    deadlines, clock, _ = deadlines_now()
    deadlines.begun = 3
    assert "3 times" in str(deadlines.lost_too_often())
    clock.now = 1
    deadlines.count("away")
    deadlines.count("work")
    assert deadlines.lost_too_often() is None


def test_the_limit_of_a_run_is_the_one_it_is_given_else_the_servers_default() -> None:
    schema = {"properties": {"max_run_seconds": {"default": 900}}}
    assert max_run_seconds({"max_run_seconds": 60}, schema) == 60
    assert max_run_seconds({}, schema) == 900
    assert max_run_seconds({}, {}) == FollowLimits.run
