"""Calls of the v1 API: connections, deadlines, retries and errors."""

import io
import json
import math
import os
import random
import select
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Callable, Dict, Generator, Generic, List, Mapping, Optional, Set, Tuple, TypeVar, Union
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from ._json import named
from ._texts import broken_text, no_answer_text, no_connection_text, not_json_text, refusal_text
from .errors import PumphouseError, is_of_proxy
from .jobs import moment_text

T = TypeVar("T")
C = TypeVar("C")

# Seconds. The first pause is drawn from the upper half of FIRST_PAUSE, each further one from that of twice as much, up to MAX_PAUSE.
FIRST_PAUSE = 0.1
MAX_PAUSE = 2.0
# In seconds. With less time left, or less than an attempt may take, no further attempt begins: its outcome might stay unknown, and that of
# the refusal before is clear.
LEAST_ATTEMPT = 0.25
# How long a key of the client's own counts beyond the end of its call; and at least, and at most, in all; in milliseconds.
OWN_KEY_MARGIN_MS = 60_000
LEAST_OWN_KEY_TTL_MS = 120_000
MAX_KEY_TTL_MS = 2_592_000_000
# How long an answer may take after the client has closed its side of the connection, in seconds.
HURRY = 1.0
# Longest time of a wait, in seconds: operating systems count them in 32 bits of milliseconds.
MAX_WAIT = 2_147_483.647
# Connections without a request that stay open, and for how long, in seconds.
MAX_IDLE = 64
IDLE_FOR = 60.0
# Refusals after which the server has certainly done nothing.
NOTHING_DONE = {"overloaded", "shutting_down", "disk_full", "durability_unavailable", "pool_moving"}
RETRYABLE = {408, 429, 502, 503, 504}
# 429 that waiting does not help.
FINAL_REFUSALS = {"too_many_queues"}


@dataclass(frozen=True)
class Limits:
    """Bounds of one call with its retries. Time that the server was asked to wait is added to both times, as far as it waited."""

    #: More than fit into ``within_s``: that time decides. To have more of both, give both.
    tries: int = 20
    #: Of all attempts and the pauses between them.
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


class Server:
    """Where a server is, and how it is reached."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext] = None) -> None:
        """
        Raises:
            ValueError: the URL is none of http or https.
        """
        parts = parts_of(url)
        self.host, self.port = parts.hostname or "", parts.port
        #: None: without TLS.
        self.tls = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self.path = parts.path.rstrip("/")
        #: As errors show it: a name and a password that it has are left out.
        self.origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def parts_of(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, AttributeError, TypeError):  # A port that is no number, no text at all …
        is_right = False
    if not is_right:
        raise ValueError(f"url: must be as http://127.0.0.1:7777 or https://queue.example.com, not {url!r}")
    return parts


@dataclass(frozen=True)
class Attempt:
    """A request that is to be sent once. ``timeout`` is in seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Optional[bytes]
    timeout: float

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.body or b"")


class Answer(HTTPResponse):
    """An answer that can say whether the server has sent more than it."""

    def __init__(self, sock: socket.socket, *args: Any, until: float, **options: Any) -> None:
        self._bytes = Bytes(sock, until)
        self._reader = Reader(self._bytes)
        super().__init__(Source(self._reader), *args, **options)  # type: ignore[arg-type]

    def has_more(self, sock: Optional[socket.socket]) -> bool:
        """True: bytes follow that no request has asked for. They would be taken for the answer to the next one.

        To be called when the answer has been read.
        """
        if sock is None:
            return True
        self._bytes.until = None
        sock.settimeout(0)
        try:
            return bool(self._reader.peek(1))
        except ssl.SSLWantReadError:
            return False
        except (OSError, ValueError):
            return True
        finally:
            self._reader.end()


