"""Count what a run spends, and check its limits before every outside call."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from agent.core.errors import BudgetExceeded
from agent.core.telemetry import Cost, tell_listeners


class Usage(TypedDict):
    """Hold what a run has spent; `searches` are executed queries, the unit that is billed."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    searches: int
    map_calls: int
    cost_usd: NotRequired[float | None]
    first: NotRequired[bool]
    """The first account of a turn: it replaces that of the turn before."""


Spending = Literal["model_calls", "searches", "map_calls"]


def no_usage() -> Usage:
    """Return a fresh, empty account."""
    return Usage(
        model_calls=0, input_tokens=0, output_tokens=0, searches=0, map_calls=0, cost_usd=0.0
    )


def add_usage(old: Usage | None, new: Usage | None) -> Usage:
    """Return the sum of two accounts, as a reducer; None empties, an unknown cost stays so."""
    if new is None:
        return no_usage()
    if not new or not old or new.get("first"):
        account = new or old or no_usage()
        return cast(Usage, {name: value for name, value in account.items() if name != "first"})
    costs = (old.get("cost_usd", 0.0), new.get("cost_usd", 0.0))
    return Usage(
        model_calls=old["model_calls"] + new["model_calls"],
        input_tokens=old["input_tokens"] + new["input_tokens"],
        output_tokens=old["output_tokens"] + new["output_tokens"],
        searches=old["searches"] + new["searches"],
        map_calls=old["map_calls"] + new["map_calls"],
        cost_usd=None if None in costs else round(sum(c or 0.0 for c in costs), 6),
    )


@dataclass(frozen=True)
class Limits:
    """Hold the limits of one run, named as in Configuration; seconds are wall clock."""

    max_searches: int
    max_model_calls: int
    max_map_calls: int
    max_run_tokens: int
    max_run_seconds: float
    answer_seconds: float
    """Reserved of `max_run_seconds` so that an answer can still be written."""
    max_run_dollars: float = 0.0
    """Nothing is no limit."""
    answer_now: bool = False
    """Whether there is no time left but for the answer."""
    kept_map_calls: int = 0
    """Of `max_map_calls`, for whoever looks something up while the answer is written."""


