"""The places of an answer: as records, and as GeoJSON (WGS-84) for any map."""

import json
import os
import sys
from pathlib import Path

from langgraph_sdk import get_sync_client

URL = os.environ.get("TANLU_URL", "http://127.0.0.1:2024")


def main(file: str) -> None:
    client = get_sync_client(url=URL, api_key=os.environ.get("TANLU_API_KEY"))
    thread = client.threads.create()
    values = client.runs.wait(
        thread["thread_id"],
        "agent",
        input={"messages": [{"role": "user", "content": "杭州西湖附近有哪些博物馆"}]},
    )
    for place in values["messages"][-1]["additional_kwargs"]["places"]:
        star = "*" if place["mentioned"] else " "
        print(star, place["name"], place["distance_m"], place["rating"], place["url"])

    # Amap's own coordinates are in place["location"] (GCJ-02); the file is in WGS-84.
    collection = values["geojson"] or {"type": "FeatureCollection", "features": []}
    Path(file).write_text(json.dumps(collection, ensure_ascii=False), encoding="utf-8")
    print(f"{len(collection['features'])} points in {file}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "places.geojson")
