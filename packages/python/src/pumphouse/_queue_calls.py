"""Calls about queues, workers and statistics."""

from typing import Any, Dict, Mapping, Optional, Sequence

from ._calls import delete_call, get_call, page_call, part_of, reads
from ._http import Call, nothing
from .answers import DayStats, Explanation, Page, PurgedQueue, QueueDetails, QueueSettings, WorkerSession
from .jobs import members_of, rounded_up, to_json

# Longest wait of a drain that the server takes, and how long a purge may work, in milliseconds.
MAX_DRAIN_WAIT_MS = 60_000
PURGE_MS = 5_000


def list_queues(*, limit: Optional[int] = None, cursor: Optional[str] = None) -> Call[Page[QueueDetails]]:
    """A page of the queues, with their jobs by state and their settings."""
    return page_call(QueueDetails, "queues", {"limit": limit, "cursor": cursor})


def get_queue(queue: str) -> Call[QueueDetails]:
    """A queue. Any legal name has an answer: ``exists`` says whether there is such a queue."""
    return get_call(QueueDetails, path_of(queue))


def explain_queue(queue: str) -> Call[Explanation]:
    """Says why a queue gives no jobs; ``flowing``: nothing holds them back."""
    return get_call(Explanation, f"{path_of(queue)}/explain")


def update_queue(queue: str, settings: QueueSettings) -> Call[QueueDetails]:
    """Changes settings: ``update_queue("mail", {"max_running": 20, "rate": None})``. What is left out stays, None sets the default."""
    return Call("PATCH", path_of(queue), reads(QueueDetails), to_json(settings), True)


def delete_queue(queue: str) -> Call[None]:
    """Forgets an empty queue and its settings.

    Raises:
        PumphouseError: ``queue_not_empty``, ``queue_not_found``.
    """
    return delete_call(path_of(queue))


def pause_queue(
    queue: str,
    *,
    note: Optional[str] = None,
    for_ms: Optional[float] = None,
    type: Optional[str] = None,
    without_type: bool = False,
    fair_key: Optional[str] = None,
    concurrency_key: Optional[str] = None,
) -> Call[QueueDetails]:
    """Its jobs are not leased until it is resumed; publishes continue.

    With a type, ``without_type`` or a key only these jobs are paused. ``for_ms``: when the pause ends by itself.
    """
    whole_ms = None if for_ms is None else rounded_up("for_ms", for_ms)
    jobs = some_jobs(type, without_type, fair_key, concurrency_key)
    return command(queue, "pause", {**members_of({"note": note, "for_ms": whole_ms}), **jobs})


def resume_queue(
    queue: str,
    *,
    type: Optional[str] = None,
    without_type: bool = False,
    fair_key: Optional[str] = None,
    concurrency_key: Optional[str] = None,
) -> Call[QueueDetails]:
    """Ends a pause or a drain; with a type, ``without_type`` or a key the pause of these jobs only."""
    return command(queue, "resume", some_jobs(type, without_type, fair_key, concurrency_key))


def some_jobs(
    type: Optional[str], without_type: bool, fair_key: Optional[str], concurrency_key: Optional[str]
) -> Dict[str, Any]:
    jobs = members_of({"type": type, "fair_key": fair_key, "concurrency_key": concurrency_key})
    return {**jobs, "type": None} if without_type else jobs


def drain_queue(queue: str, *, wait_ms: float = 0) -> Call[QueueDetails]:
    """Refuses new jobs until the queue is empty; waits up to ``wait_ms`` (a minute at most) for that."""
    whole = rounded_up("wait_ms", min(wait_ms, MAX_DRAIN_WAIT_MS))
    return command(queue, "drain", {"wait_ms": whole}, wait_ms=whole)


def purge_queue(queue: str, states: Sequence[str], *, dry_run: bool = False) -> Call[PurgedQueue]:
    """Deletes all jobs in these states; call it again while ``complete`` is False, or after a lost answer.

    Args:
        dry_run: only counts them.
    """
    body = {"states": list(states), "dry_run": dry_run}
    path = f"{path_of(queue)}/purge"
    # After a lost answer it would delete what came later, and count that alone.
    return Call("POST", path, reads(PurgedQueue), to_json(body), dry_run, wait_ms=PURGE_MS)


def list_workers(*, limit: Optional[int] = None, cursor: Optional[str] = None) -> Call[Page[WorkerSession]]:
    """A page of the worker sessions, and of other workers that lease jobs under a name."""
    return page_call(WorkerSession, "workers", {"limit": limit, "cursor": cursor})


def get_worker(name: str) -> Call[WorkerSession]:
    """A worker by its name; a session by its id.

    Raises:
        PumphouseError: ``worker_not_found``.
    """
    return get_call(WorkerSession, f"workers/{part_of(name)}")


def quiet_worker(name: str) -> Call[None]:
    """Asks a session to lease nothing more. Its next heartbeat tells it.

    Raises:
        PumphouseError: ``worker_not_found``.
    """
    return Call("POST", f"workers/{part_of(name)}/quiet", nothing, repeatable=True)


def stop_worker(name: str) -> Call[None]:
    """Asks a session to shut down: ``Worker.stop`` of that worker.

    Raises:
        PumphouseError: ``worker_not_found``.
    """
    return Call("POST", f"workers/{part_of(name)}/stop", nothing, repeatable=True)


def delete_worker(name: str) -> Call[None]:
    """Forgets a worker until it is heard of again; its leases stay."""
    return delete_call(f"workers/{part_of(name)}")


def get_statistics(*, queue: Optional[str] = None, day: Optional[str] = None) -> Call[DayStats]:
    """Statistics of a queue, or of all together; of a day as ``2026-11-21`` (UTC), or of today."""
    return get_call(DayStats, "stats", {"queue": queue, "day": day})


def path_of(queue: str) -> str:
    return f"queues/{part_of(queue)}"


def command(
    queue: str, what: str, body: Optional[Mapping[str, Any]] = None, wait_ms: int = 0
) -> Call[QueueDetails]:
    return Call("POST", f"{path_of(queue)}/{what}", reads(QueueDetails), to_json(body or {}), True, wait_ms=wait_ms)
