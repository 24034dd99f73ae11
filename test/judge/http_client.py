"""An HTTP client for the judge. It never repeats a call by itself, so each call has one outcome: an answer, or unknown."""

import http.client
import json
import socket
import time


class Answer:
    """One call as its caller saw it. Times are of the monotonic clock, in ns, which all processes of a machine share."""

    def __init__(self, began, ended, status, body):
        self.began = began
        self.ended = ended
        #: None: no answer arrived, and the call may have been carried out.
        self.status = status
        self.body = body

    @property
    def outcome(self):
        if self.status is None or self.status >= 500:
            return "unknown"
        return "ok" if self.status < 300 else "no"

    def json(self):
        return json.loads(self.body) if self.body else {}


class Client:
    """Keeps one connection to each server."""

    def __init__(self, token=None, timeout=5.0, headers=None):
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        if token is not None:
            self._headers["X-Token"] = token
        self._timeout = timeout
        self._connections = {}

    def call(self, address, method, path, body=None, timeout=None, raw=False):
        """Sends one request. address: (host, port)."""
        data = body if raw or body is None else json.dumps(body)
        began = time.monotonic_ns()
        try:
            connection = self._connections.get(address)
            if connection is None:
                connection = http.client.HTTPConnection(*address, timeout=self._timeout)
                connection.connect()
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections[address] = connection
            connection.sock.settimeout(timeout or self._timeout)
            connection.request(method, path, body=data, headers=self._headers)
            response = connection.getresponse()
            text = response.read()
            if response.will_close:
                self.drop(address)
            return Answer(began, time.monotonic_ns(), response.status, text)
        except (OSError, http.client.HTTPException, AttributeError):
            self.drop(address)
            return Answer(began, time.monotonic_ns(), None, b"")

    def drop(self, address):
        """Closes the connection to a server, also while an answer is on its way."""
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()
