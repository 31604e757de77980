// Cancel a run once it has begun to search, and see that the thread is free again.
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: process.env.TANLU_API_KEY });
const { thread_id: threadId } = await client.threads.create();
let runId;

const parts = client.runs.stream(threadId, "agent", {
  input: { messages: [{ role: "user", content: "三里屯附近的咖啡馆" }] },
  streamMode: "custom",
});
for await (const { event, data } of parts) {
  if (event === "metadata") runId = data.run_id;
  else if (event === "custom" && data.type === "search_started") {
    await client.runs.cancel(threadId, runId, true);
    break;
  }
}
console.log("run:", (await client.runs.get(threadId, runId)).status);
// The thread is told a moment after its run has ended.
let thread = await client.threads.get(threadId);
while (thread.status === "busy") {
  await new Promise((resolve) => setTimeout(resolve, 100));
  thread = await client.threads.get(threadId);
}
// Without a new question the run goes on where it was: input: null.
console.log("thread:", thread.status);
