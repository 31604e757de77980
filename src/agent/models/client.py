"""Ask a model: cached, budgeted, paced, validated, repaired once, accounted for."""

import asyncio
import contextlib
import importlib
import json
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Literal, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy, Pulse, told_when_ended
from agent.core.concurrency import SharedSemaphore
from agent.core.errors import (
    AgentError,
    ConfigurationError,
    KeyRefused,
    MalformedReply,
    ProviderRefused,
    TimedOut,
)
from agent.core.faults import contained
from agent.core.processor import read_in_turns
from agent.core.proxies import is_in_own_network
from agent.core.telemetry import Tokens
from agent.models import catalogue
from agent.models.catalogue import GOOGLE_MODELS, ModelName, Provider, parse
from agent.models.google import Google
from agent.models.limits import (
    USUAL_SPEED,
    ReplySize,
    ReplySizes,
    Underway,
    refuse_late,
    refuse_runaway,
)
from agent.models.replies import from_text, read_reply, to_text
from agent.models.streaming import AnswerStream, EarlyReplies, EarlyReply, ReadAhead, Streamed
from agent.models.types import (
    LISTING,
    ModelAnswer,
    ModelRequest,
    Response,
    StreamPiece,
    Thinking,
    Vendor,
    Withdrawal,
)
from agent.models.validation import (
    LOOP,
    RUNAWAY,
    judge,
    parse_reply,
    repair_request,
    schema_of,
    unusable_once,
)
from agent.models.window import Windows
from agent.settings import Settings

S = TypeVar("S", bound=BaseModel)
log = logging.getLogger(__name__)
_WINDOW_SECONDS = 3.0
_PROVIDERS: tuple[Provider, ...] = ("google", "openai")
EndpointKind = Literal["hosted", "thinking", "near"]
"""How a model is served: by a service, by one that thinks first, on a machine of one's own."""


