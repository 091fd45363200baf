// The runner's words, with a limit: what is stuck fails with its name, in place of holding everything up for ever.

import * as runner from "node:test";

import { PATIENCE } from "./world.mjs";

/** Longer than anything waits on purpose, even twice in one test. */
const limits = { timeout: 5 * PATIENCE };

export const test = (name, body) => runner.test(name, limits, body);
export const before = (body) => runner.before(body, limits);
export const after = (body) => runner.after(body, limits);
export const afterEach = (body) => runner.afterEach(body, limits);
