// DBOS: a delivery of five steps, a queue that only takes requests in, and calls after a durable sleep.
"use strict";

const { DBOS } = require("@dbos-inc/dbos-sdk");
const { Pool } = require("undici");
const { connect } = require("../shared/services.cjs");
const { serve, closedLoop, plannedCalls, forEach, deliveryRequest } = require("../shared/worker.cjs");

const CONNECTIONS = 64;
const services = connect(process.env.SERVICES, CONNECTIONS);
const target = new Pool(process.env.TARGET, { connections: CONNECTIONS });

const deliver = DBOS.registerWorkflow(
  async (id) => {
    const step = (name, call) => DBOS.runStep(call, { name });
    await Promise.all([
      step("account", () => services.account(id)),
      step("package", () => services.package(id)),
      step("transport", () => services.transport(id)),
    ]);
    const droneId = await step("drone", () => services.drone(id));
    await step("delivery", () => services.delivery(id, droneId));
    return droneId;
  },
  { name: "deliver" },
);

const fire = DBOS.registerWorkflow(
  async (path, due_ms) => {
    await DBOS.sleepms(Math.max(0, due_ms - Date.now()));
    const call = async () => {
      const answer = await target.request({ method: "POST", path });
      await answer.body.dump();
    };
    await DBOS.runStep(call, { name: "call" });
  },
  { name: "fire" },
);

const take = DBOS.registerWorkflow(async () => {}, { name: "take" });

async function main() {
  DBOS.setConfig({
    name: "peers",
    systemDatabaseUrl: process.env.DATABASE,
    systemDatabasePoolSize: Number(process.env.POOL),
    executorID: process.env.WORKER,
    logLevel: "error",
    // Requests that are taken in stay where they are.
    listenQueues: ["none"],
  });
  await DBOS.launch();
  serve({
    workflow: (command) =>
      closedLoop(command, async (id) => {
        const handle = await DBOS.startWorkflow(deliver, { workflowID: id })(id);
        await handle.getResult();
      }),
    ingest: (command) =>
      closedLoop(command, (id) =>
        DBOS.startWorkflow(take, { workflowID: `ingest-${id}`, queueName: "requests" })(deliveryRequest(id)),
      ),
    timed: (command) =>
      forEach(plannedCalls(command), CONNECTIONS, ({ path, due_ms }) => DBOS.startWorkflow(fire)(path, due_ms)),
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
