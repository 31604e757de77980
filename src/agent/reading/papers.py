"""Keep papers as files: fetched like any page, checked to be PDFs, named by their content."""

import asyncio
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import SharedSemaphore, SingleFlight
from agent.core.errors import MalformedReply, ProviderRefused
from agent.core.outside import parse_json
from agent.core.private_files import private_folder
from agent.reading.fetch import Fetcher

_MAGIC = b"%PDF-"
_HEAD = 1024
"""A PDF may begin with so many bytes of something else."""
_SECONDS = 3600
_AT_ONCE = 4
"""Downloads in memory at the same time, for the whole process: each may be large."""


@dataclass(frozen=True)
class Paper:
    """Hold a PDF that is kept; `url` as asked."""

    url: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """Return the name of its file below the folder of papers."""
        return f"{self.sha256}.pdf"


class PaperStore:
    """Fetch PDFs into a folder, each content once; usable from any event loop."""

    def __init__(self, calls: Calls, fetcher: Fetcher, folder: Path) -> None:
        self._calls, self._fetcher, self._folder = calls, fetcher, folder
        self._flights = SingleFlight()
        self._places = SharedSemaphore(_AT_ONCE)

    def path(self, paper: Paper) -> Path:
        """Return the path of the PDF."""
        return self._folder / paper.name

    async def get(self, url: str, *, meter: Meter) -> Paper:
        """Return the PDF behind a URL, fetched once in a turn, also after a crash.

        Raises UnsafeUrl, BudgetExceeded, the ProviderErrors of Fetcher.get, and ProviderRefused
        with code paper_not_pdf or paper_not_kept.
        """
        return await self._flights.do(f"{meter.turn_id} {url}", lambda: self._get(url, meter))

    async def _get(self, url: str, meter: Meter) -> Paper:
        policy = Policy("papers", None, timeout=_SECONDS, attempts=1)
        text = await self._calls.once(
            policy, lambda: self._fetch(url, meter), meter=meter, request={"paper": url}
        )
        paper = _paper(text)
        if not await asyncio.to_thread(self.path(paper).is_file):
            # What the reply cache remembers was removed meanwhile.
            paper = _paper(await self._fetch(url, meter))
        return paper

    async def _fetch(self, url: str, meter: Meter) -> str:
        if meter.remaining() <= 0:
            raise meter.budget.out_of_time()
        async with self._places:
            return await self._fetched_now(url, meter)

    async def _fetched_now(self, url: str, meter: Meter) -> str:
        page = await self._fetcher.get(url, meter=meter)
        if _MAGIC not in page.body[:_HEAD]:
            kind = page.content_type.partition(";")[0].strip()[:80] or "something else"
            raise ProviderRefused("papers", f"not a PDF but {kind}", code="paper_not_pdf")
        paper = Paper(url, hashlib.sha256(page.body).hexdigest(), len(page.body))
        try:
            await asyncio.to_thread(self._keep, paper, page.body)
        except OSError as error:
            reason = f"it cannot be kept: {error.strerror}"
            raise ProviderRefused("papers", reason, code="paper_not_kept") from None
        return json.dumps(asdict(paper))

    def _keep(self, paper: Paper, body: bytes) -> None:
        """Write the PDF whole or not at all, so that a crash leaves no half file under the name."""
        private_folder(self._folder)
        target = self.path(paper)
        if target.is_file():
            return
        handle, part = tempfile.mkstemp(dir=self._folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            Path(part).replace(target)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise


def _paper(text: str) -> Paper:
    try:
        return Paper(**parse_json(text))
    except (ValueError, TypeError):
        raise MalformedReply("papers", "what the reply cache kept cannot be read") from None
