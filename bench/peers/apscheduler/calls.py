"""What a job does: one call, on connections that stay open. A module of its own, because jobs are stored by name."""

import os

import aiohttp

session = None


async def fire(path):
    global session
    if session is None:
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64))
    async with session.post(os.environ["TARGET"] + path) as answer:
        await answer.read()
