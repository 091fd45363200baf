// BullMQ: a queue of deliveries whose steps are written down as they are done, a queue that only takes requests in,
// and a queue of delayed jobs.
"use strict";

const { Queue, Worker } = require("bullmq");
const { Pool } = require("undici");
const { connect } = require("../shared/services.cjs");
const { serve, closedLoop, plannedCalls, forEach, deliveryRequest } = require("../shared/worker.cjs");

const CONNECTIONS = 64;
const CONCURRENCY = Number(process.env.CONCURRENCY);
const BULK = 200;
const connection = { host: "127.0.0.1", port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const defaultJobOptions = { removeOnComplete: true };
const services = connect(process.env.SERVICES, CONNECTIONS);
const target = new Pool(process.env.TARGET, { connections: CONNECTIONS });
// A queue for each process: whoever hands a delivery in learns of its end without asking.
const name = `deliveries-${process.env.WORKER}`;

// As its documentation has it for jobs of several steps: what is done is kept with the job, and not done again.
async function deliver(job) {
  const done = job.data.done;
  async function step(name, call) {
    if (!(name in done)) {
      done[name] = await call();
      await job.updateData(job.data);
    }
    return done[name];
  }
  const id = job.data.id;
  await Promise.all([
    step("account", () => services.account(id)),
    step("package", () => services.package(id)),
    step("transport", () => services.transport(id)),
  ]);
  const droneId = await step("drone", () => services.drone(id));
  await step("delivery", () => services.delivery(id, droneId));
}

async function fire(job) {
  const answer = await target.request({ method: "POST", path: job.data });
  await answer.body.dump();
}

async function main() {
  const deliveries = new Queue(name, { connection, defaultJobOptions });
  const requests = new Queue("requests", { connection, defaultJobOptions });
  const timed = new Queue("timed", { connection, defaultJobOptions });
  const ended = new Map();
  const worker = new Worker(name, deliver, { connection, concurrency: CONCURRENCY });
  worker.on("completed", (job) => {
    ended.get(job.data.id)();
    ended.delete(job.data.id);
  });
  const clock = new Worker("timed", fire, { connection, concurrency: CONCURRENCY });
  await Promise.all([deliveries, requests, timed, worker, clock].map((each) => each.waitUntilReady()));
  serve({
    workflow: (command) =>
      closedLoop(command, async (id) => {
        const end = new Promise((resolve) => ended.set(id, resolve));
        await deliveries.add("delivery", { id, done: {} });
        await end;
      }),
    ingest: (command) => closedLoop(command, (id) => requests.add("request", deliveryRequest(id))),
    timed: async (command) => {
      const calls = plannedCalls(command);
      const parts = [];
      for (let i = 0; i < calls.length; i += BULK) parts.push(calls.slice(i, i + BULK));
      await forEach(parts, 4, (part) => {
        const now = Date.now();
        const jobs = part.map(({ path, due_ms }) => ({
          name: "call",
          data: path,
          opts: { delay: Math.max(0, due_ms - now) },
        }));
        return timed.addBulk(jobs);
      });
    },
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
