"""How long a question waits for a server."""

from agent.batch.remote import MOST_RETURNS, Patience, Pulse, Waited, max_run_seconds

LIMITS = Patience(run=100, margin=20, away=50)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def waited() -> tuple[Waited, Clock, Pulse]:
    clock, pulse = Clock(), Pulse()
    return Waited(LIMITS, pulse, clock), clock, pulse


def test_a_run_has_its_own_limit_and_a_margin() -> None:
    told, clock, _ = waited()
    clock.now = 120
    told.spent("work")
    assert told.exhausted() is None
    clock.now = 121
    told.spent("work")
    assert "within 120 s" in str(told.exhausted())


def test_time_in_the_queue_counts_only_while_the_server_begins_nothing_of_the_batch() -> None:
    told, clock, pulse = waited()
    for _ in range(10):
        clock.now += 100
        pulse.beat()
        told.spent("queue")
    assert told.exhausted() is None
    clock.now += 121
    told.spent("queue")
    assert "began no run" in str(told.exhausted())


def test_a_server_that_came_back_gives_a_question_its_time_again_but_not_for_ever() -> None:
    told, clock, _ = waited()
    for _ in range(10):
        clock.now += 40
        told.spent("away")
        clock.now += 1
        told.spent("work")
    assert told.returns == 10
    assert told.gone
    clock.now += 120 * (1 + MOST_RETURNS)
    told.spent("work")
    assert told.exhausted() is not None


def test_absence_is_measured_from_the_last_answer() -> None:
    told, clock, _ = waited()
    for _ in range(MOST_RETURNS):
        clock.now += 40
        told.spent("away")
        assert not told.gone
        told.spent("work")
    clock.now += 51
    told.spent("away")
    assert told.gone


def test_only_a_server_that_was_away_may_lose_many_runs() -> None:
    told, clock, _ = waited()
    told.begun = 3
    assert "3 times" in str(told.lost_too_often())
    clock.now = 1
    told.spent("away")
    told.spent("work")
    assert told.lost_too_often() is None


def test_the_limit_of_a_run_is_what_the_batch_sets_else_the_servers_default() -> None:
    schema = {"properties": {"max_run_seconds": {"default": 900}}}
    assert max_run_seconds({"max_run_seconds": 60}, schema) == 60
    assert max_run_seconds({}, schema) == 900
    assert max_run_seconds({}, {}) == Patience.run
