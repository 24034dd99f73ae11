"""Calls about single jobs, and lists of them."""

from datetime import datetime
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ._calls import delete_call, get_call, page_call, part_of, reads
from ._http import Call, nothing
from .answers import ChangedJob, Explanation, Page
from .jobs import (
    CancelledJob,
    JobDetails,
    NewJob,
    PublishedJob,
    RetryPolicy,
    members_of,
    rounded_up,
    to_json,
    with_payload,
)


def get_job(job_id: str) -> Call[JobDetails]:
    """All that is known of a job.

    Raises:
        PumphouseError: ``job_not_found``.
    """
    return get_call(JobDetails, path_of(job_id))


def list_jobs(
    *,
    queue: Optional[str] = None,
    state: Optional[Sequence[str]] = None,
    tag: Optional[str] = None,
    type: Optional[str] = None,
    group: Optional[str] = None,
    worker: Optional[str] = None,
    order: Optional[str] = None,
    ids: Optional[Sequence[str]] = None,
    fields: Optional[Sequence[str]] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
) -> Call[Page[JobDetails]]:
    """A page of jobs.

    ``state`` may be ``["stalled"]`` alone: the last lease ended unsettled, and no worker has leased them since. ``order`` is
    ``oldest`` or ``newest``; ``fields`` may be ``["data"]``.
    """
    filters = {"queue": queue, "state": state, "tag": tag, "type": type, "group": group, "worker": worker}
    more = {"order": order, "ids": ids, "fields": fields, "limit": limit, "cursor": cursor}
    return page_call(JobDetails, "jobs", {**filters, **more})


def explain_job(job_id: str) -> Call[Explanation]:
    """Says why a job does not run: one cause, the facts behind it, and what removes it.

    Raises:
        PumphouseError: ``job_not_found``.
    """
    return get_call(Explanation, f"{path_of(job_id)}/explain")


def put_job(job_id: str, job: NewJob, *, only_new: bool = False) -> Call[PublishedJob]:
    """Stores a job under an id: a new one, or in the place of one that waits.

    It is not tried again after a lost answer: a worker may have taken the job, and the same call would store it once more.

    Args:
        only_new: no job is replaced.

    Raises:
        PumphouseError: ``job_exists``: it is leased or has ended, or ``only_new`` forbids to replace it.
    """
    headers = {"if-none-match": "*"} if only_new else None
    return Call("PUT", path_of(job_id), reads(PublishedJob), job.to_json(), headers=headers)


def update_job(
    job_id: str,
    *,
    delay_ms: Optional[float] = None,
    due_at: Union[datetime, str, None] = None,
    ttl_ms: Optional[float] = None,
    tries: Optional[int] = None,
    priority: Optional[int] = None,
    tags: Optional[Sequence[str]] = None,
    depends_on: Optional[Sequence[str]] = None,
    on_missing_dependency: Optional[str] = None,
    retry: Union[RetryPolicy, Mapping[str, Any], None] = None,
    queue: Optional[str] = None,
    type: Optional[str] = None,
    data: Any = None,
    json: Optional[str] = None,
    content_type: Optional[str] = None,
) -> Call[ChangedJob]:
    """Changes a job that waits; what is None stays. ``delay_ms=0`` makes it ready, ``depends_on=[]`` takes its dependencies away.

    Raises:
        PumphouseError: ``job_not_found``, or that it does not wait.
    """
    change: Dict[str, Any] = {"delay_ms": delay_ms, "due_at": due_at, "ttl_ms": ttl_ms, "tries": tries, "priority": priority}
    change.update(tags=tags, depends_on=depends_on, on_missing_dependency=on_missing_dependency)
    change.update(retry=retry, queue=queue, type=type, content_type=content_type)
    members = members_of(change)
    text = to_json(members) if data is None and json is None else with_payload(members, data, json)
    return Call("PATCH", path_of(job_id), reads(ChangedJob), text, True)


def cancel_job(
    job_id: str, *, cascade: bool = False, grace_ms: Optional[float] = None
) -> Call[CancelledJob]:
    """Ends a job before it is done. The worker of a leased one learns it from its next heartbeat.

    Raises:
        PumphouseError: ``job_not_found``, ``has_dependents``, ``job_done``.
    """
    body: Dict[str, Any] = {"cascade": cascade}
    if grace_ms is not None:
        body["grace_ms"] = rounded_up("grace_ms", grace_ms)
    path = f"{path_of(job_id)}/cancel"
    gone = CancelledJob(job_id, "already_cancelled", None)
    return Call("POST", path, reads(CancelledJob), to_json(body), True, when_gone=lambda: gone)


def revoke_job(job_id: str) -> Call[ChangedJob]:
    """Ends the lease of a job, which goes back to its queue. It is not tried again after a lost answer.

    Raises:
        PumphouseError: ``job_not_found``, ``not_leased``.
    """
    return Call("POST", f"{path_of(job_id)}/revoke", reads(ChangedJob))


def delete_job(job_id: str, *, force: bool = False) -> Call[None]:
    """Deletes a job in any state but leased; with ``force`` a leased one, too.

    Raises:
        PumphouseError: ``job_not_found``, ``leased``.
    """
    return delete_call(path_of(job_id), {"force": True} if force else None)


def log_job(job_id: str, message: str, data: Any = None) -> Call[None]:
    """Writes a line into the timeline of a job. It is not tried again after a lost answer.

    Raises:
        PumphouseError: ``job_not_found``.
    """
    body = {"message": message} if data is None else {"message": message, "data": data}
    return Call("POST", f"{path_of(job_id)}/log", nothing, to_json(body))


def path_of(job_id: str) -> str:
    return f"jobs/{part_of(job_id)}"
