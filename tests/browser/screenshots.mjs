// Pictures of every page, light and dark, for the docs.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { addressOf, live, PAGES } from "./story.mjs";
import { deliver, leave, openPage, startBrowser, startSortie } from "./world.mjs";

const folder = process.argv[2];
await mkdir(folder, { recursive: true });
const [sortie, browser] = await Promise.all([startSortie(), startBrowser()]);
try {
  await live(sortie);
  // Charts of two minutes are more to look at than those of a second.
  const end = Date.now() + 130_000;
  for (let number = 100; Date.now() < end; number++) {
    await deliver(sortie, `delivery-${number}`);
    await new Promise((resolve) => setTimeout(resolve, 40 + 400 * Math.sin(number / 40) ** 2));
  }
  for (const colorScheme of ["light", "dark"]) {
    const page = await openPage(browser, sortie, { colorScheme });
    for (const name of Object.keys(PAGES)) {
      await page.goto(await addressOf(sortie, name));
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    }
    await leave(page);
  }
  console.log(`${2 * Object.keys(PAGES).length} pictures are in ${folder}`);
} finally {
  await browser.kill();
  await sortie.stop();
}
