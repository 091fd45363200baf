"""The side of a Python worker that talks to bench-peers: a command per line comes in, an answer per line goes out."""

import asyncio
import json
import sys
import time
import traceback


async def serve(works):
    """`works` has a coroutine function for each work; what it gives is the answer."""
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            answer = await works[command["work"]](command) or {}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


async def closed_loop(command, work):
    """Keeps `at_once` pieces of work in flight. Counts those that end in the measured seconds, which follow the ramp."""
    latencies_ms = []
    start = time.perf_counter() + command["ramp_seconds"]
    until = start + command["seconds"]
    numbers = iter(range(1_000_000_000))

    async def lane():
        begun = time.perf_counter()
        while begun < until:
            await work(f"{command['name']}-{command['worker']}-{next(numbers)}")
            ended = time.perf_counter()
            if start <= ended < until:
                latencies_ms.append((ended - begun) * 1000)
            begun = ended

    await asyncio.gather(*(lane() for _ in range(command["at_once"])))
    return {"latencies_ms": latencies_ms}


def planned_calls(command):
    """The calls of a plan that are this worker's: path, and the millisecond when it is due."""
    for call in range(command["worker"], command["calls"], command["workers"]):
        due_ms = int(command["begin_ms"] + call * 1000 / command["rate"])
        yield f"/{command['round']}/{call}", due_ms


async def for_each(items, at_once, work):
    """Does `work` for all, `at_once` of them at a time."""
    items = iter(items)

    async def lane():
        for item in items:
            await work(*item)

    await asyncio.gather(*(lane() for _ in range(at_once)))
