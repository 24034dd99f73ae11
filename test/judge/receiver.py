"""An endpoint that queues are pushed to. It writes what it got, and how it answered.

    python3 receiver.py HOST PORT HISTORY
"""

import json
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from history import Writer
from http_client import Answer

#: How many of 100 requests are answered with 500, and how many are not answered in time.
FAILED, HUNG = 6, 2
#: How long one that is not answered takes, in s: longer than `timeout_ms` of the target.
HANG_S = 3.0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        began = time.monotonic_ns()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chance = random.random() * 100
        if chance < HUNG:
            time.sleep(HANG_S)
        status = 500 if HUNG <= chance < HUNG + FAILED else 200
        # Before the answer: a server that has it may end the job at once.
        with self.server.lock:
            seen = Answer(began, time.monotonic_ns(), status, b"")
            self.server.history.write("push", seen, id=self.headers["webhook-id"], body=body, hung=chance < HUNG)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, file):
        super().__init__(address, Handler)
        self.lock = Lock()
        self.history = Writer(file, "receiver", is_flushed=True)

    def handle_error(self, *_):
        """A connection that was cut is no error here."""


if __name__ == "__main__":
    Server((sys.argv[1], int(sys.argv[2])), sys.argv[3]).serve_forever()
