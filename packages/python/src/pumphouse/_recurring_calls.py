"""Calls about recurring jobs."""

from typing import Any, Dict, List, Mapping, Optional, Union

from ._calls import delete_call, get_call, page_call, part_of, reads
from ._http import Call, Response, answer_of
from ._json import named
from .answers import Explanation, Page, RecurringJob, UpcomingSlot
from .jobs import Cron, Interval, NewJob, from_wire, rounded_up, to_json

Schedule = Union[Interval, Cron, Mapping[str, Any]]


def list_recurring_jobs(
    *, queue: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None
) -> Call[Page[RecurringJob]]:
    """A page of the recurring jobs, by id; with ``queue`` those that publish to it."""
    return page_call(RecurringJob, "recurring", {"queue": queue, "limit": limit, "cursor": cursor})


def get_recurring_job(recurring_id: str) -> Call[RecurringJob]:
    """A recurring job.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    return get_call(RecurringJob, path_of(recurring_id))


def explain_recurring_job(recurring_id: str) -> Call[Explanation]:
    """Says when the next slot is, and why the last one made no job, if it did not.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    return get_call(Explanation, f"{path_of(recurring_id)}/explain")


def put_recurring_job(
    recurring_id: str,
    schedule: Schedule,
    job: Union[NewJob, Mapping[str, Any]],
    *,
    max_catch_up: Optional[int] = None,
    catch_up_ms: Optional[float] = None,
    overlap: Optional[str] = None,
    paused: Optional[bool] = None,
    note: Optional[str] = None,
) -> Call[RecurringJob]:
    """Stores one under an id, in the place of the one that has it: safe to call at each start of a program.

    Args:
        schedule: ``Cron("30 2 * * *", "UTC")``, ``Interval(60_000)``, or the fields of the API.
        job: the job of each slot, without ``id``, ``delay_ms`` and ``run_at``.
        max_catch_up: jobs for slots that were missed, as after an outage, at most; 1.
        catch_up_ms: a slot that passed longer ago makes no job.
        overlap: what happens while the job of an earlier slot has not ended: ``allow``, ``skip`` or ``replace``.
        paused: makes no job until it is resumed; one that is replaced stays as it is by default.
        note: why it is paused.
    """
    wait = None if catch_up_ms is None else rounded_up("catch_up_ms", catch_up_ms)
    rules = {"max_catch_up": max_catch_up, "catch_up_ms": wait, "overlap": overlap, "paused": paused, "note": note}
    given = {name: value for name, value in rules.items() if value is not None}
    text = body_of({"schedule": schedule, **given, "job": job})
    return Call("PUT", path_of(recurring_id), reads(RecurringJob), text, True)


def update_recurring_job(recurring_id: str, change: Mapping[str, Any]) -> Call[RecurringJob]:
    """Changes what is there, by the fields of the API: ``{"schedule": Cron(…), "job": {"priority": 1}, "note": None}``.

    What is left out stays.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    return Call("PATCH", path_of(recurring_id), reads(RecurringJob), body_of(change), True)


def delete_recurring_job(recurring_id: str) -> Call[None]:
    """Ends it; the jobs that it made stay.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    return delete_call(path_of(recurring_id))


def pause_recurring_job(recurring_id: str, *, note: Optional[str] = None) -> Call[RecurringJob]:
    """It makes no jobs until it is resumed. Lists show the note until then.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    body = None if note is None else to_json({"note": note})
    return Call("POST", f"{path_of(recurring_id)}/pause", reads(RecurringJob), body, True)


def resume_recurring_job(recurring_id: str) -> Call[RecurringJob]:
    """Goes on with the next slot.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    return Call("POST", f"{path_of(recurring_id)}/resume", reads(RecurringJob), repeatable=True)


def run_recurring_job(recurring_id: str) -> Call[str]:
    """Makes a job now, outside of the schedule. It is not tried again after a lost answer.

    Returns:
        the id of the job.

    Raises:
        PumphouseError: ``recurring_not_found``, ``unique_key_taken``: ``overlap`` forbids it.
    """
    return Call("POST", f"{path_of(recurring_id)}/run", read_id)


def list_upcoming_slots(recurring_id: str, count: Optional[int] = None) -> Call[List[UpcomingSlot]]:
    """The next slots, also while it is paused; 10 if there is no count.

    Raises:
        PumphouseError: ``recurring_not_found``.
    """
    path = f"{path_of(recurring_id)}/next"
    return Call("GET", path, read_slots, repeatable=True, query={"count": count})


def preview_schedule(schedule: Schedule, count: Optional[int] = None) -> Call[List[UpcomingSlot]]:
    """The next slots of a schedule that is not stored."""
    body: Dict[str, Any] = {"schedule": schedule}
    if count is not None:
        body["count"] = count
    return Call("POST", "recurring/preview", read_slots, to_json(body), True)


def path_of(recurring_id: str) -> str:
    return f"recurring/{part_of(recurring_id)}"


def body_of(fields: Mapping[str, Any]) -> str:
    """A job that is a NewJob writes itself: its data may be bytes, or JSON text."""
    members = [f"{to_json(name)}:{text_of(name, value)}" for name, value in fields.items()]
    return f'{{{",".join(members)}}}'


def text_of(name: str, value: Any) -> str:
    if not isinstance(value, NewJob):
        return to_json(value, name)
    with named(f"{name}."):
        return value.to_json()


def read_id(response: Response) -> str:
    return str(answer_of(response)["id"])


def read_slots(response: Response) -> List[UpcomingSlot]:
    return [from_wire(UpcomingSlot, slot) for slot in answer_of(response)["slots"]]
