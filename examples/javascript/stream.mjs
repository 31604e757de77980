// Ask a running server and watch: progress first, then the answer as it is written.
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const client = new Client({ apiUrl, apiKey: process.env.TANLU_API_KEY });
const question = process.argv[2] ?? "王府井附近适合遛娃的好去处";

const thread = await client.threads.create();
const parts = client.runs.stream(thread.thread_id, "agent", {
  input: { messages: [{ role: "user", content: question }] },
  streamMode: ["custom", "messages-tuple"],
});
for await (const { event, data } of parts) {
  if (event === "custom") {
    const mark = data.type === "done" ? "\n- " : "- ";
    console.log(`${mark}${data.type}: ${data.text ?? ""}`);
  } else if (event === "messages" && data[0].type === "AIMessageChunk") {
    process.stdout.write(data[0].content);
  } else if (event === "error") throw new Error(data.message);
}
console.log(`\nthread: ${thread.thread_id}`);
