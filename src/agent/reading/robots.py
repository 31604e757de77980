"""robots.txt: asked once per site and remembered for a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from urllib.robotparser import RobotFileParser

from agent.calls import SingleFlight
from agent.errors import ProviderRefused, RateLimited

MAX_BYTES = 512 << 10
_KNOWN = 2000
_SECONDS = 3600.0

Ask = Callable[[str], Coroutine[None, None, bytes]]
"""URL of a robots.txt → its bytes; raises ProviderError, ProviderRefused where there is none."""


class Robots:
    """What sites let this reader read. While a site's rules cannot be had it is left alone."""

    def __init__(self, agent: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent, self._clock = agent, clock
        self._sites: OrderedDict[str, tuple[float, RobotFileParser | None]] = OrderedDict()
        self._lock = threading.Lock()
        self._flights = SingleFlight()

    async def check(self, origin: str, path: str, ask: Ask) -> None:
        """Raise ProviderRefused `page_robots` where the site does not want to be read.

        A site that is down or silent fails here as its page would, with the same errors.
        """
        rules = self._known(origin)
        if rules is None:
            rules = await self._flights.do(origin, lambda: self._learn(origin, ask))
        if not rules.can_fetch(self._agent, origin + path):
            raise ProviderRefused(
                "reader", f"{origin} asks not to be read (robots.txt)", code="page_robots"
            )

    def _known(self, origin: str) -> RobotFileParser | None:
        with self._lock:
            until, rules = self._sites.get(origin, (0.0, None))
            return rules if self._clock() < until else None

    async def _learn(self, origin: str, ask: Ask) -> RobotFileParser:
        try:
            text = await ask(f"{origin}/robots.txt")
        except (ProviderRefused, RateLimited):
            text = b""
        rules = RobotFileParser()
        rules.parse(text.decode("utf-8-sig", "replace").splitlines())
        with self._lock:
            self._sites[origin] = (self._clock() + _SECONDS, rules)
            while len(self._sites) > _KNOWN:
                self._sites.popitem(last=False)
        return rules
