"""The same calls with a bare HTTP client: what the machine itself costs at this moment.

Run as `python -m benchmarks.bare SPEC-AS-JSON`; the last line of its output is the result.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Any

import aiohttp

from benchmarks.runs import Ask, Hear, Phase, PhaseResult, play


def asking(session: aiohttp.ClientSession, url: str, key: str) -> Ask:
    """Query, three searches, reflection, two searches, answer; nothing is read from the replies."""

    def request(task: str, number: int, method: str) -> Any:
        text = f"<task>{task}</task> 编号{number}"
        return session.post(
            f"{url}/v1beta/models/gemini-3.8-flash:{method}",
            json={"contents": [{"role": "user", "parts": [{"text": text}]}]},
            headers={"x-goog-api-key": key},
        )

    async def whole(task: str, number: int) -> None:
        async with request(task, number, "generateContent") as reply:
            reply.raise_for_status()
            await reply.read()

    async def ask(number: int, hear: Hear) -> dict[str, Any]:
        await whole("generate_query", number)
        await asyncio.gather(*(whole("web_research", number) for _ in range(3)))
        await whole("reflection", number)
        await asyncio.gather(*(whole("web_research", number) for _ in range(2)))
        async with request("answer", number, "streamGenerateContent?alt=sse") as reply:
            reply.raise_for_status()
            async for _ in reply.content:
                hear()
        return {}

    return ask


async def main() -> None:
    spec = json.loads(sys.argv[1])
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(connector=connector) as session:
        ask = asking(session, spec["url"], spec["key"])
        results = []
        for phase in spec["phases"]:
            runs = await play(Phase(**phase), ask, spec["scale"])
            results.append(PhaseResult(phase["name"], runs))
    print(json.dumps([asdict(result) for result in results]))


if __name__ == "__main__":
    asyncio.run(main())
