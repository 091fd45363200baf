// Pictures of every page, light and dark, for the docs.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { live, PAGES } from "./story.mjs";
import { deliver, openPage, startBrowser, startSortie } from "./world.mjs";

const folder = process.argv[2];
await mkdir(folder, { recursive: true });
const [sortie, browser] = await Promise.all([startSortie(), startBrowser()]);
try {
  await live(sortie);
  // Charts of a minute are more to look at than those of a second.
  for (let number = 100; number < 160; number++) {
    await deliver(sortie, `delivery-${number}`);
    await new Promise((resolve) => setTimeout(resolve, 250 + 500 * Math.sin(number / 8) ** 2));
  }
  for (const colorScheme of ["light", "dark"]) {
    const page = await openPage(browser, sortie, { colorScheme });
    for (const [name, address] of Object.entries(PAGES)) {
      await page.goto(address);
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    }
    await page.context().close();
  }
  console.log(`${2 * Object.keys(PAGES).length} pictures are in ${folder}`);
} finally {
  await browser.close();
  await sortie.stop();
}
