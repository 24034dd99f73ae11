"""What the calls answer that are not about single jobs. Times are ISO 8601 in UTC."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Generic, List, Optional, TypedDict, TypeVar, Union

from .jobs import RetryPolicy

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list."""

    items: List[Item]
    #: Where the list goes on; None at its end. A page may be short, or empty, before that.
    next_cursor: Optional[str]


@dataclass(frozen=True)
class ChangedJob:
    """A job after a change."""

    id: str
    #: None: it is gone, because of a failed dependency.
    state: Optional[str]
    due_at: Optional[str]
    #: Ids of ``depends_on`` that no job has: they count as done.
    missing_dependencies: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Remedy:
    """What removes a cause."""

    about: str
    #: Method, path, and the body if it has one.
    call: str
    #: The same on the command line; None: it has no command for it.
    command: Optional[str]


@dataclass(frozen=True)
class OtherCause:
    cause: str
    message: str


@dataclass(frozen=True)
class Explanation:
    """Why a job does not run, or why a queue gives no jobs."""

    #: Its name: ``no_worker``, ``paused``, ``blocked`` … The page of the API on explanations lists all.
    cause: str
    #: One sentence that names it.
    message: str
    #: What the sentence is made from; it depends on the cause.
    facts: Dict[str, Any]
    #: None: not known.
    since: Optional[str]
    #: When it ends or is tried again; None: nothing is planned.
    next_at: Optional[str]
    remedies: List[Remedy] = field(metadata={"of": Remedy})
    #: What holds too, and would be next.
    also: List[OtherCause] = field(metadata={"of": OtherCause})


class Rate(TypedDict):
    """A rate of leases."""

    rate: int
    period_ms: int
    #: Leases that may begin at once after a pause.
    burst: int


class NewRate(TypedDict, total=False):
    """The same in a request; ``burst`` is 1 if it is left out."""

    rate: int
    period_ms: int
    burst: int


class Push(TypedDict, total=False):
    """The target that servers with ``push.enabled`` send the jobs of a queue to."""

    target: str
    max_running: int


class QueueDefaults(TypedDict, total=False):
    """Options of jobs that a publish or lease leaves out."""

    ttl_ms: int
    tries: int
    ttr_ms: int
    max_run_ms: int
    priority: int
    retry: "Union[RetryPolicy, Dict[str, Any]]"
    retention_ms: int


class QueueSettings(TypedDict, total=False):
    """Settings to change; what is left out stays, None sets the default."""

    max_running: Optional[int]
    max_running_per_key: Optional[int]
    rate: Optional[NewRate]
    rate_per_key: Optional[NewRate]
    defaults: Optional[QueueDefaults]
    max_kept: Optional[int]
    index_tags: Optional[bool]
    lease_grace_ms: Optional[int]
    #: Where jobs go in the ready list whose lease has expired: ``back`` or ``front``.
    expired: Optional[str]
    #: Fair keys are served in turns: True, or ``{"weights": {key: 1 to 1000}, "default": …}``.
    fair: Union[bool, Dict[str, Any], None]
    #: Of jobs with the same concurrency key. ``strict``: none is leased before all that were ready earlier have ended.
    order: Optional[str]
    #: In a strict order, after a job has died: ``continue``, or ``block`` until it is respawned or deleted.
    on_dead: Optional[str]
    #: JSON paths of the data that accounts below the role ``admin`` do not see.
    redact: Optional[List[str]]
    push: Optional[Push]


@dataclass(frozen=True)
class QueueType:
    """Ready jobs of a type, and the lease requests that take them."""

    #: None: jobs without a type.
    type: Optional[str]
    ready: int
    #: Since when the first of them is ready; None: not known.
    first_ready_at: Optional[str]
    #: When a lease request took such jobs last; None: none is known.
    last_request_at: Optional[str]


@dataclass(frozen=True)
class JobsPause:
    """A pause of some jobs of a queue: of one type, fair key or concurrency key."""

    paused_at: str
    #: The description of the token; None: not known.
    paused_by: Optional[str]
    note: Optional[str]
    #: None: when they are resumed.
    ends_at: Optional[str]
    #: None beside no key: jobs without a type.
    type: Optional[str] = None
    fair_key: Optional[str] = None
    concurrency_key: Optional[str] = None


