"""Jobs as they are published, leased and shown."""

import base64
import json
import math
import re
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from datetime import datetime, timezone
from typing import Any, Dict, List, Literal, Mapping, NoReturn, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._json import fault_of, named, no_json_text

JSON_TYPE = re.compile(r"application/([^;]+\+)?json(;|$)", re.IGNORECASE)
T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """When a job is tried again, for example ``RetryPolicy("exponential", delay_ms=1_000, max_ms=60_000)``.

    Durations are in milliseconds. A fraction is rounded up.
    """

    #: ``none``: not at all. ``fixed``: after ``delay_ms``. ``linear``: n · ``delay_ms``. ``exponential``: ``delay_ms`` ·
    #: ``factor`` ^ (n - 1). ``list``: after the delays of ``delays_ms`` in order, then the last one again.
    kind: Literal["none", "fixed", "linear", "exponential", "list"]
    delay_ms: Optional[float] = None
    delays_ms: Optional[Sequence[float]] = None
    #: 2 if it is None.
    factor: Optional[float] = None
    #: The longest delay.
    max_ms: Optional[float] = None
    #: The part of the delay that is random, 0 … 1.
    jitter: Optional[float] = None
    #: Failure groups that are not tried again.
    non_retryable: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class UniqueKey:
    """At most one live job of the namespace holds the key."""

    key: str
    #: What happens if another job holds it. ``existing``, the default: that job is the answer. ``reject``: the publish is refused.
    #: ``replace``: that job is replaced, unless it is leased. ``debounce``: the delay of that job starts again.
    mode: Optional[Literal["reject", "existing", "replace", "debounce"]] = None
    #: How long the key is held, from publish, in milliseconds; 0 or None: while the job is live.
    window_ms: Optional[float] = None


@dataclass(frozen=True)
class Interval:
    """A schedule by interval. Durations are in milliseconds. A fraction is rounded up."""

    every_ms: float
    #: From now to the first slot; 0 if it is None.
    offset_ms: Optional[float] = None
    #: The first slot, in place of ``offset_ms``; it may be in the past.
    first_at: Union[datetime, str, None] = None


@dataclass(frozen=True)
class Cron:
    """A schedule by a cron expression of five fields, or six with the seconds first, in the local time of a time zone."""

    cron: str
    #: ``Europe/Berlin``, ``UTC`` …
    tz: str
    #: Each job is made up to so much later than its slot.
    jitter_ms: Optional[float] = None
    #: No slot before, and none from then on.
    start_at: Union[datetime, str, None] = None
    end_at: Union[datetime, str, None] = None


@dataclass
class NewJob:
    """A job to publish. What is None is the queue's default, else the server's.

    ``data`` becomes JSON, and a ``datetime`` in it text in UTC; bytes stay bytes, and so does text with a ``content_type`` that is not JSON. ``json`` is JSON text,
    stored to the last digit, in place of ``data``. Durations are in milliseconds. A fraction is rounded up.
    """

    queue: str
    data: Any = field(default=None, repr=False)
    json: Optional[str] = field(default=None, repr=False)
    content_type: Optional[str] = None
    type: Optional[str] = None
    id: Optional[str] = None
    delay_ms: Optional[float] = None
    #: When it can be leased, in place of ``delay_ms``. It needs a time zone: ``datetime.now(timezone.utc) + timedelta(hours=1)``.
    run_at: Optional[datetime] = None
    #: How long it may exist; 0 = for ever.
    ttl_ms: Optional[float] = None
    tries: Optional[int] = None
    ttr_ms: Optional[float] = None
    #: How long a lease of it lasts in all, whatever the heartbeats; then it fails with the group ``max_run_exceeded``.
    max_run_ms: Optional[float] = None
    #: -128 … 127; lower runs sooner.
    priority: Optional[int] = None
    tags: Optional[Sequence[str]] = None
    attributes: Optional[Mapping[str, str]] = None
    #: Ids of jobs that must be done first.
    depends_on: Optional[Sequence[str]] = None
    on_dependency_failure: Optional[Literal["block", "ignore", "fail", "cancel"]] = None
    #: What a publish does if no job has one of these ids: ``refuse`` stores nothing; by default the id counts as done.
    on_missing_dependency: Optional[Literal["ignore", "refuse"]] = None
    #: A mapping has the fields of the API.
    retry: Union[RetryPolicy, Mapping[str, Any], None] = None
    lease_grace_ms: Optional[float] = None
    unique: Union[UniqueKey, Mapping[str, Any], None] = None
    concurrency_key: Optional[str] = None
    #: In a fair queue, keys are served in turns. Without one, ``concurrency_key`` counts.
    fair_key: Optional[str] = None
    #: How long it is kept with its result when it is done.
    retention_ms: Optional[float] = None
    history: Optional[bool] = None
    #: ``{"url": …}``: where a server sends it, instead of to the target of its queue. The token needs the permission ``push``.
    push: Optional[Mapping[str, str]] = None

    def to_json(self) -> str:
        """The job as the API takes it.

        Raises:
            TypeError, ValueError: the data does not fit its content type, or is no JSON; a duration is infinite or no number.
        """
        members = {name: value for name, value in members_of(self).items() if name not in ("data", "json")}
        return with_payload(members, self.data, self.json)


