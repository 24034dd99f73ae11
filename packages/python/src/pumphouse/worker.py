"""The worker: leases jobs, runs their handlers in threads, keeps the leases and settles the jobs."""

import contextvars
import math
import os
import random
import re
import secrets
import signal
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from queue import SimpleQueue
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Set, Tuple, TypeVar

from ._calls import part_of
from ._http import MAX_WAIT, Call, Connections, Limits, Response, answer_of, nothing
from ._log import logger
from ._pool import Pool
from ._version import __version__
from .client import Pumphouse
from .errors import PumphouseError, is_of_proxy
from .jobs import Dependency, Job, leased_jobs, payload, to_json
from .outcomes import (
    INVALID_OUTCOME,
    Fail,
    Next,
    Release,
    Retry,
    cut,
    ending_of,
    failure_of,
    text_of,
    whole_delay,
)

T = TypeVar("T")

# Most jobs of one lease request, and of one heartbeat.
MAX_LEASES = 100
MAX_CONCURRENCY = 1_000
MAX_SESSION_QUEUES = 64
# Characters of a line in a job's timeline.
MAX_LOG_LINE = 1_024
# A heartbeat is due after this part of the lease, ± JITTER of it; and so soon after one that was not answered.
HEARTBEAT_PART = 1 / 3
JITTER = 0.1
AGAIN_PART = 1 / 20
# How long one heartbeat may take; and in seconds, at least and at most.
ATTEMPT_PART = 1 / 6
MIN_ATTEMPT = 0.05
MAX_ATTEMPT = 10.0
# A part of the lease: where it is seen later by so much what is due, the process stood still.
LATE_PART = 0.1
# Without an answer for so long, another worker may get the job soon.
UNCONFIRMED_PART = 0.8
# Attempts of one lease request before its failure is logged. The next request follows it.
LEASE_TRIES = 5
# Seconds between lease requests that fail, or are answered too soon, as by a server that stops.
FIRST_PAUSE = 0.05
MAX_PAUSE = 5.0
# Shortest time from one lease request to the next while the queues are empty, where ``wait_ms`` is shorter: doubles. In seconds.
FIRST_EMPTY = 0.1
MAX_EMPTY = 1.0
# Most types that a lease request can name.
MAX_TYPES = 64
# How long a worker leases jobs of all types after the server has refused to lease by type, in seconds.
TYPES_AGAIN = 600.0
# Seconds that an acknowledgement may wait for others, and how many go together.
BATCH = 0.005
MAX_BATCH = 100
# How long a lease request that is to end may take before its connection is closed.
END_WAITS = 1.0
# At a second stop signal the rest is given back within this time, in seconds.
AT_ONCE = 1.0
# Refusals that no later lease request can get past.
HOPELESS = {
    "invalid_argument",
    "bad_request",
    "token_missing",
    "token_invalid",
    "verb_missing",
    "queue_not_allowed",
}
HOPELESS |= {"pool_not_found", "not_found"}
# The status of an answer to a body that is too long.
TOO_LONG = 413
# Statuses of an acknowledgement that end the lease.
SETTLED = {"acked", "moved", "not_found", "lease_lost"}
# Statuses of an acknowledgement that the same one gets again: the job fails.
FINAL_STATUSES = {"namespace_full", "verb_missing", "dependency_cycle", "too_many_dependencies", "missing_dependency"}
# Statuses of an ack with `next` whose queue may have room later: the try fails, as if the handler had published there.
NO_ROOM_NEXT = {"queue_full", "too_many_queues"}

CAUSES = {
    "lease_lost": "another worker may have the job: nothing that this handler returns counts",
    "max_run_exceeded": "it ran for longer than its max_run_ms: nothing that this handler returns counts",
    "lease_unconfirmed": "no heartbeat was answered for 80 % of the lease: another worker may get the job soon",
    "cancelled": "a client wants the job cancelled",
    "shutdown": "the worker stops",
}

# Causes that end the lease: nothing is sent for the job any more.
LOST = ("lease_lost", "max_run_exceeded")
# The server ends a run so much later: it has the time of its start in whole milliseconds.
RUN_END = 0.001

Handler = Callable[[Job, "JobContext"], Any]

# How long a job without a handler is given back to a server that does not count how often.
OLD_UNHANDLED_MS = 60_000
#: The workers in whose handlers the running code is.
callers: "contextvars.ContextVar[Tuple[Worker, ...]]" = contextvars.ContextVar("pumphouse", default=())
#: Guards ``Worker._awaited`` of all workers. A signal handler may interrupt the thread that holds it.
awaiting = threading.RLock()


class LeaseContext:
    """What a handler may know of the lease of its job."""

    def __init__(self, held: "HeldJob", worker: "Worker") -> None:
        self._held = held
        self._worker = worker

    @property
    def cancelled(self) -> bool:
        return self._held.cancelled.is_set()

    @property
    def cause(self) -> Optional[PumphouseError]:
        """Why it is cancelled: ``code`` is ``lease_lost``, ``max_run_exceeded``, ``lease_unconfirmed``, ``cancelled`` or ``shutdown``."""
        return self._held.cause

    def dependencies(self) -> Sequence[Dependency]:
        """The jobs that this one was published to run after, in the order in which it names them, with their results."""
        return self._held.job.dependencies

    def raise_if_cancelled(self) -> None:
        """Raises:
        PumphouseError: the cause. A handler that lets it pass gives its job back.
        """
        if self._held.cause is not None:
            raise self._held.cause


