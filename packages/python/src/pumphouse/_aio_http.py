"""Sends the calls of ``_http`` in an event loop of asyncio."""

import asyncio
import re
import socket
from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected
from typing import Dict, List, Optional, Tuple

from ._http import MAX_WAIT, Api, Attempt, Call, Idle, Limits, NoAnswer, Reply, Response, Server, T
from ._texts import broken_text, no_answer_text, no_connection_text

# Longest head of an answer, in bytes.
MAX_HEAD = 65_536
STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: |$)")
END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class AnswerReader:
    """Makes one answer of the bytes that come from a server (HTTP/1.1)."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._head: Optional[Tuple[int, Dict[str, str]]] = None
        self._chunks: List[bytes] = []
        #: How its end is found: "length", "chunks", or "close" of the connection.
        self._ends_by = "length"
        self._length = 0
        #: False: the connection takes no further request.
        self.is_reusable = False
        self.response: Optional[Response] = None

    def feed(self, data: bytes) -> None:
        """Takes what has come. ``response`` is the answer when it is whole.

        Raises:
            HTTPException: it is no answer of HTTP/1.
        """
        if self.response is not None:
            self.is_reusable = False  # Nothing has asked for this.
            return
        self._data += data
        while self._head is None:
            if not self._read_head():
                return
        if self._ends_by == "chunks":
            self._read_chunks()
        elif self._ends_by == "length" and len(self._data) >= self._length:
            self._end(bytes(self._data[: self._length]), self._length)

    def feed_end(self) -> None:
        """The server has closed the connection.

        Raises:
            HTTPException: the answer is not whole.
        """
        self.is_reusable = False
        if self.response is not None:
            return
        if self._head is None and not self._data:
            raise RemoteDisconnected("no answer")
        if self._head is None or self._ends_by != "close":
            raise IncompleteRead(bytes(self._data))
        self._end(bytes(self._data), len(self._data))

    def _read_head(self) -> bool:
        """False: it is not whole yet. What precedes the head of the answer, as 100 Continue, is skipped."""
        end = END_OF_HEAD.search(self._data)
        if end is None:
            if len(self._data) > MAX_HEAD or not b"HTTP/1.".startswith(bytes(self._data[:7])):
                raise BadStatusLine(repr(bytes(self._data[:40])))
            return False
        first, *lines = bytes(self._data[: end.start()]).split(b"\n")
        del self._data[: end.end()]
        match = STATUS_LINE.match(first.rstrip(b"\r"))
        if match is None:
            raise BadStatusLine(repr(first[:40]))
        status = int(match.group(2))
        if status < 200 and status != 101:
            return True
        headers: Dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode("latin-1").partition(":")
            name, value = name.strip().lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self._head = (status, headers)
        self._find_end(status, headers, match.group(1) == b"0")
        return True

    def _find_end(self, status: int, headers: Dict[str, str], is_old: bool) -> None:
        connection = headers.get("connection", "").lower()
        self.is_reusable = "keep-alive" in connection if is_old else "close" not in connection
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if status in (204, 304):
            self._length = 0
        elif coding is not None:
            self._ends_by = "chunks" if coding.lower().endswith("chunked") else "close"
        elif length is None:
            self._ends_by = "close"
        elif re.fullmatch("[0-9]{1,15}", length):
            self._length = int(length)
        else:
            raise HTTPException(f"Content-Length is {length[:40]!r}")
        if self._ends_by == "close":
            self.is_reusable = False

    def _read_chunks(self) -> None:
        while True:
            end = self._data.find(b"\r\n")
            if end < 0:
                return
            size = re.fullmatch(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?", bytes(self._data[:end]))
            if size is None:
                raise HTTPException("the size of a chunk is no number")
            length = int(size.group(1), 16)
            if length == 0:
                self._read_trailers(end)
                return
            if len(self._data) < end + 2 + length + 2:
                return
            self._chunks.append(bytes(self._data[end + 2 : end + 2 + length]))
            del self._data[: end + 2 + length + 2]

    def _read_trailers(self, at: int) -> None:
        end = self._data.find(b"\r\n\r\n", at)
        if end >= 0:
            self._end(b"".join(self._chunks), end + 4)

    def _end(self, body: bytes, length: int) -> None:
        assert self._head is not None
        self.response = Response(*self._head, body)
        # guard: python-aio-drops-unasked-answers
        if len(self._data) > length:
            self.is_reusable = False


class LoopConnection(asyncio.Protocol):
    """A connection to a server; one request at a time."""

    def __init__(self) -> None:
        self._transport: Optional[asyncio.Transport] = None
        self._reader: Optional[AnswerReader] = None
        self._answer: "Optional[asyncio.Future[Response]]" = None
        self._is_closed = False

    @property
    def is_usable(self) -> bool:
        return not self._is_closed and self._answer is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._reader is None or self._answer is None:
            self.close()  # No request has asked for it.
            return
        try:
            self._reader.feed(data)
        except HTTPException as error:
            self._fail(error)
        else:
            self._settle()

    def eof_received(self) -> None:
        self._feed_end()

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._is_closed = True
        if error is None:
            self._feed_end()
        else:
            self._fail(error)

    async def exchange(self, data: bytes, timeout: float) -> Response:
        """Sends a request, and waits for its answer.

        Raises:
            socket.timeout: it did not come within ``timeout`` seconds.
            OSError, HTTPException: the connection has ended, or what came is no answer.
        """
        if self._transport is None or self._is_closed:
            raise RemoteDisconnected("closed")
        loop = asyncio.get_running_loop()
        self._reader, self._answer = AnswerReader(), loop.create_future()
        timer = loop.call_later(timeout, self._fail, socket.timeout())
        is_kept = False
        try:
            self._transport.write(data)
            response = await self._answer
            is_kept = self._reader.is_reusable
            return response
        finally:
            timer.cancel()
            self._reader = self._answer = None
            if not is_kept:
                self.close()

    def close(self) -> None:
        """Ends it at once."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    def _feed_end(self) -> None:
        self._is_closed = True
        if self._reader is None:
            return
        try:
            self._reader.feed_end()
        except HTTPException as error:
            self._fail(error)
        else:
            self._settle()

    def _settle(self) -> None:
        assert self._reader is not None
        answer, response = self._answer, self._reader.response
        if response is not None and answer is not None and not answer.done():
            answer.set_result(response)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class LoopConnections:
    """Connections of the running event loop to one server, which stay open."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._idle: Idle[LoopConnection] = Idle()

    async def request(self, attempt: Attempt) -> Response:
        """Sends a request once."""
        timeout = min(attempt.timeout, MAX_WAIT)
        connection, is_reused = await self._take(timeout)
        url = self._server.origin + self._server.path + attempt.path
        try:
            response = await connection.exchange(self._bytes_of(attempt), timeout)
        except socket.timeout as error:
            # guard: python-aio-drops-dead-connections
            if is_reused:
                self.close()  # The host may have gone away without a word, and with it the other connections.
            raise NoAnswer("timeout", no_answer_text(attempt.method, url, timeout), True) from error
        except (OSError, HTTPException) as error:
            raise NoAnswer("network", broken_text(attempt.method, url, error, attempt.size), True) from error
        if connection.is_usable:
            self._idle.add(connection)
        self._close_old()
        return response

    def close(self) -> None:
        """Closes idle connections."""
        for connection in self._idle.take_all():
            connection.close()

    def _close_old(self) -> None:
        for connection in self._idle.take_old():
            connection.close()

    async def _take(self, timeout: float) -> Tuple[LoopConnection, bool]:
        """A connection, and whether it was open before."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # Connections of another loop, which has ended, or of the process before a fork.
            self._loop, self._idle = loop, Idle()
        self._close_old()
        connection = self._idle.take()
        while connection is not None:
            if connection.is_usable:
                return connection, True
            connection = self._idle.take()
        server = self._server
        port = server.port or (80 if server.tls is None else 443)
        made = loop.create_task(loop.create_connection(LoopConnection, server.host, port, ssl=server.tls))
        try:
            await asyncio.wait({made}, timeout=timeout)
            if not made.done():
                raise socket.timeout
            return made.result()[1], False
        except OSError as error:
            code = "timeout" if isinstance(error, socket.timeout) else "network"
            raise NoAnswer(code, no_connection_text(server.origin, error, timeout), False) from error
        except asyncio.CancelledError:
            if made.done() and not made.cancelled() and made.exception() is None:
                made.result()[1].close()
            raise
        finally:
            made.cancel()

    def _bytes_of(self, attempt: Attempt) -> bytes:
        server, body = self._server, attempt.body
        host = f"[{server.host}]" if ":" in server.host else server.host
        headers = {"host": host if server.port is None else f"{host}:{server.port}", **attempt.headers}
        if body is not None or attempt.method in ("POST", "PUT", "PATCH"):
            headers["content-length"] = str(len(body or b""))
        lines = [f"{attempt.method} {server.path}{attempt.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


class LoopApi(Api):
    """Sends calls in the running event loop."""

    def __init__(self, server: Server, namespace: str, token: str, limits: Limits) -> None:
        super().__init__(server, namespace, token, limits)
        self.connections = LoopConnections(server)

    @classmethod
    def like(cls, api: Api) -> "LoopApi":
        return cls(api.server, api.namespace, api.token, api.limits)

    async def send(self, call: "Call[T]") -> T:
        """Sends a call, and waits for its result.

        Raises:
            PumphouseError: the server's refusal, or that there was no answer.
        """
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
                    reply = await self.connections.request(step)
                except NoAnswer as failure:
                    reply = failure
            else:
                await asyncio.sleep(step)
                reply = False