def with_payload(members: Mapping[str, Any], data: Any, json_text: Optional[str]) -> str:
    """The JSON of members, of which ``content_type`` may say what the data is, with the data.

    Raises:
        TypeError, ValueError: as :meth:`NewJob.to_json`.
    """
    if json_text is not None:
        if data is not None:
            raise TypeError("give one of `data` and `json`")
        check_json(json_text)
        before = to_json(members)[:-1]
        return f'{before}{"," if members else ""}"data":{json_text}}}'
    content_type = members.get("content_type")
    if content_type is not None and not JSON_TYPE.match(content_type) and not is_bytes(data):
        if not isinstance(data, str):
            kind = type(data).__name__
            raise TypeError(f"data: must be bytes or text with the content type {content_type}, not {kind}")
        data = data.encode()
    return to_json({**members, **payload("data", data)})


def check_json(text: str) -> None:
    """Text that is no JSON could add members of its own.

    Raises:
        TypeError, ValueError: it is no JSON.
    """
    if not isinstance(text, str):
        raise TypeError(f"json: must be JSON text, not {type(text).__name__}")

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"JSON does not have {constant}")

    with named("json: must be JSON text: "):
        json.loads(text, parse_constant=refuse)


NO_ZONE = (
    "the time zone is missing, and local times differ between machines: use datetime.now(timezone.utc), "
    "or .astimezone() for a time of this machine"
)


def moment_text(moment: datetime) -> str:
    """A time as the API takes it.

    Raises:
        ValueError: it has no time zone.
    """
    # The API refuses such a time as text, too.
    if moment.utcoffset() is None:
        raise ValueError(NO_ZONE)
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def members_of(options: Any) -> Dict[str, Any]:
    """The members of a dataclass or a mapping that are given, as the API takes them: durations are whole."""
    pairs = (
        [(f.name, getattr(options, f.name)) for f in fields(options)]
        if is_dataclass(options)
        else list(options.items())
    )
    members: Dict[str, Any] = {}
    for name, value in pairs:
        if value is None:
            continue
        if name in ("retry", "unique") and (is_dataclass(value) or isinstance(value, Mapping)):
            value = members_of(value)
        elif name == "delays_ms" and isinstance(value, Sequence):
            value = [rounded_up(name, one) for one in value]
        elif name.endswith("_ms"):
            value = rounded_up(name, value)
        members[name] = value
    return members


def rounded_up(name: str, duration: Any) -> Any:
    """A duration in whole milliseconds. What has no number is left to the server, which refuses it.

    Raises:
        ValueError: it is infinite, or no number.
    """
    try:
        return duration if isinstance(duration, int) else math.ceil(duration)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name}: must be a number of milliseconds, not {duration}") from error
    except TypeError:
        return duration


@dataclass(frozen=True)
class PublishedJob:
    id: str
    state: str
    #: True: nothing was stored, this is the job that has the unique key.
    existing: bool
    #: True: nothing was stored, an earlier publish with the same idempotency key was answered so.
    replayed: bool = False
    #: Ids of ``depends_on`` that no job has: they count as done.
    missing_dependencies: Sequence[str] = ()


@dataclass(frozen=True)
class JobFailure:
    group: str
    message: str
    at: str
    worker: Optional[str]


