"""Change settings for one run: what there is to set, then a short run in English."""

import asyncio
import os

from langgraph_sdk import get_client

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")


async def main() -> None:
    client = get_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    assistant = (await client.assistants.search(graph_id="agent"))[0]
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    for name, field in schemas["context_schema"]["properties"].items():
        print(f"{name} = {field.get('default')}: {field.get('description', '')}")

    # The server drops unknown settings silently, so check the names against the list above.
    values = await client.runs.wait(
        None,
        "agent",
        input={"messages": [{"role": "user", "content": "Where to eat near the Bund?"}]},
        context={"max_research_loops": 1, "max_map_calls": 6, "answer_language": "en"},
    )
    answer = values["messages"][-1]
    print(f"\n{answer['content']}\n")
    print("used:", answer["additional_kwargs"]["usage"])


if __name__ == "__main__":
    asyncio.run(main())
