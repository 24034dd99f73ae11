"""How a worker keeps its leases and settles its jobs, with a server that does what the test wants."""

import signal
import threading
import time
import unittest
from typing import Any, Callable, List, Sequence
from unittest import mock

from pumphouse import Job, JobContext, Pumphouse, PumphouseError, Worker
from pumphouse import worker as worker_module

from support import WorkerServer, run_program, running, start_program, until


class Heartbeats(unittest.TestCase):
    """Heartbeats of a worker."""

    def test_reach_a_job_beside_a_handler_that_ignores_its_end(self) -> None:
        server, began = WorkerServer(), time.monotonic()
        server.on_heartbeat = lambda: time.sleep(1.3 if time.monotonic() - began < 1.3 else 0.1)
        server.jobs = [{"id": "first"}]
        over, causes = threading.Event(), {}
        with server.running() as url:
            worker = Worker(Pumphouse(url), ["q"], ttr_ms=1_500, wait_ms=1)

            @worker.handle()
            def handle(job: Job, context: JobContext) -> None:
                context.wait(30 if job.id == "first" else 4)
                causes[job.id] = context.cause and context.cause.code
                if job.id == "first":
                    over.wait(30)

            with running(worker):
                until(lambda: "first" in causes)
                server.jobs = [{"id": "second"}]
                until(lambda: "second" in causes)
                over.set()
        self.assertEqual(causes, {"first": "lease_unconfirmed", "second": None})

    def test_that_hang_delay_no_end_of_a_run(self) -> None:
        server, over = WorkerServer(), threading.Event()
        server.on_heartbeat = lambda: over.wait(30)
        server.jobs = [{"id": "a", "max_run_ms": 300}]
        causes: List[Any] = []
        with server.running() as url:
            worker = Worker(Pumphouse(url), ["q"], wait_ms=1)

            @worker.handle()
            def handle(_job: Job, context: JobContext) -> None:
                context.wait(5)
                causes.append(context.cause and context.cause.code)

            with running(worker):
                until(lambda: causes)
                over.set()
        self.assertEqual(causes, ["max_run_exceeded"])


class Acks(unittest.TestCase):
    """Acknowledgements of a worker."""

    def add_together(self, send: Callable[[Sequence[str]], List[str]], count: int) -> List[str]:
        """What became of so many acknowledgements of one moment."""
        batcher = worker_module.AckBatcher(send, lambda: False)
        statuses: List[str] = []
        add = lambda: statuses.append(batcher.add("{}"))
        threads = [threading.Thread(target=add) for _ in range(count)]
        with mock.patch.object(worker_module, "BATCH", 1):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return statuses

    def test_go_together_up_to_a_hundred(self) -> None:
        counts: List[int] = []

        def send(texts: Sequence[str]) -> List[str]:
            counts.append(len(texts))
            return ["acked"] * len(texts)

        self.assertEqual(self.add_together(send, 250), ["acked"] * 250)
        self.assertEqual(sorted(counts), [50, 100, 100])

    def test_that_were_refused_together_are_sent_at_once_and_each_by_itself(self) -> None:
        all_are_there = threading.Barrier(20)

        def send(texts: Sequence[str]) -> List[str]:
            if len(texts) > 1:
                raise PumphouseError("invalid_argument", "one is wrong", status=400)
            all_are_there.wait(20)
            return ["acked"]

        self.assertEqual(self.add_together(send, 20), ["acked"] * 20)


class Machines(unittest.TestCase):
    """A worker on a machine that lacks something."""

    def test_tries_to_lease_again(self) -> None:
        worker = Worker(Pumphouse(), ["q"])
        worker.handle()(lambda _job, _context: None)
        worker._prepare()
        with mock.patch.object(worker, "_send", side_effect=OSError(24, "Too many open files")):
            with self.assertLogs("pumphouse", "WARNING") as logs:
                self.assertIsNone(worker._lease(1))
        self.assertRegex(logs.output[0], "leasing jobs failed; trying again: .*Too many open files")

    FULL = """
import os, resource
from pumphouse import NewJob, Pumphouse
client = Pumphouse(os.environ["FAKE"])
client.call("GET", "first")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = []
try:
    while True:
        files.append(open(os.devnull))
except OSError:
    pass
print(client.call("GET", "second"))
"""

    def test_needs_no_file_to_use_a_connection_again(self) -> None:
        with WorkerServer().running() as url:
            done = run_program(self.FULL, FAKE=url)
        self.assertEqual((done.stdout, done.stderr), ("{}\n", ""))


class Standstills(unittest.TestCase):
    """A process that stands still while a lease is on its way."""

    THREADS = """
import os
from pumphouse import Pumphouse, Worker
worker = Worker(Pumphouse(os.environ["FAKE"]), ["q"], ttr_ms=1_000)
worker.handle()(lambda _job, _context: print("begun", flush=True))
worker.run()
"""
    ASYNCIO = """
import asyncio, os
from pumphouse import aio
async def main():
    worker = aio.Worker(aio.Pumphouse(os.environ["FAKE"]), ["q"], ttr_ms=1_000)
    @worker.handle()
    async def handle(_job, _context):
        print("begun", flush=True)
    await worker.run()
asyncio.run(main())
"""

    def output_of(self, code: str, is_lost: bool) -> str:
        server, arrived, leased = WorkerServer(), threading.Event(), threading.Event()

        def on_call(path: str) -> None:
            if path.endswith("/leases"):
                arrived.set()
                leased.wait(30)

        server.on_call, server.is_lost, server.jobs = on_call, is_lost, [{"id": "a"}]
        with server.running() as url, start_program(code, FAKE=url) as program:
            arrived.wait(30)
            program.send_signal(signal.SIGSTOP)
            time.sleep(0.2)  # The last of its threads stands still a moment later.
            leased.set()
            time.sleep(1.5)
            program.send_signal(signal.SIGCONT)
            time.sleep(1.5)
            program.kill()
            return program.communicate()[0]

    def test_begins_no_handler_if_the_lease_was_lost(self) -> None:
        for code in (self.THREADS, self.ASYNCIO):
            self.assertEqual([self.output_of(code, True), self.output_of(code, False)], ["", "begun\n"])


class Forks(unittest.TestCase):
    """Workers that were made before a fork."""

    PROGRAM = """
import os, threading
from pumphouse import Pumphouse, Worker
worker = Worker(Pumphouse(os.environ["FAKE"]), ["q"], wait_ms=1, name="mail worker")
worker.handle()(lambda _job, _context: None)
children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        threading.Timer(0.5, worker.stop).start()
        worker.run()
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print(os.getpid(), worker.id)
"""

    def test_have_sessions_of_their_own(self) -> None:
        server = WorkerServer()
        paths: List[str] = []
        server.on_call = paths.append
        with server.running() as url:
            done = run_program(self.PROGRAM, FAKE=url)
        self.assertEqual(done.stderr, "")
        parent, made = done.stdout.split()
        sessions = {made, *(path.split("/")[-2] for path in paths if path.endswith("/heartbeat"))}
        pids = {str(one["info"]["pid"]) for one in server.heartbeats}
        self.assertEqual(len(sessions), 3, sessions)
        self.assertEqual(len(pids - {parent}), 2, pids)
        self.assertTrue(all(session.startswith("mail-worker-") for session in sessions), sessions)


if __name__ == "__main__":
    unittest.main()
