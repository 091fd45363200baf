"""Temporal's workflows: a delivery of five activities, and one call. A module of its own, for the sandbox."""

import asyncio
from datetime import timedelta

from temporalio import workflow

LIMIT = timedelta(seconds=60)


def step(name, *arguments):
    return workflow.execute_activity(name, args=arguments, start_to_close_timeout=LIMIT)


@workflow.defn(sandboxed=False)
class Delivery:
    @workflow.run
    async def run(self, id: str) -> str:
        await asyncio.gather(step("account", id), step("package", id), step("transport", id))
        drone_id = await step("drone", id)
        await step("delivery", id, drone_id)
        return drone_id


@workflow.defn(sandboxed=False)
class Timed:
    @workflow.run
    async def run(self, path: str) -> None:
        await step("fire", path)


@workflow.defn(sandboxed=False)
class Waiting:
    @workflow.run
    async def run(self, request: dict) -> None:
        return None
