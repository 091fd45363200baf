// A server with tokens: nobody sees anything without one, and each sees and does what their role allows.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { after, before, test } from "./limits.mjs";
import { leave, openPage, startBrowser, turn, until } from "./world.mjs";

let server, folder, url, browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sortie-tokens-"));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const settings = `listen = "127.0.0.1:${port}"
data = "${join(folder, "data")}"

[tokens.watcher]
role = "viewer"
secret = "look-but-do-not-touch"

[tokens.sender]
role = "ingest"
secret = "only-hand-in-requests"
`;
  await writeFile(join(folder, "sortie.toml"), settings);
  server = spawn(process.env.TESTED_BINARY, ["serve", "--config", join(folder, "sortie.toml")], { stdio: "ignore" });
  await until("the server is ready", () => fetch(`${url}/readyz`).then((answer) => answer.ok, () => false));
  browser = await startBrowser();
});
after(async () => {
  await browser?.kill();
  server?.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("without a token there is only the way in, and then the page that was meant", async () => {
  const page = await openPage(browser, { url });
  await page.goto("/ui/runs?status=parked");
  assert.match(page.url(), /\/ui\/sign-in/);
  await signIn(page, "a-guess");
  await page.getByText("unknown, or without permission").waitFor();
  await signIn(page, "only-hand-in-requests");
  await page.getByText("unknown, or without permission").waitFor();
  await signIn(page, "look-but-do-not-touch");
  await page.waitForURL("**/ui/runs?status=parked");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  const cookies = await page.context().cookies();
  const token = cookies.find((cookie) => cookie.name === "sortie_token");
  assert.deepEqual([token.httpOnly, token.sameSite], [true, "Lax"]);
  assert.equal(await page.evaluate(() => document.cookie.includes("sortie_token")), false);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.goto("/ui/runs");
  assert.match(page.url(), /\/ui\/sign-in/);
});

test("a token of yesterday does not keep the one of today out, and lets nothing else in", async () => {
  for (const [kept, typed, into] of [
    ["a-token-of-yesterday", "look-but-do-not-touch", /\/$/],
    ["look-but-do-not-touch", "a-guess", /sign-in/],
  ]) {
    const page = await openPage(browser, { url });
    await page.context().addCookies([{ name: "sortie_token", value: kept, url }]);
    await page.goto("/ui/sign-in");
    await signIn(page, typed);
    await page.getByRole("heading").first().waitFor();
    assert.match(page.url(), into, `${typed} beside ${kept}`);
    await leave(page);
  }
});

test("the way in leads to no other site", async () => {
  const page = await openPage(browser, { url });
  await page.goto(`/ui/sign-in?next=${encodeURIComponent("//example.invalid/")}`);
  await signIn(page, "look-but-do-not-touch");
  await page.waitForURL(`${url}/`);
});

test("a form of somebody who may only look is refused with the reason, and changes nothing", async () => {
  const page = await openPage(browser, { url });
  await page.goto("/ui/jobs");
  await signIn(page, "look-but-do-not-touch");
  await page.getByText("New collection").click();
  await page.locator("[name=collection]").fill("mine");
  await page.getByRole("button", { name: "Create collection" }).click();
  await page.getByRole("alert").getByText(/role/).waitFor();
  assert.equal(await page.locator("[name=collection]").inputValue(), "mine", "what was typed stays");
  const answer = await fetch(`${url}/v1/collections`, { headers: { authorization: "Bearer look-but-do-not-touch" } });
  assert.deepEqual((await answer.json()).items, []);
});

test("who is signed out while a page is open is led to the way in", async () => {
  const page = await openPage(browser, { url });
  await page.goto("/ui/runs");
  await signIn(page, "look-but-do-not-touch");
  await page.waitForURL("**/ui/runs");
  await page.context().clearCookies();
  await turn(page, "hidden");
  await turn(page, "visible");
  await page.waitForURL("**/ui/sign-in?next=*");
});

test("a form of another site is refused", async () => {
  const answer = await fetch(`${url}/ui/sign-out`, { method: "POST", headers: { origin: "http://example.invalid" } });
  assert.equal(answer.status, 403);
});
