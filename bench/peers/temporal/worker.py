"""Temporal: a worker with the activities, and the client that starts workflows and waits for them."""

import asyncio
import json
import os
import pathlib
import sys
import time
from datetime import timedelta

import aiohttp
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from workflows import Delivery, Timed, Waiting

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "shared"))
import services as calls  # noqa: E402
import worker as talk  # noqa: E402

QUEUE = "deliveries"
CONNECTIONS = 64
REQUEST_BYTES = 300


def activities(services, session):
    """The steps, by the names that the workflows use."""

    @activity.defn
    async def account(id: str) -> None:
        await services.account(id)

    @activity.defn
    async def package(id: str) -> None:
        await services.package(id)

    @activity.defn
    async def transport(id: str) -> None:
        await services.transport(id)

    @activity.defn
    async def drone(id: str) -> str:
        return await services.drone(id)

    @activity.defn
    async def delivery(id: str, drone_id: str) -> None:
        await services.delivery(id, drone_id)

    @activity.defn
    async def fire(path: str) -> None:
        async with session.post(os.environ["TARGET"] + path) as answer:
            await answer.read()

    return [account, package, transport, drone, delivery, fire]


def request(id):
    body = {
        "deliveryId": id,
        "ownerId": "myowner",
        "pickupLocation": "0,37.4316,-78.6569",
        "dropOffLocation": "0,37.5407,-77.4360",
        "deadline": "",
        "expedited": True,
        "confirmationRequired": "None",
        "packageInfo": {"packageId": "mypackage", "size": "Small", "weight": 10, "tag": ""},
    }
    written = json.dumps(body, separators=(",", ":"))
    body["packageInfo"]["tag"] = "x" * max(0, REQUEST_BYTES - len(written))
    return body


async def main():
    client = await Client.connect(os.environ["SERVER"])
    services = calls.Services(os.environ["SERVICES"], CONNECTIONS)
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS))

    async def deliver(id):
        await client.execute_workflow(Delivery.run, id, id=id, task_queue=QUEUE)

    async def take(id):
        # No worker polls this queue: requests are accepted and wait.
        await client.start_workflow(Waiting.run, request(id), id=f"ingest-{id}", task_queue="requests")

    async def load(path, due_ms):
        delay = timedelta(milliseconds=max(0, due_ms - time.time() * 1000))
        await client.start_workflow(Timed.run, path, id=f"timed{path}", task_queue=QUEUE, start_delay=delay)

    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[Delivery, Timed],
        activities=activities(services, session),
        max_concurrent_activities=200,
        max_concurrent_workflow_tasks=200,
        max_concurrent_workflow_task_polls=10,
        max_concurrent_activity_task_polls=10,
        max_cached_workflows=2000,
    ):
        await talk.serve(
            {
                "workflow": lambda command: talk.closed_loop(command, deliver),
                "ingest": lambda command: talk.closed_loop(command, take),
                "timed": lambda command: talk.for_each(talk.planned_calls(command), CONNECTIONS, load),
            }
        )


asyncio.run(main())
