// What a person sees while work goes on: lists and figures that stay live, without a reload.

import assert from "node:assert/strict";

import { after, afterEach, before, test } from "./limits.mjs";
import { deliver, leave, openPage, PATIENCE, startBrowser, startSortie, turn } from "./world.mjs";

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

test("a delivery that is posted appears in the list that is open", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/runs");
  await page.getByText("No runs").waitFor();
  await deliver(sortie, "live-1");
  await page.getByRole("link", { name: "live-1" }).waitFor();
  await page.locator("tr", { hasText: "live-1" }).getByText("completed").waitFor();
});

test("what is being read is not taken away, and comes when the reader is done", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/runs");
  await page.getByLabel("Key").fill("half a wor");
  await deliver(sortie, "live-2");
  await page.getByRole("link", { name: "live-2" }).waitFor();
  assert.equal(await page.getByLabel("Key").inputValue(), "half a wor");
});

test("a server that does not answer is marked as stale, and the page is live again when it does", async () => {
  page = await openPage(browser, sortie);
  await page.goto("/ui/runs");
  await sortie.kill();
  await page.waitForFunction(() => document.body.classList.contains("stale"));
  await sortie.startAgain();
  await page.waitForFunction(() => !document.body.classList.contains("stale"));
  await deliver(sortie, "live-3");
  await page.getByRole("link", { name: "live-3" }).waitFor();
  // The browser itself reports the lost connection; nothing else may be reported.
  page.complaints = page.complaints.filter((complaint) => !complaint.includes("net::ERR_"));
});

// A browser keeps six connections to a server.
test("tabs that nobody sees take nothing from the eighth, and are live again when they are seen", async () => {
  page = await openPage(browser, sortie);
  const tabs = [page];
  for (let number = 1; number < 8; number++) tabs.push(await page.context().newPage());
  for (const tab of tabs) {
    tab.setDefaultTimeout(PATIENCE);
    const opened = tab.waitForResponse((response) => response.url().includes("/ui/live"));
    await tab.goto("/ui/runs");
    await opened;
    if (tab !== tabs.at(-1)) await turn(tab, "hidden");
  }
  await deliver(sortie, "live-tab");
  await tabs.at(-1).getByRole("link", { name: "live-tab" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "live-tab" }).count(), 0, "nobody sees it");
  await turn(page, "visible");
  await page.getByRole("link", { name: "live-tab" }).waitFor();
});

test("a stream that is refused is asked for again, and what was typed stays", async () => {
  page = await openPage(browser, sortie);
  let refused = 0;
  await page.route("**/ui/live?*", (route) => (refused++ < 2 ? route.fulfill({ status: 503 }) : route.continue()));
  await page.goto("/ui/runs");
  await page.getByLabel("Key").fill("half a wor");
  await page.waitForFunction(() => document.body.classList.contains("stale"));
  await page.waitForFunction(() => !document.body.classList.contains("stale"));
  assert.ok(refused > 2, "it was asked for again");
  assert.equal(await page.getByLabel("Key").inputValue(), "half a wor");
  // That the stream was refused is what the browser says itself.
  page.complaints = page.complaints.filter((complaint) => !complaint.includes("503"));
});

test("foreign text stays text", async () => {
  page = await openPage(browser, sortie);
  const hostile = `<img src=x onerror="document.title='taken'">`;
  await page.goto(`/ui/runs?workflow=${encodeURIComponent(hostile)}&key=${encodeURIComponent(hostile)}`);
  assert.equal(await page.locator("img[src=x]").count(), 0);
  assert.notEqual(await page.title(), "taken");
  // That is not the name of a workflow, and the answer says so.
  page.complaints = page.complaints.filter((complaint) => !complaint.includes("status of 400"));
});
