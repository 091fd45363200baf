// What a person does with the dashboard, from the post of a delivery to the end of a bulk.

import assert from "node:assert/strict";

import { after, afterEach, before, test } from "./limits.mjs";
import { park, refuse } from "./story.mjs";
import { call, deliver, delivery, leave, openPage, setSwitches, startBrowser, startSortie, waitForStatus } from "./world.mjs";

let sortie, browser, page;

before(async () => {
  sortie = await startSortie();
  browser = await startBrowser();
});
after(async () => {
  await browser?.kill();
  await sortie?.stop();
});
afterEach(async () => {
  assert.deepEqual(page.complaints, []);
  await leave(page);
});

test("a run that was undone shows why, step by step", async () => {
  page = await openPage(browser, sortie);
  await refuse(sortie, ["reason-1"]);
  await page.goto("/ui/runs");
  await page.getByRole("link", { name: "reason-1" }).click();
  await page.getByRole("heading", { name: "reason-1" }).waitFor();
  const content = page.locator("main");
  await content.getByText("the service says no").first().waitFor();
  for (const step of ["account", "package", "transport", "drone", "delivery"]) {
    await content.getByText(step, { exact: true }).first().waitFor();
  }
  await page.goto("/ui/runs/reason-1/steps/drone");
  await page.getByText("curl -gX PUT").first().waitFor();
  await page.locator("main").getByText("reason-1/drone/do").first().waitFor();
});

test("what is there to be copied is copied, with the browser's clipboard and without", async () => {
  for (const clipboard of ["there", "missing", "forbidden"]) {
    page = await openPage(browser, sortie, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.addInitScript((clipboard) => {
      // As over plain HTTP from another machine.
      if (clipboard !== "there") Object.defineProperty(navigator, "clipboard", { value: undefined });
      if (clipboard === "forbidden") document.execCommand = () => false;
    }, clipboard);
    await page.goto("/ui/runs/reason-1/steps/drone");
    const shown = page.locator(".copyable", { hasText: "curl -gX PUT" });
    const text = await shown.locator("code").textContent();
    await shown.getByRole("button").click();
    if (clipboard === "forbidden") {
      await page.getByText("press Ctrl+C").waitFor();
      assert.equal(await page.evaluate(() => getSelection().toString()), text, "it is selected");
    } else {
      await page.getByText("Copied.").waitFor();
      await page.goto("/ui/workflows/~new");
      const field = page.locator("main textarea").first();
      await field.fill("");
      await field.press("Control+V");
      assert.equal(await field.inputValue(), text, `with a clipboard that is ${clipboard}`);
    }
    // The last one is closed after the test, as always.
    if (clipboard !== "forbidden") await leave(page);
  }
});

test("a run under way is seen to go on", async () => {
  page = await openPage(browser, sortie);
  await setSwitches(sortie, "drone", { latency_ms: 4000 });
  await deliver(sortie, "seen-1");
  await page.goto("/ui/runs/seen-1");
  await page.locator("main .badge", { hasText: "running" }).first().waitFor();
  await page.locator("main .badge", { hasText: "completed" }).first().waitFor();
  await setSwitches(sortie, "drone", {});
});

test("a parked run is decided on, with a note that stays", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/parked");
  await page.locator(".empty").waitFor();
  await park(sortie, ["parked-1"]);
  const card = page.getByRole("region", { name: "Run parked-1" });
  await card.waitFor();
  await card.getByText("Resolve", { exact: true }).click();
  // Whoever reads is not disturbed by what is live.
  await card.getByLabel("Note").first().fill("the drone was brought back manually");
  // No decision has been chosen yet.
  await card.getByLabel("Note").first().press("Enter");
  await card.getByRole("button", { name: "Mark as done manually" }).click();
  await waitForStatus(sortie, "parked-1", "undone");
  await page.goto("/ui/runs/parked-1");
  await page.getByText("the drone was brought back manually").first().waitFor();
  const { timeline } = await call(sortie, "GET", "/v1/runs/parked-1");
  assert.deepEqual(timeline.filter(({ what }) => what === "decided").map(({ detail }) => detail), ["by_hand"]);
});

