/** What the page uses of LangGraph's SDK; the records are in `types.d.ts`. */

interface Cancellable { signal?: AbortSignal }

export interface StreamPart { id?: string; event: string; data: any }

export class Client {
  constructor(options: {
    apiUrl: string;
    apiKey: string | null;
    callerOptions: { maxRetries: number; maxConcurrency: number };
  });
  assistants: { search(query: { limit: number }): Promise<(Assistant & { created_at: string })[]> };
  threads: {
    create(payload: {
      threadId: string; ifExists: "do_nothing"; graphId: string; metadata: Metadata;
    }): Promise<Thread>;
    delete(threadId: string): Promise<void>;
    get(threadId: string, options?: Cancellable): Promise<Thread & { error?: Failure }>;
    getState(threadId: string, checkpoint?: undefined, options?: Cancellable): Promise<ThreadState>;
    update(threadId: string, payload: { metadata: Metadata }): Promise<Thread>;
    search(query: {
      limit: number; offset: number; metadata: Metadata; sortBy: "updated_at"; sortOrder: "desc";
      select: string[];
    }): Promise<Thread[]>;
  };
  runs: {
    cancel(threadId: string, runId: string, wait?: boolean, action?: "interrupt"): Promise<void>;
    create(threadId: string, assistantId: string, payload: object): Promise<Run>;
    get(threadId: string, runId: string, options?: Cancellable): Promise<Run>;
    joinStream(
      threadId: string, runId: string, options: Cancellable & { lastEventId: string },
    ): AsyncGenerator<StreamPart>;
    list(
      threadId: string, options?: Cancellable & { limit?: number; status?: RunStatus },
    ): Promise<Run[]>;
  };
}
