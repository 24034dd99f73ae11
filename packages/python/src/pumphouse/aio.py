"""Client and worker runtime for asyncio.

They are those of :mod:`pumphouse`, with coroutines: jobs, options, outcomes and errors are the same. A client belongs to the event loop
that runs. The worker's leases and heartbeats are in threads of its own: a handler that blocks the event loop loses no lease.
"""

import asyncio
import inspect
import ssl
import threading
import time
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from . import (
    _calls,
    _dead_calls,
    _job_calls,
    _operation_calls,
    _queue_calls,
    _recurring_calls,
    _variable_calls,
    client,
    worker,
)
from ._aio_http import LoopApi
from ._http import Limits
from ._methods import each_in_loop, sends_in_loop
from .errors import PumphouseError
from .jobs import EndedJob, Job, NewJob, PublishedJob
from .operations import Operation
from .outcomes import Release

__all__ = ["JobContext", "Pumphouse", "Worker"]


class Pumphouse:
    """A client of one namespace, for asyncio. Tasks may share it.

    Its calls are those of :class:`pumphouse.Pumphouse`, with the same arguments, results, retries and errors. A call that is cancelled
    may have been done.
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
        """Its arguments, and the variables of the environment in their place, are those of :class:`pumphouse.Pumphouse`."""
        #: For the threads of workers.
        self._threaded = client.Pumphouse(url, namespace, token, limits=limits, ssl_context=ssl_context)
        self._api = LoopApi.like(self._threaded._api)

    async def publish(
        self,
        job: NewJob,
        *,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> PublishedJob:
        """Publishes a job."""
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        return await self._api.send(_calls.publish(job, options))

    async def publish_many(
        self,
        jobs: Sequence[NewJob],
        *,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> List[PublishedJob]:
        """Publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other."""
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        calls = _calls.publish_many(jobs, options)
        return [published for call in calls for published in await self._api.send(call)]

    async def publish_and_wait(
        self,
        job: NewJob,
        *,
        wait_ms: float = 30_000,
        idempotency_key: Optional[str] = None,
        idempotency_ttl_ms: Optional[float] = None,
        durability: Optional[str] = None,
    ) -> EndedJob:
        """Publishes a job and waits for its end, or for ``wait_ms``, a day at most."""
        options = _calls.PublishOptions(idempotency_key, idempotency_ttl_ms, durability)
        return await self._api.send(_calls.publish_and_wait(job, wait_ms, options))

    get_job = sends_in_loop(_job_calls.get_job)
    list_jobs = sends_in_loop(_job_calls.list_jobs)
    each_job = each_in_loop(_job_calls.list_jobs)
    explain_job = sends_in_loop(_job_calls.explain_job)
    put_job = sends_in_loop(_job_calls.put_job)
    update_job = sends_in_loop(_job_calls.update_job)
    cancel_job = sends_in_loop(_job_calls.cancel_job)
    revoke_job = sends_in_loop(_job_calls.revoke_job)
    delete_job = sends_in_loop(_job_calls.delete_job)
    log_job = sends_in_loop(_job_calls.log_job)

    list_queues = sends_in_loop(_queue_calls.list_queues)
    each_queue = each_in_loop(_queue_calls.list_queues)
    get_queue = sends_in_loop(_queue_calls.get_queue)
    explain_queue = sends_in_loop(_queue_calls.explain_queue)
    update_queue = sends_in_loop(_queue_calls.update_queue)
    delete_queue = sends_in_loop(_queue_calls.delete_queue)
    pause_queue = sends_in_loop(_queue_calls.pause_queue)
    resume_queue = sends_in_loop(_queue_calls.resume_queue)
    drain_queue = sends_in_loop(_queue_calls.drain_queue)
    purge_queue = sends_in_loop(_queue_calls.purge_queue)

    list_dead_jobs = sends_in_loop(_dead_calls.list_dead_jobs)
    each_dead_job = each_in_loop(_dead_calls.list_dead_jobs)
    list_failure_groups = sends_in_loop(_dead_calls.list_failure_groups)
    each_failure_group = each_in_loop(_dead_calls.list_failure_groups)
    respawn_dead_jobs = sends_in_loop(_dead_calls.respawn_dead_jobs)
    move_dead_jobs = sends_in_loop(_dead_calls.move_dead_jobs)
    delete_dead_jobs = sends_in_loop(_dead_calls.delete_dead_jobs)

    list_recurring_jobs = sends_in_loop(_recurring_calls.list_recurring_jobs)
    each_recurring_job = each_in_loop(_recurring_calls.list_recurring_jobs)
    get_recurring_job = sends_in_loop(_recurring_calls.get_recurring_job)
    explain_recurring_job = sends_in_loop(_recurring_calls.explain_recurring_job)
    put_recurring_job = sends_in_loop(_recurring_calls.put_recurring_job)
    update_recurring_job = sends_in_loop(_recurring_calls.update_recurring_job)
    delete_recurring_job = sends_in_loop(_recurring_calls.delete_recurring_job)
    pause_recurring_job = sends_in_loop(_recurring_calls.pause_recurring_job)
    resume_recurring_job = sends_in_loop(_recurring_calls.resume_recurring_job)
    run_recurring_job = sends_in_loop(_recurring_calls.run_recurring_job)
    list_upcoming_slots = sends_in_loop(_recurring_calls.list_upcoming_slots)
    preview_schedule = sends_in_loop(_recurring_calls.preview_schedule)

    start_operation = sends_in_loop(_operation_calls.start_operation)
    list_operations = sends_in_loop(_operation_calls.list_operations)
    each_operation = each_in_loop(_operation_calls.list_operations)
    get_operation = sends_in_loop(_operation_calls.get_operation)
    stop_operation = sends_in_loop(_operation_calls.stop_operation)
    undo_operation = sends_in_loop(_operation_calls.undo_operation)

    async def wait_operation(
        self,
        operation_id: str,
        *,
        timeout_s: Optional[float] = None,
        on_progress: Optional[Callable[[Operation], object]] = None,
    ) -> Operation:
        """Waits for the end of an operation, as that of :class:`pumphouse.Pumphouse`."""
        for pause in _operation_calls.looks(timeout_s):
            operation = await self.get_operation(operation_id)
            if on_progress is not None:
                on_progress(operation)
            if operation.has_ended or pause is None:
                return operation
            await asyncio.sleep(pause)
        raise AssertionError("there is always a last look")

    list_workers = sends_in_loop(_queue_calls.list_workers)
    each_worker = each_in_loop(_queue_calls.list_workers)
    get_worker = sends_in_loop(_queue_calls.get_worker)
    quiet_worker = sends_in_loop(_queue_calls.quiet_worker)
    stop_worker = sends_in_loop(_queue_calls.stop_worker)
    delete_worker = sends_in_loop(_queue_calls.delete_worker)
    get_statistics = sends_in_loop(_queue_calls.get_statistics)

    list_variables = sends_in_loop(_variable_calls.list_variables)
    get_variable = sends_in_loop(_variable_calls.get_variable)
    set_variable = sends_in_loop(_variable_calls.set_variable)
    delete_variable = sends_in_loop(_variable_calls.delete_variable)

    async def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """Any other call of the v1 API, as that of :class:`pumphouse.Pumphouse`."""
        return await self._api.send(_calls.other(method, path, body, query, repeatable))

    async def close(self) -> None:
        """Closes idle connections."""
        self._api.connections.close()
        self._threaded.close()

    async def __aenter__(self) -> "Pumphouse":
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


class JobContext(worker.LeaseContext):
    """What a handler gets beside its job.

    When the lease is lost, when ``max_run_ms`` is over, when no heartbeat was answered for 80 % of the lease, when a client wants the
    job cancelled, and at the end of the shutdown grace, the handler gets an ``asyncio.CancelledError``; ``cause`` says why.
    """

    def __init__(self, held: worker.HeldJob, core: "LoopWorker", api: LoopApi) -> None:
        super().__init__(held, core)
        self._api = api

    async def progress(self, value: Any) -> None:
        """Stores how far the work is; any JSON."""
        held, sent = self._held, time.monotonic()
        try:
            held.take_progress(sent, await self._api.send(self._worker.progress_call(held, value)))
        except PumphouseError as error:
            held.take_progress_error(error)

    async def log(self, message: object, data: Any = None) -> None:
        """Writes a line into the job's timeline; beyond 1,024 characters it is cut. If that fails, a warning is logged."""
        try:
            await self._api.send(worker.log_call(self._held.job, message, data))
        except Exception as error:
            self._held.take_log_error(error)


