"""A Gemini on loopback that notes what it has answered, call by call."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler

from agent.sample.model.reply import SampleModel
from agent.sample.model.request import ModelTurn
from agent.sample.services.loopback import BODY
from tests.support.command_line import CANARY
from tests.support.standin import Speed
from tests.support.standins import GeminiService

STREAM = "streamGenerateContent"
_ON_ITS_WAY_SECONDS, _DYING_SECONDS = 1.0, 0.5
"""An answer may not have been read and kept yet when its reader is killed so soon after; and a kill
is noted before its signal is sent: what is answered in that moment is read by nobody.
"""


class PaidModel(GeminiService):
    """Notes each call by its content once its last byte has been sent to who still listens."""

    def __init__(self) -> None:
        super().__init__(SampleModel(), key=CANARY, speed=self._speed)
        self.latency = lambda request, body: self.seconds
        self.seconds, self.tokens_per_second = 0.0, 0.0
        self.answered: defaultdict[str, list[float]] = defaultdict(list)
        self.app.middlewares.append(self._count)

    def _speed(self, turn: ModelTurn) -> Speed:
        return Speed(tokens_per_second=self.tokens_per_second)

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        text = json.dumps(request[BODY], sort_keys=True, ensure_ascii=False)
        kind = STREAM if STREAM in request.path else "generateContent"
        name = f"{kind} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
        response = await handler(request)
        if request.transport is not None:
            self.answered[name].append(time.monotonic())
        return response

    def pace(self, *, seconds: float = 0.0, tokens_per_second: float = 0.0) -> None:
        """Have each call take so long and each stream run so fast; 0 is at once."""
        self.seconds, self.tokens_per_second = seconds, tokens_per_second

    def paid_again(self, kills: Collection[float] = (), *, streamed: bool) -> dict[str, int]:
        """Return how often each call was answered that had not been answered around a kill."""
        return {
            name: len(times)
            for name, times in self.answered.items()
            if name.startswith(STREAM) == streamed
            and len([at for at in times if not _is_cut(at, kills)]) > 1
        }


def _is_cut(answered: float, kills: Collection[float]) -> bool:
    return any(-_DYING_SECONDS < kill - answered < _ON_ITS_WAY_SECONDS for kill in kills)
