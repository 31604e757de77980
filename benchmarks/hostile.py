"""Texts and replies that are as bad for who reads them as any, and differ from piece to piece.

A model that says the same again and again is stopped, so no text repeats itself.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from agent.sample.model.request import GroundedSentence, GroundingPage, Model, ModelReply, ModelTurn
from agent.sample.records import SamplePage as SamplePage
from agent.sample.services.loopback import Handler
from benchmarks.script import task_of

SIZE = 100_000


def _of(piece: Callable[[int], str], size: int = SIZE) -> str:
    written, length, number = list[str](), 0, 0
    while length < size:
        written.append(piece(number))
        length, number = length + len(written[-1]), number + 1
    return "".join(written)


TEXTS: Mapping[str, str] = {
    "digits": _of(str),
    "rows": "| a | b |\n|---|---|\n" + "".join(f"| {n} km | {n}.5 % |\n" for n in range(2_500)),
    "rows in one": "| a | b |\n|---|---|\n" + _of(lambda n: f"| {n} km [^w0-{n % 9}]"),
    "a rule": "| a | b |\n|" + "-" * 1_450 + "- x\n" + _of(lambda n: "|" + "-" * (n % 97)),
    "brackets": _of(lambda n: "[" * (n % 13) + str(n)),
    "pipes": _of(lambda n: "|" * (n % 13) + str(n)),
    "markers": _of(lambda n: f"[^w{n % 5}-{n}]"),
    "open markers": _of(lambda n: f"[^w{n % 5}-{n}"),
    "links": _of(lambda n: f"[{n}](http://a{n}.example/"),
    "short sentences": _of(lambda n: f"a{n}. "),
    "abbreviations": _of(lambda n: f"Mr. {n}. "),
    "figures": _of(lambda n: f"The {n}.5 km walk to Foo Bar {n} takes {n} minutes, {n},500 yuan. "),
    "Han figures": _of(
        lambda n: f"第{n}家店在王府井附近，距离{n}米，人均{n}元，营业到{n % 24}:30。"
    ),
    "sums": _of(lambda n: f"{n} + {n} × {n} = {n + n * n} yuan. "),
    "items": _of(lambda n: f"- **Foo Bar {n} Cafe**: {n} m, ¥{n} [^w0-{n % 9}]\n"),
    "one word": "的" * 50 + _of(lambda n: chr(0x4E00 + n * 7 % 20_000)),
    "code": "```\n" + _of(lambda n: f"x{n} = [\n"),
    "quotes": _of(lambda n: f"“《a{n}"),
}
PLACES = ("answer", "web", "reflection", "judge", "hits", "map", "everywhere")
"""Where a text comes from: parts of the model's work, hits of a search, records of the map."""


@dataclass
class Hostile(Model):
    """Answer as another model does, but where it is told to with a text of ours."""

    inner: Model
    place: str = ""
    text: str = ""

    def says(self, place: str) -> bool:
        """Return whether what comes from there is ours now."""
        return bool(self.text) and self.place in (place, "everywhere")

    def respond(self, turn: ModelTurn) -> ModelReply:
        """Return the other model's answer with our text in it."""
        answer, task = self.inner.respond(turn), task_of(turn.system + turn.user)
        if answer.text is not None and self.says("answer"):
            return replace(answer, text=self.text)
        if task == "web_research" and self.says("web"):
            return replace(answer, grounded=self._grounded())
        if task == "reflection" and self.says("reflection"):
            return replace(answer, json={**answer.json, "knowledge_gap": self.text})
        if task == "claim_check" and self.says("judge"):
            rulings = answer.json["rulings"]
            text = self.text[: SIZE // 10]
            bad = {"v": "n", "bad": [text], "says": text, "fix": text}
            return replace(answer, json={"rulings": [{**ruling, **bad} for ruling in rulings]})
        return answer

    def _grounded(self) -> tuple[GroundedSentence, ...]:
        step = max(1, len(self.text) // 40)
        pieces = [self.text[at : at + step] for at in range(0, len(self.text), step)]
        pages = [
            GroundingPage(f"http://h{n % 8}.example/", self.text[:200]) for n in range(len(pieces))
        ]
        return tuple(
            GroundedSentence(piece, (page,) * (n % 3 > 0))
            for n, (piece, page) in enumerate(zip(pieces, pages, strict=True))
        )

    def hits(self, others: Callable[[str, int], Sequence[SamplePage]]) -> Any:
        """Return a search for pages whose texts are ours, where hits are."""

        def found(query: str, limit: int) -> Sequence[SamplePage]:
            pages = others(query, limit)
            if not self.says("hits"):
                return pages
            return [replace(page, text=f"{page.title}. {self.text}") for page in pages]

        return found

    @web.middleware
    async def of_map(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer as the map does, all its words ours."""
        response = await handler(request)
        if not self.says("map") or not isinstance(response, web.Response):
            return response
        body = json.loads(response.text or "null")
        return web.json_response(self._told(body), status=response.status)

    def _told(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self._told(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._told(inner, name) for inner in value]
        is_word = isinstance(value, str) and name in _WORDS_OF_MAP
        return self.text[: SIZE // 4] if is_word else value


_WORDS_OF_MAP = frozenset(
    ("name", "address", "alias", "type", "tel", "open_time", "opentime2", "instruction", "business")
)
