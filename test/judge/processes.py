"""Redis and the servers, each a process on a host of its own."""

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import hosts
import http_client

API_PORT = 7777
ADMIN_PORT = 7778
REDIS_PORT = 6379
#: Of the account `judge` of the admin port: it is not on loopback here.
PASSWORD = "password-of-the-judge"
CLOCK_SOURCE = Path(__file__).resolve().parent.parent / "support" / "stepped-clock.c"


def wait_until(what, check, within=120.0):
    """Waits for a result of check() that is true, and returns it."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {within} s")


class Process:
    """A program that can be killed, stopped and started again, with a wall clock of its own."""

    def __init__(self, host, folder):
        self.host = host
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.child = None
        self._offset = self.folder / "clock-offset"
        library = self.folder / "clock.so"
        built = shutil.which("cc") and subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CLOCK_SOURCE])
        self.has_clock = bool(built) and built.returncode == 0
        self._clock = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self._offset)} if self.has_clock else {}
        self.step_clock(0)

    def step_clock(self, seconds):
        """Sets its wall clock so many seconds ahead of this machine's."""
        self._offset.write_text(f"{seconds}\n")

    def spawn(self, command, env=None):
        with open(self.folder / "log", "ab") as log:
            self.child = subprocess.Popen(
                self.host.prefix() + command, env={**os.environ, **self._clock, **(env or {})}, stdout=log, stderr=log, cwd=self.folder
            )

    @property
    def pid(self):
        # `ip netns exec` becomes the program.
        return self.child.pid

    def kill(self):
        """Ends it by kill -9. Returns the signal that ended it."""
        self.child.send_signal(signal.SIGKILL)
        return -self.child.wait()

    def pause(self):
        self.child.send_signal(signal.SIGSTOP)

    def resume(self):
        self.child.send_signal(signal.SIGCONT)

    def state(self):
        """One letter of /proc: T = stopped by a signal."""
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    def end(self):
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()


class Redis(Process):
    """A Redis with AOF on a file system of its own, and with a clock that can be stepped. more: further arguments."""

    def __init__(self, host, folder, more=(), megabytes=512):
        super().__init__(host, folder)
        self.more = [*more]
        self.data = self.folder / "data"
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "judge", self.data], check=True)

    def start(self):
        self.launch()
        wait_until("Redis", self.is_up)

    def launch(self):
        """Starts it, and does not wait until it answers."""
        network = ["--bind", self.host.address, "--port", str(REDIS_PORT), "--protected-mode", "no"]
        # With `everysec`, a Redis that is killed during an fsync loses what it has answered since: this is documented.
        durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir", str(self.data)]
        self.spawn(["redis-server", *network, *durable, *self.more])

    def is_up(self):
        if self.child.poll() is not None:
            raise RuntimeError(f"{self.host.name} has ended: {(self.folder / 'log').read_text()[-2000:]}")
        try:
            return self.call("PING") == "PONG"
        except (OSError, RedisError):
            return False

    def info(self):
        """Section `replication` of INFO: {field: value}."""
        return dict(line.split(":", 1) for line in self.call("INFO", "replication").splitlines() if ":" in line)

    def clock(self):
        seconds, micros = self.call("TIME")
        return int(seconds) + int(micros) / 1e6

    def call(self, *words):
        """One command, on a connection of its own. Raises RedisError, or OSError."""
        return call_redis((self.host.address, REDIS_PORT), *words)


class RedisError(Exception):
    """An error reply."""


def call_redis(address, *words):
    with socket.create_connection(address, timeout=2) as connection:
        parts = [str(word).encode() for word in words]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in parts)
        connection.sendall(request)
        return read_reply(connection.makefile("rb"))


def read_reply(stream):
    line = stream.readline()
    if not line:
        raise ConnectionError("Redis has closed the connection")
    kind, rest = line[:1], line[1:].rstrip().decode()
    if kind == b"-":
        raise RedisError(rest)
    if kind == b"+":
        return rest
    if kind == b":":
        return int(rest)
    if int(rest) < 0:
        return None
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2].decode(errors="replace")
    return [read_reply(stream) for _ in range(int(rest))]


class Server(Process):
    """A Pumphouse server. tree: a folder with a build of it; settings: in the environment."""

    def __init__(self, host, folder, tree, settings):
        super().__init__(host, folder)
        self.tree = Path(tree)
        self.settings = settings
        self.address = (host.address, API_PORT)
        self.admin = (host.address, ADMIN_PORT)

    def start(self, wait=True):
        env = {
            "PUMPHOUSE_SERVER__HOST": self.host.address,
            "PUMPHOUSE_SERVER__PORT": str(API_PORT),
            "PUMPHOUSE_ADMIN__HOST": self.host.address,
            "PUMPHOUSE_ADMIN__PORT": str(ADMIN_PORT),
            "PUMPHOUSE_ADMIN__ACCOUNTS__JUDGE": PASSWORD,
            "PUMPHOUSE_DATA__DIR": str(self.folder / "data"),
            "PUMPHOUSE_HISTORY__ENABLED": "false",
            "PUMPHOUSE_PUSH__ENABLED": "true",
            "PUMPHOUSE_PUSH__ALLOW": f"{hosts.NETWORK}.0/24",
            "PUMPHOUSE_PUSH__ALLOW_HTTP": "true",
            **self.settings,
        }
        self.spawn(["node", str(self.tree / "dist" / "main.js")], env)
        if wait:
            wait_until(f"server {self.host.name}", self.is_ready)

    def is_ready(self):
        if self.child.poll() is not None:
            raise RuntimeError(f"server {self.host.name} has ended: {(self.folder / 'log').read_text()[-2000:]}")
        return http_client.Client(timeout=2.0).call(self.address, "GET", "/readyz").status == 200

    def make_token(self, namespace):
        account = base64.b64encode(f"judge:{PASSWORD}".encode()).decode()
        client = http_client.Client(headers={"Authorization": f"Basic {account}"})
        answer = client.call(self.admin, "POST", f"/token/{namespace}?description=judge")
        return answer.json()["token"]
