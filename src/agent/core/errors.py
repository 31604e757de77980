"""Errors, named by what to do next.

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
└── Forbidden                   UnsafeUrl · UnsafeCode

StoreFailed                     make room, or correct the named variable; then the run goes on

StoreFailed is no AgentError: what a node does without (`except AgentError`) becomes a gap, but a
run whose paid replies cannot be kept has to end.
"""

from typing import TYPE_CHECKING, Self

from agent.core.redaction import scrub

if TYPE_CHECKING:
    from pydantic import ValidationError


class AgentError(RuntimeError):
    """Base of everything we raise on purpose; `code` is a stable word for gaps and clients."""

    code = "failed"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(scrub(message))
        if code is not None:
            self.code = code

    @property
    def message(self) -> str:
        return str(self)


class ConfigurationError(AgentError, ValueError):
    """A setting is missing or wrong; `name` is the variable or field."""

    code = "configuration"

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"{name}: {problem}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.name, self.problem)

    @classmethod
    def of(cls, error: "ValidationError") -> Self:
        """The first problem of a pydantic error: its field and what is wrong, not the value."""
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "input"
        return cls(where, problem["msg"].removeprefix("Value error, "))


class InputError(ConfigurationError):
    """What the caller sent cannot be used; `name` is the field."""

    code = "input"


class ProviderError(AgentError):
    """A service outside did not deliver."""

    code = "provider_failed"

    def __init__(self, provider: str, message: str, *, code: str | None = None) -> None:
        self.provider = provider
        super().__init__(message, code=code)


class ProviderUnavailable(ProviderError):
    code = "unavailable"


class RateLimited(ProviderError):
    """`retry_after` in seconds, where the service said it; None otherwise."""

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


class MalformedReply(ProviderError):
    code = "malformed"


class BudgetExceeded(AgentError):
    """`limit` is the Configuration field that is spent, `value` what it allowed."""

    def __init__(self, limit: str, value: float) -> None:
        self.limit, self.value = limit, value
        super().__init__(f"{limit} = {value:g} is spent", code=f"budget_{limit}")


class NothingFound(AgentError):
    """Every source failed; the text names each failure."""

    code = "nothing_found"


class Forbidden(AgentError):
    code = "forbidden"


class UnsafeUrl(Forbidden):
    code = "unsafe_url"


class UnsafeCode(Forbidden):
    code = "unsafe_code"


class StoreFailed(RuntimeError):
    """Threads and paid replies cannot be kept; `name` is the variable that says where they are."""

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
