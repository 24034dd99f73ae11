"""Calls about dead jobs."""

from datetime import datetime
from typing import Any, Dict, Optional, Sequence, Union

from ._calls import page_call, reads
from ._http import Call
from .answers import DeadFilter, DeadOutcome, FailureGroup, Page
from .jobs import JobDetails, rounded_up, to_json


def list_dead_jobs(
    *,
    queue: Optional[str] = None,
    group: Optional[str] = None,
    type: Optional[str] = None,
    tag: Optional[str] = None,
    text: Optional[str] = None,
    attribute: Optional[str] = None,
    from_: Union[datetime, str, None] = None,
    to: Union[datetime, str, None] = None,
    order: Optional[str] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
) -> Call[Page[JobDetails]]:
    """A page of dead jobs.

    Args:
        group: their failure group.
        text: a part of the failure's message.
        attribute: ``name=value``.
        from_: they died then or later; ``to``: then or earlier.
        order: ``oldest`` or ``newest``.
    """
    filters = {"queue": queue, "group": group, "type": type, "tag": tag, "text": text, "attribute": attribute}
    more = {"from": from_, "to": to, "order": order, "limit": limit, "cursor": cursor}
    return page_call(JobDetails, "dead-letter", {**filters, **more})


def list_failure_groups(
    *, limit: Optional[int] = None, cursor: Optional[str] = None
) -> Call[Page[FailureGroup]]:
    """A page of the failure groups of dead jobs, those first that most jobs have."""
    return page_call(FailureGroup, "failure-groups", {"limit": limit, "cursor": cursor})


def respawn_dead_jobs(
    filter: Optional[DeadFilter] = None,
    *,
    ids: Optional[Sequence[str]] = None,
    dry_run: bool = False,
    tries: Optional[int] = None,
    keep_tries: Optional[bool] = None,
    ttl_ms: Optional[float] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
) -> Call[DeadOutcome]:
    """Makes dead jobs ready again, as new.

    It is not tried again after a lost answer. The answer may have a ``next_cursor``: then call it again.

    Args:
        filter: which; ``{}``: all of the namespace.
        ids: these, in place of a filter or beside it.
        dry_run: only counts them.
        tries: their new number of tries; None: that of their publish.
        keep_tries: they keep the tries that they had left, at least 1.
        ttl_ms: their ttl from now; None: none.
    """
    return command("respawn", filter, ids, dry_run, limit, cursor, respawn(tries, keep_tries, ttl_ms))


def move_dead_jobs(
    to_queue: str,
    filter: Optional[DeadFilter] = None,
    *,
    ids: Optional[Sequence[str]] = None,
    dry_run: bool = False,
    tries: Optional[int] = None,
    keep_tries: Optional[bool] = None,
    ttl_ms: Optional[float] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
) -> Call[DeadOutcome]:
    """Makes dead jobs ready in another queue, as new; the other arguments are those of ``respawn_dead_jobs``."""
    more = {"to_queue": to_queue, **respawn(tries, keep_tries, ttl_ms)}
    return command("move", filter, ids, dry_run, limit, cursor, more)


def delete_dead_jobs(
    filter: Optional[DeadFilter] = None,
    *,
    ids: Optional[Sequence[str]] = None,
    dry_run: bool = False,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
) -> Call[DeadOutcome]:
    """Deletes dead jobs; the arguments are those of ``respawn_dead_jobs``."""
    return command("delete", filter, ids, dry_run, limit, cursor, {})


def respawn(tries: Optional[int], keep_tries: Optional[bool], ttl_ms: Optional[float]) -> Dict[str, Any]:
    ttl = None if ttl_ms is None else rounded_up("ttl_ms", ttl_ms)
    return {"tries": tries, "keep_tries": keep_tries, "ttl_ms": ttl}


def command(
    what: str,
    filter: Optional[DeadFilter],
    ids: Optional[Sequence[str]],
    dry_run: bool,
    limit: Optional[int],
    cursor: Optional[str],
    more: Dict[str, Any],
) -> Call[DeadOutcome]:
    """Raises:
    TypeError: nothing says which jobs.
    """
    if filter is None and ids is None:
        raise TypeError("give a filter, or ids; the filter {} is for all dead jobs")
    body = {"filter": filter, "ids": ids, "dry_run": dry_run, "limit": limit, "cursor": cursor, **more}
    given = {name: value for name, value in body.items() if value is not None}
    # What came back is dead no more; but its second count would be too low.
    return Call("POST", f"dead-letter/{what}", reads(DeadOutcome), to_json(given), dry_run)
