// What holds of every page: nobody is kept out, nothing complains, nothing is heavy, nothing is cut off on a phone.

import assert from "node:assert/strict";

import { after, before, test } from "./limits.mjs";
import { addressOf, live, PAGES } from "./story.mjs";
import { barriers, leave, openPage, startBrowser, startSortie } from "./world.mjs";

/** What a page may weigh with everything that it loads, in bytes. */
const WEIGHT_MAX = 150_000;

let sortie, browser;

before(async () => {
  sortie = await startSortie();
  browser = await startBrowser();
  await live(sortie);
});
after(async () => {
  await browser?.kill();
  await sortie?.stop();
});

for (const name of Object.keys(PAGES)) {
  test(`${name}: no barriers, no complaints, no weight`, async () => {
    const address = await addressOf(sortie, name);
    for (const colorScheme of ["light", "dark"]) {
      const page = await openPage(browser, sortie, { colorScheme });
      const bodies = [];
      page.on("response", (response) => {
        // A live stream has no end to wait for.
        if (response.headers()["content-type"] !== "text/event-stream") bodies.push(response.body());
      });
      const answer = await page.goto(address, { waitUntil: "load" });
      assert.equal(answer.status(), 200);
      assert.match(answer.headers()["content-security-policy"], /default-src 'none'/);
      assert.deepEqual(await barriers(page), [], `${address} in ${colorScheme}`);
      assert.deepEqual(page.complaints, []);
      const weight = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
      assert.ok(weight > 1000 && weight < WEIGHT_MAX, `${address} weighs ${weight} bytes`);
      await leave(page);
    }
  });
}

test("on a phone nothing hangs over the edge", async () => {
  const page = await openPage(browser, sortie, { viewport: { width: 360, height: 740 } });
  for (const name of Object.keys(PAGES)) {
    const address = await addressOf(sortie, name);
    await page.goto(address);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(over, 0, `${address} is ${over} pixels too wide`);
  }
  await leave(page);
});

test("every control can be reached by the keyboard, and shows that it was", async () => {
  const page = await openPage(browser, sortie);
  for (const address of ["/", "/ui/runs", "/ui/runs/delivery-11", "/ui/jobs/ops/sweep"]) {
    await page.goto(address);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    const seen = new Set();
    let before = "";
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press("Tab");
      const [what, outline] = await page.evaluate(() => {
        const active = document.activeElement;
        return [active.outerHTML.slice(0, 120), active === document.body ? "end" : getComputedStyle(active).outlineStyle];
      });
      if (outline === "end") break;
      seen.add(what);
      // A field for a time has places of its own inside, which the browser shows.
      if (what === before) continue;
      before = what;
      assert.notEqual(outline, "none", `${address}: nothing shows that the focus is at ${what}`);
    }
    assert.ok(seen.size > 10, `${address}: only ${seen.size} controls`);
  }
  await leave(page);
});

test("letters lead to pages", async () => {
  const page = await openPage(browser, sortie);
  await page.goto("/");
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.waitForURL("**/ui/jobs");
  await page.goto("/ui/runs");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.form?.getAttribute("role")), "search");
  await leave(page);
});
