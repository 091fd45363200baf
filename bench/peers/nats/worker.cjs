// Publishers of NATS JetStream: 64 connections, a stream on file storage, every message acknowledged.
"use strict";

const { connect } = require("@nats-io/transport-node");
const { jetstream, jetstreamManager, RetentionPolicy, StorageType } = require("@nats-io/jetstream");
const { serve, closedLoop, deliveryRequest } = require("../shared/worker.cjs");

const CONNECTIONS = 64;

async function main() {
  const connections = [];
  for (let i = 0; i < CONNECTIONS; i++) connections.push(await connect({ servers: process.env.SERVER }));
  const manager = await jetstreamManager(connections[0]);
  await manager.streams.add({
    name: "requests",
    subjects: ["requests"],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
  });
  const streams = connections.map((connection) => jetstream(connection, { timeout: 30_000 }));
  serve({
    ingest: (command) =>
      closedLoop(command, (id, lane) =>
        streams[lane % CONNECTIONS].publish("requests", JSON.stringify(deliveryRequest(id))),
      ),
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
