"""Two questions on one thread: the second understands "there" and has sources of its own."""

import asyncio
import os

from langgraph_sdk import get_client

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")
QUESTIONS = ["王府井附近适合遛娃的好去处", "那附近有停车场吗"]


async def main() -> None:
    client = get_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    thread = await client.threads.create()
    for question in QUESTIONS:
        values = await client.runs.wait(
            thread["thread_id"],
            "agent",
            input={"messages": [{"role": "user", "content": question}]},
        )
        answer = values["messages"][-1]
        kept = answer["additional_kwargs"]
        print(f"## {question}\n\n{answer['content']}\n")
        print("queries:", [query["query"] for query in kept["queries"]])
        print("sources:", [source["number"] for source in kept["sources"]], "\n")


if __name__ == "__main__":
    asyncio.run(main())