class JobContext(LeaseContext):
    """What a handler gets beside its job.

    It is cancelled when the lease is lost, when ``max_run_ms`` is over, when no heartbeat was answered for 80 % of the lease, when a
    client wants the job cancelled, and at the end of the shutdown grace.
    """

    def wait(self, seconds: float) -> bool:
        """Sleeps. Returns True at once when the context is cancelled."""
        return self._held.cancelled.wait(min(seconds, MAX_WAIT))

    def progress(self, value: Any) -> None:
        """Stores how far the work is; any JSON."""
        held, sent = self._held, time.monotonic()
        try:
            held.take_progress(sent, self._worker._send(self._worker.progress_call(held, value)))
        except PumphouseError as error:
            held.take_progress_error(error)

    def log(self, message: object, data: Any = None) -> None:
        """Writes a line into the job's timeline; beyond 1,024 characters it is cut. If that fails, a warning is logged."""
        try:
            self._worker._send(log_call(self._held.job, message, data))
        except Exception as error:
            self._held.take_log_error(error)


class HeldJob:
    """A job that this worker has leased and not settled yet."""

    def __init__(self, job: Job, handler: Optional[Handler], max_run_ms: Optional[int]) -> None:
        self.job = job
        self.handler = handler
        #: How long the handler may run; None: only the job says it.
        self.max_run_ms = max_run_ms
        #: When the last heartbeat that was answered began, on the monotonic clock.
        self.confirmed = time.monotonic()
        #: When its run has ended on the server, on that clock: counted from answers, so never sooner.
        self.run_ends = self.run_end(job.max_run_ms)
        self.cancelled = threading.Event()
        self.cause: Optional[PumphouseError] = None
        #: Guards ``cause``: several threads cancel.
        self._lock = threading.Lock()
        #: Its handler has ended.
        self.is_settling = False
        #: The answer with its lease may be old.
        self.is_doubtful = False
        #: The worker has given it back without waiting for its handler.
        self.is_abandoned = False
        #: Called when it is cancelled, in any thread; perhaps twice.
        self.on_cancel: Callable[[], None] = lambda: None
        self._warned: Set[str] = set()

    @property
    def is_lost(self) -> bool:
        return self.cause is not None and self.cause.code in LOST

    @staticmethod
    def run_end(*limits_ms: Optional[int]) -> float:
        """When a run ends that begins now, by the shortest of its limits."""
        known = [limit for limit in limits_ms if limit is not None]
        return time.monotonic() + RUN_END + min(known) / 1000 if known else float("inf")

    def begin_run(self) -> None:
        """The handler begins now. To be called when the server knows of it."""
        self.run_ends = self.run_end(self.job.max_run_ms, self.max_run_ms)

    def cancel(self, code: str) -> None:
        """The first cause counts, but that a lost lease comes before all others."""
        with self._lock:
            is_new = self.cause is None or (code in LOST and not self.is_lost)
            if is_new:
                self.cause = PumphouseError(code, CAUSES[code])
        if is_new:
            self.cancelled.set()
            self.on_cancel()

    def take_progress(self, sent: float, answer: Any) -> None:
        """A progress is a heartbeat, too. ``sent`` is when it was sent, on the monotonic clock."""
        self.confirmed = max(self.confirmed, sent)
        if answer["cancel_requested"]:
            self.cancel("cancelled")

    def take_progress_error(self, error: PumphouseError) -> None:
        """Raises: what does not say that the lease is lost."""
        if error.code not in ("lease_lost", "job_not_found"):
            raise error
        self.cancel("lease_lost")

    def take_log_error(self, error: Exception) -> None:
        """A line that is missing must not fail its job."""
        self.warn_once("log", "a line was not written into the timeline of a job: %s", error)

    def warn_once(self, what: str, text: str, error: Exception) -> None:
        """Logs one warning of each kind for a job; ``text`` has a place for the error."""
        if what not in self._warned:
            self._warned.add(what)
            logger.warning(f"{text}: %s %s", error, self.job.queue, self.job.id)


