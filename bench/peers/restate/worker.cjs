// Restate's side that does the work: an HTTP/2 endpoint with the delivery, a place for requests, and timed calls.
// Prints its port when it is ready.
"use strict";

const http2 = require("node:http2");
const restate = require("@restatedev/restate-sdk");
const { Pool } = require("undici");
const { connect } = require("../shared/services.cjs");

const CONNECTIONS = 64;
const services = connect(process.env.SERVICES, CONNECTIONS);
const target = new Pool(process.env.TARGET, { connections: CONNECTIONS });

// Every call is a step of its own: its result is durable before the next one begins.
const delivery = restate.service({
  name: "delivery",
  handlers: {
    make: async (ctx, { id }) => {
      await restate.RestatePromise.all([
        ctx.run("account", () => services.account(id)),
        ctx.run("package", () => services.package(id)),
        ctx.run("transport", () => services.transport(id)),
      ]);
      const droneId = await ctx.run("drone", () => services.drone(id));
      await ctx.run("delivery", () => services.delivery(id, droneId));
      return droneId;
    },
  },
});

// Requests that are accepted and wait: the first under each key never ends, the others wait for it.
const waiting = restate.object({
  name: "waiting",
  handlers: { take: () => new Promise(() => {}) },
});

const timed = restate.service({
  name: "timed",
  handlers: {
    fire: async (ctx, path) => {
      await ctx.run("call", async () => {
        const answer = await target.request({ method: "POST", path });
        await answer.body.dump();
      });
    },
  },
});

const handler = restate.createEndpointHandler({ services: [delivery, waiting, timed] });
const server = http2.createServer(handler);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
