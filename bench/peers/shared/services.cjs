// The five calls of a drone delivery, on connections that stay open: the same as `sortie bench workflow` makes.
"use strict";

const { Pool } = require("undici");

const places = { pickup: "0,37.4316,-78.6569", dropoff: "0,37.5407,-77.4360" };

// `addresses` are those that `sortie bench drone-services` prints: account, package, transport, drone, delivery.
function connect(addresses, connections) {
  const [account, parcel, transport, drone, delivery] = addresses
    .split(" ")
    .map((address) => new Pool(`http://${address}`, { connections, pipelining: 1 }));

  async function call(pool, service, id, method, path, body) {
    const answer = await pool.request({
      method,
      path,
      headers: { "content-type": "application/json", "idempotency-key": `${id}/${service}/do` },
      body: body && JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${service} answered ${answer.statusCode}: ${text}`);
    return text;
  }

  return {
    async account(id) {
      const answer = await call(account, "account", id, "GET", "/api/accounts/myowner");
      if (answer !== "true") throw new Error("the account is suspended");
      return true;
    },
    async package(id) {
      const body = { id: "mypackage", size: "Small", weight: 10, tag: "" };
      await call(parcel, "package", id, "PUT", `/api/packages/mypackage?delivery=${id}`, body);
      return true;
    },
    async transport(id) {
      const answer = await call(transport, "transport", id, "PUT", `/api/thirdpartydeliveries/${id}`, places);
      if (answer !== "false") throw new Error("the place needs a third party");
      return false;
    },
    async drone(id) {
      const packageDetail = { id: "mypackage", size: "Small" };
      const body = { deliveryId: id, ...places, packageDetail, expedited: true };
      return JSON.parse(await call(drone, "drone", id, "PUT", `/api/dronedeliveries/${id}`, body)).droneId;
    },
    async delivery(id, droneId) {
      const owner = { userId: "myowner", accountId: "myowner" };
      const rest = { deadline: "", expedited: true, confirmationRequired: "None", droneId };
      await call(delivery, "delivery", id, "PUT", `/api/deliveries/${id}`, { id, owner, ...places, ...rest });
      return true;
    },
  };
}

module.exports = { connect };