class ModelClient:
    """Ask models; one per process, usable from any event loop."""

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        *,
        vendors: Mapping[Provider, Vendor] | None = None,
        only_google: bool = False,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._settings, self._calls, self._today = settings, calls, today
        self._only_google = only_google
        self._vendors: dict[Provider, Vendor] = dict(vendors or {})
        self._served: set[tuple[str, str]] = set()
        self._opened: set[ModelName] = set()
        """Models whose template opens a thought: their text waits for its end."""
        self.windows, self._early = Windows(), EarlyReplies()
        self.reply_sizes = ReplySizes(characters=settings.model_reply_characters)
        self._places = {provider: _places(provider, settings) for provider in _PROVIDERS}
        for provider in _PROVIDERS if settings.model_rpm else ():
            rate, burst = pace_of(settings.model_rpm)
            calls.pace(f"model:{provider}", rate=rate, burst=burst)

    def is_google(self, model: str) -> bool:
        """Tell whether the model can search with Google itself."""
        return parse(model).provider == "google"

    async def ask(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        schema: type[S] | None = None,
        tools: Sequence[BaseTool] = (),
        search: bool = False,
        thinking: Thinking | None = None,
        search_range: tuple[str, str] | None = None,
        text_tokens: int = 0,
        when_sent: Callable[[], None] | None = None,
    ) -> ModelAnswer[S]:
        """Return one reply, never streamed to clients. With `schema`, `parsed` is validated.

        `search` asks for Google Search grounding, in pages of `search_range` only; `tools` are
        bound for calling. `text_tokens` is the most for a text that is known to be short.
        `when_sent` is told when the request goes out, not where the turn has its reply. Raises
        ProviderError or BudgetExceeded; ConfigurationError for a name
        or key that cannot work.
        """
        name = self._current(model)
        if search and name.provider != "google":
            raise ConfigurationError("web_search", f"cannot be Google's with {model}")
        request = ModelRequest(
            name.id,
            tuple(messages),
            schema,
            tuple(tools),
            search,
            thinking,
            search_range,
            text_tokens=text_tokens,
            sent=when_sent,
        )
        with contained(f"model:{name.provider}"):
            response = await self._once(name, request, meter)
            if schema is None:
                return _reply(response, name)
            try:
                return await _parsed(response, name, schema)
            except ValueError as problem:
                return await self._repair(name, request, meter, response, problem)

    async def _repair(
        self,
        name: ModelName,
        request: ModelRequest,
        meter: Meter,
        first: Response,
        problem: ValueError,
    ) -> ModelAnswer[Any]:
        log.info("turn=%s %s: asked again: %s", meter.turn_id, name.id, problem)
        schema = cast(type[BaseModel], request.schema)
        messages = (*request.messages, AIMessage(first.text), repair_request(str(problem)))
        again = replace(request, messages=messages, schema=schema)
        second = await self._once(name, again, meter)
        try:
            return await _parsed(second, name, schema)
        except ValueError as still:
            raise MalformedReply(
                f"model:{name.provider}",
                f"{name.id}: the answer does not fit its schema, twice: {still}",
                code="model_schema",
            ) from None

    async def _once(self, name: ModelName, request: ModelRequest, meter: Meter) -> Response:
        """Return the reply to a request, which is cut where it was too long for the model."""
        vendor = await self._vendor(name)

        async def ask(sized: ModelRequest) -> Response:
            return await self._attempt(name, sized, meter, vendor)

        return await self.windows.ask_within(name, request, vendor, ask)

    async def _attempt(
        self, name: ModelName, request: ModelRequest, meter: Meter, vendor: Vendor
    ) -> Response:
        provider = f"model:{name.provider}"
        charged, tokens, pulse = False, Tokens(), Pulse()
        size = self.reply_sizes.of(name, request, left=self._left(name, meter))

        async def send() -> str:
            nonlocal charged
            refuse_late(size, meter)
            most = self.reply_sizes.characters
            underway = Underway(provider, request, pulse, characters=most)
            sized = replace(request, max_tokens=size.tokens, watch=underway.hear)
            if request.sent:
                request.sent()
            try:
                response = await vendor.complete(sized)
            except (asyncio.CancelledError, MalformedReply) as early:
                if isinstance(early, asyncio.CancelledError) or early.code in RUNAWAY:
                    spent = underway.spent()
                    tokens.add(spent)
                    self._account(name, meter, spent)
                    self.reply_sizes.measure(name, spent.output_tokens, underway.seconds)
                raise
            charged = True
            self.reply_sizes.measure(name, response.output_tokens, underway.seconds)
            self.reply_sizes.measure_reading(name, response.input_tokens, underway.waited)
            tokens.add(response)
            self._account(name, meter, response)
            if self._is_near(name):
                self.windows.check(request, response, provider)
            size.learn(response)
            refuse_runaway(response, provider, name.id, characters=most)
            read = partial(read_reply, response, request, opened=name in self._opened)
            response = await read_in_turns(read, len(response.text))
            if response.opened:
                self._opened.add(name)
            if response.echoes:
                meter.remark("model_weak")
            if response.no_tools:
                meter.remark("model_no_tools")
            _judge(response, request, provider, size)
            return to_text(response)

        with self._named_key(name, meter), _remarked(meter):
            text = await self._calls.once(
                self._policy(name), send,
                meter=meter, request=_identity(request), tokens=tokens, pulse=pulse,
            )  # fmt: skip
        response = from_text(text)
        if not charged:
            # A step repeated after a crash still owns what its first life paid.
            self._account(name, meter, response, again=True)
        return response

    @contextmanager
    def _named_key(self, name: ModelName, meter: Meter) -> Iterator[None]:
        """Name the variable of a key that is refused."""
        try:
            yield
        except ProviderRefused as error:
            if error.code != "model_key_invalid":
                raise
            raise KeyRefused(
                error.provider,
                error.message,
                code=error.code,
                variable=self._settings.key_name(name.provider),
                at_once=not meter.budget.has_tokens,
            ) from error

    async def stream(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        fallback: str | None,
        thinking: Thinking | None = None,
    ) -> AsyncIterator[str]:
        """Yield the reply's text; `fallback` answers if the model fails before any text.

        A `Withdrawal` takes back all text before it: it was a thought, whose opening tag a model's
        template had written. From then on that model's text waits for the end of its thought.

        A reply cut off half-way is continued once; cut off again, ProviderUnavailable with code
        `model_cut_off` is raised after the text there is. A complete one is kept for a process
        that has to write it again.
        """
        wanted = self._wanted(model, messages, fallback, thinking)
        async with (
            self._early.taken_up(wanted.key, meter) as early,
            aclosing(early or ReadAhead(self._texts(wanted, meter))) as texts,
        ):
            async for text in texts:
                yield text

    def early(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        fallback: str | None,
        thinking: Thinking | None = None,
    ) -> AbstractAsyncContextManager[EarlyReply]:
        """Hold what `stream` may be asked for next in the turn, to be begun before that is known.

        It spends no call, token or second that the answer needs, and where few calls may be made,
        at once or in a minute, it is not begun.
        """
        wanted = self._wanted(model, messages, fallback, thinking)
        early = EarlyReply(
            wanted.key,
            lambda meter: self._texts(wanted, meter),
            meter.budget.meter(),
            lambda: self._has_room(wanted.names[0]),
        )
        return self._early.beside(early, meter)

    def _has_room(self, name: ModelName) -> bool:
        """Return whether a call that may turn out needless keeps no other one waiting."""
        places = self._places[name.provider]
        return not self._settings.model_rpm and (places is None or places.free > 1)

    def _wanted(
        self,
        model: str,
        messages: Sequence[BaseMessage],
        fallback: str | None,
        thinking: Thinking | None,
    ) -> Streamed:
        names = list(dict.fromkeys(self._current(name) for name in (model, fallback) if name))
        level = thinking or catalogue.DEFAULT_THINKING["answer"]
        request = _identity(ModelRequest(names[0].id, tuple(messages), thinking=level))
        return Streamed(names, messages, level, self._policy(names[0]), request)

    async def _texts(self, wanted: Streamed, meter: Meter) -> AsyncGenerator[str, None]:
        """Yield a reply's text as it comes, and keep the whole; one that was paid for at once."""
        policy, request = wanted.policy, wanted.request
        if (earlier := await self._calls.recall(policy, request, meter, wanted.key)) is not None:
            yield self._earlier_answer(earlier, meter)
            return
        tokens, bill = Tokens(), list[list[Any]]()

        def account(name: ModelName, meter: Meter, usage: StreamPiece) -> None:
            tokens.add(usage)
            bill.append([name.provider, name.id, asdict(usage)])
            self._account(name, meter, usage)

        answer_stream = AnswerStream(
            self._calls,
            self._vendor,
            self._policy,
            account,
            opened=self._opened,
            windows=self.windows,
            characters=self.reply_sizes.characters,
            size_of=lambda name, request: self.reply_sizes.of(
                name, request, left=self._left(name, meter), streamed=True
            ),
            meter=meter,
            thinking=wanted.thinking,
        )
        with (
            told_when_ended(policy.provider, request, meter.turn_id, tokens) as ended,
            self._named_key(wanted.names[-1], meter),
        ):
            async with aclosing(answer_stream.tell(wanted.names, wanted.messages)) as pieces:
                async for text in pieces:
                    ended.reply = "" if isinstance(text, Withdrawal) else ended.reply + text
                    yield text
        answer = json.dumps({"text": ended.reply, "bill": bill}, ensure_ascii=False)
        await self._calls.save(meter, wanted.key, answer)

    def _earlier_answer(self, reply: str, meter: Meter) -> str:
        """Return the text of an answer that this turn has paid for, and account for it."""
        answer = json.loads(reply)
        for provider, model, usage in answer["bill"]:
            self._account(ModelName(provider, model), meter, StreamPiece(**usage), again=True)
        return str(answer["text"])

    def _current(self, model: str) -> ModelName:
        """Return the model to ask, which is the successor where the named one is retired."""
        named = parse(model)
        if self._only_google and named.provider != "google":
            # The sample stands in for one provider, whatever model the operator has configured.
            named = ModelName("google", next(iter(GOOGLE_MODELS)))
        if (name := catalogue.successor_of(named)) != named:
            self._tell_served(named.id, name.id)
        return name

    def _policy(self, name: ModelName) -> Policy:
        """Return the policy of one call."""
        return Policy(
            provider=f"model:{name.provider}",
            spends="model_calls",
            timeout=self._settings.model_timeout_seconds,
            attempts=4,
            base_delay=0.2,
            retry_on=unusable_once(),
            setting="MODEL_TIMEOUT_SECONDS",
            places=self._places[name.provider],
            first_seconds=math.inf if self._is_near(name) and not self._is_timed else 0,
        )

    @property
    def _is_timed(self) -> bool:
        return "model_timeout_seconds" in self._settings.model_fields_set

    def _is_near(self, name: ModelName) -> bool:
        return name.provider == "openai" and is_in_own_network(self._settings.openai_base_url or "")

    def _left(self, name: ModelName, meter: Meter) -> Callable[[], float] | None:
        """Return what says a run's seconds left, for a model that may need all of them."""
        return meter.remaining if self._is_near(name) else None

    def _account(self, name: ModelName, meter: Meter, spent: Any, *, again: bool = False) -> None:
        """Record the tokens and cost of a Response or Piece; searches are the search layer's."""
        if not (spent.input_tokens or spent.output_tokens or spent.served_by):
            return  # nothing came
        served = spent.served_by.removeprefix("models/")
        if served and name.provider == "google" and served != name.id:
            self._tell_served(name.id, served)
        billed = served if served in catalogue.GOOGLE_MODELS else name.id
        cost = catalogue.price(
            f"{name.provider}:{billed}",
            spent.input_tokens,
            spent.output_tokens,
            on=self._today(),
        )
        meter.record(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=cost,
            model=f"{name.provider}:{billed}",
            again=again,
        )

    def _tell_served(self, requested: str, served: str) -> None:
        if (requested, served) not in self._served:
            self._served.add((requested, served))
            log.warning("asked for %s, served by %s", requested, served)

    async def list_models(self, provider: Provider = "google") -> list[str]:
        """Return the ids the service knows; raise ProviderError or ConfigurationError."""
        async with asyncio.timeout(self._settings.model_timeout_seconds):
            return await (await self._vendor(ModelName(provider, LISTING))).list_models()

    def serves_one(self, model: str) -> bool:
        """Return whether the model is asked one thing at a time."""
        places = self._places[self._current(model).provider]
        return places is not None and places.limit == 1

    def kind(self, model: str) -> EndpointKind:
        """Return how it is served; of Google's, a model thinks as little as it is told."""
        name = self._current(model)
        if self._is_near(name):
            return "near"
        thinks = name.provider != "google" and self.reply_sizes.thinks(name)
        return "thinking" if thinks else "hosted"

    def speed(self, model: str) -> float:
        """Return the tokens a second that a model was seen to write, else a usual number."""
        return self.reply_sizes.speed(self._current(model)) or USUAL_SPEED

    async def prompt_room(self, model: str) -> int | None:
        """Return the tokens that a prompt may have; None where no window is told, or a large one.

        A service is asked once, and not long: where it says nothing, its refusals will.
        """
        name = self._current(model)
        if name.id in GOOGLE_MODELS:
            return None
        if not self.windows.is_told(name):
            tokens = None
            with contextlib.suppress(AgentError, TimeoutError):
                async with asyncio.timeout(_WINDOW_SECONDS):
                    tokens = await (await self._vendor(name)).window(name.id)
            self.windows.tell(name, tokens)
        return self.windows.room(name)

    async def window(self, model: str) -> int | None:
        """Return the tokens of a model's window, where its service tells; raise ProviderError."""
        name = self._current(model)
        async with asyncio.timeout(self._settings.model_timeout_seconds):
            return await (await self._vendor(name)).window(name.id)

    async def aclose(self) -> None:
        """Close the connections of every event loop."""
        await self._early.aclose()
        for vendor in self._vendors.values():
            await vendor.aclose()

    async def _vendor(self, name: ModelName) -> Vendor:
        if name.provider not in self._vendors:
            made = await self._make(name.provider)
            # First calls side by side make one each; all use the first, whose pool is closed.
            self._vendors.setdefault(name.provider, made)
        return self._vendors[name.provider]

    async def _make(self, provider: Provider) -> Vendor:
        if provider == "google":
            return Google(self._settings)
        try:
            # Importing takes a second of CPU: off the event loop.
            module = await asyncio.to_thread(importlib.import_module, "agent.models.openai")
        except ImportError as error:
            raise ConfigurationError(
                "model", "needs the extra for openai:… models: `pip install 'tanlu[openai]'`"
            ) from error
        return cast(Vendor, module.OpenAI(self._settings))