class Worker:
    """Leases jobs of some queues and runs a handler for each.

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
        """
        Args:
            queues: None: those that the handlers name, in the order of the handlers.
            order: ``ordered`` (the default): a queue is served when those before it are empty; ``round_robin``: one job of each.
            concurrency: threads that run handlers.
            ttr_ms: how long a lease lasts without a heartbeat. A heartbeat is sent every third of it.
            wait_ms: how long one lease request waits for a job.
            shutdown_grace_ms: how long a stop waits for handlers before it cancels their contexts.
            shutdown_abort_ms: how long it waits then, before it gives their jobs back.
            unhandled_delay_ms: jobs without a handler are given back for so long. None: the server decides: a second at first, twice
                as long each time until a handler begins, a minute at most.
            name: its name in lists. Workers with equal names are listed each for itself.
        """
        if isinstance(queues, str) or (queues is not None and not queues):
            raise ValueError("queues: must be a list with one name at least")
        if not 1 <= concurrency <= MAX_CONCURRENCY:
            raise ValueError(f"concurrency: must be from 1 to {MAX_CONCURRENCY}")
        ttr_ms = whole_delay(ttr_ms) or 0
        if ttr_ms < 1:
            raise ValueError("ttr_ms: must be 1 or more")
        if not wait_ms >= 0:
            raise ValueError("wait_ms: must be 0 or more")
        self._client = client
        #: When it was last seen what is due, and when that was late for the last time, on the monotonic clock.
        self._watched = self._stood_still = -math.inf
        self._queues = None if queues is None else list(queues)
        wait_ms = whole_delay(min(wait_ms, MAX_WAIT * 1000)) or 0
        self._lease_fields: Dict[str, Any] = {"wait_ms": wait_ms, "ttr_ms": ttr_ms}
        if order is not None:
            self._lease_fields["order"] = order
        self._concurrency = concurrency
        self._ttr_ms = ttr_ms
        self._ttr = ttr_ms / 1000
        #: How often it is seen what is due, and how long one heartbeat may take, in seconds.
        self._tick = min(1.0, max(0.005, self._ttr / 60))
        self._attempt_s = max(MIN_ATTEMPT, min(MAX_ATTEMPT, self._ttr * ATTEMPT_PART))
        self._wait_ms = wait_ms
        self._grace = min(shutdown_grace_ms / 1000, MAX_WAIT)
        self._abort = min(shutdown_abort_ms / 1000, MAX_WAIT)
        self._unhandled_delay_ms = whole_delay(unhandled_delay_ms)
        self._info: Dict[str, Any] = {
            "name": name[:255],
            "host": socket.gethostname(),
            "version": __version__,
            "language": "python",
            "concurrency": concurrency,
        }
        #: The id of its session, which lists, events and ``leased_by`` show. No other worker has it. A fork of this process has
        #: another one from ``run`` on.
        self.id = self._new_session()
        self._handlers: Dict[Tuple[Optional[str], Optional[str]], Handler] = {}
        self._run_limits: Dict[Tuple[Optional[str], Optional[str]], Optional[int]] = {}
        self._polls = client._api.own_connections()
        # What runs there calls methods of what handlers raised or returned.
        self._pool = Pool("pumphouse", lambda: callers.set((self,)))
        self._acks = AckBatcher(self._send_acks, lambda: self._running == 0)
        #: Guards what follows; notified when a job is settled, and when the worker is to stop.
        self._changed = threading.Condition()
        self._held: Set[HeldJob] = set()
        self._running = 0
        #: The workers for whose ends handlers of this one wait.
        self._awaited: List[Worker] = []
        self._is_leasing = False
        #: Until then it names no types, on the monotonic clock.
        self._no_types_until = 0.0
        self._has_warned_of_types = False
        self._warned: Set[Tuple[str, Optional[str]]] = set()
        self._has_warned = False
        self._has_started = False
        #: The thread and the context of ``run``: each handler begins in a copy of the context.
        self._run_thread = 0
        self._context = contextvars.copy_context()
        self._quieting = threading.Event()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        #: What is left is given back at once.
        self._is_aborting = False
        #: The number of the second stop signal.
        self._exit_signal = 0
        #: When the last jobs were to be settled: from then on a stop waits for one lease at most.
        self._left: Optional[float] = None

    def _new_session(self) -> str:
        """The id of a session of this process."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._info.update(pid=os.getpid(), started_at=now)
        readable = re.sub(r"[^A-Za-z0-9_-]+", "-", self._info["name"])[:64].lstrip("-_") or "worker"
        return f"{readable}-{secrets.token_hex(8)}"

    def handle(
        self, type: Optional[str] = "*", *, queue: Optional[str] = None, max_run_ms: Optional[float] = None
    ) -> Callable[[Handler], Handler]:
        """Sets the handler of a type of job: a decorator.

        Without a handler of ``"*"``, only jobs of the types that have a handler are leased, if they are 64 at most.

        Args:
            type: ``"*"``: all types that have no handler of their own; None: jobs without a type.
            queue: only jobs of this queue.
            max_run_ms: how long the handler may run, counted by the server from its begin. The shorter one of this and the
                ``max_run_ms`` of the job counts. Then its context is cancelled, and the job fails with the group
                ``max_run_exceeded``. A handler that does not look at its context goes on; what it returns does not count.
        """
        if callable(type):
            raise TypeError("handle: write @worker.handle() with parentheses")
        key = (queue, type)
        if key in self._handlers:
            raise ValueError(f"there is a handler for {key} already")
        limit_ms = whole_delay(max_run_ms)
        if max_run_ms is not None and not limit_ms:
            raise ValueError("max_run_ms: must be 1 or more")

        def register(handler: Handler) -> Handler:
            self._run_limits[key] = limit_ms
            self._handlers[key] = handler
            return handler

        return register

    @property
    def held_count(self) -> int:
        """Jobs that this worker has leased: running and being settled."""
        return len(self._held)

    def run(self, *, signals: bool = False) -> None:
        """Works until :meth:`stop` is called, here or by an operator; with ``signals``, until SIGTERM or SIGINT.

        At the first signal it stops as by ``stop``. At the second it gives all jobs back at once and raises ``SystemExit``.
        Signals need the main thread.

        Raises:
            PumphouseError: the server refuses this worker: its token, its queues. What was running has ended by then.
            ValueError: neither the worker nor a handler names a queue.
        """
        self._prepare()
        restore = self._listen() if signals else lambda: None
        try:
            self._run()
        finally:
            restore()
        self._exit_by_signal()

    def _prepare(self) -> None:
        """What comes before ``_run``, in the thread and the context of the caller."""
        # guard: python-forks-have-their-own-session
        if self._info["pid"] != os.getpid():
            self.id = self._new_session()
        queues = self._queues or self._queues_of_handlers()
        self._lease_fields["queues"] = queues
        self._info["queues"] = queues[:MAX_SESSION_QUEUES]
        self._warn_of_queues(queues)
        self._run_thread = threading.get_ident()
        self._context = contextvars.copy_context()
        self._has_started = True

    def _run(self) -> None:
        keeper = threading.Thread(target=self._keep_leases, name="pumphouse-heartbeats", daemon=True)
        keeper.start()
        self._watched = time.monotonic()
        watcher = threading.Thread(target=self._watch, name="pumphouse-watch", daemon=True)
        # guard: python-watches-beside-heartbeats
        watcher.start()
        try:
            self._pool.submit(lambda: None)
            self._lease_loop()
            self._stopping.wait()
        finally:
            self.stop(wait=False)
            self._drain()
            self._ended.set()
            self._pool.end()
            # A heartbeat that arrives behind the end would begin the session again.
            keeper.join()
            self._end_session()

    def _exit_by_signal(self) -> None:
        """Raises:
        SystemExit: there was a second signal.
        """
        if self._exit_signal:
            raise SystemExit(128 + self._exit_signal)

    def _queues_of_handlers(self) -> List[str]:
        queues = list(dict.fromkeys(queue for queue, _type in self._handlers if queue is not None))
        if not queues:
            raise ValueError(
                "queues is missing: name the queues of the worker, or that of each handler: handle(type, queue=…)"
            )
        return queues

    def _warn_of_queues(self, queues: Sequence[str]) -> None:
        """One warning at the start of a worker some of whose queues or handlers have nothing to do."""
        named = {queue for queue, _type in self._handlers}
        faults = []
        idle = sorted(queue for queue in named if queue is not None and queue not in queues)
        if idle:
            faults.append(f"it has handlers of queues that it does not lease from: {', '.join(idle)}")
        bare = [] if None in named else [queue for queue in queues if queue not in named]
        if bare:
            faults.append(f"no handler takes jobs of these queues, and the worker runs none of them: {', '.join(bare)}")
        if faults:
            logger.warning("queues and handlers of the worker %s do not match: %s", self.id, "; ".join(faults))

    def quiet(self) -> None:
        """Leases nothing more; what it has goes on. ``run`` ends with ``stop`` only."""
        with self._changed:
            is_first = not self._quieting.is_set()
            self._quieting.set()
        if is_first:
            try:
                threading.Thread(target=self._end_poll, name="pumphouse-end", daemon=True).start()
            except RuntimeError:  # There are too many threads, or the interpreter ends.
                self._polls.hurry()
        self._notify()

    def _end_poll(self) -> None:
        """Ends the open lease request: by a call, because a proxy does not pass on that its connection is closed; then by that.

        Again and again until it is answered: a proxy may hold the lease request back.
        """
        limits = Limits(tries=1, within_s=0.5, attempt_s=0.5)
        end = time.monotonic() + END_WAITS
        try:
            while self._is_leasing and time.monotonic() < end:
                self._send(
                    Call("DELETE", f"workers/{self.id}/waits", nothing, repeatable=True, limits=limits)
                )
                with self._changed:
                    self._changed.wait_for(lambda: not self._is_leasing, END_WAITS / 4)
        except PumphouseError:
            pass  # The server is away, or knows no such call.
        self._polls.hurry()

    def stop(self, *, wait: bool = True) -> None:
        """Stops leasing, waits for handlers, cancels their contexts, gives the rest back.

        Returns at once where it would wait for itself: in the thread of ``run``, in a handler of this worker, and in one of a worker
        for which a handler of this one waits. The job of that handler is settled as usual.
        """
        self._stopping.set()
        self.quiet()
        if not wait or not self._has_started or threading.get_ident() == self._run_thread:
            return
        with self._awaiting() as may_wait:
            if may_wait:
                self._ended.wait()

    @contextmanager
    def _awaiting(self) -> Iterator[bool]:
        """While the caller waits for the end of this worker. False: it would wait for itself."""
        own = callers.get()
        with awaiting:
            may_wait = True
            # guard: python-stop-does-not-wait-for-itself
            if self._is_waiting_for(own):
                may_wait, own = False, ()
            for worker in own:
                worker._awaited.append(self)
        try:
            yield may_wait
        finally:
            with awaiting:
                for worker in own:
                    worker._awaited.remove(self)

    def _is_waiting_for(self, workers: Sequence["Worker"]) -> bool:
        return self in workers or any(worker._is_waiting_for(workers) for worker in self._awaited)

    # Leasing

    def _lease_loop(self) -> None:
        pauses, empties, failures = 0, 0, 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._quieting.is_set() or len(self._held) < self._concurrency)
                free = self._concurrency - len(self._held)
            if self._quieting.is_set():
                return
            began = time.monotonic()
            self._is_leasing = True
            try:
                jobs = self._lease(min(free, MAX_LEASES))
            finally:
                self._is_leasing = False
                self._notify()
            failures = self._count_failures(failures, jobs is None)
            is_doubtful = self._stood_still_since(began)
            for job in jobs or []:
                self._take(job, is_doubtful)
            took, is_empty, pause = time.monotonic() - began, jobs == [], 0.0
            if jobs is None or (is_empty and took < self._wait_ms / 2000):
                pause = random.uniform(0, min(MAX_PAUSE, FIRST_PAUSE * 2 ** min(pauses, 10)))
                pauses += 1
            else:
                pauses = 0
            if is_empty:
                most = min(MAX_EMPTY, FIRST_EMPTY * 2 ** min(empties, 10))
                pause = max(pause, most * random.uniform(0.5, 1) - took)
                empties += 1
            else:
                empties = 0
            if pause > 0:
                self._quieting.wait(pause)

    def _count_failures(self, before: int, has_failed: bool) -> int:
        """The lease requests that have failed in a row. One line says that they are over, as each of them has one."""
        if has_failed:
            return before + 1
        if before and not self._quieting.is_set():
            plural = "" if before == 1 else "s"
            logger.warning("leasing jobs works again after %d failed request%s", before, plural)
        return 0

    def _lease(self, count: int) -> Optional[List[Job]]:
        """None if that failed."""
        fields = {**self._lease_fields, "count": count, "worker": self.id}
        types = self._types() if time.monotonic() >= self._no_types_until else None
        if types is not None:
            fields["types"] = types
        body = to_json(fields)
        limits = self._client._api.limits
        limits = replace(limits, tries=min(limits.tries, LEASE_TRIES))
        # The server takes leases back whose answer did not arrive.
        call = Call("POST", "leases", jobs_of, body, True, wait_ms=self._wait_ms, limits=limits)
        try:
            return self._send(call, self._polls)
        except Exception as error:  # Of the machine, too: it may lack memory for a while.
            if self._quieting.is_set():
                return []
            if isinstance(error, PumphouseError):
                # guard: python-leases-without-types
                if types is not None and is_refusal_of_types(error):
                    self._no_types_until = time.monotonic() + TYPES_AGAIN
                    self._warn_of_types(error)
                    return self._lease(count)
                if error.code in HOPELESS:
                    raise
            logger.warning("leasing jobs failed; trying again: %s", error)
            return None

    def _types(self) -> Optional[List[Optional[str]]]:
        """The types that have a handler in one of the queues: a request names one list for all of its queues.

        None: all types have one, or there are none or too many to name.
        """
        queues = (None, *self._lease_fields["queues"])
        # A copy: the program may add a handler meanwhile.
        types = list(dict.fromkeys(type for queue, type in list(self._handlers) if queue in queues))
        return types if "*" not in types and 1 <= len(types) <= MAX_TYPES else None

    def _warn_of_types(self, error: PumphouseError) -> None:
        if not self._has_warned_of_types:
            self._has_warned_of_types = True
            logger.warning(
                "the server cannot lease by type; this worker leases jobs of all types, and tries again every 10 minutes. "
                "Upgrade the server, or run `pumphouse format raise`: %s",
                error,
            )

    def _take(self, job: Job, is_doubtful: bool) -> None:
        """Args:
        is_doubtful: the process stood still while the lease was on its way: another worker may have the job by now.
        """
        keys = ((job.queue, job.type), (None, job.type), (job.queue, "*"), (None, "*"))
        key = next((key for key in keys if key in self._handlers), None)
        held = HeldJob(job, *((None, None) if key is None else (self._handlers[key], self._run_limits[key])))
        held.is_doubtful = is_doubtful
        with self._changed:
            self._held.add(held)
            held.is_abandoned = held.handler is not None and self._quieting.is_set()
        self._start(held)

    # Running

    def _start(self, held: HeldJob) -> None:
        self._submit(held, lambda: self._execute(held))

    def _submit(self, held: HeldJob, task: Callable[[], None]) -> None:
        """Does something for a job in a thread of the pool."""

        def guarded() -> None:
            try:
                task()
            except BaseException:  # The worker has other jobs to run.
                self._drop(held)
                logger.exception(
                    "a job could not be settled; it comes again when its lease ends: %s", held.job.id
                )

        self._pool.submit(guarded)

    def _execute(self, held: HeldJob) -> None:
        if not self._may_begin(held):
            return
        returned, raised = None, None
        try:
            returned = self._context.copy().run(self._call, held)
        except BaseException as error:
            raised = error
        self._finish(held, returned, raised)

    def _may_begin(self, held: HeldJob) -> bool:
        """False: the handler of the job is not to run. The job is settled without it."""
        job = held.job
        with self._changed:
            is_over = held.is_abandoned
            if not is_over and held.handler is not None:
                self._running += 1
        if is_over:
            self._give_back(held)
            return False
        if held.handler is None:
            held.is_settling = True
            if (job.queue, job.type) not in self._warned:
                self._warned.add((job.queue, job.type))
                logger.warning(
                    "no handler for jobs of this type; they are given back (no_handler): queue %s, type %s. "
                    "Register a handler, or give the type a queue of its own",
                    job.queue,
                    job.type,
                )
            self._give_back_unhandled(held)
            return False
        # guard: python-unreadable-job-fails-alone
        if job.unreadable is not None:
            self._finish(held, None, Fail(job.unreadable, group="invalid_data"))
            return False
        # guard: python-no-handler-after-a-standstill
        if held.is_doubtful and not self._extend(held, {}):
            self._finish(held, None, Release())
            return False
        # guard: python-handler-begins-its-run
        if held.max_run_ms is not None and not self._begin_run(held):
            self._finish(held, None, None)
            return False
        return True

    def _begin_run(self, held: HeldJob) -> bool:
        """Tells the server that the handler begins. Without an answer, or at an older server, it begins all the same.

        False: the job is not this worker's any more.
        """
        self._extend(held, {"begin": True, "max_run_ms": held.max_run_ms})
        held.begin_run()
        return not (held.is_lost or held.is_abandoned)

    def _extend(self, held: HeldJob, members: Dict[str, Any]) -> bool:
        """A heartbeat for one job, once. False: it was not answered, or the lease is lost."""
        limits = Limits(tries=1, within_s=self._attempt_s, attempt_s=self._attempt_s)
        sent = time.monotonic()
        try:
            held.take_progress(sent, self._send(self.heartbeat_call(held, members, limits)))
            return True
        except PumphouseError as error:
            if error.code in ("lease_lost", "job_not_found"):
                held.cancel("lease_lost")
            return False

    def _finish(self, held: HeldJob, returned: Any, raised: Optional[BaseException]) -> None:
        """Settles a job whose handler has ended."""
        # guard: python-returned-outcome-counts
        if issubclass(type(returned), (Retry, Fail, Release)):
            raised = returned
        with self._changed:
            self._running -= 1
            if held.is_abandoned:
                return
            held.is_settling = True
        if not held.is_lost:
            self._settle(held, returned, raised)
        self._drop(held)

    def _call(self, held: HeldJob) -> Any:
        callers.set((*callers.get(), self))
        assert held.handler is not None
        return held.handler(held.job, JobContext(held, self))

    def _settle(self, held: HeldJob, returned: Any, raised: Optional[BaseException]) -> None:
        """Tells the server how the job ended. A cancelled context gives back what has failed."""
        if raised is None:
            self._ack(held, returned)
        else:
            self._report(held, *ending_of(raised, held.cause is not None))

    def _ack(self, held: HeldJob, returned: Any) -> None:
        job = held.job
        ack: Dict[str, Any] = {"queue": job.queue, "id": job.id, "lease": job.lease}
        try:
            if isinstance(returned, Next):
                ack["next"] = returned.next
                if returned.data is not None:
                    ack.update(payload("data", returned.data))
            elif returned is not None:
                ack.update(payload("result", returned))
            text = to_json(ack)
        except BaseException as error:  # Methods of what the handler returned may raise anything.
            # What is too deep for this process is JSON all the same.
            group = INVALID_OUTCOME if issubclass(type(error), RecursionError) else "invalid_output"
            self._report(held, "fail", {**failure_of(error), "group": group})
            return
        try:
            status = self._persist(held, lambda: self._acked(text))
        except PumphouseError as error:
            # The result is too long, or breaks another rule of the server: the job would come again for ever.
            if is_refusal(error):
                self._report(held, "fail", {**failure_of(error), "group": INVALID_OUTCOME})
            else:
                log_unsettled(job, error)
            return
        if status == "lease_lost":
            warn_lost(job)
        elif status in FINAL_STATUSES or status in NO_ROOM_NEXT:
            # guard: python-full-next-queue-is-tried-again
            what = "retry" if status in NO_ROOM_NEXT else "fail"
            self._report(held, what, {"group": status, "message": "the job cannot go to its next queue"})
        elif status not in SETTLED:
            self._report(held, "release", {})

    def _acked(self, text: str) -> str:
        """What became of an acknowledgement.

        Raises:
            PumphouseError: it cannot be stored now: Redis is full, or a newer server says what this client does not know.
        """
        status = self._acks.add(text)
        # guard: python-waits-for-room
        if status in SETTLED or status in FINAL_STATUSES or status in NO_ROOM_NEXT or self._left is not None:
            return status
        raise PumphouseError(status, "the outcome cannot be stored now", status=507, retryable=True)

    def _report(
        self, held: HeldJob, what: str, members: Dict[str, Any], older: Optional[Dict[str, Any]] = None
    ) -> None:
        """Releases, retries or fails a job. What the server refuses is sent again, without what may be the reason.

        Args:
            older: what an older server takes, which refuses members that it does not know.
        """
        if what != "release":
            warn_failed(held.job, what, members["group"])
        try:
            self._report_once(held, what, members)
        except Exception as error:
            again = {} if what == "release" else {**failure_of(error), "group": INVALID_OUTCOME}
            if older is None:
                logger.warning(
                    "the outcome of a job was refused; it is settled without it: %s", held.job.id
                )
            try:
                self._report_once(held, what, again if older is None else older)
            except PumphouseError as final:
                log_unsettled(held.job, final)

    def _report_once(self, held: HeldJob, what: str, members: Dict[str, Any]) -> None:
        """Raises: what the server refuses, or what has no JSON."""
        job = held.job
        body = {"lease": job.lease, **{name: value for name, value in members.items() if value is not None}}
        call = Call("POST", f"jobs/{part_of(job.id)}/{what}", nothing, to_json(body), True)
        try:
            self._persist(held, lambda: self._send(call))
        except PumphouseError as error:
            if error.code == "job_not_found":
                return
            # guard: python-refused-ending-is-sent-again
            if is_refusal(error):
                raise
            if error.code != "lease_lost":
                log_unsettled(job, error)
            elif not error.may_be_done:  # Else an earlier attempt, whose answer was lost, has ended the lease.
                warn_lost(job)

    def _persist(self, held: HeldJob, operation: Callable[[], T]) -> T:
        """Sends one operation, again and again until the lease would have ended."""
        pauses = 0
        began = time.monotonic()
        while True:
            try:
                return operation()
            except PumphouseError as error:
                # Heartbeats may keep the lease for ever, while a proxy refuses each outcome.
                since = min(began, held.confirmed) if is_unheard(error) else held.confirmed
                now = time.monotonic()
                is_over = now - since > self._ttr or self._is_aborting
                # A stop waits for one lease more: by then another worker may do what this one cannot store.
                # guard: python-stop-ends
                is_left = self._left is not None and now - max(began, self._left) > self._ttr
                if is_left and not is_over and may_pass(error):
                    self._release_once(held)
                if is_over or is_left or not may_pass(error):
                    raise
                held.warn_once("wait", "the outcome of a job waits until the server can store it: %s", error)
            time.sleep(random.uniform(0, min(MAX_PAUSE, FIRST_PAUSE * 2 ** min(pauses, 10))))
            pauses += 1

    def _release_once(self, held: HeldJob) -> None:
        job = held.job
        call = Call("POST", f"jobs/{part_of(job.id)}/release", nothing, to_json({"lease": job.lease}), True)
        try:
            self._send(call)
        except PumphouseError:
            pass  # It comes again when its lease ends.

    def _give_back(self, held: HeldJob) -> None:
        """Releases a job whose handler has not begun, or is not waited for any longer."""
        if not held.is_lost:
            self._report(held, "release", {})
        self._drop(held)

    def _give_back_unhandled(self, held: HeldJob) -> None:
        """Releases a job without a handler. The server counts how often, and decides for how long."""
        delay_ms = self._unhandled_delay_ms
        if not held.is_lost:
            known = {"delay_ms": delay_ms, "reason": "no_handler", "worker": self.id}
            older = {"delay_ms": OLD_UNHANDLED_MS if delay_ms is None else delay_ms}
            self._report(held, "release", known, older)
        self._drop(held)

    def _drop(self, held: HeldJob) -> None:
        with self._changed:
            self._held.discard(held)
            self._changed.notify_all()

    def _send_acks(self, acks: Sequence[str]) -> List[str]:
        return self._send(Call("POST", "acks", ack_statuses, f'{{"acks":[{",".join(acks)}]}}', True))

    def _send(self, call: "Call[T]", connections: Optional[Connections] = None) -> T:
        return self._client._api.send(call, connections)

    # Leases

    def _keep_leases(self) -> None:
        """One thread: heartbeats go on until the last job is settled."""
        while True:
            try:
                is_answered = self._heartbeat()
            except Exception as error:  # A proxy may answer anything.
                # guard: python-heartbeats-go-on
                is_answered = False
                logger.warning("a heartbeat got no answer that can be read: %s", type(error).__name__)
            pause = HEARTBEAT_PART * random.uniform(1 - JITTER, 1 + JITTER) if is_answered else AGAIN_PART
            if self._ended.wait(min(self._ttr * pause, MAX_WAIT)):
                return

    def _watch(self) -> None:
        """Another thread: contexts are cancelled in time, also while a heartbeat is on its way."""
        while True:
            now = time.monotonic()
            if self._is_watch_late():
                self._stood_still = now
            self._watched = now
            for held in self._all_held():
                if now - held.confirmed > self._ttr * UNCONFIRMED_PART:
                    held.cancel("lease_unconfirmed")
                # guard: python-run-end-cancels
                if now >= held.run_ends and not held.is_settling:
                    held.cancel("max_run_exceeded")
            if self._ended.wait(self._tick):
                return

    def _is_watch_late(self) -> bool:
        return time.monotonic() - self._watched > self._tick + self._ttr * LATE_PART

    def _stood_still_since(self, at: float) -> bool:
        """True if the process stood still, for a part of the lease, at some time since then: as by SIGSTOP."""
        return self._stood_still >= at or self._is_watch_late()

    def _heartbeat(self) -> bool:
        """One for all leases. False: it was not answered."""
        helds = [held for held in self._all_held() if not held.is_lost]
        sent = time.monotonic()
        leases = [{"id": held.job.id, "lease": held.job.lease} for held in helds]
        body = to_json({"ttr_ms": self._ttr_ms, "leases": leases, "info": self._info})
        limits = Limits(tries=1, within_s=self._attempt_s, attempt_s=self._attempt_s)
        try:
            answer = self._send(
                Call("POST", f"workers/{self.id}/heartbeat", answer_of, body, True, limits=limits)
            )
        except PumphouseError as error:
            # Without leases: what refuses it, a wrong token for example, refuses the first lease request too, which raises.
            if helds and not error.retryable and not self._has_warned:
                self._has_warned = True
                logger.error("the heartbeats of this worker are refused: its leases will end: %s", error)
            return False
        for held, extended in zip(helds, answer["jobs"]):
            if extended["status"] == "extended":
                held.confirmed = max(held.confirmed, sent)
                if extended["cancel_requested"]:
                    held.cancel("cancelled")
            elif not held.is_settling:
                held.cancel("lease_lost")
        if answer["stop"]:
            self.stop(wait=False)
        elif answer["quiet"]:
            self.quiet()
        return True

    def progress_call(self, held: HeldJob, value: Any) -> "Call[Any]":
        return self.heartbeat_call(held, {"progress": value})

    def heartbeat_call(
        self, held: HeldJob, members: Dict[str, Any], limits: Optional[Limits] = None
    ) -> "Call[Any]":
        body = to_json({"lease": held.job.lease, "ttr_ms": self._ttr_ms, **members})
        return Call("POST", f"jobs/{part_of(held.job.id)}/heartbeat", answer_of, body, True, limits=limits)

    def _end_session(self) -> None:
        """No harm is done if that fails: the session is lost after its lease, and forgotten later."""
        limits = Limits(tries=1, within_s=1, attempt_s=1)
        try:
            self._send(Call("DELETE", f"workers/{self.id}", nothing, repeatable=True, limits=limits))
        except PumphouseError:
            pass

    def _all_held(self) -> List[HeldJob]:
        with self._changed:
            return list(self._held)

    # Stopping

    def _drain(self) -> None:
        self._wait_until_empty(self._grace)
        for held in self._all_held():
            held.cancel("shutdown")
        self._wait_until_empty(self._abort)
        with self._changed:
            left = [held for held in self._held if not held.is_settling and not held.is_abandoned]
            for held in left:
                held.is_abandoned = True
        for held in left:
            threading.Thread(target=self._give_back, args=(held,), daemon=True).start()
        # guard: python-stops-in-a-full-store
        self._left = time.monotonic()
        # Each operation ends by itself when the lease would have ended.
        self._wait_until_empty(AT_ONCE if self._is_aborting else None, can_hurry=False)

    def _wait_until_empty(self, seconds: Optional[float], can_hurry: bool = True) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._held or (can_hurry and self._is_aborting), seconds)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _abort_now(self) -> None:
        """Gives all jobs back at once, without waiting for handlers."""
        self._is_aborting = True
        self.stop(wait=False)
        self._notify()

    def _listen(self) -> Callable[[], None]:
        """Signal handlers run in the midst of the main thread, which may hold any lock: another thread does what they ask."""
        numbers: "SimpleQueue[int]" = SimpleQueue()
        both = (signal.SIGTERM, signal.SIGINT)
        former = [signal.signal(number, lambda number, _frame: numbers.put(number)) for number in both]

        def follow() -> None:
            if numbers.get():
                self.stop(wait=False)
                self._exit_signal = numbers.get()
                if self._exit_signal:
                    self._abort_now()

        def restore() -> None:
            for number, handler in zip(both, former):
                signal.signal(number, handler)
            numbers.put(0)

        threading.Thread(target=follow, name="pumphouse-signals", daemon=True).start()
        return restore


