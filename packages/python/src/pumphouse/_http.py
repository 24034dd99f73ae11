"""Calls of the v1 API: connections, deadlines, retries and errors."""

import json
import os
import random
import selectors
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Callable, List, Mapping, Optional, Set
from urllib.parse import quote, urlencode, urlsplit

from .errors import PumphouseError

# Seconds. The first pause is drawn from 0 … FIRST_PAUSE, each further one from twice as much, up to MAX_PAUSE.
FIRST_PAUSE = 0.1
MAX_PAUSE = 2.0
# How long an answer may take after the client has closed its side of the connection, in seconds.
HURRY = 1.0
# Longest time of a wait, in seconds: operating systems count them in 32 bits of milliseconds.
MAX_WAIT = 2_147_483.647
# Refusals after which the server has certainly done nothing.
NOTHING_DONE = {"overloaded", "shutting_down", "disk_full", "durability_unavailable", "pool_moving"}
RETRYABLE = {408, 429, 502, 503, 504}
# 429 that waiting does not help.
FINAL_REFUSALS = {"too_many_queues"}


@dataclass(frozen=True)
class Limits:
    """Bounds of one call with its retries. Time that the server was asked to wait is added to both times."""

    tries: int = 5
    within_s: float = 10.0
    #: Of one attempt.
    attempt_s: float = 5.0


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    def __init__(self, code: str, message: str, is_sent: bool) -> None:
        super().__init__(message)
        self.code = code
        #: False: the server cannot have seen the request.
        self.is_sent = is_sent


class Connections:
    """Connections to one server that stay open. Threads may share it; each request has a connection to itself."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext] = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: must be http://… or https://…, not {url!r}")
        self._parts = parts
        self._context = context or (ssl.create_default_context() if parts.scheme == "https" else None)
        self.path = parts.path.rstrip("/")
        #: Set: no attempt follows the present one.
        self.hurried = threading.Event()
        self._lock = threading.Lock()
        self._idle: List[HTTPConnection] = []
        self._busy: Set[HTTPConnection] = set()
        self._pid = os.getpid()

    def request(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], timeout: float
    ) -> Response:
        """Sends a request once. ``timeout`` counts for each read and write, in seconds."""
        timeout = min(timeout, MAX_WAIT)
        connection = self._take(timeout)
        is_kept = False
        try:
            connection.request(method, self.path + path, body=body, headers=dict(headers))
            response = connection.getresponse()
            data = response.read()
            is_kept = not response.will_close
            return Response(
                response.status, {name.lower(): value for name, value in response.getheaders()}, data
            )
        except socket.timeout as error:
            raise NoAnswer("timeout", f"no answer within {timeout:.3g} s", True) from error
        except (OSError, HTTPException) as error:
            raise NoAnswer("network", f"{type(error).__name__}: {error}", True) from error
        finally:
            self._give(connection, is_kept)

    def hurry(self) -> None:
        """Wants the answers now: closes the client's side of each connection. The server then answers a long poll at once,
        and a job that is on its way still arrives."""
        self.hurried.set()
        with self._lock:
            busy = list(self._busy)
        for connection in busy:
            # A TLS connection cannot be closed on one side: the server undoes what is on its way.
            shut_down(
                connection, (socket.SHUT_RDWR if isinstance(connection, HTTPSConnection) else socket.SHUT_WR)
            )

        def cut_off() -> None:
            for connection in busy:
                shut_down(connection, socket.SHUT_RDWR)

        timer = threading.Timer(HURRY, cut_off)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Closes idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self, timeout: float) -> HTTPConnection:
        connection = self._idle_one()
        if connection is None:
            connection = self._new(timeout)
        with self._lock:
            self._busy.add(connection)
        try:
            if connection.sock is None:
                connection.connect()
            else:
                connection.sock.settimeout(timeout)
            if self.hurried.is_set():
                raise OSError("it is to end")
        except OSError as error:
            self._give(connection, False)
            code = "timeout" if isinstance(error, socket.timeout) else "network"
            raise NoAnswer(code, f"no connection: {error}", False) from error
        return connection

    def _new(self, timeout: float) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._context is None:
            return HTTPConnection(host, port, timeout=timeout)
        return HTTPSConnection(host, port, timeout=timeout, context=self._context)

    def _idle_one(self) -> Optional[HTTPConnection]:
        with self._lock:
            if self._pid != os.getpid():
                # A fork has copied the connections: they are the parent's.
                self._pid, self._idle, self._busy = os.getpid(), [], set()
            while self._idle:
                connection = self._idle.pop()
                if not is_readable(connection):
                    return connection
                connection.close()
        return None

    def _give(self, connection: HTTPConnection, is_kept: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if is_kept and not self.hurried.is_set():
                self._idle.append(connection)
                return
        connection.close()


def shut_down(connection: HTTPConnection, how: int) -> None:
    try:
        if connection.sock is not None:
            socket.socket.shutdown(connection.sock, how)
    except OSError:
        pass  # It is closed.


def is_readable(connection: HTTPConnection) -> bool:
    """True if the server has closed an idle connection."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


