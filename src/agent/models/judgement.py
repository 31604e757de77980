"""Whether a reply that arrived can be used, and how often to ask again if not."""

from collections.abc import Iterator
from contextlib import contextmanager

from agent.errors import MalformedReply, ProviderError, ProviderRefused
from agent.models.vendor import Request, Response


class GaveUp(ProviderError):
    """Carries the final error past the retries of the call wrapper."""

    def __init__(self, error: ProviderError) -> None:
        self.error = error
        super().__init__(error.provider, error.message, code=error.code)


class Patience:
    """A reply that was paid for and cannot be used is asked for once more, not four times."""

    def __init__(self) -> None:
        self._left = 1

    @contextmanager
    def once_more(self) -> Iterator[None]:
        try:
            yield
        except MalformedReply as error:
            if self._left <= 0:
                raise GaveUp(error) from None
            self._left -= 1
            raise


def judge(response: Response, request: Request, provider: str) -> None:
    """Raise ProviderRefused or MalformedReply for a reply that cannot be used."""
    model, calls = request.model, response.message.tool_calls
    if response.finish == "blocked":
        raise blocked(provider, model, response.reason)
    if response.finish == "bad_call" or (response.message.invalid_tool_calls and not calls):
        raise malformed(provider, model, "model_bad_call")
    cut = response.finish == "length" or (response.finish == "none" and bool(response.text))
    if request.schema and cut:
        raise malformed(provider, model, "model_truncated")
    if not response.text.strip() and not calls:
        code = "model_truncated" if response.finish == "length" else "model_empty"
        raise malformed(provider, model, code)


_WORDS = {
    "model_bad_call": "it called a tool in a way that cannot be read",
    "model_truncated": "the answer was cut off at the model's limit",
    "model_empty": "the answer was empty",
}


def malformed(provider: str, model: str, code: str) -> MalformedReply:
    return MalformedReply(provider, f"{model}: {_WORDS[code]}", code=code)


def blocked(provider: str, model: str, reason: str) -> ProviderRefused:
    word = reason if reason.replace("_", "").isalnum() else "?"
    return ProviderRefused(provider, f"{model}: blocked ({word})", code="model_blocked")
