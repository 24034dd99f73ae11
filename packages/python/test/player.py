"""Plays test/clients/scenarios.json: ``player.py URL NAMESPACE TOKEN``. Reads commands from stdin, prints answers and events."""

import base64
import contextvars
import json
import logging
import sys
import threading
import time
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Callable, Dict, List, NoReturn, Optional, Type

import pumphouse

Fields = Dict[str, Any]

logging.disable(logging.CRITICAL)
client = pumphouse.Pumphouse(*sys.argv[1:4])
workers: List[pumphouse.Worker] = []
setting: "contextvars.ContextVar[Optional[str]]" = contextvars.ContextVar("setting", default=None)


def write(line: Fields) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def shown(data: Any, content_type: Optional[str] = None) -> Fields:
    """Bytes stand in base64 beside the rest."""
    return (
        {"bytes": base64.b64encode(data).decode(), "content_type": content_type}
        if isinstance(data, bytes)
        else {"data": data}
    )


def options_of(
    key: Optional[str] = None, key_ttl_ms: Optional[float] = None, durability: Optional[str] = None
) -> Fields:
    """Options of a publish."""
    return {"idempotency_key": key, "idempotency_ttl_ms": key_ttl_ms, "durability": durability}


def job_of(wire: Fields) -> pumphouse.NewJob:
    fields = dict(wire)
    if "bytes" in fields:
        fields["data"] = base64.b64decode(fields.pop("bytes"))
    if "run_at" in fields:
        fields["run_at"] = datetime.strptime(fields["run_at"], "%Y-%m-%dT%H:%M:%S.%f%z")
    return pumphouse.NewJob(**fields)


def behave(behaviour: Fields, job: pumphouse.Job, context: pumphouse.JobContext) -> Any:
    write({"event": "begun", "type": job.type, "attempts": job.attempts, **shown(job.data, job.content_type)})
    if "sets_context" in behaviour:
        write({"event": "context", "value": setting.get()})
        setting.set("a handler")
    if behaviour.get("returns_dependencies"):
        return [[one.id, one.state, one.result, one.truncated] for one in context.dependencies()]
    if "progress" in behaviour:
        context.progress(behaviour["progress"])
    time.sleep(behaviour.get("ignore_ms", 0) / 1000)
    context.wait(behaviour.get("wait_ms", 0) / 1000)
    if context.cause is not None:
        write({"event": "cancelled", "code": context.cause.code})
    if "wait_ms" in behaviour:
        context.raise_if_cancelled()
    if "stops" in behaviour:
        stop()
    return outcome_of(behaviour, job)


def outcome_of(behaviour: Fields, job: pumphouse.Job) -> Any:
    """What a handler returns or raises."""
    if "odd" in behaviour:
        return odd_outcome(job.data)
    raises, group, delay_ms = (behaviour.get(name) for name in ("raises", "group", "delay_ms"))
    message = behaviour.get("message", "odd")
    made: Dict[str, Callable[[], Exception]] = {
        "retry": lambda: pumphouse.Retry(message, group=group, delay_ms=delay_ms),
        "fail": lambda: pumphouse.Fail(message, group=group),
        "release": lambda: pumphouse.Release(delay_ms=delay_ms),
        "error": lambda: RuntimeError(message),
    }
    if raises is not None:
        raised = made[raises]()
        if "returned" in behaviour:
            return raised
        raise raised
    if "next" in behaviour:
        return pumphouse.Next(behaviour["next"], data=behaviour.get("returns"))
    if "nests" in behaviour:
        return nested(behaviour["nests"])
    if "fills" in behaviour:
        return "x" * int(behaviour["fills"])
    return base64.b64decode(behaviour["bytes"]) if "bytes" in behaviour else behaviour.get("returns")


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def throw(error: Type[BaseException] = RuntimeError) -> NoReturn:
    raise error("odd")