class Budget:
    """Keep the account of one run, shared by its parallel branches (and threads)."""

    def __init__(
        self,
        turn_id: str,
        limits: Limits,
        *,
        spent: Usage | None = None,
        elapsed: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.turn_id = turn_id
        self.limits = limits
        self.paid: set[str] = set()
        """Keys of the calls this process has counted."""
        self.branches: set[str] = set()
        """Ids of the branches that this process has worked on."""
        self.remarks: Counter[str] = Counter()
        """What the run says of its models, by code, as often as it was seen."""
        self._spent = add_usage(no_usage(), spent or no_usage())
        self._clock = clock
        self._started = clock() - elapsed
        self._lock = threading.Lock()
        self._told = -math.inf

    def seconds(self) -> float:
        """Return the seconds since the run began."""
        return self._clock() - self._started

    def remaining(self, *, answering: bool = False) -> float:
        """Return the seconds left for research, or for the answer when `answering`."""
        if self.limits.answer_now and not answering:
            return 0.0
        reserve = 0.0 if answering else self.limits.answer_seconds
        return self.limits.max_run_seconds - reserve - self.seconds()

    @property
    def has_tokens(self) -> bool:
        """Return whether a model has answered in this run."""
        with self._lock:
            return self._spent["output_tokens"] > 0

    def may_tell(self, seconds: float) -> bool:
        """Return True for the first who asks within so many seconds."""
        with self._lock:
            if self._clock() - self._told < seconds:
                return False
            self._told = self._clock()
            return True

    def out_of_time(self) -> BudgetExceeded:
        """Return the error of who has no time left."""
        seconds = 0.0 if self.limits.answer_now else self.limits.max_run_seconds
        return BudgetExceeded("max_run_seconds", seconds)

    def left(self, kind: Spending, *, answering: bool = True) -> int:
        """Return the calls of that kind that may still be made, for the answer or for research."""
        limit: int = getattr(self.limits, f"max_{kind}")
        kept = self.limits.kept_map_calls if kind == "map_calls" and not answering else 0
        with self._lock:
            return max(0, limit - kept - self._spent[kind])

    def reserve(self, kind: Spending, count: int, *, answering: bool) -> None:
        """Book `count` calls before they are made, or raise BudgetExceeded."""
        limit = f"max_{kind}"
        allowed = getattr(self.limits, limit)
        if self.remaining(answering=answering) <= 0:
            raise self.out_of_time()
        with self._lock:
            tokens = self._spent["input_tokens"] + self._spent["output_tokens"]
            if kind == "model_calls" and not answering and tokens >= self.limits.max_run_tokens:
                raise BudgetExceeded("max_run_tokens", self.limits.max_run_tokens)
            dollars = self.limits.max_run_dollars
            if dollars and not answering and (self._spent.get("cost_usd") or 0.0) >= dollars:
                raise BudgetExceeded("max_run_dollars", dollars)
            # So much is reserved for the answer, so that research cannot starve it.
            kept = {"model_calls": 1, "map_calls": self.limits.kept_map_calls}
            reserved = 0 if answering else kept.get(kind, 0)
            if self._spent[kind] + count > allowed - reserved:
                raise BudgetExceeded(limit, allowed)
            self._spent[kind] += count

    def recall(self, kind: Spending) -> None:
        """Count a call that was paid for before a crash, whatever the limits say."""
        with self._lock:
            self._spent[kind] += 1

    def record(self, usage: Usage) -> None:
        """Add the usage known only after a call (tokens, cost, executed searches)."""
        with self._lock:
            self._spent = add_usage(self._spent, usage)

    def meter(
        self, *, answering: bool = False, share: Mapping[Spending, int] | None = None
    ) -> "Meter":
        """Return an account of one step, which may spend `share` at most of what it names."""
        return Meter(self, answering=answering, share=share)


class Meter:
    """Count one step's share of a run's budget; `usage` goes into the step's state update."""

    def __init__(
        self,
        budget: Budget,
        *,
        answering: bool = False,
        share: Mapping[Spending, int] | None = None,
        counts_recalled: bool = True,
    ) -> None:
        """Open an account; what it recalls counts unless an earlier step has told of it."""
        self.budget = budget
        self.answering = answering
        self._counts_recalled = counts_recalled
        self.usage = no_usage()
        self._share = share or {}

    @property
    def turn_id(self) -> str:
        return self.budget.turn_id

    def remaining(self) -> float:
        return self.budget.remaining(answering=self.answering)

    def left(self, kind: Spending) -> int:
        """Return the calls of that kind left to this step: of its share and of the budget."""
        left = self.budget.left(kind, answering=self.answering)
        if kind in self._share:
            left = min(left, self._share[kind] - self.usage[kind])
        return max(0, left)

    def reserve(self, kind: Spending, count: int = 1) -> None:
        """Book calls before making them; raise BudgetExceeded."""
        if kind in self._share and self.usage[kind] + count > self._share[kind]:
            raise BudgetExceeded(f"max_{kind}", self._share[kind])
        self.budget.reserve(kind, count, answering=self.answering)
        self.usage[kind] += count

    def remark(self, code: str) -> None:
        """Note what the run has to say of its models."""
        self.budget.remarks[code] += 1

    def recall(self, kind: Spending, key: str) -> None:
        """Count a call that this turn paid for in a process that is gone, once for each key."""
        if key not in self.budget.paid:
            self.budget.paid.add(key)
            if self._counts_recalled:
                self.budget.recall(kind)
                self.usage[kind] += 1

    def own(self, other: "Meter") -> None:
        """Take over what another account of the same budget has spent."""
        self.usage, other.usage = add_usage(self.usage, other.usage), no_usage()

    def record(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        searches: int = 0,
        cost_usd: float | None = 0.0,
        model: str = "",
        again: bool = False,
    ) -> None:
        """Add the usage a reply reports; an unknown cost is None.

        `model` is what is charged, `again` what was paid for before a crash.
        """
        if model and not again:
            tell_listeners(Cost(model, cost_usd))
        usage = no_usage()
        usage["input_tokens"], usage["output_tokens"] = input_tokens, output_tokens
        usage["searches"], usage["cost_usd"] = searches, cost_usd
        self.budget.record(usage)
        self.usage = add_usage(self.usage, usage)


_UNLIMITED = 1_000_000_000


def unlimited_meter(turn_id: str) -> Meter:
    """Return an account that counts and never ends, for what belongs to no run."""
    limits = Limits(_UNLIMITED, _UNLIMITED, _UNLIMITED, _UNLIMITED, float(_UNLIMITED), 0.0)
    return Budget(turn_id, limits).meter()


class Budgets:
    """Hold the open budgets of a process by turn; a resumed turn starts from its state."""

    def __init__(self, *, keep: int = 10_000) -> None:
        self._open: dict[str, Budget] = {}
        self._keep = keep
        self._lock = threading.Lock()

    def of(
        self, turn_id: str, limits: Limits, *, spent: Usage | None = None, elapsed: float = 0.0
    ) -> Budget:
        """Return the turn's budget; create it from `spent` and `elapsed` if it is not open yet.

        A run that goes on with the turn may have other limits: those hold from now on.
        """
        with self._lock:
            if turn_id not in self._open:
                while len(self._open) >= self._keep:
                    self._open.pop(next(iter(self._open)))
                self._open[turn_id] = Budget(turn_id, limits, spent=spent, elapsed=elapsed)
            budget = self._open[turn_id]
            budget.limits = limits
            return budget

    def close(self, turn_id: str) -> None:
        with self._lock:
            self._open.pop(turn_id, None)
