"""Calls about operations."""

import secrets
import time
from typing import Any, Dict, Iterator, Mapping, Optional

from ._calls import get_call, page_call, part_of, reads
from ._http import Call
from .answers import Page
from .jobs import members_of, to_json
from .operations import Operation, OperationFilter

# Seconds between two looks at an operation: the first, and the longest. Each is half as long again as the one before.
FIRST_LOOK = 0.1
MAX_LOOK = 2.0


def start_operation(
    action: str,
    filter: OperationFilter,
    *,
    dry_run: bool = False,
    rate_per_s: Optional[int] = None,
    to: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    cascade: Optional[bool] = None,
    grace_ms: Optional[float] = None,
    tries: Optional[int] = None,
    keep_tries: Optional[bool] = None,
    ttl_ms: Optional[float] = None,
    undo_ms: Optional[float] = None,
    idempotency_key: Optional[str] = None,
) -> Call[Operation]:
    """Starts an operation, which the server goes on with by itself; ``wait_operation`` waits for its end.

    Args:
        action: ``cancel``, ``delete``, ``respawn``, ``retry``, ``move`` or ``patch``.
        filter: which jobs; ``{}``: all of the namespace. Without ``state`` it is for the states of the action.
        dry_run: only counts them, with samples.
        rate_per_s: jobs per second, at most.
        to: of ``move``: the other queue.
        set: of ``patch``: what changes, as in ``update_job``.
        cascade: of ``cancel``, and so is ``grace_ms``: as in ``cancel_job``.
        tries: of ``respawn`` and of ``move`` of dead jobs, and so are ``keep_tries`` and ``ttl_ms``: as in ``respawn_dead_jobs``.
        undo_ms: of ``cancel`` and ``delete``: for how long after its end ``undo_operation`` is possible; 1 minute to 24 hours.
        idempotency_key: a second start with the key is the first one; it counts for a day.

    Raises:
        PumphouseError: ``too_many_operations``, ``verb_missing``, ``queue_not_allowed``, ``store_full``, ``pool_moving``.
    """
    change: Dict[str, Any] = {"rate_per_s": rate_per_s, "to": to, "set": None if set is None else members_of(set)}
    change.update(cascade=cascade, grace_ms=grace_ms, tries=tries, keep_tries=keep_tries)
    body: Dict[str, Any] = {"action": action, "filter": filter, "dry_run": dry_run}
    body.update(members_of({**change, "ttl_ms": ttl_ms, "undo_ms": undo_ms}))
    headers = {"idempotency-key": idempotency_key or secrets.token_hex(16)}
    own = not idempotency_key
    return Call("POST", "operations", reads(Operation), to_json(body), True, headers=headers, has_own_key=own)


def list_operations(*, limit: Optional[int] = None, cursor: Optional[str] = None) -> Call[Page[Operation]]:
    """A page of the operations of the last seven days, the newest first."""
    return page_call(Operation, "operations", {"limit": limit, "cursor": cursor})


def get_operation(operation_id: str) -> Call[Operation]:
    """An operation.

    Raises:
        PumphouseError: ``operation_not_found``.
    """
    return get_call(Operation, path_of(operation_id))


def stop_operation(operation_id: str) -> Call[Operation]:
    """Stops an operation: what it has done stays. One that has ended stays as it is.

    Raises:
        PumphouseError: ``operation_not_found``.
    """
    return Call("POST", f"{path_of(operation_id)}/stop", reads(Operation), repeatable=True)


def undo_operation(operation_id: str) -> Call[Operation]:
    """Begins to bring back the jobs that an operation with ``undo_ms`` has ended; ``wait_operation`` waits for the end of that, too.

    Raises:
        PumphouseError: ``operation_not_found``; ``operation_running``: stop it first; ``undo_gone``: nothing is kept.
    """
    return Call("POST", f"{path_of(operation_id)}/undo", reads(Operation), repeatable=True)


def looks(timeout_s: Optional[float]) -> Iterator[Optional[float]]:
    """The pause in seconds after each look at an operation; None: it is the last one."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    pause = FIRST_LOOK
    while True:
        left = pause if end is None else end - time.monotonic()
        yield min(pause, left) if left > 0 else None
        pause = min(MAX_LOOK, pause * 1.5)


def path_of(operation_id: str) -> str:
    return f"operations/{part_of(operation_id)}"
