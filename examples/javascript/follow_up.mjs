// Two questions on one thread: the second understands "there" and has sources of its own.
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: process.env.TANLU_API_KEY });
const thread = await client.threads.create();

for (const question of ["王府井附近适合遛娃的好去处", "那附近有停车场吗"]) {
  const values = await client.runs.wait(thread.thread_id, "agent", {
    input: { messages: [{ role: "user", content: question }] },
  });
  const answer = values.messages.at(-1);
  const { queries, sources } = answer.additional_kwargs;
  console.log(`## ${question}\n\n${answer.content}\n`);
  console.log("queries:", queries.map((query) => query.query));
  console.log("sources:", sources.map((source) => source.number), "\n");
}
