"""robots.txt: asked once per site and remembered for a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from urllib.robotparser import RobotFileParser

from agent.errors import ProviderError, ProviderRefused, RateLimited

MAX_BYTES = 512 << 10
_KNOWN = 2000
_SECONDS, _FAILED_SECONDS = 3600.0, 60.0

Ask = Callable[[str], Awaitable[bytes | None]]
"""URL of a robots.txt → its bytes, None where the site has none; raises ProviderError."""


class Robots:
    """What sites let this reader read. A site whose rules cannot be had is left alone."""

    def __init__(self, agent: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent, self._clock = agent, clock
        self._sites: OrderedDict[str, tuple[float, RobotFileParser | None]] = OrderedDict()
        self._lock = threading.Lock()

    async def check(self, origin: str, path: str, ask: Ask) -> None:
        """Raise ProviderRefused `page_robots` where the site does not want to be read."""
        rules = self._known(origin)
        if rules is None:
            rules = await self._learn(origin, ask)
        if not rules.can_fetch(self._agent, origin + path):
            raise ProviderRefused(
                "reader", f"{origin} asks not to be read (robots.txt)", code="page_robots"
            )

    def _known(self, origin: str) -> RobotFileParser | None:
        with self._lock:
            until, rules = self._sites.get(origin, (0.0, None))
            return rules if self._clock() < until else None

    async def _learn(self, origin: str, ask: Ask) -> RobotFileParser:
        rules, seconds = RobotFileParser(), _SECONDS
        try:
            text = await ask(f"{origin}/robots.txt")
        except (ProviderRefused, RateLimited):
            text = None
        except ProviderError:
            text, seconds = b"User-agent: *\nDisallow: /", _FAILED_SECONDS
        rules.parse((text or b"").decode("utf-8-sig", "replace").splitlines())
        with self._lock:
            self._sites[origin] = (self._clock() + seconds, rules)
            while len(self._sites) > _KNOWN:
                self._sites.popitem(last=False)
        return rules