@dataclass(frozen=True)
class QueueDetails:
    """A queue with its settings."""

    queue: str
    #: False: it has neither jobs nor settings.
    exists: bool
    #: Jobs that have not ended.
    length: int
    #: Jobs for workers now: ready, held and leased ones.
    work: int
    #: Worker sessions that are not lost and lease from it.
    workers: int
    #: Jobs by state; ``stuck``, ``stalled`` and ``recurring`` count beside the states.
    counts: Dict[str, int]
    #: None: it is not paused.
    paused_at: Optional[str]
    #: None: it is not draining.
    draining_at: Optional[str]
    max_running: Optional[int]
    max_running_per_key: Optional[int]
    rate: Optional[Rate]
    rate_per_key: Optional[Rate]
    defaults: QueueDefaults
    max_kept: Optional[int]
    index_tags: bool
    lease_grace_ms: Optional[int]
    expired: str
    push: Optional[Push]
    #: JSON paths of the data that accounts below the role ``admin`` do not see; None: none.
    redact: Optional[List[str]] = None
    #: True, or the weights of fair keys: they are served in turns.
    fair: Union[bool, Dict[str, Any]] = False
    #: ``strict``: a job of a concurrency key waits until all that were ready earlier have ended.
    order: Optional[str] = None
    #: In a strict order, after a job has died: ``continue`` or ``block``.
    on_dead: str = "continue"
    #: Pauses of some of its jobs.
    pauses: List[JobsPause] = field(default_factory=list, metadata={"of": JobsPause})
    #: Types that have ready jobs. Only of ``get_queue``, from the first lease by type on.
    types: List[QueueType] = field(default_factory=list, metadata={"of": QueueType})


@dataclass(frozen=True)
class PurgedQueue:
    #: By state.
    jobs: Dict[str, int]
    dry_run: bool
    #: False: call it again.
    complete: bool


#: Which dead jobs; all that is given must hold. ``from`` and ``to`` are when they died. ``{}``: all of the namespace.
DeadFilter = TypedDict(
    "DeadFilter",
    {
        "queue": str,
        "group": str,
        "type": str,
        "tag": str,
        "text": str,
        "attributes": Dict[str, str],
        "from": Union[str, datetime],
        "to": Union[str, datetime],
    },
    total=False,
)


@dataclass(frozen=True)
class DeadOutcome:
    """What a call did to dead jobs."""

    #: Their number.
    jobs: int
    dry_run: bool
    #: Not None: there are more; call it again with this as ``cursor``.
    next_cursor: Optional[str]


@dataclass(frozen=True)
class FailureSample:
    """The job of a failure group that died last."""

    id: str
    queue: str
    #: The beginning of its error message.
    message: str


@dataclass(frozen=True)
class FailureGroup:
    """Dead jobs with the same group of their failure."""

    name: str
    #: How many.
    jobs: int
    #: When the first and the last of them died.
    first_at: str
    last_at: str
    #: The job that died last; None if it cannot be read.
    sample: Optional[FailureSample] = field(metadata={"of": FailureSample})
    #: How many died in each hour of the last day, UTC: 24 numbers, that of the current hour last.
    trend: List[int]


@dataclass(frozen=True)
class SkippedSlot:
    """A slot of a schedule that made no job."""

    at: str
    #: ``max_catch_up``, ``late``, ``overlap``, ``quota`` …
    reason: str


@dataclass(frozen=True)
class UpcomingSlot:
    at: str
    #: Of a cron expression: the local time.
    local: Optional[str]
    #: True: a change of the clock leaves out the local time; this is the end of the gap.
    moved: bool


@dataclass(frozen=True)
class RecurringJob:
    id: str
    #: ``{"every_ms": …}`` or ``{"cron": …, "tz": …}``, as in the API.
    schedule: Dict[str, Any]
    #: The job of each slot, as in the API.
    job: Dict[str, Any]
    max_catch_up: int
    catch_up_ms: Optional[int]
    overlap: str
    paused: bool
    note: Optional[str]
    #: Jobs that it published, and slots that it skipped.
    made: int
    skipped: int
    last_skip: Optional[SkippedSlot] = field(metadata={"of": SkippedSlot})
    #: None: it is paused, or its schedule has ended.
    next_at: Optional[str]
    last_at: Optional[str]
    created_at: str


@dataclass(frozen=True)
class WorkerSession:
    """A worker session; or, with None in what only a session has, a worker that is known by its name only."""

    #: Of a session its id.
    name: str
    seen_at: str
    #: Jobs with a history that it has leased, and those of them whose lease has ended.
    leased: int
    stalled: int
    display_name: Optional[str]
    host: Optional[str]
    pid: Optional[int]
    version: Optional[str]
    language: Optional[str]
    queues: Optional[List[str]]
    concurrency: Optional[int]
    jobs_at_hand: Optional[int]
    started_at: Optional[str]
    heartbeat_at: Optional[str]
    #: It was asked to lease nothing more, to shut down.
    quiet: bool
    stop: bool
    #: It sent no heartbeat for as long as its leases last.
    lost: bool


@dataclass(frozen=True)
class Durations:
    """How long something took."""

    count: int
    mean_ms: float
    std_ms: float
    #: Bins that are not empty: ``{"bin", "from_ms", "to_ms", "count"}``.
    histogram: List[Dict[str, Any]]


@dataclass(frozen=True)
class DayStats:
    """Statistics of a day."""

    #: None: all queues of the namespace.
    queue: Optional[str]
    day: str
    failures: int
    retries: int
    still_dead: Optional[int]
    #: From publish to lease, and from lease to acknowledgement.
    waits: Durations = field(metadata={"of": Durations})
    runs: Durations = field(metadata={"of": Durations})
