"""What the tests share."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from pumphouse import Worker

HERE = os.path.dirname(os.path.abspath(__file__))


@contextmanager
def running(worker: Worker) -> Iterator[None]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def queue_name() -> str:
    """A queue that no other test has."""
    return f"q-{secrets.token_hex(6)}"


@contextmanager
def answering(*answers: Union[bytes, Tuple[bytes, ...]], port: int = 0) -> Iterator[str]:
    """A port that sends one of these, as they are, on each connection, in their order. Gives its URL.

    A tuple has the answers to the requests of a connection, which stays open. A port of 0 is any free one.
    """
    left = list(answers)
    with socket.create_server(("127.0.0.1", port)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection:
                try:
                    if not receive(connection) or not left:
                        return
                    texts = left.pop(0)
                    if isinstance(texts, bytes):
                        connection.sendall(texts)
                        return
                    connection.sendall(texts[0])
                    for text in texts[1:]:
                        if receive(connection):
                            connection.sendall(text)
                    connection.recv(1)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


class WorkerServer:
    """A server for a worker: it leases ``jobs`` and takes their outcomes. Any other call is answered with an empty object."""

    def __init__(self) -> None:
        #: Each is leased once; it has an id at least.
        self.jobs: List[Dict[str, Any]] = []
        #: The heartbeats of the session, each as it came.
        self.heartbeats: List[Any] = []
        #: Called for each; it may wait.
        self.on_heartbeat: Callable[[], object] = lambda: None
        #: Heartbeats of single jobs say that the lease is lost.
        self.is_lost = False
        #: Called for each path; it may wait.
        self.on_call: Callable[[str], object] = lambda _path: None

    @contextmanager
    def running(self) -> Iterator[str]:
        """Gives its URL."""
        own = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, answer = own.answer(self.path, json.loads(body) if body else {})
                text = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    self.close_connection = True  # The client waits no longer.

            do_GET = do_DELETE = do_POST

            def log_message(self, *_args: Any) -> None:
                pass

        with Server(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()

    def answer(self, path: str, body: Any) -> Tuple[int, Any]:
        self.on_call(path)
        if path.endswith("/leases"):
            leased, self.jobs = self.jobs[: body["count"]], self.jobs[body["count"] :]
            return 200, {"jobs": [{**LEASED, **job} for job in leased]}
        if path.endswith("/heartbeat") and "/workers/" in path:
            self.heartbeats.append(body)
            self.on_heartbeat()
            extended = {"status": "extended", "cancel_requested": False}
            return 200, {"jobs": [extended] * len(body["leases"]), "quiet": False, "stop": False}
        if path.endswith("/heartbeat"):
            return (409, {"code": "lease_lost"}) if self.is_lost else (200, {"cancel_requested": False})
        if path.endswith("/acks"):
            return 200, {"results": [{"status": "acked"}] * len(body["acks"])}
        return 200, {}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 300

    def handle_error(self, _request: Any, _address: Any) -> None:
        """A client may close its connections as it wants."""


#: What each leased job has.
LEASED = {
    **{"queue": "q", "lease": 1, "type": None, "tags": [], "attributes": None, "priority": 0, "tries": 5},
    **{"tries_left": 4, "attempts": 1, "crashes": 0, "failures": 0, "published_at": None, "expires_at": None},
    **{"progress": None, "content_type": "application/json", "data": None},
}


class Silenced:
    """Passes connections on to a server. After ``mute`` it swallows what comes on those that it has, and passes new ones on."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._count = 0
        self._muted = 0

    def mute(self) -> None:
        self._muted = self._count

    @contextmanager
    def running(self) -> Iterator[str]:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve() -> None:
                while True:
                    try:
                        client, _ = listener.accept()
                    except OSError:
                        return
                    self._count += 1
                    behind = socket.create_connection(("127.0.0.1", self._port))
                    threading.Thread(target=self._pass, args=(client, behind, self._count), daemon=True).start()
                    threading.Thread(target=self._pass, args=(behind, client, None), daemon=True).start()

            threading.Thread(target=serve, daemon=True).start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            listener.shutdown(socket.SHUT_RDWR)

    def _pass(self, source: socket.socket, target: socket.socket, number: Optional[int]) -> None:
        try:
            while True:
                data = source.recv(65_536)
                if not data:
                    break
                if number is None or number > self._muted:
                    target.sendall(data)
        except OSError:
            pass
        target.close()


def until(condition: Callable[[], Any], seconds: float = 30) -> None:
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it has not come")
        time.sleep(0.01)


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def receive(connection: socket.socket) -> bool:
    """One request; False: there is none any more."""
    data = b""
    while True:
        more = connection.recv(65_536)
        data += more
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: ([0-9]+)", head, re.IGNORECASE)
        if not more or (end and len(body) >= int(length.group(1) if length else 0)):
            return bool(more)


def http_answer(status: int, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Reason", f"content-length: {len(body.encode())}", *headers, "", body]
    return "\r\n".join(lines).encode()


def run_program(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program that uses the package, and has its output."""
    env = environment(variables)
    return subprocess.run(
        [sys.executable, "-B", "-c", code], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60
    )


def start_program(code: str, **variables: str) -> "subprocess.Popen[str]":
    """Starts a program that uses the package."""
    env = environment(variables)
    return subprocess.Popen([sys.executable, "-B", "-c", code], env=env, text=True, stdout=subprocess.PIPE)


def environment(variables: Dict[str, str]) -> Dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "..", "src"), HERE]), **variables}
