// Starts a run of the drone delivery that `sortie dev` has ready, waits for it, and tells a queue of it.
// SORTIE_URL names another server than the one that `sortie dev` starts.

import { complete, connect, good, receive, wait } from "sortie-client";

const sortie = connect(process.env["SORTIE_URL"] ?? "http://127.0.0.1:7070");

// The id makes it safe to hand it in twice: the second time shows the run that there is.
const id = "delivery-typescript";
const delivery = {
  deliveryId: id,
  ownerId: "ann",
  pickupLocation: "0,37.4316,-78.6569",
  dropOffLocation: "0,37.5407,-77.4360",
  pickupTime: "2030-05-08T20:00:00.000Z",
  deadline: "",
  expedited: true,
  confirmationRequired: "None",
  packageInfo: { packageId: "p-1", size: "Small", weight: 10, tag: "fragile" },
};
const started = await sortie.PUT("/v1/workflows/{workflow}/runs/{id}", {
  params: { path: { workflow: "drone-delivery", id } },
  body: delivery,
});
const ended = await wait(sortie, good(started).id, 60_000);
console.log(`${ended.id} is ${ended.status}`);

const page = good(await sortie.GET("/v1/runs", { params: { query: { status: "completed", limit: 10 } } }));
for (const run of page.items) {
  console.log(`completed: ${run.id} at ${run.ended_at}`);
}

// What the server refuses is in `error`, with a code that never changes.
const refused = await sortie.POST("/v1/workflows/{workflow}/runs", {
  params: { path: { workflow: "drone-delivry" } },
  body: delivery,
});
if (refused.error?.code !== "unknown_workflow") {
  throw new Error(`a workflow that nobody applied: ${JSON.stringify(refused.data)}`);
}
console.log(`refused: ${refused.error.detail}`);

const queue = "delivered-typescript";
good(await sortie.PUT("/v1/queues/{queue}", { params: { path: { queue } }, body: { lock: "30s" } }));
const message = { Body: id, BrokerProperties: { MessageId: id, Label: "done" } };
good(await sortie.POST("/{queue}/messages", { params: { path: { queue } }, body: [message] }));
for (const received of await receive(sortie, queue, { max: 10, timeout: 30 })) {
  console.log(`message ${received.BrokerProperties.MessageId}: ${received.Body}`);
  await complete(sortie, queue, received);
}
