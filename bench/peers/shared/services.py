"""The five calls of a drone delivery, on connections that stay open: the same as `sortie bench workflow` makes."""

import json

import aiohttp

PLACES = {"pickup": "0,37.4316,-78.6569", "dropoff": "0,37.5407,-77.4360"}


class Services:
    """`addresses` are those that `sortie bench drone-services` prints."""

    def __init__(self, addresses, connections):
        names = ["account", "package", "transport", "drone", "delivery"]
        self.addresses = dict(zip(names, addresses.split(" ")))
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=connections)
        self.session = aiohttp.ClientSession(connector=connector)

    async def call(self, service, id, method, path, body=None):
        url = f"http://{self.addresses[service]}{path}"
        headers = {"idempotency-key": f"{id}/{service}/do"}
        async with self.session.request(method, url, json=body, headers=headers) as answer:
            text = await answer.text()
            if answer.status >= 300:
                raise RuntimeError(f"{service} answered {answer.status}: {text}")
            return text

    async def account(self, id):
        if await self.call("account", id, "GET", "/api/accounts/myowner") != "true":
            raise RuntimeError("the account is suspended")

    async def package(self, id):
        body = {"id": "mypackage", "size": "Small", "weight": 10, "tag": ""}
        await self.call("package", id, "PUT", f"/api/packages/mypackage?delivery={id}", body)

    async def transport(self, id):
        if await self.call("transport", id, "PUT", f"/api/thirdpartydeliveries/{id}", PLACES) != "false":
            raise RuntimeError("the place needs a third party")

    async def drone(self, id):
        detail = {"id": "mypackage", "size": "Small"}
        body = {"deliveryId": id, **PLACES, "packageDetail": detail, "expedited": True}
        return json.loads(await self.call("drone", id, "PUT", f"/api/dronedeliveries/{id}", body))["droneId"]

    async def delivery(self, id, drone_id):
        owner = {"userId": "myowner", "accountId": "myowner"}
        rest = {"deadline": "", "expedited": True, "confirmationRequired": "None", "droneId": drone_id}
        await self.call("delivery", id, "PUT", f"/api/deliveries/{id}", {"id": id, "owner": owner, **PLACES, **rest})
