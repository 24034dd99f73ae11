"""Runs jobs by asyncio until SIGTERM or SIGINT. PUMPHOUSE_URL, PUMPHOUSE_NAMESPACE and PUMPHOUSE_TOKEN say where."""

import asyncio
from typing import Any, Dict

from pumphouse import Fail, Job, aio

client = aio.Pumphouse()
worker = aio.Worker(client, concurrency=100, name="image-worker")


@worker.handle("resize", queue="images")
async def resize(job: Job, context: aio.JobContext) -> Dict[str, Any]:
    file, width = job.data["file"], job.data["width"]
    if not file.endswith(".png"):
        raise Fail("only PNG files", group="format")
    await context.progress({"percent": 50})
    await asyncio.sleep(0.02)  # The work. It is cancelled if the lease is lost.
    print(f"resized {file}", flush=True)
    return {"file": f"{width}/{file}"}


# Running jobs may end, others go back to their queue.
asyncio.run(worker.run(signals=True))
