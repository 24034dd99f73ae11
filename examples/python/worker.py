"""Runs jobs until SIGTERM or SIGINT. PUMPHOUSE_URL, PUMPHOUSE_NAMESPACE and PUMPHOUSE_TOKEN say where."""

from typing import Any, Dict

from pumphouse import Fail, Job, JobContext, Pumphouse, Worker

worker = Worker(Pumphouse(), concurrency=4, name="image-worker")


@worker.handle("resize", queue="images")
def resize(job: Job, context: JobContext) -> Dict[str, Any]:
    file, width = job.data["file"], job.data["width"]
    if not file.endswith(".png"):
        raise Fail("only PNG files", group="format")
    context.progress({"percent": 50})
    context.wait(0.02)  # The work.
    context.raise_if_cancelled()  # The lease may be lost by now.
    print(f"resized {file}", flush=True)
    return {"file": f"{width}/{file}"}


# Running jobs may end, others go back to their queue.
worker.run(signals=True)
