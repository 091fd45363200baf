// A real Sortie with its example, a real browser, and what the tests do with both.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const require = createRequire(process.env.TESTED_PACKAGES + "/");
const { chromium } = require("playwright-core");
const axeSource = require.resolve("axe-core/axe.min.js");

/** How long anything may take on a busy machine. */
export const PATIENCE = 60_000;

/** A running `sortie dev` with data of its own. */
class Sortie {
  services = {};

  constructor(data) {
    this.data = data;
  }

  /** Starts the process; resolves when it is ready. */
  async start(port) {
    const options = ["dev", "--port", port, "--drone-port-base", "0", "--data", this.data];
    this.child = spawn(process.env.TESTED_BINARY, options, { stdio: ["ignore", "pipe", "inherit"] });
    let ready = false;
    const late = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE);
    for await (const line of createInterface({ input: this.child.stdout })) {
      const api = line.match(/API\s+(http:\S+)\/v1/);
      const service = line.match(/\b(account|package|transport|drone|delivery)\s+(http:\S+)/);
      if (api) this.url = api[1];
      if (service) this.services[service[1]] = service[2];
      ready = /^\s*data\s/.test(line);
      if (ready) break;
    }
    clearTimeout(late);
    if (!ready) throw new Error("sortie dev ended before it was ready, or was not ready in time");
    // Whatever it says later must not fill its pipe.
    this.child.stdout.resume();
  }

  async kill() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  /** Starts it again after a kill, where it was. */
  startAgain() {
    return this.start(new URL(this.url).port);
  }

  async stop() {
    await this.kill();
    await rm(this.data, { recursive: true, force: true });
  }
}

/** Starts `sortie dev`. */
export async function startSortie() {
  const sortie = new Sortie(await mkdtemp(join(tmpdir(), "sortie-browser-")));
  await sortie.start("0");
  return sortie;
}

/** A browser that is the same wherever the tests run. It is ended by `kill`: one that is asked to close may never do. */
export async function startBrowser() {
  const executablePath = process.env.TESTED_BROWSER;
  const args = ["--no-sandbox", "--disable-gpu"];
  const server = await chromium.launchServer({ executablePath, args, timeout: PATIENCE });
  const browser = await chromium.connect(server.wsEndpoint(), { timeout: PATIENCE });
  browser.kill = () => server.kill();
  return browser;
}

/** Calls the API; fails on anything but a success. */
export async function call(sortie, method, path, body) {
  const answer = await fetch(sortie.url + path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Sets the switches of one of the example's services. */
export async function setSwitches(sortie, service, switches) {
  const answer = await fetch(`${sortie.services[service]}/switches`, { method: "PUT", body: JSON.stringify(switches) });
  if (!answer.ok) throw new Error(`switches of ${service}: ${await answer.text()}`);
}

/** The body of a delivery request. */
export async function delivery(id) {
  const request = JSON.parse(await readFile(process.env.TESTED_DELIVERY, "utf8"));
  return { ...request, deliveryId: id };
}

/** Hands in a delivery. */
export async function deliver(sortie, id) {
  return call(sortie, "POST", "/api/deliveryrequests", await delivery(id));
}

/** Waits until a run has a status. */
export async function waitForStatus(sortie, id, status) {
  await until(`run ${id} is ${status}`, async () => {
    const answer = await fetch(`${sortie.url}/v1/runs/${encodeURIComponent(id)}`);
    return answer.ok && (await answer.json()).status === status;
  });
}

/** Waits until something is so. */
export async function until(what, holds, patience = PATIENCE) {
  const end = Date.now() + patience;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Opens a page that fails its test when the browser complains about anything. */
export async function openPage(browser, sortie, options = {}) {
  const context = await browser.newContext({ baseURL: sortie.url, viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(`error: ${error}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 500) page.complaints.push(`${response.status()} of ${response.url()}`);
  });
  return page;
}

/** Closes a page with all that was kept for it. What the browser does not close in good time ends with the browser. */
export async function leave(page) {
  const enough = new Promise((resolve) => setTimeout(resolve, PATIENCE / 6).unref());
  await Promise.race([page.context().close().catch(() => {}), enough]);
}

/** Makes a page believe that nobody sees it, or that somebody does again. */
export async function turn(page, visibility) {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility === "hidden");
}

/** What is hard to use on this page for some people: labels, contrast, focus, structure. */
export async function barriers(page) {
  const source = await readFile(axeSource, "utf8");
  // Not as a script of the page: its policy does not allow any but its own.
  await page.evaluate(source);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.any.concat(node.all, node.none).map((check) => check.message).join("; ")}`),
  );
}