@dataclass(frozen=True)
class EndedJob:
    """A job that was waited for. If ``state`` is not ``done``, ``dead`` or ``cancelled``, it has not ended in time."""

    id: str
    #: None if it is gone.
    state: Optional[str]
    existing: bool
    result: Any
    failure: Optional[JobFailure] = field(metadata={"of": JobFailure})
    #: True: an earlier publish with the same idempotency key has stored it.
    replayed: bool = False
    #: Ids of ``depends_on`` that no job has: they count as done.
    missing_dependencies: Sequence[str] = ()


@dataclass(frozen=True)
class CancelledJob:
    id: str
    #: ``cancelled``, ``already_cancelled`` or ``requested``.
    outcome: str
    revoked_at: Optional[str]


@dataclass(frozen=True)
class JobFields:
    """What leased jobs and jobs as the server shows them have in common. Times are ISO 8601 in UTC."""

    id: str
    queue: str
    type: Optional[str]
    tags: List[str]
    attributes: Optional[Dict[str, str]]
    priority: int
    tries: int
    tries_left: int
    #: Leases so far; leases that expired; failures that workers reported.
    attempts: int
    crashes: int
    failures: int
    published_at: Optional[str]
    expires_at: Optional[str]
    #: As a worker left it last.
    progress: Any
    #: The payload: parsed if it is JSON, else bytes. Lists have none, unless they are called with ``fields=["data"]``.
    data: Any = field(repr=False)
    content_type: Optional[str]


@dataclass(frozen=True)
class Dependency:
    """A job that another one was published to run after."""

    id: str
    #: Its state; of one that is gone, how it ended: ``done``, ``dead``, ``cancelled``, ``expired``, ``deleted``, ``replaced``; or
    #: ``missing``: no job had the id when the dependency was stored.
    state: str
    #: Parsed if it is JSON, else bytes; None if there is none, and if it is ``truncated``.
    result: Any = field(default=None, repr=False)
    #: Its content type; None without a result.
    result_type: Optional[str] = None
    #: The results of one job have up to 64 KiB in all, and this one did not fit: ``get`` of the dependency has it.
    truncated: bool = False


@dataclass(frozen=True)
class Job(JobFields):
    """A leased job, as its handler gets it."""

    #: The number of the lease.
    lease: int
    #: How long this lease may last in all; None: it has no limit.
    max_run_ms: Optional[int] = None
    #: The jobs that it was published to run after, in the order in which it names them.
    dependencies: Sequence[Dependency] = field(default=(), metadata={"of": Dependency})
    #: Why the payload cannot be read: the worker fails such a job, without a handler.
    unreadable: Optional[str] = None


@dataclass(frozen=True)
class JobDetails(JobFields):
    """A job as the server shows it. Lists leave out the fields from ``cancel_requested`` on; they are None there."""

    state: str
    due_at: Optional[str]
    ended_at: Optional[str]
    lease_ends_at: Optional[str]
    leased_by: Optional[str]
    failure: Optional[JobFailure] = field(metadata={"of": JobFailure})
    cancel_requested: Optional[bool]
    result: Any = field(repr=False)
    #: The dependencies that have not ended; all of them, with their results.
    depends_on: Optional[List[str]]
    dependencies: Optional[List[Dependency]] = field(metadata={"of": Dependency})
    dependents: Optional[List[str]]
    unique_key: Optional[str]
    concurrency_key: Optional[str]
    fair_key: Optional[str]
    timeline: Optional[List[Dict[str, Any]]]


def from_wire(kind: Type[T], wire: Mapping[str, Any]) -> T:
    """An answer of the API as a dataclass. Fields that this version does not know are ignored.

    A field whose metadata has ``of`` is such a dataclass, a list of them, or None.
    """
    known = {f.name: part_of_wire(f.metadata.get("of"), wire.get(f.name, default_of(f))) for f in fields(kind)}
    if "data" in known:
        known["data"] = data_of(wire)
    if kind is Dependency:
        if wire.get("result_base64") is not None:
            known["result"] = base64.b64decode(wire["result_base64"], validate=True)
    elif isinstance(known.get("result"), dict):
        known["result"] = data_of(wire["result"])
    return kind(**known)


def default_of(field: "Field[Any]") -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def part_of_wire(of: Any, wire: Any) -> Any:
    if of is not None and isinstance(wire, list):
        return [from_wire(of, one) for one in wire]
    return from_wire(of, wire) if of is not None and isinstance(wire, dict) else wire


TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]', re.DOTALL)
Span = Tuple[int, int]


