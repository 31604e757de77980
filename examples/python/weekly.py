"""Ask the same question every Monday, and say what an answer tells otherwise than the last one.

Without an argument the question is asked now and from then on; with its thread: what has changed.
"""

import asyncio
import os
import sys

from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")
ASK = {"messages": [{"role": "user", "content": "王府井附近适合遛娃的好去处"}]}


async def begin(client) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "agent", input=ASK)
    await client.crons.create_for_thread(thread, "agent", schedule="0 8 * * 1", input=ASK)
    (cron,) = await client.crons.search(thread_id=thread)
    print(f"thread: {thread}\ncron: {cron['cron_id']}\nafter Monday: weekly.py {thread}")


async def tell(client, thread: str) -> None:
    try:
        changes = await client.http.get(f"/app/runs/{thread}/changes")
    except ConflictError:
        sys.exit("nothing to compare yet: the question was asked once")
    print(f"since {changes['since']}: {changes['same']} statements are the same")
    for row in changes["figures"]:
        print(f"other figures: {row['before']} -> {row['after']}")
    for kind in ("new", "gone"):
        print(*(f"{kind}: {text}" for text in changes[kind]), sep="\n")


if __name__ == "__main__":
    sdk = get_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    asyncio.run(tell(sdk, sys.argv[1]) if sys.argv[1:] else begin(sdk))