class Ack:
    def __init__(self, text: str) -> None:
        self.text = text
        self.answered = threading.Event()
        self.status = "not_found"
        self.error: Optional[BaseException] = None
        #: It is to be sent without those that it was sent with.
        self.is_alone = False


class AckBatcher:
    """Sends acknowledgements together: up to 100, or those of 5 ms, or those there are when no handler runs that could add one."""

    def __init__(self, send: Callable[[Sequence[str]], List[str]], is_idle: Callable[[], bool]) -> None:
        self._send = send
        self._is_idle = is_idle
        self._lock = threading.Lock()
        self._waiting: List[Ack] = []

    def add(self, text: str) -> str:
        """What became of it. The thread that comes first sends those of the others, or the one that fills the batch."""
        ack = Ack(text)
        full: List[Ack] = []
        with self._lock:
            self._waiting.append(ack)
            is_first = len(self._waiting) == 1
            # guard: python-batches-are-bounded
            if len(self._waiting) == MAX_BATCH:
                full, self._waiting = self._waiting, []
        if full:
            self._flush(full)
        elif is_first:
            if not self._is_idle():
                time.sleep(BATCH)
            batch: List[Ack] = []
            with self._lock:
                # Else another thread has filled the batch, and sent it.
                if self._waiting[:1] == [ack]:
                    batch, self._waiting = self._waiting, []
            if batch:
                self._flush(batch)
        ack.answered.wait()
        if ack.is_alone:
            ack = Ack(text)
            self._flush([ack])
        if ack.error is not None:
            raise ack.error
        return ack.status

    def _flush(self, batch: Sequence[Ack]) -> None:
        try:
            for ack, status in zip(batch, self._send([ack.text for ack in batch])):
                ack.status = status
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, PumphouseError) and not error.retryable:
                # A refused one refuses all that are with it: the thread of each sends its own, to find it.
                for ack in batch:
                    ack.is_alone = True
            else:
                for ack in batch:
                    ack.error = error
        for ack in batch:
            ack.answered.set()