class Bytes(io.RawIOBase):
    """The bytes of an answer, until a moment of ``time.monotonic()``: a server that sends a few now and then is cut off, too."""

    def __init__(self, sock: socket.socket, until: Optional[float]) -> None:
        super().__init__()
        self._sock, self._file, self.until = sock, sock.makefile("rb", buffering=0), until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        if self.until is not None:
            left = self.until - time.monotonic()
            if left <= 0:
                raise socket.timeout("timed out")
            self._sock.settimeout(left)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class Reader(io.BufferedReader):
    """Stays open at the end of an answer."""

    def close(self) -> None:
        pass

    def end(self) -> None:
        super().close()


class Source:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def makefile(self, _mode: str) -> Reader:
        return self._reader


class Idle(Generic[C]):
    """Connections without a request."""

    def __init__(self) -> None:
        #: Each with the time of its last answer, on the monotonic clock; the latest is the last.
        self._all: List[Tuple[float, C]] = []

    def add(self, connection: C) -> None:
        self._all.append((time.monotonic(), connection))

    def take(self) -> Optional[C]:
        """The one that was used last."""
        return self._all.pop()[1] if self._all else None

    def take_old(self) -> List[C]:
        """Those that are to be closed: what was not used for a while, and what is more than enough."""
        before = time.monotonic() - IDLE_FOR
        count = max(sum(since < before for since, _ in self._all), len(self._all) - MAX_IDLE)
        old, self._all = self._all[:count], self._all[count:]
        return [connection for _, connection in old]

    def take_all(self) -> List[C]:
        all_of_them, self._all = self._all, []
        return [connection for _, connection in all_of_them]