class Api:
    """Calls of the v1 API of one namespace."""

    def __init__(
        self, url: str, namespace: str, token: str, limits: Limits, context: Optional[ssl.SSLContext]
    ) -> None:
        self.connections = Connections(url, context)
        self._url = url
        self._context = context
        self._base = f"/v1/{quote(namespace, safe='')}/"
        self._headers = {"x-token": token}
        self._limits = limits

    def own_connections(self) -> Connections:
        """Connections for long polls, which can be hurried."""
        return Connections(self._url, self._context)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[str] = None,
        *,
        repeatable: bool,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        wait_ms: int = 0,
        limits: Optional[Limits] = None,
        connections: Optional[Connections] = None,
        read: Optional[Callable[["Response"], Any]] = None,
    ) -> Any:
        """Calls, and tries again where that is safe.

        Args:
            path: below ``/v1/NAMESPACE/``, its parts encoded.
            body: JSON text.
            repeatable: to do it twice is as to do it once. Else it is tried again only if it was certainly not done.
            wait_ms: how long the server may wait before it answers.
            read: makes the result of the answer.

        Returns:
            the JSON of the answer; None if it is empty.

        Raises:
            PumphouseError: the server's refusal, or that there was no answer.
        """
        limits = limits or self._limits
        connections = connections or self.connections
        sent = dict(self._headers, **(headers or {}))
        if body is not None:
            sent["content-type"] = "application/json"
        data = None if body is None else body.encode()
        url = self._base + path + query_text(query)
        end = time.monotonic() + limits.within_s + wait_ms / 1000
        attempt = 0
        while True:
            attempt += 1
            timeout = max(0.001, min(limits.attempt_s + wait_ms / 1000, end - time.monotonic()))
            pause = random.uniform(0, min(MAX_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)))
            try:
                response = connections.request(method, url, sent, data, timeout)
            except NoAnswer as failure:
                error = PumphouseError(failure.code, str(failure), retryable=True, attempts=attempt)
                may_repeat = repeatable or not failure.is_sent
            else:
                if response.status < 300:
                    return (read or answer_of)(response)
                error = refusal_of(response, attempt)
                may_repeat = error.retryable and (
                    repeatable or error.status == 429 or error.code in NOTHING_DONE
                )
                pause += retry_after(response.headers.get("retry-after"))
            if not may_repeat or attempt >= limits.tries or time.monotonic() + pause >= end:
                raise error
            if connections.hurried.wait(min(pause, MAX_WAIT)):
                raise error


def answer_of(response: Response) -> Any:
    if not response.body:
        return None
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise PumphouseError("invalid_response", "the answer is not JSON", status=response.status) from error


def refusal_of(response: Response, attempts: int) -> PumphouseError:
    try:
        problem = json.loads(response.body)
    except (ValueError, RecursionError):
        problem = None
    details = dict(problem) if isinstance(problem, dict) else {}
    code = str(details.pop("code", f"http_{response.status}"))
    detail, title = details.pop("detail", None), details.pop("title", None)
    return PumphouseError(
        code,
        f"{response.status} {detail or title or 'the server refuses'}",
        status=response.status,
        request_id=response.headers.get("x-request-id"),
        retryable=response.status in RETRYABLE and code not in FINAL_REFUSALS,
        attempts=attempts,
        details=details,
    )


def retry_after(header: Optional[str]) -> float:
    """Seconds; the header has seconds or a date."""
    if header is None:
        return 0
    if header.isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0


def query_text(query: Optional[Mapping[str, Any]]) -> str:
    """Lists become one value with commas; None is left out."""
    pairs = {name: query_value(value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(pairs, quote_via=quote)}" if pairs else ""


def query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else ",".join(value)
