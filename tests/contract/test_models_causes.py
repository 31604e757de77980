"""Why a model service refuses, in the vendors' own words and statuses, by its true name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from agent.core.calls import Calls
from agent.core.errors import ProviderError, ProviderUnavailable
from agent.models.client import ModelClient
from agent.models.errors import Failure, PromptTooLong
from agent.sample.services.loopback import Service
from agent.settings import Settings
from tests.support.meters import meter
from tests.support.scripted import ASK, KEY
from tests.support.served import serve_in_thread
from tests.support.standin import Standin

CHAT = "openai:sample-chat"
PAGE = "<!DOCTYPE html><html><head><title>Just a moment…</title></head></html>"


class Refusing(Standin, Service):
    """Answer every request with one reply."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__("refusing")
        self._status, self._headers = status, headers or {}
        self._text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        self._kind = "text/html" if self._text.startswith("<") else "application/json"
        self.app.router.add_route("*", "/{path:.*}", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        return web.Response(
            status=self._status, text=self._text, content_type=self._kind, headers=self._headers
        )


@contextmanager
def refused(status: int, body: Any, **headers: str) -> Iterator[tuple[ModelClient, Refusing]]:
    service = Refusing(status, body, headers)
    with serve_in_thread(service.app) as running:
        settings = Settings(openai_api_key=KEY, openai_base_url=f"{running.url}/v1")  # type: ignore[arg-type]
        yield ModelClient(settings, Calls()), service


def error(message: str, code: Any = None, kind: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "type": kind, **more}}


def based(message: str, code: int) -> dict[str, Any]:
    """Return a refusal as MiniMax sends it, with success for its status."""
    return {"choices": None, "base_resp": {"status_code": code, "status_msg": message}}


