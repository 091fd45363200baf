"""APScheduler: one-time jobs in a job store on PostgreSQL, run by its scheduler for asyncio."""

import asyncio
import os
import pathlib
import sys
from datetime import datetime, timezone

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "shared"))
import worker as talk  # noqa: E402

# A job that is late is made all the same, and every one of them.
DEFAULTS = {"misfire_grace_time": None, "coalesce": False, "max_instances": 1}


async def main():
    scheduler = AsyncIOScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=os.environ["DATABASE"])},
        executors={"default": AsyncIOExecutor()},
        job_defaults=DEFAULTS,
        timezone=timezone.utc,
    )
    scheduler.start()

    def load(command):
        for path, due_ms in talk.planned_calls(command):
            due = datetime.fromtimestamp(due_ms / 1000, timezone.utc)
            scheduler.add_job("calls:fire", "date", run_date=due, args=[path])

    await talk.serve({"timed": lambda command: asyncio.to_thread(load, command)})


asyncio.run(main())