class Connections:
    """Connections to one server that stay open. Threads may share it; each request has a connection to itself."""

    def __init__(self, server: Server) -> None:
        self._server = server
        #: Set: no attempt follows the present one.
        self.hurried = threading.Event()
        self._lock = threading.Lock()
        self._idle: Idle[HTTPConnection] = Idle()
        self._busy: Set[HTTPConnection] = set()
        self._pid = os.getpid()

    def request(self, attempt: Attempt) -> Response:
        """Sends a request once. The timeout counts for the connection, for each write, and from then on for the whole answer."""
        timeout = min(attempt.timeout, MAX_WAIT)
        connection, is_reused = self._take(timeout)
        server = self._server
        is_kept = False
        try:
            path = server.path + attempt.path
            is_sent = send(connection, attempt, path)
            connection.response_class = partial(Answer, until=time.monotonic() + timeout)  # type: ignore[assignment]
            answer = connection.getresponse()
            assert isinstance(answer, Answer)
            data = answer.read()
            # guard: python-drops-unasked-answers
            is_kept = is_sent and not answer.will_close and not answer.has_more(connection.sock)
            return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)
        except socket.timeout as error:
            # guard: python-drops-dead-connections
            if is_reused:
                self.close()  # The host may have gone away without a word, and with it the other connections.
            raise NoAnswer("timeout", no_answer_text(attempt.method, server.origin + path, timeout), True) from error
        except (OSError, HTTPException) as error:
            text = broken_text(attempt.method, server.origin + path, error, attempt.size)
            raise NoAnswer("network", text, True) from error
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
        try:
            timer.start()
        except RuntimeError:  # There are too many threads, or the interpreter ends.
            cut_off()

    def close(self) -> None:
        """Closes idle connections."""
        with self._lock:
            idle = self._idle.take_all()
        for connection in idle:
            connection.close()

    def _take(self, timeout: float) -> Tuple[HTTPConnection, bool]:
        """A connection, and whether it was open before."""
        connection = self._idle_one()
        is_reused = connection is not None
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
            raise NoAnswer(code, no_connection_text(self._server.origin, error, timeout), False) from error
        return connection, is_reused

    def _new(self, timeout: float) -> HTTPConnection:
        host, port, tls = self._server.host, self._server.port, self._server.tls
        connection = (
            HTTPConnection(host, port, timeout=timeout)
            if tls is None
            else HTTPSConnection(host, port, timeout=timeout, context=tls)
        )
        return connection

    def _idle_one(self) -> Optional[HTTPConnection]:
        with self._lock:
            if self._pid != os.getpid():
                # A fork has copied the connections: they are the parent's.
                self._pid, self._idle, self._busy = os.getpid(), Idle(), set()
            closed = self._idle.take_old()
            connection = self._idle.take()
            while connection is not None and (connection.sock is None or is_readable(connection.sock)):
                closed.append(connection)
                connection = self._idle.take()
        for one in closed:
            one.close()
        return connection

    def _give(self, connection: HTTPConnection, is_kept: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if is_kept and not self.hurried.is_set():
                self._idle.add(connection)
                closed = self._idle.take_old()
            else:
                closed = [connection]
        for one in closed:
            one.close()


def send(connection: HTTPConnection, attempt: Attempt, path: str) -> bool:
    """False: the server has closed the connection before it had the whole request. It may have answered before that."""
    try:
        connection.request(attempt.method, path, body=attempt.body, headers=dict(attempt.headers))
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def shut_down(connection: HTTPConnection, how: int) -> None:
    try:
        if connection.sock is not None:
            socket.socket.shutdown(connection.sock, how)
    except OSError:
        pass  # It is closed.


def is_readable(sock: socket.socket) -> bool:
    """True if the server has closed an idle connection, has sent what no request has asked for, or that cannot be seen.

    It opens no file, as some selectors do: a process may have no more of them.
    """
    try:
        if not hasattr(select, "poll"):
            return bool(select.select([sock], [], [], 0)[0])
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call of the v1 API, and how its answer is read."""

    method: str
    #: Below ``/v1/NAMESPACE/``, its parts encoded.
    path: str
    #: Makes the result of the answer.
    read: Callable[[Response], T]
    #: JSON text.
    body: Optional[str] = None
    #: To do it twice is as to do it once. Else it is tried again only if it was certainly not done.
    repeatable: bool = False
    query: Optional[Mapping[str, Any]] = None
    headers: Optional[Mapping[str, str]] = None
    #: How long the server may wait before it answers.
    wait_ms: int = 0
    limits: Optional[Limits] = None
    #: Its result if a later attempt finds that what it names is gone: an earlier one, whose answer was lost, has done it.
    when_gone: Optional[Callable[[], T]] = None
    #: Its idempotency key is the client's own, for the attempts of this call.
    has_own_key: bool = False


#: What a call does next: a request, or a pause in seconds. It gets the answer, or whether it is to end.
Step = Union[Attempt, float]
Reply = Union[Response, NoAnswer, bool, None]


class Api:
    """The v1 API of one namespace: what is sent, and when again. It sends nothing itself."""

    def __init__(self, server: Server, namespace: str, token: str, limits: Limits) -> None:
        self.server, self.namespace, self.token, self.limits = server, namespace, token, limits
        self._base = f"/v1/{quote(namespace, safe='')}/"

    def steps(self, call: "Call[T]") -> Generator[Step, Reply, T]:
        """The steps of a call; it is tried again where that is safe.

        Returns:
            what the call reads from the answer.

        Raises:
            PumphouseError: the server's refusal, or that there was no answer.
        """
        limits = call.limits or self.limits
        headers = {"x-token": self.token, **(call.headers or {})}
        if call.body is not None:
            headers["content-type"] = "application/json"
        data = None if call.body is None else call.body.encode()
        if call.has_own_key:
            headers["idempotency-ttl-ms"] = str(own_key_ttl_ms(limits, call.wait_ms))
        path = self._base + call.path
        place = f"{self.server.origin}{self.server.path}{path}"
        path += query_text(call.query)
        wait = call.wait_ms / 1000
        end = time.monotonic() + limits.within_s
        attempt = 0
        may_be_done = False
        while True:
            attempt += 1
            began = time.monotonic()
            # The server waits anew in each attempt.
            most = limits.within_s if call.wait_ms else end - began
            timeout = call.wait_ms / 1000 + max(0.001, min(limits.attempt_s, most))
            pause = pause_after(attempt)
            reply = yield Attempt(call.method, path, headers, data, timeout)
            if isinstance(reply, Response) or (isinstance(reply, NoAnswer) and reply.is_sent):
                # A server that cannot be reached has not waited.
                waited = min(wait, time.monotonic() - began)
                wait, end = wait - waited, end + waited
            if isinstance(reply, Response):
                if reply.status < 300:
                    return self._result(call, reply, place, attempt)
                error = refusal_of(reply, f"{call.method} {place}", self.namespace, attempt)
                error.may_be_done = may_be_done
                is_gone = error.status == 404 and not is_of_proxy(error)
                if call.when_gone is not None and is_gone and may_be_done:
                    return call.when_gone()
                is_nothing_done = error.status == 429 or error.code in NOTHING_DONE
                may_repeat = error.retryable and (call.repeatable or is_nothing_done)
                pause += retry_after(reply.headers.get("retry-after"))
            else:
                assert isinstance(reply, NoAnswer)
                error = PumphouseError(reply.code, str(reply), retryable=True, attempts=attempt)
                is_nothing_done = not reply.is_sent
                may_repeat = call.repeatable or is_nothing_done
            is_over = time.monotonic() + pause + min(LEAST_ATTEMPT, limits.attempt_s) >= end
            if not may_repeat or attempt >= limits.tries or is_over:
                raise error
            may_be_done = may_be_done or not is_nothing_done
            if (yield min(pause, MAX_WAIT)):
                raise error

    def _result(self, call: "Call[T]", response: Response, place: str, attempts: int) -> T:
        try:
            return call.read(response)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            text = not_json_text(response.status, f"{call.method} {place}", response.body)
            raise PumphouseError(
                "invalid_response", text, status=response.status, attempts=attempts
            ) from error


def own_key_ttl_ms(limits: Limits, wait_ms: int) -> int:
    """How long a key counts that the client makes for one call: a minute longer than the call may last."""
    longest = wait_ms + (limits.within_s + limits.attempt_s) * 1000 + OWN_KEY_MARGIN_MS
    return math.ceil(min(max(longest, LEAST_OWN_KEY_TTL_MS), MAX_KEY_TTL_MS))


def pause_after(attempt: int) -> float:
    """The pause between an attempt and the next one, in seconds."""
    return min(MAX_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 10)) * random.uniform(0.5, 1)


class ThreadApi(Api):
    """Sends calls in the thread of the caller."""

    def __init__(self, server: Server, namespace: str, token: str, limits: Limits) -> None:
        super().__init__(server, namespace, token, limits)
        self.connections = Connections(server)

    def own_connections(self) -> Connections:
        """Connections for long polls, which can be hurried."""
        return Connections(self.server)

    def send(self, call: "Call[T]", connections: Optional[Connections] = None) -> T:
        """Sends a call, and waits for its result.

        Raises:
            PumphouseError: the server's refusal, or that there was no answer.
        """
        connections = connections or self.connections
        steps = self.steps(call)
        reply: Reply = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Attempt):
                try:
                    reply = connections.request(step)
                except NoAnswer as failure:
                    reply = failure
            else:
                reply = connections.hurried.wait(step)


def nothing(_response: Response) -> None:
    """Reads an answer whose body does not matter."""


def answer_of(response: Response) -> Any:
    """The JSON of an answer; None if it is empty."""
    return json.loads(response.body) if response.body else None


def refusal_of(response: Response, place: str, namespace: str, attempts: int) -> PumphouseError:
    try:
        problem = json.loads(response.body)
    except (ValueError, RecursionError):
        problem = None
    details: Dict[str, Any] = dict(problem) if isinstance(problem, dict) else {}
    said = details.pop("code", None)
    # A proxy may say a number.
    is_ours = isinstance(said, str)
    code = said if isinstance(said, str) else f"http_{response.status}"
    text = refusal_text(response, place, namespace, code if is_ours else None, details)
    details.pop("detail", None)
    details.pop("title", None)
    return PumphouseError(
        code,
        text,
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
    pairs = {name: query_value(name, value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(pairs, quote_via=quote)}" if pairs else ""


def query_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        with named("from_: " if name == "from" else f"{name}: "):
            return moment_text(value)
    return str(value) if isinstance(value, (str, int)) else ",".join(value)