def jobs_of(response: Response) -> List[Job]:
    return leased_jobs(response.body)


def ack_statuses(response: Response) -> List[str]:
    return [str(result["status"]) for result in answer_of(response)["results"]]


def log_call(job: Job, message: object, data: Any) -> "Call[None]":
    body = {"message": cut(text_of(message), MAX_LOG_LINE, "…")}
    if data is not None:
        body["data"] = data
    # A line that stands there twice does less harm than one that is missing.
    return Call("POST", f"jobs/{part_of(job.id)}/log", nothing, to_json(body), True)


def is_refusal(error: PumphouseError) -> bool:
    """True if the server refuses what the call says: the same call fails again.

    An answer of a proxy, or a fault of the server, says nothing of it; 507 is a quota.
    """
    is_over = error.code in ("lease_lost", "job_not_found")
    is_of_server = (error.status == 507 or 400 <= error.status < 500) and (
        not is_of_proxy(error) or error.status == TOO_LONG
    )
    # guard: python-only-refusals-fail-jobs
    return is_of_server and error.status != 401 and not (may_pass(error) or is_over)


def is_refusal_of_types(error: PumphouseError) -> bool:
    """True if Redis has an older data format, or the server is of an older version."""
    if error.code == "format_too_old":
        return True
    names = [one["field"] for one in error.fields]
    return error.code == "invalid_argument" and any(re.match(r"types\b", name) for name in names)


def may_pass(error: PumphouseError) -> bool:
    """True if the same call may succeed while the lease lasts: a full Redis gets room, a proxy finds its server."""
    return error.retryable or error.code == "store_full" or is_unheard(error)


def is_unheard(error: PumphouseError) -> bool:
    """True if a proxy in between has refused a call that the server may take. A body that is too long for it stays so."""
    return is_of_proxy(error) and 400 <= error.status < 500 and error.status != TOO_LONG


def warn_failed(job: Job, what: str, group: str) -> None:
    """Without the message, which may have data of the job: the server keeps it."""
    logger.warning(
        "%s: %s %s, attempt %d, tries left %d: %s",
        "a job failed and is not tried again" if what == "fail" else "an attempt at a job failed",
        job.queue,
        job.id,
        job.attempts,
        job.tries_left,
        group,
    )


def warn_lost(job: Job) -> None:
    logger.warning(
        "the lease of a job was lost before it was settled; another worker may run it too: %s %s",
        job.queue,
        job.id,
    )


def log_unsettled(job: Job, error: PumphouseError) -> None:
    logger.error(
        "a job could not be settled; it comes again when its lease ends: %s %s: %s", job.queue, job.id, error
    )
