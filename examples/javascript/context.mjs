// Change settings for one run: what there is to set, then a short run in English.
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: process.env.TANLU_API_KEY });

const [assistant] = await client.assistants.search({ graphId: "agent" });
const schemas = await client.assistants.getSchemas(assistant.assistant_id);
for (const [name, field] of Object.entries(schemas.context_schema.properties)) {
  console.log(`${name} = ${field.default}: ${field.description ?? ""}`);
}

// The server drops unknown settings silently, so check the names against the list above.
const values = await client.runs.wait(null, "agent", {
  input: { messages: [{ role: "user", content: "Where to eat near the Bund?" }] },
  context: { max_research_loops: 1, max_map_calls: 6, answer_language: "en" },
});
const answer = values.messages.at(-1);
console.log(`\n${answer.content}\n`);
console.log("used:", answer.additional_kwargs.usage);