Handler = Callable[[Job, JobContext], Awaitable[Any]]


class LoopWorker(worker.Worker):
    """A worker whose handlers are tasks of an event loop. All else is in threads, as in its base class."""

    api: LoopApi
    _loop: asyncio.AbstractEventLoop
    _tasks: "Set[asyncio.Task[Tuple[Any, Optional[BaseException]]]]"

    def prepare(self, api: LoopApi) -> None:
        """Before ``_run``, in the event loop of the handlers."""
        self.api, self._loop, self._tasks = api, asyncio.get_running_loop(), set()
        self._prepare()

    def _start(self, held: worker.HeldJob) -> None:
        has_to_send = held.handler is None or held.max_run_ms is not None or held.is_doubtful
        if has_to_send or held.job.unreadable is not None or held.is_abandoned:
            self._submit(held, lambda: self._execute(held))
        else:
            self._execute(held)

    def _execute(self, held: worker.HeldJob) -> None:
        if not self._may_begin(held):
            return
        try:
            self._loop.call_soon_threadsafe(self._begin, held)
        except RuntimeError:  # The event loop is closed.
            self._finish(held, None, Release())

    def _begin(self, held: worker.HeldJob) -> None:
        context = self._context.copy()
        task = context.run(self._task_of, held)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda task: self._end(held, task))
        is_told = False

        def cancel() -> None:
            nonlocal is_told
            if not is_told:
                is_told = True
                task.cancel()

        def cancel_soon() -> None:
            try:
                self._loop.call_soon_threadsafe(cancel)
            except RuntimeError:
                pass  # The event loop is closed.

        held.on_cancel = cancel_soon
        if held.cause is not None:
            cancel()

    def _task_of(self, held: worker.HeldJob) -> "asyncio.Task[Tuple[Any, Optional[BaseException]]]":
        worker.callers.set((*worker.callers.get(), self))
        return self._loop.create_task(self._handle(held))

    async def _handle(self, held: worker.HeldJob) -> Tuple[Any, Optional[BaseException]]:
        """What the handler returned and raised. Nothing of it ends the event loop, but Ctrl-C."""
        assert held.handler is not None
        try:
            return await held.handler(held.job, JobContext(held, self, self.api)), None  # type: ignore[arg-type]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return None, error

    def _end(self, held: worker.HeldJob, task: "asyncio.Task[Tuple[Any, Optional[BaseException]]]") -> None:
        returned: Any = None
        # Without a result it had not begun.
        raised: Optional[BaseException] = asyncio.CancelledError() if task.cancelled() else task.exception()
        if raised is None:
            returned, raised = task.result()
        # guard: python-aio-cancelled-task-is-no-failure
        if issubclass(type(raised), asyncio.CancelledError) and self._stopping.is_set():
            raised = Release()  # The event loop ends.
        self._submit(held, lambda: self._finish(held, returned, raised))


