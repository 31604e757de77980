"""Ask a running server and watch: progress first, then the answer as it is written."""

import asyncio
import os
import sys

from langgraph_sdk import get_client

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")
QUESTION = "王府井附近适合遛娃的好去处"


async def main(question: str) -> None:
    client = get_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    thread = await client.threads.create()
    parts = client.runs.stream(
        thread["thread_id"],
        "agent",
        input={"messages": [{"role": "user", "content": question}]},
        stream_mode=["custom", "messages-tuple"],
    )
    async for part in parts:
        if part.event == "custom":
            mark = "\n- " if part.data["type"] == "done" else "- "
            print(f"{mark}{part.data['type']}: {part.data.get('text', '')}", flush=True)
        elif part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            print(part.data[0]["content"], end="", flush=True)
        elif part.event == "error":
            raise SystemExit(f"\nfailed: {part.data['message']}")
    print(f"\nthread: {thread['thread_id']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else QUESTION))
