"""The producer, and calls about jobs, queues, dead jobs, recurring jobs and workers."""

import os
import re
import ssl
import time
from typing import Any, Callable, List, Mapping, Optional, Sequence

from . import _calls, _dead_calls, _job_calls, _operation_calls, _queue_calls, _recurring_calls, _variable_calls
from ._http import Limits, Server, ThreadApi
from ._methods import each, sends
from .jobs import EndedJob, NewJob, PublishedJob
from .operations import Operation


class Pumphouse:
    """A client of one namespace. Threads may share it, and it is safe to use after a fork.

    Calls are tried again after 503, 429, time-outs and broken connections, where that is safe, until the time of ``limits`` would be
    over: they outlast a restart of the server. A publish is safe: it carries an idempotency key.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        namespace: Optional[str] = None,
        token: Optional[str] = None,
        *,
        limits: Optional[Limits] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        Args:
            url: ``https://queue.example.com``, with a path if it is behind a proxy that adds one. None: that of the variable
                ``PUMPHOUSE_URL`` of the environment.
            namespace: None: that of ``PUMPHOUSE_NAMESPACE``.
            token: None: that of ``PUMPHOUSE_TOKEN``.
            limits: bounds of each call and its retries.

        Raises:
            ValueError: the URL is none, or one of the three is given neither here nor there.
        """
        server = Server(setting("url", url), ssl_context)
        self._api = ThreadApi(
            server, setting("namespace", namespace), setting("token", token), limits or Limits()
        )

    def publish(
        self,
        job: NewJob,
        *,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> PublishedJob:
        """Publishes a job.

        Args:
            idempotency_key: a name for what is to happen once; it counts for a day. Without it the call's own retries store
                nothing twice, but a second call does.
            idempotency_ttl_ms: how long that name counts, 1,000 (a second) to 2,592,000,000 (30 days).
            durability: ``memory``, ``aof`` or ``replicated:N``.
        """
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        return self._api.send(_calls.publish(job, options))

    def publish_many(
        self,
        jobs: Sequence[NewJob],
        *,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> List[PublishedJob]:
        """Publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other.

        With a key of yours the whole call can be repeated: what was stored stays as it is.
        """
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        calls = _calls.publish_many(jobs, options)
        return [published for call in calls for published in self._api.send(call)]

    def publish_and_wait(
        self,
        job: NewJob,
        *,
        wait_ms: float = 30_000,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> EndedJob:
        """Publishes a job and waits for its end, or for ``wait_ms``, a day at most.

        The token needs the permission ``consume``, too.
        """
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        return self._api.send(_calls.publish_and_wait(job, wait_ms, options))

    get_job = sends(_job_calls.get_job)
    list_jobs = sends(_job_calls.list_jobs)
    each_job = each(_job_calls.list_jobs)
    explain_job = sends(_job_calls.explain_job)
    put_job = sends(_job_calls.put_job)
    update_job = sends(_job_calls.update_job)
    cancel_job = sends(_job_calls.cancel_job)
    revoke_job = sends(_job_calls.revoke_job)
    delete_job = sends(_job_calls.delete_job)
    log_job = sends(_job_calls.log_job)

    list_queues = sends(_queue_calls.list_queues)
    each_queue = each(_queue_calls.list_queues)
    get_queue = sends(_queue_calls.get_queue)
    explain_queue = sends(_queue_calls.explain_queue)
    update_queue = sends(_queue_calls.update_queue)
    delete_queue = sends(_queue_calls.delete_queue)
    pause_queue = sends(_queue_calls.pause_queue)
    resume_queue = sends(_queue_calls.resume_queue)
    drain_queue = sends(_queue_calls.drain_queue)
    purge_queue = sends(_queue_calls.purge_queue)

    list_dead_jobs = sends(_dead_calls.list_dead_jobs)
    each_dead_job = each(_dead_calls.list_dead_jobs)
    list_failure_groups = sends(_dead_calls.list_failure_groups)
    each_failure_group = each(_dead_calls.list_failure_groups)
    respawn_dead_jobs = sends(_dead_calls.respawn_dead_jobs)
    move_dead_jobs = sends(_dead_calls.move_dead_jobs)
    delete_dead_jobs = sends(_dead_calls.delete_dead_jobs)

    list_recurring_jobs = sends(_recurring_calls.list_recurring_jobs)
    each_recurring_job = each(_recurring_calls.list_recurring_jobs)
    get_recurring_job = sends(_recurring_calls.get_recurring_job)
    explain_recurring_job = sends(_recurring_calls.explain_recurring_job)
    put_recurring_job = sends(_recurring_calls.put_recurring_job)
    update_recurring_job = sends(_recurring_calls.update_recurring_job)
    delete_recurring_job = sends(_recurring_calls.delete_recurring_job)
    pause_recurring_job = sends(_recurring_calls.pause_recurring_job)
    resume_recurring_job = sends(_recurring_calls.resume_recurring_job)
    run_recurring_job = sends(_recurring_calls.run_recurring_job)
    list_upcoming_slots = sends(_recurring_calls.list_upcoming_slots)
    preview_schedule = sends(_recurring_calls.preview_schedule)

    start_operation = sends(_operation_calls.start_operation)
    list_operations = sends(_operation_calls.list_operations)
    each_operation = each(_operation_calls.list_operations)
    get_operation = sends(_operation_calls.get_operation)
    stop_operation = sends(_operation_calls.stop_operation)
    undo_operation = sends(_operation_calls.undo_operation)

    def wait_operation(
        self,
        operation_id: str,
        *,
        timeout_s: Optional[float] = None,
        on_progress: Optional[Callable[[Operation], object]] = None,
    ) -> Operation:
        """Waits for the end of an operation. To end the wait does not stop the operation.

        Args:
            timeout_s: how long; None: until it has ended. ``has_ended`` of what is returned says whether it has.
            on_progress: gets the operation after each look at it.

        Raises:
            PumphouseError: ``operation_not_found``.
        """
        for pause in _operation_calls.looks(timeout_s):
            operation = self.get_operation(operation_id)
            if on_progress is not None:
                on_progress(operation)
            if operation.has_ended or pause is None:
                return operation
            time.sleep(pause)
        raise AssertionError("there is always a last look")

    list_workers = sends(_queue_calls.list_workers)
    each_worker = each(_queue_calls.list_workers)
    get_worker = sends(_queue_calls.get_worker)
    quiet_worker = sends(_queue_calls.quiet_worker)
    stop_worker = sends(_queue_calls.stop_worker)
    delete_worker = sends(_queue_calls.delete_worker)
    get_statistics = sends(_queue_calls.get_statistics)

    list_variables = sends(_variable_calls.list_variables)
    get_variable = sends(_variable_calls.get_variable)
    set_variable = sends(_variable_calls.set_variable)
    delete_variable = sends(_variable_calls.delete_variable)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """Any other call of the v1 API: ``client.call("POST", "targets/billing/pause")``.

        Args:
            path: below ``/v1/NAMESPACE/``, its parts encoded.
            repeatable: to do it twice is as to do it once; by default all but POST and a PUT of a job.

        Returns:
            the JSON of the answer as it is.
        """
        return self._api.send(_calls.other(method, path, body, query, repeatable))

    def close(self) -> None:
        """Closes idle connections."""
        self._api.connections.close()


def setting(name: str, given: Optional[str]) -> str:
    """An argument, or in its place a variable of the environment.

    Raises:
        ValueError: there is neither.
    """
    variable = f"PUMPHOUSE_{name.upper()}"
    value = os.environ.get(variable) if given is None else given
    if not value:
        raise ValueError(f"{name} is missing: give the argument `{name}`, or set the variable {variable}")
    if name == "token" and not re.fullmatch(r"[!-~]+", value):
        raise ValueError("token: must have no spaces and line breaks, also not at its end")
    return value