class Worker:
    """Leases jobs of some queues and runs a coroutine for each.

    Each job may run twice: a worker that dies, or whose lease expires, may have done the work already.
    """

    def __init__(
        self,
        client: Pumphouse,
        queues: Optional[Sequence[str]] = None,
        *,
        order: Optional[Literal["ordered", "round_robin"]] = None,
        concurrency: int = 10,
        ttr_ms: float = 60_000,
        wait_ms: float = 20_000,
        shutdown_grace_ms: int = 25_000,
        shutdown_abort_ms: int = 5_000,
        unhandled_delay_ms: Optional[float] = None,
        name: str = "worker",
    ) -> None:
        """Its arguments are those of :class:`pumphouse.Worker`; ``concurrency`` is the number of handlers that run at once."""
        self._client = client
        options: Dict[str, Any] = {"order": order, "concurrency": concurrency, "ttr_ms": ttr_ms, "wait_ms": wait_ms}
        options.update(shutdown_grace_ms=shutdown_grace_ms, shutdown_abort_ms=shutdown_abort_ms)
        options.update(unhandled_delay_ms=unhandled_delay_ms, name=name)
        self._core = LoopWorker(client._threaded, queues, **options)
        self._ended: "Optional[asyncio.Future[Optional[BaseException]]]" = None

    @property
    def id(self) -> str:
        """The id of its session, which lists, events and ``leased_by`` show. No other worker has it."""
        return self._core.id

    @property
    def held_count(self) -> int:
        """Jobs that this worker has leased: running and being settled."""
        return self._core.held_count

    def handle(
        self, type: Optional[str] = "*", *, queue: Optional[str] = None, max_run_ms: Optional[float] = None
    ) -> Callable[[Handler], Handler]:
        """Sets the handler of a type of job, an ``async def``: a decorator.

        Without a handler of ``"*"``, only jobs of the types that have a handler are leased, if they are 64 at most.

        Args:
            type: ``"*"``: all types that have no handler of their own; None: jobs without a type.
            queue: only jobs of this queue.
            max_run_ms: how long the handler may run, as in :meth:`pumphouse.Worker.handle`. Then it is cancelled.
        """
        register = self._core.handle(type, queue=queue, max_run_ms=max_run_ms)

        def register_coroutine(handler: Handler) -> Handler:
            if not (inspect.iscoroutinefunction(handler) or is_coroutine_method(handler)):
                raise TypeError(
                    "handle: the handler must be an `async def`; `await asyncio.to_thread(…)` runs other functions in it"
                )
            register(handler)  # type: ignore[arg-type]
            return handler

        return register_coroutine

    async def run(self, *, signals: bool = False) -> None:
        """Works until :meth:`stop` is called, here or by an operator; with ``signals``, until SIGTERM or SIGINT.

        At the first signal it stops as by ``stop``. At the second it gives all jobs back at once and raises ``SystemExit``.
        Signals need the main thread. If the task of ``run`` is cancelled, it stops so, too, before it ends: at a second time it gives
        all jobs back at once.

        Raises:
            PumphouseError: the server refuses this worker: its token, its queues. What was running has ended by then.
            ValueError: neither the worker nor a handler names a queue.
        """
        core, loop = self._core, asyncio.get_running_loop()
        core.prepare(self._client._api)
        restore = core._listen() if signals else lambda: None
        ended: "asyncio.Future[Optional[BaseException]]" = loop.create_future()
        self._ended = ended

        def work() -> None:
            failure = None
            try:
                core._run()
            except BaseException as error:
                failure = error
            try:
                loop.call_soon_threadsafe(ended.set_result, failure)
            except RuntimeError:
                pass  # The event loop is closed.

        threading.Thread(target=work, name="pumphouse-run", daemon=True).start()
        cancelled: Optional[BaseException] = None
        try:
            while not ended.done():
                try:
                    await asyncio.wait({ended})
                except asyncio.CancelledError as error:
                    if cancelled is None:
                        core.stop(wait=False)
                    else:
                        core._abort_now()
                    cancelled = error
        finally:
            restore()
        failure = cancelled or ended.result()
        if failure is not None:
            raise failure
        core._exit_by_signal()

    def quiet(self) -> None:
        """Leases nothing more; what it has goes on. ``run`` ends with ``stop`` only."""
        self._core.quiet()

    async def stop(self, *, wait: bool = True) -> None:
        """Stops leasing, waits for handlers, cancels them, gives the rest back.

        Returns at once where it would wait for itself: in a handler of this worker, and in one of a worker for which a handler of this
        one waits. The job of that handler is settled as usual.
        """
        self._core.stop(wait=False)
        if not wait or self._ended is None:
            return
        with self._core._awaiting() as may_wait:
            if may_wait:
                await asyncio.wait({self._ended})


def is_coroutine_method(handler: object) -> bool:
    return inspect.iscoroutinefunction(getattr(handler, "__call__", None))
