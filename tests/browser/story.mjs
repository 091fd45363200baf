// A day in the life of an installation: something of everything, so that no page is empty.

import { call, deliver, setSwitches, until, waitForStatus } from "./world.mjs";

/** Makes runs that completed, were undone, are parked; jobs, queues, dead letters, bulks. */
export async function live(sortie) {
  for (let number = 1; number <= 8; number++) await deliver(sortie, `delivery-${number}`);
  await refuse(sortie, ["delivery-9", "delivery-10"]);
  await park(sortie, ["delivery-11", "delivery-12"]);
  await Promise.all([keepJobs(sortie), keepQueues(sortie), runAgain(sortie)]);
}

/** Deliveries that the drone service refuses: they are undone. */
export async function refuse(sortie, ids) {
  await setSwitches(sortie, "drone", { refuse: ids });
  for (const id of ids) await deliver(sortie, id);
  for (const id of ids) await waitForStatus(sortie, id, "undone");
  await setSwitches(sortie, "drone", {});
}

/** Deliveries whose undo is refused as well: they wait for a person. */
export async function park(sortie, ids) {
  await setSwitches(sortie, "drone", { refuse: ids, undo_refuse: ids });
  for (const id of ids) await deliver(sortie, id);
  for (const id of ids) await waitForStatus(sortie, id, "parked");
  await setSwitches(sortie, "drone", {});
}

/** One bulk that is done, and one that takes longer than anybody looks at it. */
async function runAgain(sortie) {
  const note = "the drone service is back";
  const done = await call(sortie, "POST", "/v1/bulk", { action: "rerun", ids: ["delivery-9", "delivery-10"], note });
  await until("a bulk is done", async () => (await call(sortie, "GET", `/v1/bulk/${done.id}`)).state === "done");
  const gone = Array.from({ length: 900 }, (_, number) => `delivery-of-yesterday-${number}`);
  const ids = ["delivery-1", "delivery-2", "delivery-3", ...gone];
  await call(sortie, "POST", "/v1/bulk", { action: "rerun", ids, rate: 1, note: "the report was lost" });
}

/** The sweep fires every second; the report is for Monday; the backup fails. */
async function keepJobs(sortie) {
  const get = (uri) => ({ type: "http", request: { method: "GET", uri } });
  const none = { retryType: "none" };
  await call(sortie, "PUT", "/v1/collections/ops", { tags: { team: "operations" } });
  await call(sortie, "PUT", "/v1/collections/ops/jobs/sweep", {
    properties: { recurrence: { cron: "* * * * * *" }, action: get(`${sortie.services.account}/api/accounts/owner-1`) },
  });
  await call(sortie, "PUT", "/v1/collections/ops/jobs/report", {
    properties: {
      recurrence: { cron: "30 6 * * MON" },
      timeZone: "Europe/Berlin",
      action: { ...get(`${sortie.services.account}/api/accounts/owner-1`), retryPolicy: { retryType: "fixed", retryInterval: "PT3H", retryCount: 4 } },
    },
  });
  await call(sortie, "PUT", "/v1/collections/ops/jobs/backup", {
    properties: {
      recurrence: { frequency: "minute", interval: 5 },
      action: { ...get(`${sortie.services.account}/nowhere`), retryPolicy: none },
    },
  });
  for (const [job, times] of [["backup", 1], ["sweep", 3]]) {
    await until(`${job} has fired ${times} times`, async () => {
      const history = await call(sortie, "GET", `/v1/collections/ops/jobs/${job}/history`);
      return (history.items ?? history.value).length >= times;
    });
  }
}

async function keepQueues(sortie) {
  await call(sortie, "PUT", "/v1/queues/orders", { lock: "30s" });
  for (let order = 1; order <= 5; order++) await call(sortie, "POST", "/orders/messages", { order });
  const received = await fetch(`${sortie.url}/orders/messages/head`, { method: "POST" });
  await fetch(`${received.headers.get("location")}/deadletter`, {
    method: "POST",
    body: JSON.stringify({ reason: "no such customer" }),
  });
  await call(sortie, "PUT", "/v1/topics/parcels", {});
  await call(sortie, "PUT", "/v1/topics/parcels/subscriptions/audit", {});
  await call(sortie, "POST", "/parcels/messages", { parcel: 1 });
}

/** Where a page is: some addresses are known only when there is something to see. */
export function addressOf(sortie, name) {
  const address = PAGES[name];
  return typeof address === "string" ? address : address(sortie);
}

async function bulkUnderWay(sortie) {
  const { items } = await call(sortie, "GET", "/v1/bulk");
  return `/ui/bulk/${items.find((bulk) => bulk.state === "running").id}`;
}

async function deadLetter(sortie) {
  const { items } = await call(sortie, "GET", "/v1/queues/orders/messages?sub_queue=dead");
  return `/ui/queues/orders?sub_queue=dead&message=${items[0].sequence_number}`;
}

/** Every page, by a name for its picture. */
export const PAGES = {
  overview: "/",
  runs: "/ui/runs",
  run: "/ui/runs/delivery-1",
  "run-undone": "/ui/runs/delivery-9",
  "run-parked": "/ui/runs/delivery-11",
  step: "/ui/runs/delivery-1/steps/drone",
  parked: "/ui/parked",
  workflows: "/ui/workflows",
  workflow: "/ui/workflows/drone-delivery",
  "workflow-new": "/ui/workflows/~new",
  "workflow-edit": "/ui/workflows/drone-delivery/edit",
  "workflow-versions": "/ui/workflows/drone-delivery/versions",
  "workflow-start": "/ui/workflows/drone-delivery/start",
  jobs: "/ui/jobs",
  collection: "/ui/jobs/ops",
  job: "/ui/jobs/ops/sweep",
  "job-edit": "/ui/jobs/ops/report/edit",
  "job-new": "/ui/jobs/~new",
  queues: "/ui/queues",
  queue: "/ui/queues/orders",
  message: deadLetter,
  topic: "/ui/topics/parcels",
  subscription: "/ui/topics/parcels/subscriptions/audit",
  services: "/ui/services",
  service: "/ui/services/drone",
  bulk: "/ui/bulk",
  "bulk-under-way": bulkUnderWay,
  "bulk-new": "/ui/bulk/new",
  settings: "/ui/settings",
  "sign-in": "/ui/sign-in",
  docs: "/docs",
  start: "/docs/start",
};