CAUSES: list[tuple[int, Any, str]] = [
    # Content.
    (400, error("Content Exists Risk", "invalid_request_error"), "model_blocked"),
    (
        400,
        error("Input data may contain inappropriate content.", "data_inspection_failed"),
        "model_blocked",
    ),
    (400, error("Output data may …", "DataInspectionFailed"), "model_blocked"),
    (400, error("the response was filtered", "content_filter"), "model_blocked"),
    (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", "1301"), "model_blocked"),
    (400, error("rejected because it was considered high risk", "x"), "model_blocked"),
    # Money.
    (400, error("make sure your account is in good standing.", "Arrearage"), "model_quota"),
    (403, error("has an overdue balance", "AccountOverdueError"), "model_quota"),
    (402, error("Insufficient Balance"), "model_quota"),
    (429, error("您的账户已欠费，请充值后重试。", "1113"), "model_quota"),
    (403, {"code": 30001, "message": "Sorry, your account balance is insufficient"}, "model_quota"),
    (429, error("check your plan and billing details", "insufficient_quota"), "model_quota"),
    (200, error("Insufficient credits", 402), "model_quota"),
    (403, error("预扣费额度失败", "insufficient_user_quota", "new_api_error"), "model_quota"),
    (401, error("该令牌额度已用尽", "", "new_api_error"), "model_quota"),
    (429, error("has reached the set inference limit", "SetLimitExceeded"), "model_quota"),
    (429, error("已达到 5 小时的使用上限。", "1308"), "model_quota"),
    (429, error("Free allocated quota exceeded.", "Throttling"), "model_quota"),
    (200, based("insufficient balance", 1008), "model_quota"),
    # Keys.
    (400, error("Incorrect API key provided", "invalid_api_key"), "model_key_invalid"),
    (401, error("Authentication Fails (no such user)"), "model_key_invalid"),
    (200, error("No auth credentials found", 401), "model_key_invalid"),
    (200, {"code": "401", "msg": "bad"}, "model_key_invalid"),
    (401, error("无效的令牌"), "model_key_invalid"),
    (200, based("login fail: carry the API secret key", 1004), "model_key_invalid"),
    # Addresses.
    (404, {"detail": "Not Found"}, "model_address"),
    (404, "404 page not found", "model_address"),
    (404, error("Invalid URL (POST /chat/completions)"), "model_address"),
    (404, error("File Not Found", 404, "not_found_error"), "model_address"),
    (405, {"detail": "Method Not Allowed"}, "model_address"),
    (404, PAGE, "model_address"),
    # Models.
    (404, error('model "x" not found, try pulling it first'), "model_missing"),
    (404, error("The model `x` does not exist.", 404), "model_missing"),
    (400, error("Model Not Exist"), "model_missing"),
    (503, error("当前分组 default 下对于模型 x 无可用渠道"), "model_missing"),
    # Pages of somebody on the way.
    (200, PAGE, "web_page"),
    (403, PAGE, "web_page"),
    (407, PAGE, "proxy"),
    # Windows.
    (400, error("maximum context length is 4096 tokens", "context_length_exceeded"),
     "model_context"),
    (400, error("request (2469 tokens) exceeds the available context size (2048 tokens)", 400,
                "exceed_context_size_error", n_prompt_tokens=2469, n_ctx=2048), "model_context"),
    (400, error("Range of input length should be [1, 30720]", "invalid_parameter_error"),
     "model_context"),
    (400, error("tokens to keep is greater than the context length"), "model_context"),
    (400, error("You passed 5000 input tokens. The model's context length is only 4096 tokens"),
     "model_context"),
    (400, error("The prompt (total length 5000) is too long to fit into the model"),
     "model_context"),
    (400, {"object": "error", "code": 400,
           "message": "The input (5000 tokens) is longer than the model's context length"},
     "model_context"),
    (400, error("Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens)."),
     "model_context"),
    (500, error("Context size has been exceeded.", 500, "server_error"), "model_context"),
    (400, {"error": "the model is loaded with context length of only 4096 tokens"},
     "model_context"),
    (400, {"error": "Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)"},
     "model_context"),
    (422, {"error": "`inputs` must have less than 4095 tokens. Given: 5000"}, "model_context"),
    (400, {"code": 20015, "message": "length of prompt_tokens (40000) must be less than "
           "max_seq_len (32768).", "data": None}, "model_context"),
    (400, error("Input token length too long"), "model_context"),
    (400, error("the length of messages tokens exceeds the limit: 8192"), "model_context"),
    (400, {"error": "Input length 5000 exceeds max_input_len 4096"}, "model_context"),
    (200, based("invalid params, context window exceeds limit", 2013), "model_context"),
    # Other.
    (400, error("odd"), "model_bad_request"),
    (403, error("You have no access to this model"), "model_forbidden"),
    (404, error("has not activated the model x", "ModelNotOpen"), "model_forbidden"),
    (403, error("Country, region, or territory not supported", "unsupported_country_region"),
     "model_region"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "code"), CAUSES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refusal_has_the_name_of_its_cause_and_is_not_repeated(
    status: int, body: Any, code: str, streamed: bool
) -> None:
    with refused(status, body) as (client, service):
        with pytest.raises(ProviderError) as caught:
            await asked(client, streamed=streamed)
        await client.aclose()
    assert caught.value.code == code
    assert KEY not in str(caught.value)
    assert len([r for r in service.requests if r.method == "POST"]) == 1


async def asked(client: ModelClient, *, streamed: bool) -> None:
    if streamed:
        async for _ in client.stream(CHAT, ASK, meter=meter(), fallback=None):
            pass
    else:
        await client.ask(CHAT, ASK, meter=meter())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_says_where_it_leads(status: int) -> None:
    where = "https://new.example.com/v1/chat/completions?token=secret"
    with refused(status, "", Location=where) as (client, service):
        with pytest.raises(ProviderError, match=r"https://new\.example\.com/v1") as caught:
            await asked(client, streamed=False)
        await client.aclose()
    assert caught.value.code == "model_redirect"
    assert "secret" not in str(caught.value)
    assert len([r for r in service.requests if r.method == "POST"]) == 1


async def test_a_model_that_is_loading_is_waited_for() -> None:
    with refused(503, error("Loading model", 503, "unavailable_error")) as (client, service):
        with pytest.raises(ProviderUnavailable) as caught:
            await asked(client, streamed=False)
        await client.aclose()
    assert caught.value.code == "model_loading"
    assert len(service.requests) > 1


@pytest.mark.parametrize(
    ("body", "window", "sent"),
    [
        (error("x", 400, "exceed_context_size_error", n_prompt_tokens=2469, n_ctx=2048),
         2048, 2469),
        (error("request (2469 tokens) exceeds the available context size (2048 tokens)"),
         2048, 2469),
        (error("This model's maximum context length is 4096 tokens. However, you requested 5000"
               " tokens"), 4096, 5000),
        (error("Range of input length should be [1, 30720]"), 30720, None),
        (error("prompt is too long: 213462 tokens > 200000 maximum"), 200000, 213462),
    ],
)  # fmt: skip
async def test_an_overflow_tells_the_window_and_what_was_sent(
    body: Any, window: int, sent: int | None
) -> None:
    with refused(400, body) as (client, _):
        with pytest.raises(PromptTooLong) as caught:
            await asked(client, streamed=False)
        await client.aclose()
    assert (caught.value.window, caught.value.sent) == (window, sent)


async def test_the_whole_address_of_the_call_is_taken_too() -> None:
    service = Refusing(400, error("odd"))
    with serve_in_thread(service.app) as running:
        url = f" {running.url}/v1/chat/completions "
        client = ModelClient(Settings(openai_api_key=KEY, openai_base_url=url), Calls())  # type: ignore[arg-type]
        with pytest.raises(ProviderError):
            await asked(client, streamed=False)
        await client.aclose()
    assert {request.path for request in service.requests} == {"/v1/chat/completions"}


SIZES: list[tuple[str, int, int | None]] = [
    ("maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192, 9000),
    ("max_tokens is too large: 8000. This model's maximum context length is 8192 tokens and your "
     "request has 2000 input tokens", 8192, None),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens)",
     4096, 5000),
    ("Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens).", 4090, 5000),
    ("`inputs` must have less than 4095 tokens. Given: 5000", 4095, None),
    ("length of prompt_tokens (40000) must be less than max_seq_len (32768).", 32768, None),
    ("Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)", 4096, None),
    ("Input length 5000 exceeds max_input_len 4096", 4096, None),
    ("the length of messages tokens exceeds the limit: 8192", 8192, None),
    ("Range of input length should be [1, 30720]", 30720, None),
    ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 4096, None),
]  # fmt: skip


@pytest.mark.parametrize(("words", "window", "sent"), SIZES)
def test_a_refusal_for_length_tells_the_window_and_the_prompt(
    words: str, window: int, sent: int | None
) -> None:
    failure = Failure(400, words)
    assert (failure.window, failure.sent) == (window, sent)
