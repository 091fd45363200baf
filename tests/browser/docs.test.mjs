// The documents at /docs: for everybody, without barriers, on any screen, found by words.

import assert from "node:assert/strict";

import { after, before, test } from "./limits.mjs";
import { barriers, leave, openPage, startBrowser, startSortie } from "./world.mjs";

/** One of each shape: much code, anchors in a table, columns without names, a list, results, nothing. */
const ADDRESSES = [
  "/docs/recipes/saga",
  "/docs/errors",
  "/docs/internals/run",
  "/docs/adr",
  "/docs/search?q=retry",
  "/docs/reference/jbos",
];

let sortie, browser;

before(async () => {
  sortie = await startSortie();
  browser = await startBrowser();
});
after(async () => {
  await browser?.kill();
  await sortie?.stop();
});

for (const address of ADDRESSES) {
  test(`${address}: no barriers, nothing hangs over the edge`, async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await openPage(browser, sortie, { colorScheme, viewport: { width: 360, height: 740 } });
      await page.goto(address);
      assert.deepEqual(await barriers(page), [], `${address} in ${colorScheme}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(over, 0, `${address} is ${over} pixels too wide`);
      await leave(page);
    }
  });
}

test("from the start page by the map, by the search and by the type of a problem", async () => {
  const page = await openPage(browser, sortie);
  await page.goto("/docs");
  await page.getByRole("navigation", { name: "Documents" }).getByRole("link", { name: "Start here" }).click();
  await page.waitForURL("**/docs/start");
  await page.getByLabel("Search the docs").fill("overlapping occurrences");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Late and overlapping occurrences" }).first().click();
  await page.waitForURL("**/docs/reference/jobs#late-and-overlapping-occurrences");
  const problem = await page.evaluate(async () => (await fetch("/v1/runs/nobody")).json());
  await page.goto(problem.type);
  assert.equal(await page.locator(":target").count(), 1, `${problem.type} leads to a place on the page`);
  await leave(page);
});