def leased_jobs(body: bytes) -> List[Job]:
    """The jobs of an answer. One payload that cannot be read does not stop the others: each is read alone then.

    Raises:
        ValueError: it is no such answer.
    """
    try:
        wires = json.loads(body)["jobs"]
    except (ValueError, RecursionError):
        return jobs_alone(body.decode())
    return [leased_job(wire) for wire in wires]


def jobs_alone(text: str) -> List[Job]:
    jobs = []
    for (start, end), members in job_spans(text):
        try:
            jobs.append(leased_job(json.loads(text[start:end])))
        except (ValueError, RecursionError):
            # guard: python-reads-jobs-alone
            jobs.extend(readable_job(text, members))
    if not jobs:
        raise ValueError("the answer is not JSON")
    return jobs


def readable_job(text: str, members: Mapping[str, Span]) -> List[Job]:
    """A job whose members are read one by one, without those that cannot be read. None if its id or lease is one of them."""
    wire: Dict[str, Any] = {}
    problem = ""
    for name, (start, end) in members.items():
        try:
            wire[name] = json.loads(text[start:end])
        except (ValueError, RecursionError) as error:
            problem = problem_of(name, error)
    if "id" not in wire or "lease" not in wire:
        return []
    job = leased_job(wire)
    return [replace(job, unreadable=problem or job.unreadable)]


def job_spans(text: str) -> List[Tuple[Span, Dict[str, Span]]]:
    """Where the jobs of an answer are, and the members of each. Strings apart, brackets are all that matters."""
    spans: List[Tuple[Span, Dict[str, Span]]] = []
    depth = start = 0
    last = ""
    is_in_jobs = False
    members: Dict[str, Span] = {}
    member: Optional[Tuple[str, int]] = None
    for match in TOKEN.finditer(text):
        token = match.group()
        is_of_job = is_in_jobs and depth == 3
        if token[0] == '"':
            last = token
        elif token == ":":
            is_in_jobs = last == '"jobs"' if depth == 1 else is_in_jobs
            member = (last[1:-1], match.end()) if is_of_job else member
        elif token in "{[":
            depth += 1
            if is_in_jobs and depth == 3:
                start, members, member = match.start(), {}, None
        elif is_of_job and member is not None:
            members[member[0]] = (member[1], match.start())
            member = None
        if token in ("}", "]"):
            if is_of_job:
                spans.append(((start, match.end()), members))
            depth -= 1
    return spans


def leased_job(wire: Mapping[str, Any]) -> Job:
    unreadable = None
    try:
        data = leased_data(wire)
    except (ValueError, RecursionError) as error:
        data, unreadable = None, problem_of("data", error)
    plain = {**wire, "data": data, "data_base64": None, "unreadable": None}
    return replace(from_wire(Job, plain), unreadable=unreadable)


def leased_data(wire: Mapping[str, Any]) -> Any:
    """The server gives JSON that is nested deeply in base64."""
    data = data_of(wire)
    if wire.get("data_base64") is None or not JSON_TYPE.match(wire.get("content_type") or ""):
        return data
    try:
        return json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return data


def problem_of(name: str, error: BaseException) -> str:
    return f"its {name} cannot be read: {type(error).__name__}: {error}"


def data_of(wire: Mapping[str, Any]) -> Any:
    encoded = wire.get("data_base64")
    return wire.get("data") if encoded is None else base64.b64decode(encoded, validate=True)


def is_bytes(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray, memoryview))


def payload(name: str, value: Union[Any, bytes]) -> Dict[str, Any]:
    """The member of a request that states a payload."""
    if is_bytes(value):
        return {f"{name}_base64": base64.b64encode(value).decode()}
    return {name: value}


def to_json(value: Any, place: str = "") -> str:
    """JSON text; policies and keys are as the API takes them, also in the body of any other call.

    Args:
        place: how errors name the value; "" if its members are the fields of a request.

    Raises:
        TypeError, ValueError: it has no JSON, as NaN and most objects, or a time has no time zone.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=wire_of)
    except (TypeError, ValueError) as error:
        fault = fault_of(value, place, wire_of)
        if fault is None:
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(fault) from error


def wire_of(value: Any) -> Any:
    if isinstance(value, (RetryPolicy, UniqueKey, Interval, Cron)):
        return members_of(value)
    if isinstance(value, datetime):
        return moment_text(value)
    raise TypeError(no_json_text(value))
