"""Plays test/clients/scenarios.json with ``pumphouse.aio``, as ``player.py`` does without."""

import asyncio
import json
import sys
from dataclasses import asdict
from functools import partial
from typing import Any, Awaitable, Callable, Dict, List

import pumphouse
from pumphouse import aio

import player
from player import Fields, error_of, job_of, options_of, shown, write

client = aio.Pumphouse(*sys.argv[1:4])
workers: List[aio.Worker] = []
tasks: "set[asyncio.Task[None]]" = set()


async def behave(behaviour: Fields, job: pumphouse.Job, context: aio.JobContext) -> Any:
    write({"event": "begun", "type": job.type, "attempts": job.attempts, **shown(job.data, job.content_type)})
    if "sets_context" in behaviour:
        write({"event": "context", "value": player.setting.get()})
        player.setting.set("a handler")
    if behaviour.get("returns_dependencies"):
        return [[one.id, one.state, one.result, one.truncated] for one in context.dependencies()]
    if "progress" in behaviour:
        await context.progress(behaviour["progress"])
    try:
        await sleep_through(behaviour.get("ignore_ms", 0) / 1000)
        await asyncio.sleep(behaviour.get("wait_ms", 0) / 1000)
    except asyncio.CancelledError:
        assert context.cause is not None
        write({"event": "cancelled", "code": context.cause.code})
        if "wait_ms" in behaviour:
            raise
    if "stops" in behaviour:
        await stop()
    return player.outcome_of(behaviour, job)


async def sleep_through(seconds: float) -> None:
    """Is not cancelled before its end."""
    is_cancelled = False
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        try:
            await asyncio.sleep(end - loop.time())
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError


def work(handlers: Dict[str, Fields], signals: bool = False, **options: Any) -> Fields:
    worker = aio.Worker(client, **options)
    workers.append(worker)
    for kind, behaviour in handlers.items():
        worker.handle(kind)(partial(behave, behaviour))
    if not signals:
        task = asyncio.get_running_loop().create_task(run(worker))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    return {"worker": worker.id}


async def run(worker: aio.Worker) -> None:
    try:
        await worker.run()
    except pumphouse.PumphouseError as error:
        write({"event": "refused", **error_of(error)})


async def stop() -> Fields:
    for worker in workers:
        await worker.stop()
    return {}


async def publish_many(jobs: List[Fields], **options: Any) -> Fields:
    published = await client.publish_many([job_of(job) for job in jobs], **options_of(**options))
    return {"jobs": [asdict(one) for one in published]}


async def get(id: str) -> Fields:
    return player.details_of(await client.get_job(id))


async def list_jobs(queue: str, limit: int) -> Fields:
    page = await client.list_jobs(queue=queue, limit=limit, fields=["data"])
    ids = [job.id async for job in client.each_job(queue=queue, limit=limit)]
    return {"first": [job.data for job in page.items], "all": ids}


async def publish_and_wait(job: Fields, wait_ms: float, **options: Any) -> Fields:
    ended = await client.publish_and_wait(job_of(job), wait_ms=wait_ms, **options_of(**options))
    return {"id": ended.id, "state": ended.state, "result": ended.result, "replayed": ended.replayed}


async def delete(id: str, force: bool = False) -> Fields:
    await client.delete_job(id, force=force)
    return {}


async def set_variable(name: str, value: Any) -> Fields:
    await client.set_variable(name, value)
    return {"value": await client.get_variable(name), "listed": (await client.list_variables())[name]}


async def delete_variable(name: str) -> Fields:
    await client.delete_variable(name)
    return {}


async def publish(job: Fields, **options: Any) -> Fields:
    return asdict(await client.publish(job_of(job), **options_of(**options)))


async def cancel(id: str) -> Fields:
    return asdict(await client.cancel_job(id))


async def put(id: str, job: Fields) -> Fields:
    return asdict(await client.put_job(id, job_of(job)))


async def at_once(command: Callable[..., Any], **fields: Any) -> Any:
    return command(**fields)


COMMANDS: Dict[str, Callable[..., Awaitable[Any]]] = {
    "publish": publish,
    "publish_many": publish_many,
    "publish_and_wait": publish_and_wait,
    "get": get,
    "list": list_jobs,
    "cancel": cancel,
    "put": put,
    "delete": delete,
    "set_variable": set_variable,
    "delete_variable": delete_variable,
    "revoke": lambda id: client.call("POST", f"jobs/{id}/revoke"),
    "verify": partial(at_once, player.verify),
    "work": partial(at_once, work),
    "stop": stop,
}


async def main() -> None:
    loop = asyncio.get_running_loop()

    def stop_soon() -> None:
        for worker in workers:
            asyncio.run_coroutine_threadsafe(worker.stop(wait=False), loop)

    player.stop_by_text = stop_soon
    while True:
        line = await loop.run_in_executor(None, sys.stdin.readline)
        if not line:
            return
        command = json.loads(line)
        try:
            write({"id": command["id"], "result": await COMMANDS[command["do"]](**command["with"])})
        except Exception as error:
            write({"id": command["id"], "error": error_of(error)})
        if command["do"] == "work" and command["with"].get("signals"):
            await workers[-1].run(signals=True)
            return


asyncio.run(main())
