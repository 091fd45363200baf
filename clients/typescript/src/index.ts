// The client of Sortie's API: openapi-fetch over types that are generated from the server's own description.

import createClient, { type Client, type Middleware } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];
export type Run = Schemas["Run"];
export type RunSummary = Schemas["RunSummary"];
export type ReceivedMessage = Schemas["ReceivedMessage"];

export type Sortie = Client<paths>;

export interface Options {
  /** The API token to show; not needed for `sortie dev`. */
  token?: string;
}

/** A client of the server at `url`; it connects when something is asked of it. */
export function connect(url: string, options: Options = {}): Sortie {
  const headers = options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` };
  const sortie = createClient<paths>({ baseUrl: url, headers });
  sortie.use(messagesAsMessages);
  return sortie;
}

/** What the server refused, as an exception. Its code never changes. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.name = "Refused";
    this.problem = problem;
  }
}

/** The data of an answer, or an exception that tells the problem. */
export function good<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok) {
    const problem = answer.error as Problem | undefined;
    throw problem?.code === undefined ? new Error(`the server answered ${answer.response.status}`) : new Refused(problem);
  }
  return answer.data as T;
}

/** Waits until a run has ended, or is parked and needs a person. */
export async function wait(sortie: Sortie, id: string, timeoutMs: number): Promise<Run> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const run = good(await sortie.GET("/v1/runs/{id}", { params: { path: { id } } }));
    if (["completed", "undone", "given_up", "parked"].includes(run.status)) {
      return run;
    }
    if (Date.now() > until) {
      throw new Error(`run ${id} is still ${run.status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Messages of a queue, each locked for its consumer; none when none came in `timeout` seconds. */
export async function receive(
  sortie: Sortie,
  queue: string,
  { max = 1, timeout = 0 }: { max?: number; timeout?: number } = {},
): Promise<ReceivedMessage[]> {
  const params = { path: { queue }, query: { max, timeout } };
  const answer = good(await sortie.POST("/{queue}/messages/head", { params }));
  // With `max` it is a list; the other form is that of a message alone.
  return (answer ?? []) as ReceivedMessage[];
}

/** Done with a message: it is gone. */
export async function complete(sortie: Sortie, queue: string, message: ReceivedMessage): Promise<void> {
  const { SequenceNumber: number, LockToken: lock = "" } = message.BrokerProperties;
  good(await sortie.DELETE("/{queue}/messages/{number}/{lock}", { params: { path: { queue, number, lock } } }));
}

/** A list of messages under the name of plain JSON would be one message. */
const messagesAsMessages: Middleware = {
  onRequest({ request, schemaPath }) {
    if (schemaPath === "/{queue}/messages") {
      request.headers.set("Content-Type", "application/vnd.microsoft.servicebus.json");
    }
    return request;
  },
};
