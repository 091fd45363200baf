// How heavy and how quick pages are, when there are many runs.

import { addressOf, live, PAGES } from "./story.mjs";
import { call, delivery, leave, openPage, startBrowser, startSortie, until } from "./world.mjs";

const RUNS = Number(process.argv[2] ?? 100_000);
const BATCH = 1000;
const VISITS = 5;

async function fill(sortie) {
  const pattern = await delivery("");
  for (let first = 0; first < RUNS; first += BATCH) {
    const lines = Array.from({ length: BATCH }, (_, index) =>
      JSON.stringify({ ...pattern, deliveryId: `many-${first + index}` }),
    );
    const answer = await fetch(`${sortie.url}/v1/workflows/drone-delivery/runs:batch`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    });
    if (!answer.ok) throw new Error(`a batch: ${answer.status} ${await answer.text()}`);
  }
  await until("every run has ended", async () => {
    const partitions = (await call(sortie, "GET", "/v1/partitions")).items;
    const open = partitions.reduce((sum, part) => sum + part.live_runs - part.parked_runs + (part.inbox_tail - part.inbox_through), 0);
    return open < 5;
  }, 600_000);
}

/** The middle of some figures. */
const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

async function visit(browser, sortie, address) {
  const page = await openPage(browser, sortie);
  const bodies = [];
  page.on("response", (response) => {
    if (response.headers()["content-type"] !== "text/event-stream") bodies.push(response.body());
  });
  await page.goto(address, { waitUntil: "load" });
  const paint = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const found = () => performance.getEntriesByName("first-contentful-paint")[0];
        const look = () => (found() ? resolve(found().startTime) : setTimeout(look, 10));
        look();
      }),
  );
  const answered = await page.evaluate(() => performance.getEntriesByType("navigation")[0].responseEnd);
  const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
  await leave(page);
  return { bytes, paint, answered };
}

const [sortie, browser] = await Promise.all([startSortie(), startBrowser()]);
try {
  await live(sortie);
  await fill(sortie);
  const first = await call(sortie, "GET", "/v1/runs?limit=50");
  const known = await Promise.all(Object.keys(PAGES).map(async (name) => [name, await addressOf(sortie, name)]));
  const pages = { ...Object.fromEntries(known), "runs, page 2": `/ui/runs?cursor=${encodeURIComponent(first.next)}`, "runs, completed": "/ui/runs?status=completed", "runs, one workflow": "/ui/runs?workflow=drone-delivery" };
  console.log(`${RUNS} runs; medians of ${VISITS} visits with an empty cache`);
  console.log("page".padEnd(22), "KB".padStart(8), "answered ms".padStart(12), "first paint ms".padStart(15));
  for (const [name, address] of Object.entries(pages)) {
    const visits = [];
    for (let number = 0; number < VISITS; number++) visits.push(await visit(browser, sortie, address));
    const figure = (key) => median(visits.map((visit) => visit[key]));
    console.log(name.padEnd(22), (figure("bytes") / 1000).toFixed(1).padStart(8), figure("answered").toFixed(0).padStart(12), figure("paint").toFixed(0).padStart(15));
  }
} finally {
  await browser.kill();
  await sortie.stop();
}