class Named(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        throw()


class Unnamed(Exception, metaclass=Named):
    pass


class Empty(pumphouse.PumphouseError):
    def __init__(self) -> None:
        pass


class Coded(Empty):
    @property
    def code(self) -> str:  # type: ignore[override]
        throw(SystemExit)


class Grouped(pumphouse.Retry):
    @property  # type: ignore[override]
    def group(self) -> str:
        throw()

    @group.setter
    def group(self, value: object) -> None:
        pass


class Delayed(pumphouse.Retry):
    @property  # type: ignore[override]
    def delay_ms(self) -> float:
        throw()

    @delay_ms.setter
    def delay_ms(self, value: object) -> None:
        pass


class Classed(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        throw()


class Shown(Exception):
    def __str__(self) -> str:
        throw(SystemExit)


#: Stops all workers, where nothing can be awaited.
stop_by_text: Callable[[], object] = lambda: stop()


class Stops(Exception):
    def __str__(self) -> str:
        stop_by_text()
        return "stopped"


class Text(str):
    def encode(self, *args: Any, **options: Any) -> bytes:
        throw()


class Items(Dict[str, int]):
    def items(self) -> NoReturn:
        throw(SystemExit)


class NoNext(pumphouse.Next):
    def __init__(self) -> None:
        pass


RAISED = [Unnamed("x"), Empty(), Coded(), Grouped("x"), Delayed("x"), Classed("x"), Shown("x"), SystemExit(1), Stops("x")]
RAISED += [pumphouse.Fail(Text("x"), group=Text("x"))]
RETURNED = [NoNext(), Items(a=1), {1}, nested(20_000), pumphouse.Next("x y"), pumphouse.Next("x", data=nested(20_000))]


def odd_outcome(number: int) -> Any:
    """Outcomes that no handler should have. None of it settles a job as done."""
    number %= len(RAISED) + len(RETURNED)
    if number < len(RAISED):
        raise RAISED[number]
    return RETURNED[number - len(RAISED)]


def work(handlers: Dict[str, Fields], signals: bool = False, **options: Any) -> Fields:
    worker = pumphouse.Worker(client, **options)
    workers.append(worker)
    for kind, behaviour in handlers.items():
        worker.handle(kind)(partial(behave, behaviour))
    if not signals:
        threading.Thread(target=run, args=(worker,), daemon=True).start()
    return {"worker": worker.id}


def run(one: pumphouse.Worker) -> None:
    try:
        one.run()
    except pumphouse.PumphouseError as error:
        write({"event": "refused", **error_of(error)})


def stop() -> Fields:
    for worker in workers:
        worker.stop()
    return {}


def get(id: str) -> Fields:
    return details_of(client.get_job(id))


def details_of(job: pumphouse.JobDetails) -> Fields:
    fields = {name: getattr(job, name) for name in ("state", "queue", "type", "tags", "tries", "tries_left")}
    result = None if job.result is None else shown(job.result, "application/octet-stream")
    return {**fields, **shown(job.data, job.content_type), "result": result}


def list_jobs(queue: str, limit: int) -> Fields:
    page = client.list_jobs(queue=queue, limit=limit, fields=["data"])
    return {
        "first": [job.data for job in page.items],
        "all": [job.id for job in client.each_job(queue=queue, limit=limit)],
    }


def publish_and_wait(job: Fields, wait_ms: int, **options: Any) -> Fields:
    ended = client.publish_and_wait(job_of(job), wait_ms=wait_ms, **options_of(**options))
    return {"id": ended.id, "state": ended.state, "result": ended.result, "replayed": ended.replayed}


def delete(id: str, force: bool = False) -> Fields:
    client.delete_job(id, force=force)
    return {}


def set_variable(name: str, value: Any) -> Fields:
    client.set_variable(name, value)
    return {"value": client.get_variable(name), "listed": client.list_variables()[name]}


def delete_variable(name: str) -> Fields:
    client.delete_variable(name)
    return {}


def verify(secrets: Any, headers: Dict[str, str], body: str, now_s: float) -> Fields:
    return {"id": pumphouse.verify(secrets, headers, body.encode(), now=now_s)}


COMMANDS: Dict[str, Callable[..., Any]] = {
    "publish": lambda job, **options: asdict(client.publish(job_of(job), **options_of(**options))),
    "publish_many": lambda jobs, **options: {
        "jobs": [
            asdict(one) for one in client.publish_many([job_of(job) for job in jobs], **options_of(**options))
        ]
    },
    "publish_and_wait": publish_and_wait,
    "get": get,
    "list": list_jobs,
    "cancel": lambda id: asdict(client.cancel_job(id)),
    "put": lambda id, job: asdict(client.put_job(id, job_of(job))),
    "delete": delete,
    "set_variable": set_variable,
    "delete_variable": delete_variable,
    "revoke": lambda id: client.call("POST", f"jobs/{id}/revoke"),
    "verify": verify,
    "work": work,
    "stop": stop,
}


def error_of(error: BaseException) -> Fields:
    if isinstance(error, pumphouse.WebhookError):
        return {"code": "webhook"}
    if not isinstance(error, pumphouse.PumphouseError):
        return {"code": "other", "message": repr(error)}
    fields = {name: getattr(error, name) for name in ("code", "status", "retryable", "fields")}
    return {**fields, "has_request_id": error.request_id is not None}


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        try:
            write({"id": command["id"], "result": COMMANDS[command["do"]](**command["with"])})
        except Exception as error:
            write({"id": command["id"], "error": error_of(error)})
        if command["do"] == "work" and command["with"].get("signals"):
            workers[-1].run(signals=True)  # Signals need the main thread.
            break


if __name__ == "__main__":
    main()
