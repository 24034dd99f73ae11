"""The producer, and calls about jobs."""

import os
import re
import ssl
from typing import Any, Iterator, List, Mapping, Optional, Sequence

from . import _calls
from ._http import Limits, Server, ThreadApi
from .errors import PumphouseError
from .jobs import CancelledJob, EndedJob, JobDetails, JobPage, NewJob, PublishedJob


class Pumphouse:
    """A client of one namespace. Threads may share it, and it is safe to use after a fork.

    Calls are tried again after 503, 429, time-outs and broken connections, with full jitter, where that is safe. A publish is:
    it carries an idempotency key.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        namespace: Optional[str] = None,
        token: Optional[str] = None,
        *,
        limits: Optional[Limits] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        Args:
            url: ``https://queue.example.com``, with a path if it is behind a proxy that adds one. None: that of the variable
                ``PUMPHOUSE_URL`` of the environment.
            namespace: None: that of ``PUMPHOUSE_NAMESPACE``.
            token: None: that of ``PUMPHOUSE_TOKEN``.
            limits: bounds of each call and its retries.

        Raises:
            ValueError: the URL is none, or one of the three is given neither here nor there.
        """
        server = Server(setting("url", url), ssl_context)
        self._api = ThreadApi(
            server, setting("namespace", namespace), setting("token", token), limits or Limits()
        )

    def publish(
        self, job: NewJob, *, idempotency_key: Optional[str] = None, durability: Optional[str] = None
    ) -> PublishedJob:
        """Publishes a job.

        Args:
            idempotency_key: a name for what is to happen once; it counts for a day. Without it the call's own retries store
                nothing twice, but a second call does.
            durability: ``memory``, ``aof`` or ``replicated:N``.
        """
        return self._api.send(_calls.publish(job, idempotency_key, durability))

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
        calls = _calls.publish_many(jobs, idempotency_key, durability)
        return [published for call in calls for published in self._api.send(call)]

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
        return self._api.send(_calls.publish_and_wait(job, wait_ms, idempotency_key, durability))

    def get_job(self, job_id: str) -> JobDetails:
        """All that is known of a job.

        Raises:
            PumphouseError: ``job_not_found``.
        """
        return self._api.send(_calls.get_job(job_id))

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
        filters = {"queue": queue, "state": state, "tag": tag, "type": type, "group": group, "worker": worker}
        more = {"order": order, "ids": ids, "fields": fields, "limit": limit, "cursor": cursor}
        return self._api.send(_calls.list_jobs({**filters, **more}))

    def each_job(self, **filters: Any) -> Iterator[JobDetails]:
        """The jobs of all pages; it takes what :meth:`list_jobs` takes."""
        while True:
            page = self.list_jobs(**filters)
            yield from page.items
            if page.next_cursor is None:
                return
            filters["cursor"] = page.next_cursor

    def cancel_job(
        self, job_id: str, *, cascade: bool = False, grace_ms: Optional[float] = None
    ) -> CancelledJob:
        """Ends a job before it is done. The worker of a leased one learns it from its next heartbeat.

        Raises:
            PumphouseError: ``job_not_found``, ``has_dependents``, ``job_done``.
        """
        return self._api.send(_calls.cancel_job(job_id, cascade, grace_ms))

    def delete_job(self, job_id: str, *, force: bool = False) -> None:
        """Deletes a job in any state but leased; with ``force`` a leased one, too."""
        try:
            self._api.send(_calls.delete_job(job_id, force))
        except PumphouseError as error:
            _calls.check_deleted(error)

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
        return self._api.send(_calls.other(method, path, body, query, repeatable))

    def close(self) -> None:
        """Closes idle connections."""
        self._api.connections.close()


def setting(name: str, given: Optional[str]) -> str:
    """An argument, or in its place a variable of the environment.

    Raises:
        ValueError: there is neither.
    """
    variable = f"PUMPHOUSE_{name.upper()}"
    value = os.environ.get(variable) if given is None else given
    if not value:
        raise ValueError(f"{name} is missing: give the argument `{name}`, or set the variable {variable}")
    if name == "token" and not re.fullmatch(r"[!-~]+", value):
        raise ValueError("token: must have no spaces and line breaks, also not at its end")
    return value
