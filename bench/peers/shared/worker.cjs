// The side of a worker that talks to bench-peers: a command per line comes in, an answer per line goes out.
"use strict";

const readline = require("node:readline");

// `works` has a function for each work; what it gives is the answer.
function serve(works) {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const command = JSON.parse(line);
    try {
      const answer = await works[command.work](command);
      console.log(JSON.stringify(answer ?? {}));
    } catch (error) {
      console.log(JSON.stringify({ error: String(error?.stack ?? error) }));
    }
  });
  // Whoever talked to it is gone.
  lines.on("close", () => process.exit(0));
  console.log("ready");
}

// Keeps `at_once` pieces of work under way. Counts those that end in the measured seconds, which follow the ramp.
async function closedLoop({ at_once, ramp_seconds, seconds, name, worker }, work) {
  const latencies_ms = [];
  const from = performance.now() + ramp_seconds * 1000;
  const until = from + seconds * 1000;
  let next = 0;
  async function one(lane) {
    for (let begun = performance.now(); begun < until; ) {
      await work(`${name}-${worker}-${next++}`, lane);
      const ended = performance.now();
      if (ended >= from && ended < until) latencies_ms.push(ended - begun);
      begun = ended;
    }
  }
  await Promise.all(Array.from({ length: at_once }, (_, lane) => one(lane)));
  return { latencies_ms };
}

// The calls of a plan that are this worker's, each with its path and the millisecond when it is due.
function plannedCalls({ round, rate, calls, begin_ms, worker, workers }) {
  const planned = [];
  for (let call = worker; call < calls; call += workers) {
    planned.push({ path: `/${round}/${call}`, due_ms: Math.floor(begin_ms + (call * 1000) / rate) });
  }
  return planned;
}

// Does `work` for all, `at_once` of them at a time.
async function forEach(items, at_once, work) {
  let next = 0;
  async function lane() {
    while (next < items.length) await work(items[next++]);
  }
  await Promise.all(Array.from({ length: at_once }, lane));
}

// A delivery request of 300 bytes, as `sortie bench ingest` sends it.
function deliveryRequest(id) {
  const request = {
    deliveryId: id,
    ownerId: "myowner",
    pickupLocation: "0,37.4316,-78.6569",
    dropOffLocation: "0,37.5407,-77.4360",
    deadline: "",
    expedited: true,
    confirmationRequired: "None",
    packageInfo: { packageId: "mypackage", size: "Small", weight: 10, tag: "" },
  };
  request.packageInfo.tag = "x".repeat(Math.max(0, 300 - JSON.stringify(request).length));
  return request;
}

module.exports = { serve, closedLoop, plannedCalls, forEach, deliveryRequest };