@contextmanager
def _remarked(meter: Meter) -> Iterator[None]:
    """Note of a model that goes round in circles that it is weak."""
    try:
        yield
    except MalformedReply as error:
        if error.code == LOOP:
            meter.remark("model_weak")
        raise


def _judge(response: Response, request: ModelRequest, provider: str, size: ReplySize) -> None:
    """Raise ProviderError for a reply of no use; what the run's time has cut came too late."""
    try:
        judge(response, request, provider)
    except MalformedReply as error:
        if error.code != "model_truncated" or not size.hurried:
            raise
        raise TimedOut(
            provider,
            f"{request.model}: no end within {size.hurried:.0f} s",
            seconds=size.hurried,
            setting="MAX_RUN_SECONDS",
            begun=True,
        ) from None


def _places(provider: Provider, settings: Settings) -> SharedSemaphore | None:
    """Return the places for calls at once; a small server nearby works on one at a time."""
    near = provider == "openai" and is_in_own_network(settings.openai_base_url or "")
    most = (1 if near else 0) if settings.model_concurrency is None else settings.model_concurrency
    return SharedSemaphore(most) if most else None


def pace_of(rpm: int) -> tuple[float, int]:
    """Return (calls a second, burst) that never exceed `rpm` in any minute."""
    burst = max(1, rpm // 3)
    return (rpm - burst + 1) / 60, burst


def _identity(request: ModelRequest) -> dict[str, Any]:
    """Return what makes two requests the same, free of random message ids."""
    return {
        "model": request.model,
        "messages": [_fields_of(message) for message in request.messages],
        "schema": schema_of(request.schema) if request.schema else None,
        "tools": [tool.name for tool in request.tools],
        "search": request.search_range or request.search,
        "thinking": request.thinking,
    }


def _fields_of(message: BaseMessage) -> list[Any]:
    fields: list[Any] = [message.type, message.content]
    if isinstance(message, AIMessage):
        fields.append([[call["name"], call["args"], call["id"]] for call in message.tool_calls])
    if isinstance(message, ToolMessage):
        fields.append(message.tool_call_id)
    return fields


async def _parsed(response: Response, name: ModelName, schema: type[S]) -> ModelAnswer[S]:
    """Return a reply with its form; raise ValueError that says what of it does not fit."""
    read = partial(parse_reply, response.text, schema)
    return _reply(response, name, await read_in_turns(read, len(response.text)))


def _reply(response: Response, name: ModelName, value: S | None = None) -> ModelAnswer[S]:
    return ModelAnswer(
        text=response.text,
        message=response.message,
        model=response.served_by or name.id,
        parsed=value,
        parts=response.parts,
        grounding=response.grounding,
        truncated=response.finish == "length" and value is None,
        no_tools=response.no_tools,
    )