test("a workflow is started from a form that its schema makes", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/workflows/drone-delivery");
  await page.getByRole("link", { name: /start/i }).first().click();
  await page.waitForURL("**/start");
  const { packageInfo, ...request } = await delivery("by-form-1");
  const fill = (pointer, value) => page.locator(`[name="f/${pointer}"]`).fill(String(value));
  for (const name of ["deliveryId", "ownerId", "pickupLocation", "dropOffLocation"]) await fill(name, request[name]);
  await page.getByLabel("confirmationRequired").selectOption(request.confirmationRequired);
  await fill("packageInfo/packageId", packageInfo.packageId);
  await page.getByRole("button", { name: "Start run" }).click();
  // One field is missing, and is named; nothing that was typed is lost.
  await page.getByRole("alert").first().waitFor();
  assert.equal(await page.locator("[name='f/ownerId']").inputValue(), request.ownerId);
  await page.getByLabel("size").selectOption(packageInfo.size);
  await fill("packageInfo/weight", packageInfo.weight);
  await page.getByRole("button", { name: "Start run" }).click();
  await page.waitForURL("**/ui/runs/by-form-1");
  await page.locator("main .badge", { hasText: "completed" }).first().waitFor();
  const run = await call(sortie, "GET", "/v1/runs/by-form-1");
  assert.deepEqual(run.request.packageInfo, { packageId: packageInfo.packageId, size: "Small", weight: 10 });
  page.complaints = page.complaints.filter((complaint) => !complaint.includes("422"));
});

test("a workflow is started with JSON", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/workflows/drone-delivery/start");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.locator("textarea").first().fill(JSON.stringify(await delivery("by-json-1")));
  await page.getByRole("button", { name: "Start run" }).click();
  await page.waitForURL("**/ui/runs/by-json-1");
  await page.locator("main .badge", { hasText: "completed" }).first().waitFor();
});

test("a job is made with a preview, and is seen to fire", async () => {
  page = await openPage(browser, sortie);
  await call(sortie, "PUT", "/v1/collections/desk", {});
  await page.goto("/ui/jobs/~new?collection=desk");
  await page.locator("[name=collection]").selectOption("desk");
  await page.locator("[name=name]").fill("ping");
  await page.locator("[name=uri]").fill("not an address");
  await page.locator("[name=method]").selectOption("GET");
  await page.locator("[name=mode]").selectOption("cron");
  await page.locator("[name=cron]").fill("* * * * * *");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").first().waitFor();
  assert.equal(await page.locator("[name=cron]").inputValue(), "* * * * * *", "what was typed stays");
  await page.locator("[name=uri]").fill(`${sortie.services.account}/api/accounts/owner-1`);
  await page.getByRole("button", { name: "Preview" }).click();
  assert.ok((await page.locator("#preview time").count()) >= 5);
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL("**/ui/jobs/desk/ping");
  await page.locator("main tbody .badge", { hasText: /completed/i }).first().waitFor();
  // That an address was refused before is what the browser says of a form that comes back.
  page.complaints = page.complaints.filter((complaint) => !complaint.includes("422"));
});

test("parked runs are retried in bulk, after a dry run", async () => {
  page = await openPage(browser, sortie);
  page.on("dialog", (dialog) => dialog.accept());
  await park(sortie, ["bulk-1", "bulk-2", "bulk-3"]);
  await page.goto("/ui/runs?status=parked");
  await page.locator("input[name=id][value=bulk-1]").check();
  await page.locator("input[name=id][value=bulk-2]").check();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator("#preview").getByText("bulk-1").waitFor();
  assert.equal((await call(sortie, "GET", "/v1/runs/bulk-1")).status, "parked", "a dry run changes nothing");
  await page.getByRole("button", { name: "Retry 2 runs" }).click();
  await page.waitForURL(/\/ui\/bulk\/(?!new)/);
  await page.locator("main .badge", { hasText: "done" }).first().waitFor();
  await waitForStatus(sortie, "bulk-1", "undone");
  await waitForStatus(sortie, "bulk-2", "undone");
  assert.equal((await call(sortie, "GET", "/v1/runs/bulk-3")).status, "parked", "it was not selected");
});

test("calls to a service are paused, and they wait", async () => {
  page = await openPage(browser, sortie);
  page.on("dialog", (dialog) => dialog.accept());
  await page.goto("/ui/services");
  const row = page.locator("tr", { hasText: sortie.services.drone });
  await row.getByRole("button", { name: "Pause calls" }).click();
  await page.locator("tr", { hasText: sortie.services.drone }).getByText("paused").waitFor();
  await deliver(sortie, "held-1");
  await page.goto("/ui/runs/held-1");
  await page.locator("main .badge", { hasText: "running" }).first().waitFor();
  await page.goto("/ui/services");
  await page.locator("tr", { hasText: sortie.services.drone }).getByRole("button", { name: "Resume" }).click();
  await waitForStatus(sortie, "held-1", "completed");
});
