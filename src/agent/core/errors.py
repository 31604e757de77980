"""Name errors by what to do next.

AgentError                      safe to show: RuntimeError, so the server lets its text through
├── ConfigurationError          fix the named variable or field
├── InputError                  the question or an input field cannot be used as it is
├── ProviderError               a service outside did not deliver
│   ├── ProviderUnavailable     try again later (5xx, timeout, dropped connection)
│   ├── RateLimited             wait `retry_after` seconds
│   ├── ProviderRefused         do not try again (key, permission, region, blocked, not found)
│   └── MalformedReply          it answered, but not in its protocol
├── BudgetExceeded              a limit of the run is spent
├── NothingFound                every source failed; there is nothing to answer from
└── Forbidden                   UnsafeUrl

StoreFailed                     make room, or correct the named variable; then the run goes on

StoreFailed is no AgentError: what a node does without (`except AgentError`) becomes a gap, but a
run whose paid replies cannot be kept has to end.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from agent.core.redaction import scrub
from agent.core.strings import with_stop

if TYPE_CHECKING:
    from pydantic import ValidationError


def about_setting(name: str, problem: str) -> str:
    """Return the sentence that says what is wrong with a setting or a field, by its name."""
    return with_stop(f"{name}{' ' if problem[:1].islower() else ': '}{problem}")


class AgentError(RuntimeError):
    """Stand for everything we raise on purpose; `code` is a stable word for gaps and clients."""

    code = "failed"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(scrub(message))
        if code is not None:
            self.code = code

    @property
    def message(self) -> str:
        return str(self)


class ConfigurationError(AgentError, ValueError):
    """Report a setting that is missing or wrong; `name` is the variable or field.

    A `problem` that begins small goes on from the name ("is missing"), any other is a sentence.
    `fault` and its values word the problem in the reader's language, where it has a text.
    """

    code = "configuration"
    others: "tuple[ConfigurationError, ...]" = ()
    """What is wrong besides, with other settings."""

    def __init__(self, name: str, problem: str, *, fault: str = "", **values: str) -> None:
        self.name, self.problem, self.fault, self.values = name, problem, fault, values
        super().__init__(about_setting(name, problem))

    @property
    def message(self) -> str:
        return " ".join([str(self), *(other.message for other in self.others)])

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str, str], dict[str, Any]]:
        made = partial(type(self), fault=self.fault, **self.values)
        return made, (self.name, self.problem), {"others": self.others}

    @classmethod
    def of(cls, error: "ValidationError", named: Callable[[str], str] = str) -> Self:
        """Return the problems of a pydantic error: their fields, `named`, and faults, no values."""
        return cls.of_all([
            cls(
                named(".".join(map(str, problem["loc"])) or "input"),
                problem["msg"].removeprefix("Value error, "),
                fault=problem["type"],
                **{name: _plain(value) for name, value in problem.get("ctx", {}).items()},
            )
            for problem in error.errors(include_url=False, include_input=False)
        ])  # fmt: skip

    @classmethod
    def of_all(cls, errors: "Sequence[Self]") -> Self:
        """Return the first of some errors, which knows the others."""
        first = errors[0]
        for other in errors[1:]:
            first.others = (*first.others, other, *other.others)
        return first


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class InputError(ConfigurationError):
    """Report input that cannot be used; `name` is the field."""

    code = "input"


class ProviderError(AgentError):
    """Report a service outside that did not deliver."""

    code = "provider_failed"

    def __init__(self, provider: str, message: str, *, code: str | None = None) -> None:
        self.provider = provider
        super().__init__(message, code=code)


class ProviderUnavailable(ProviderError):
    code = "unavailable"


class TimedOut(ProviderUnavailable):
    """Report a call that took too long; `setting` is the variable that gave it its `seconds`.

    `begun` where something had come: the same call again would run as far.
    """

    code = "timeout"

    def __init__(
        self,
        provider: str,
        message: str,
        *,
        seconds: float = 0,
        setting: str = "",
        begun: bool = False,
    ) -> None:
        self.seconds, self.setting, self.begun = seconds, setting, begun
        super().__init__(provider, message)


class RateLimited(ProviderError):
    """Report a limit; `retry_after` in seconds where the service named it, else None."""

    code = "rate_limited"

    def __init__(
        self,
        provider: str,
        message: str,
        *,
        retry_after: float | None = None,
        code: str | None = None,
    ) -> None:
        self.retry_after = retry_after
        super().__init__(provider, message, code=code)


class ProviderRefused(ProviderError):
    code = "refused"


class KeyRefused(ProviderRefused):
    """Report a key that its service does not take; `at_once` where nothing of the run had come.

    Then the run ends by the variable's name, instead of walking through steps that all fail.
    """

    def __init__(
        self, provider: str, message: str, *, code: str, variable: str, at_once: bool
    ) -> None:
        self.variable, self.at_once = variable, at_once
        super().__init__(provider, message, code=code)


class MalformedReply(ProviderError):
    code = "malformed"


class BudgetExceeded(AgentError):
    """Report a spent limit: its Configuration field and the value that it allowed."""

    def __init__(self, limit: str, value: float) -> None:
        self.limit, self.value = limit, value
        super().__init__(f"{limit} = {value:g} is spent", code=f"budget_{limit}")


class NothingFound(AgentError):
    """Report that every source failed; the text names each failure."""

    code = "nothing_found"


class Forbidden(AgentError):
    code = "forbidden"


class UnsafeUrl(Forbidden):
    code = "unsafe_url"


class StoreFailed(RuntimeError):
    """Report that threads and paid replies cannot be stored; `name` is the variable to correct."""

    code = "store_failed"

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, scrub(problem)
        super().__init__(
            f"{name}: {self.problem}; nothing more is paid for until that is put right, then the"
            " run can go on from here"
        )

    @property
    def message(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.name, self.problem)
