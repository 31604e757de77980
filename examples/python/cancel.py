"""Cancel a run once it has begun to search, and see that the thread is free again."""

import asyncio
import os

from langgraph_sdk import get_client

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")


async def main() -> None:
    client = get_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    thread = await client.threads.create()
    thread_id, run_id = thread["thread_id"], ""
    parts = client.runs.stream(
        thread_id,
        "agent",
        input={"messages": [{"role": "user", "content": "三里屯附近的咖啡馆"}]},
        stream_mode="custom",
    )
    async for part in parts:
        if part.event == "metadata":
            run_id = part.data["run_id"]
        elif part.event == "custom" and part.data["type"] == "search_started":
            await client.runs.cancel(thread_id, run_id, wait=True)
            break
    run = await client.runs.get(thread_id, run_id)
    print("run:", run["status"])
    # The thread is told a moment after its run has ended.
    thread = await client.threads.get(thread_id)
    while thread["status"] == "busy":
        await asyncio.sleep(0.1)
        thread = await client.threads.get(thread_id)
    # Without a new question the run goes on where it was: input=None.
    print("thread:", thread["status"])


if __name__ == "__main__":
    asyncio.run(main())
