"""What the tests share."""

import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import Iterator, Tuple, Union

HERE = os.path.dirname(os.path.abspath(__file__))


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
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "..", "src"), HERE]), **variables}
    return subprocess.run(
        [sys.executable, "-B", "-c", code], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60
    )
