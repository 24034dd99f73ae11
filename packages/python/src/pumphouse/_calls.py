"""Publishes, and what all calls have in common: what each sends, and how its answer is read."""

import re
import secrets
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Type, TypeVar
from urllib.parse import quote

from ._http import Call, Response, answer_of, nothing
from ._json import named
from .answers import Page
from .jobs import EndedJob, NewJob, PublishedJob, from_wire, rounded_up, to_json
from .outcomes import whole_delay

# Jobs of one call of the API.
MAX_JOBS = 64
# Longest idempotency key, in characters.
MAX_KEY = 255
# Longest wait for the end of a job that the server takes: a day.
MAX_END_WAIT_MS = 86_400_000
T = TypeVar("T")


class PublishOptions(NamedTuple):
    """What a publish has beside its jobs."""

    idempotency_key: Optional[str]
    #: How long the key counts, in milliseconds.
    idempotency_ttl_ms: Optional[float]
    durability: Optional[str]


def publish(job: NewJob, options: PublishOptions) -> Call[PublishedJob]:
    return publish_call(text_of(job), options, reads_publish(PublishedJob, options.idempotency_key))


def publish_many(jobs: Sequence[NewJob], options: PublishOptions) -> List[Call[List[PublishedJob]]]:
    """All of them are written before the first is sent: a job that is no JSON stores nothing."""
    texts = [text_of(job, f"jobs[{index}].") for index, job in enumerate(jobs)]
    key = options.idempotency_key
    last = max(0, (len(texts) - 1) // MAX_JOBS * MAX_JOBS)
    excess = len(f"{key}.{last}") - MAX_KEY
    if key and last > 0 and excess > 0:
        # Else some calls would be stored, and the rest never.
        raise ValueError(f"idempotency_key: must be shorter by {excess} characters for so many jobs")
    calls = []
    for at in range(0, len(texts), MAX_JOBS):
        own = options._replace(idempotency_key=f"{key}.{at}") if key and at > 0 else options
        body = f'{{"jobs":[{",".join(texts[at : at + MAX_JOBS])}]}}'
        calls.append(publish_call(body, own, lambda response: read_published(response, key)))
    return calls


def publish_and_wait(job: NewJob, wait_ms: float, options: PublishOptions) -> Call[EndedJob]:
    wait_ms = whole_delay(min(wait_ms, MAX_END_WAIT_MS)) or 0
    return publish_call(text_of(job), options, reads_publish(EndedJob, options.idempotency_key), wait_ms)


def text_of(job: NewJob, place: str = "") -> str:
    """Args:
    place: what errors put before the names of fields.
    """
    if not isinstance(job, NewJob):
        raise TypeError(f"publish takes a job, as NewJob(queue, data), not {type(job).__name__}")
    with named(place):
        return job.to_json()


def publish_call(
    body: str, options: PublishOptions, read: Callable[[Response], T], wait_ms: int = 0
) -> Call[T]:
    key, ttl_ms, durability = options
    for name, value in (("idempotency_key", key), ("durability", durability)):
        if value is not None and not re.fullmatch("[ -~]*", value):
            raise ValueError(f"{name}: must be ASCII without control characters, not {value!r}")
    if ttl_ms is not None and not key:
        raise ValueError("idempotency_ttl_ms: says how long an idempotency_key is kept: give both or neither")
    headers = {"idempotency-key": key or secrets.token_hex(16)}
    if ttl_ms is not None:
        headers["idempotency-ttl-ms"] = str(rounded_up("idempotency_ttl_ms", ttl_ms))
    if durability is not None:
        headers["x-durability"] = durability
    query = {"wait_ms": wait_ms} if wait_ms else None
    return Call("POST", "jobs", read, body, True, query, headers, wait_ms, has_own_key=not key)


def other(
    method: str,
    path: str,
    body: Optional[Mapping[str, Any]],
    query: Optional[Mapping[str, Any]],
    repeatable: Optional[bool],
) -> Call[Any]:
    if not re.fullmatch("[!-~]+", path):
        raise ValueError(f"path: its parts must be encoded, as by urllib.parse.quote: {path!r}")
    text = None if body is None else to_json(body)
    # A job that is put may be taken by a worker before it is put again.
    is_safe = method != "POST" and not (method == "PUT" and path.startswith("jobs/"))
    is_repeatable = is_safe if repeatable is None else repeatable
    return Call(method, path, answer_of, text, is_repeatable, query)


def reads(kind: Type[T]) -> Callable[[Response], T]:
    return lambda response: from_wire(kind, answer_of(response))


def reads_publish(kind: Type[T], key: Optional[str]) -> Callable[[Response], T]:
    return lambda response: from_wire(kind, {**answer_of(response), **replay_of(response, key)})


def read_published(response: Response, key: Optional[str]) -> List[PublishedJob]:
    replay = replay_of(response, key)
    return [from_wire(PublishedJob, {**job, **replay}) for job in answer_of(response)["jobs"]]


def replay_of(response: Response, key: Optional[str]) -> Dict[str, bool]:
    """A key of the client's own is known from an earlier attempt only: then this call has stored the job."""
    return {"replayed": bool(key) and response.headers.get("idempotency-replayed") == "true"}


def reads_page(kind: Type[T]) -> Callable[[Response], Page[T]]:
    def read(response: Response) -> Page[T]:
        answer = answer_of(response)
        return Page([from_wire(kind, item) for item in answer["items"]], answer["next_cursor"])

    return read


def page_call(kind: Type[T], path: str, query: Mapping[str, Any]) -> Call[Page[T]]:
    return Call("GET", path, reads_page(kind), repeatable=True, query=query)


def get_call(kind: Type[T], path: str, query: Optional[Mapping[str, Any]] = None) -> Call[T]:
    return Call("GET", path, reads(kind), repeatable=True, query=query)


def delete_call(path: str, query: Optional[Mapping[str, Any]] = None) -> Call[None]:
    return Call("DELETE", path, nothing, repeatable=True, query=query, when_gone=lambda: None)


def part_of(text: str) -> str:
    return quote(text, safe="")
