"""The producer, and calls about jobs."""

import secrets
import ssl
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence
from urllib.parse import quote

from ._http import Api, Limits
from .errors import PumphouseError
from .jobs import CancelledJob, EndedJob, JobDetails, JobPage, NewJob, PublishedJob, from_wire, to_json
from .outcomes import whole_delay

# Longer than all retries of one call.
OWN_KEY_TTL_MS = 120_000
# Jobs of one call of the API.
MAX_JOBS = 64
# Longest wait for the end of a job that the server takes: a day.
MAX_END_WAIT_MS = 86_400_000


class Pumphouse:
    """A client of one namespace. Threads may share it, and it is safe to use after a fork.

    Calls are tried again after 503, 429, time-outs and broken connections, with full jitter, where that is safe. A publish is:
    it carries an idempotency key.
    """

    def __init__(
        self,
        url: str,
        namespace: str,
        token: str,
        *,
        limits: Optional[Limits] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        Args:
            url: ``https://queue.example.com``, with a path if it is behind a proxy that adds one.
            limits: bounds of each call and its retries.
        """
        self._api = Api(url, namespace, token, limits or Limits(), ssl_context)

    def publish(
        self, job: NewJob, *, idempotency_key: Optional[str] = None, durability: Optional[str] = None
    ) -> PublishedJob:
        """Publishes a job.

        Args:
            idempotency_key: a name for what is to happen once; it counts for a day. Without it the call's own retries store
                nothing twice, but a second call does.
            durability: ``memory``, ``aof`` or ``replicated:N``.
        """
        answer = self._publish(job.to_json(), key_headers(idempotency_key, durability))
        return from_wire(PublishedJob, answer)

    def publish_many(
        self,
        jobs: Sequence[NewJob],
        *,
        idempotency_key: Optional[str] = None,
        durability: Optional[str] = None,
    ) -> List[PublishedJob]:
        """Publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other.

        With a key of yours the whole call can be repeated: what was stored stays as it is.
        """
        published: List[PublishedJob] = []
        for at in range(0, len(jobs), MAX_JOBS):
            part = jobs[at : at + MAX_JOBS]
            key = f"{idempotency_key}.{at}" if idempotency_key and at > 0 else idempotency_key
            body = f'{{"jobs":[{",".join(job.to_json() for job in part)}]}}'
            answer = self._publish(body, key_headers(key, durability))
            published += [from_wire(PublishedJob, job) for job in answer["jobs"]]
        return published

    def publish_and_wait(
        self,
        job: NewJob,
        *,
        wait_ms: float = 30_000,
        idempotency_key: Optional[str] = None,
        durability: Optional[str] = None,
    ) -> EndedJob:
        """Publishes a job and waits for its end, or for ``wait_ms``, a day at most.

        The token needs the permission ``consume``, too.
        """
        wait_ms = whole_delay(min(wait_ms, MAX_END_WAIT_MS)) or 0
        answer = self._publish(job.to_json(), key_headers(idempotency_key, durability), wait_ms)
        return from_wire(EndedJob, answer)

    def get_job(self, job_id: str) -> JobDetails:
        """All that is known of a job.

        Raises:
            PumphouseError: ``job_not_found``.
        """
        return from_wire(JobDetails, self.call("GET", f"jobs/{part_of(job_id)}"))

    def list_jobs(
        self,
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
    ) -> JobPage:
        """A page of jobs. ``order`` is ``oldest`` or ``newest``; ``fields`` may be ``["data"]``."""
        query: Dict[str, Any] = {
            "queue": queue,
            "state": state,
            "tag": tag,
            "type": type,
            "group": group,
            "worker": worker,
        }
        query.update(order=order, ids=ids, fields=fields, limit=limit, cursor=cursor)
        answer = self.call("GET", "jobs", query=query)
        return JobPage([from_wire(JobDetails, item) for item in answer["items"]], answer["next_cursor"])

    def each_job(self, **filters: Any) -> Iterator[JobDetails]:
        """The jobs of all pages; it takes what :meth:`list_jobs` takes."""
        while True:
            page = self.list_jobs(**filters)
            yield from page.items
            if page.next_cursor is None:
                return
            filters["cursor"] = page.next_cursor

    def cancel_job(
        self, job_id: str, *, cascade: bool = False, grace_ms: Optional[int] = None
    ) -> CancelledJob:
        """Ends a job before it is done. The worker of a leased one learns it from its next heartbeat.

        Raises:
            PumphouseError: ``job_not_found``, ``has_dependents``, ``job_done``.
        """
        body: Dict[str, Any] = {"cascade": cascade}
        if grace_ms is not None:
            body["grace_ms"] = grace_ms
        return from_wire(
            CancelledJob, self.call("POST", f"jobs/{part_of(job_id)}/cancel", body, repeatable=True)
        )

    def delete_job(self, job_id: str, *, force: bool = False) -> None:
        """Deletes a job in any state but leased; with ``force`` a leased one, too."""
        try:
            self.call("DELETE", f"jobs/{part_of(job_id)}", query={"force": True} if force else None)
        except PumphouseError as error:
            # An earlier attempt, whose answer was lost, has done it.
            if error.status != 404 or error.attempts == 1:
                raise

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """Any other call of the v1 API: ``client.call("POST", "queues/mail/pause")``.

        Args:
            path: below ``/v1/NAMESPACE/``, its parts encoded.
            repeatable: to do it twice is as to do it once; by default all but POST.

        Returns:
            the JSON of the answer as it is.
        """
        text = None if body is None else to_json(body)
        is_repeatable = method != "POST" if repeatable is None else repeatable
        return self._api.call(method, path, text, query=query, repeatable=is_repeatable)

    def close(self) -> None:
        """Closes idle connections."""
        self._api.connections.close()

    def _publish(self, body: str, headers: Mapping[str, str], wait_ms: int = 0) -> Any:
        query = {"wait_ms": wait_ms} if wait_ms else None
        return self._api.call(
            "POST", "jobs", body, query=query, headers=headers, wait_ms=wait_ms, repeatable=True
        )


def key_headers(key: Optional[str], durability: Optional[str]) -> Dict[str, str]:
    headers = {"idempotency-key": key or secrets.token_hex(16)}
    if not key:
        headers["idempotency-ttl-ms"] = str(OWN_KEY_TTL_MS)
    if durability is not None:
        headers["x-durability"] = durability
    return headers


def part_of(text: str) -> str:
    return quote(text, safe="")
