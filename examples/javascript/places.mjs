// The places of an answer: as records, and as GeoJSON (WGS-84) for any map.
import { writeFile } from "node:fs/promises";
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: process.env.TANLU_API_KEY });
const file = process.argv[2] ?? "places.geojson";

const thread = await client.threads.create();
const values = await client.runs.wait(thread.thread_id, "agent", {
  input: { messages: [{ role: "user", content: "杭州西湖附近有哪些博物馆" }] },
});
for (const place of values.messages.at(-1).additional_kwargs.places) {
  const star = place.mentioned ? "*" : " ";
  console.log(star, place.name, place.distance_m, place.rating, place.url);
}

// Amap's own coordinates are in place.location (GCJ-02); the file is in WGS-84.
const collection = values.geojson ?? { type: "FeatureCollection", features: [] };
await writeFile(file, JSON.stringify(collection));
console.log(`${collection.features.length} points in ${file}`);
