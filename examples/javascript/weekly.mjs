// Ask the same question every Monday, and say what an answer tells otherwise than the last one.
// Without an argument the question is asked now and from then on; with its thread: what has changed.
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env.TANLU_URL ?? "http://127.0.0.1:2024";
const apiKey = process.env.TANLU_API_KEY;
const client = new Client({ apiUrl, apiKey });
const input = { messages: [{ role: "user", content: "王府井附近适合遛娃的好去处" }] };

async function begin() {
  const { thread_id: thread } = await client.threads.create();
  await client.runs.wait(thread, "agent", { input });
  await client.crons.createForThread(thread, "agent", { schedule: "0 8 * * 1", input });
  // Servers reply with other things to that: looked up, it is the cron on each.
  const [cron] = await client.crons.search({ threadId: thread });
  console.log(`thread: ${thread}\ncron: ${cron.cron_id}\nafter Monday: weekly.mjs ${thread}`);
}

async function tell(thread) {
  const headers = apiKey ? { "x-api-key": apiKey } : {};
  const reply = await fetch(`${apiUrl}/app/runs/${thread}/changes`, { headers });
  if (reply.status === 409) return console.log("nothing to compare yet: the question was asked once");
  const changes = await reply.json();
  console.log(`since ${changes.since}: ${changes.same} statements are the same`);
  for (const row of changes.figures) console.log(`other figures: ${row.before} -> ${row.after}`);
  for (const what of ["new", "gone"]) {
    for (const text of changes[what]) console.log(`${what}: ${text}`);
  }
}

await (process.argv[2] ? tell(process.argv[2]) : begin());
