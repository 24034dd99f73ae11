"""Producers and workers. Each is a process with some threads, and writes what it did and saw into a history of its own."""

import base64
import json
import random
import socket
import threading
import time
from multiprocessing import Event, Process

from hosts import NETWORK
from http_client import Answer, Client
from history import Writer

NAMESPACE = "judged"
#: Where the receiver of pushes listens.
RECEIVER = (f"{NETWORK}.31", 8080)
#: So many leases of the queue `limited` may run at once.
MAX_RUNNING = 4
KEYS = 8
PARTS = 5
TTR_MS = 3_000
#: This share of the jobs that were leased before takes up to so many seconds, which is less than a lease.
AGAIN_SLOWLY, MOST_SLOW_S = 0.6, 1.0
#: Of a client that hangs up: no client has such a lease, and it must not last.
HANG_UP_TTR_MS = 600_000
#: Statuses of a batch of acks: the job has ended.
ENDED = ("acked",)
#: Jobs of one call, and how many calls of a producer publish so many, in a run with many jobs.
BULK, SHARE_OF_BULK = 100, 0.5
#: So many jobs of a thread are in a strict order, or parts of a batch.
FEW = 5_000
#: How long one try of a call may take, in s.
PATIENCE_S = 3.0
#: Queues with how many of 100 jobs go there. `strict` and `parts` are published by threads of their own.
SHARES = {"plain": 26, "sure": 20, "wire": 14, "delayed": 14, "limited": 8, "dying": 8, "pushed": 6, "hung-up": 4}
SETTINGS = {"strict": {"order": "strict"}, "limited": {"max_running": MAX_RUNNING}, "pushed": {"push": {"target": "receiver"}}}
CRON_QUEUE = "cron"
QUEUES = [*SHARES, "strict", "parts", "callback", "bulky", CRON_QUEUE]
#: Workers leave these alone until the end: they are for clients that hang up, each of which finds jobs at once.
SPARED = ("hung-up", "bulky")
#: So many jobs of a producer have a payload of so many bytes. One is more than the system of a server takes for a client that does not read.
BULKY, BULKY_BYTES = 100, 60_000
#: Workers lease from these: the others are pushed, or leased by lmstfy's API.
LEASED = [queue for queue in QUEUES if queue not in ("wire", "pushed", *SPARED)]
#: Jobs of these queues have few tries; all others as many as a long run may need.
TRIES = {"dying": 2, "hung-up": 1, "bulky": 1}
MANY_TRIES = 1_000


def set_up(address, token):
    """Settings of queues, a target of pushes, and a recurring job with a slot each second."""
    client = Client(token)
    target = {"url": f"http://{RECEIVER[0]}:{RECEIVER[1]}/", "timeout_ms": 2_000, "breaker": {"failures": 100, "open_ms": 1_000}}
    expect(client.call(address, "PUT", f"/v1/{NAMESPACE}/targets/receiver", target))
    for queue, settings in SETTINGS.items():
        expect(client.call(address, "PATCH", f"/v1/{NAMESPACE}/queues/{queue}", settings))
    schedule = {"schedule": {"cron": "* * * * * *", "tz": "UTC"}, "max_catch_up": 1_000}
    job = {"job": {"queue": CRON_QUEUE, "data": "slot", "tries": MANY_TRIES}}
    expect(client.call(address, "PUT", f"/v1/{NAMESPACE}/recurring/tick", {**schedule, **job}))


def stop_cron(address, token):
    return Client(token).call(address, "POST", f"/v1/{NAMESPACE}/recurring/tick/pause").outcome == "ok"


def expect(answer):
    if answer.outcome != "ok":
        raise RuntimeError(f"status {answer.status}: {answer.body.decode()}")
    return answer.json()


class Run:
    """What all processes of a run share."""

    def __init__(self, folder, addresses, token, seed, is_bulk=False):
        #: Most jobs are published, leased and acknowledged many at a time.
        self.is_bulk = is_bulk
        self.folder = folder
        self.addresses = addresses
        self.token = token
        self.seed = seed
        #: Set: workers acknowledge whatever they get, so that the queues get empty.
        self.drains = Event()
        self.ends = Event()
        #: Set while no fault is under way, nor about to begin: then a server can undo whatever a client left.
        self.is_calm = Event()
        #: Set: the server refused a call as malformed.
        self.has_mistake = Event()

    def producers(self, jobs, processes=2, threads=4):
        """Processes that publish so many jobs in all, and end."""
        each = jobs // (processes * threads)
        return [self.spawn(f"p{i}", threads, lambda *of: Producer(*of).publish(each)) for i in range(processes)]

    def workers(self, processes=3, threads=8):
        """Processes that work until the run ends."""
        return [self.spawn(f"w{i}", threads, lambda *of: Worker(*of).work()) for i in range(processes)]

    def spawn(self, name, threads, act):
        process = Process(target=self.in_threads, args=(name, threads, act), daemon=True)
        process.start()
        return process

    def in_threads(self, name, threads, act):
        running = [threading.Thread(target=act, args=(self, f"{name}-{i}", i)) for i in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()


class Caller:
    """A thread that calls any of the servers."""

    def __init__(self, run, who, number):
        self.run = run
        self.who = who
        self.number = number
        self.random = random.Random(f"{run.seed} {who}")
        self.client = Client(run.token, PATIENCE_S)
        self.history = Writer(f"{run.folder}/{who}.jsonl", who)

    def call(self, method, path, body=None, timeout=None, raw=False):
        answer = self.client.call(self.random.choice(self.run.addresses), method, path, body, timeout, raw)
        if answer.status in (400, 401, 405, 413, 422, 429):
            # A mistake of the judge: a run with such calls proves nothing.
            if not self.run.has_mistake.is_set():
                print(f"{self.who}: {method} {path}: {answer.status} {answer.body.decode()}", flush=True)
            self.run.has_mistake.set()
        return answer

    def native(self, method, path, body=None, timeout=None):
        return self.call(method, f"/v1/{NAMESPACE}/{path}", body, timeout)


class Producer(Caller):
    def publish(self, jobs):
        """One thread of each process publishes jobs of `strict`, and one those of `parts`."""
        n = 0
        while n < jobs:
            if self.number == 0 and n < FEW:
                self.sure(n, "strict", {"concurrency_key": f"{self.who}-{n % (KEYS // 2)}"})
            elif self.number == 1 and n < FEW:
                self.batch(n)
            elif self.number == 3 and n < BULKY:
                self.sure(n, "bulky", {})
            elif self.run.is_bulk and self.random.random() < SHARE_OF_BULK:
                n += self.many(n, min(BULK, jobs - n))
                continue
            else:
                self.any(n)
            n += 1
        self.history.close()

    def any(self, n):
        [queue] = self.random.choices(list(SHARES), SHARES.values())
        if queue == "wire":
            self.wire(n)
        elif queue in ("plain", "hung-up"):
            self.once(n, queue, {})
        elif queue == "delayed":
            publish = self.random.choice([self.once, self.sure])
            publish(n, queue, {"delay_ms": self.random.randint(1, 3_000)})
        else:
            self.sure(n, queue, {})

    def batch(self, n):
        """PARTS jobs, and one that runs when all of them have ended."""
        at = n % (PARTS + 1)
        ids = [f"{self.who}-{n - at + i}" for i in range(PARTS)]
        if at < PARTS:
            self.sure(n, "parts", {})
        else:
            self.sure(n, "callback", {"depends_on": ids})

    def fields(self, n, queue, more):
        data = {"p": self.who, "n": n, **({"more": "x" * BULKY_BYTES} if queue == "bulky" else {})}
        return {"queue": queue, "data": data, "tries": TRIES.get(queue, MANY_TRIES), **more}

    def note(self, answer, n, queue, identity, attempt, more):
        about = {"n": n, "queue": queue, "id": identity, "attempt": attempt, "tries": TRIES.get(queue, MANY_TRIES)}
        kept = {"key": more.get("concurrency_key"), "delay_ms": more.get("delay_ms", 0), "parts": more.get("depends_on")}
        self.history.write("publish", answer, **about, **kept)

    def once(self, n, queue, more):
        """An unknown outcome stays unknown."""
        answer = self.native("POST", "jobs", self.fields(n, queue, more))
        self.note(answer, n, queue, answer.json().get("id") if answer.outcome == "ok" else None, 1, more)

    def many(self, n, count):
        """One call. An unknown outcome stays unknown."""
        answer = self.native("POST", "jobs", {"jobs": [self.fields(n + i, "plain", {}) for i in range(count)]})
        stored = answer.json()["jobs"] if answer.outcome == "ok" else [{}] * count
        for i, job in enumerate(stored):
            self.note(answer, n + i, "plain", job.get("id"), 1, {})
        return count

    def sure(self, n, queue, more):
        """The job has an id of its producer, and is sent until it is there."""
        identity, attempt = f"{self.who}-{n}", 0
        while True:
            attempt += 1
            answer = self.native("PUT", f"jobs/{identity}", self.fields(n, queue, more))
            self.note(answer, n, queue, identity, attempt, more)
            if answer.outcome != "unknown":
                return
            time.sleep(0.05)

    def wire(self, n):
        """A call of lmstfy's API."""
        body = json.dumps({"p": self.who, "n": n})
        delay_s = self.random.choice([0, 0, 1, 2])
        path = f"/api/{NAMESPACE}/wire?ttl=0&tries={MANY_TRIES}&delay={delay_s}"
        answer = self.call("PUT", path, body, raw=True)
        identity = answer.json().get("job_id") if answer.outcome == "ok" else None
        self.note(answer, n, "wire", identity, 1, {"delay_ms": delay_s * 1_000})


class Worker(Caller):
    def work(self):
        while not self.run.ends.is_set():
            kind = self.random.random()
            if kind < 0.12:
                self.lease_wire()
            elif kind < 0.15 and not self.run.drains.is_set():
                self.hang_up()
            elif kind < 0.17 and self.run.is_calm.is_set():
                self.leave_unread()
            else:
                self.lease()
        self.history.close()

    def lease(self):
        names = [*LEASED, *(SPARED if self.run.drains.is_set() else [])]
        queues = self.random.sample(names, len(names))
        most = BULK if self.run.is_bulk else 5
        count = 1 if self.random.random() < 0.7 else self.random.randint(2, most)
        request = {"queues": queues, "ttr_ms": TTR_MS, "wait_ms": 300, "count": count}
        answer = self.native("POST", "leases", request)
        jobs = answer.json()["jobs"] if answer.outcome == "ok" else []
        leased = [kept_of(job) for job in jobs]
        self.history.write("lease", answer, queues=queues, ttr_ms=TTR_MS, jobs=leased)
        if answer.outcome == "unknown":
            time.sleep(0.05)
        if len(leased) > 5 or len(leased) > 1 and self.random.random() < 0.5:
            self.ack_together(leased)
        else:
            for job in leased:
                self.handle(job)

    def ack_together(self, jobs):
        """One call; each job has a status of its own."""
        acks = [{name: job[name] for name in ("queue", "id", "lease")} for job in jobs]
        answer = self.native("POST", "acks", {"acks": acks})
        results = answer.json()["results"] if answer.outcome == "ok" else [None] * len(jobs)
        for job, result in zip(jobs, results):
            own = Answer(answer.began, answer.ended, answer.status, b"")
            if result is not None and result["status"] not in ENDED:
                own.status = 409
            self.history.write("settle", own, how="ack", id=job["id"], lease=job["lease"])

    def lease_wire(self):
        """By lmstfy's API, where a lease has no number."""
        path = f"/api/{NAMESPACE}/wire?ttr={TTR_MS // 1_000}&timeout={self.random.randint(0, 1)}"
        answer = self.call("GET", path)
        leased = []
        if answer.outcome == "ok":
            found = answer.json()
            body = json.loads(base64.b64decode(found["data"]))
            leased = [{"id": found["job_id"], "lease": None, "queue": "wire", "body": body, "published_at": None}]
        self.history.write("lease", answer, queues=["wire"], ttr_ms=TTR_MS, jobs=leased)
        for job in leased:
            if self.random.random() < 0.05 and not self.run.drains.is_set():
                continue
            answer = self.call("DELETE", f"/api/{NAMESPACE}/wire/job/{job['id']}")
            self.history.write("settle", answer, how="ack", id=job["id"], lease=None)

    def hang_up(self):
        """A client that waits for a job, and is gone before its answer: no client has that lease, and it must not last."""
        client = Client(self.run.token)
        address = self.random.choice(self.run.addresses)
        request = {"queues": ["hung-up"], "ttr_ms": HANG_UP_TTR_MS, "wait_ms": 5_000}
        # About as long as an answer takes.
        patience = self.random.uniform(0.001, 0.02)
        answer = client.call(address, "POST", f"/v1/{NAMESPACE}/leases", request, timeout=patience)
        client.drop(address)
        jobs = answer.json().get("jobs", []) if answer.outcome == "ok" else []
        for job in jobs:
            # The answer was faster: now this client has it.
            known = kept_of(job)
            self.history.write("lease", answer, queues=["hung-up"], ttr_ms=HANG_UP_TTR_MS, jobs=[known])
            self.settle(known, "ack")
        if not jobs:
            self.history.write("lease", answer, queues=["hung-up"], ttr_ms=HANG_UP_TTR_MS, jobs=[])

    def leave_unread(self):
        """A client that does not read a large answer, and closes its connection: it has none of these jobs."""
        host, port = self.random.choice(self.run.addresses)
        body = json.dumps({"queues": ["bulky"], "ttr_ms": HANG_UP_TTR_MS, "count": BULKY})
        head = f"POST /v1/{NAMESPACE}/leases HTTP/1.1\r\nHost: {host}\r\nX-Token: {self.run.token}\r\nContent-Length: {len(body)}\r\n"
        began = time.monotonic_ns()
        try:
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                connection.settimeout(PATIENCE_S)
                connection.connect((host, port))
                connection.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
                time.sleep(self.random.uniform(0.05, 0.3))
        except OSError:
            pass
        gone = Answer(began, time.monotonic_ns(), None, b"")
        self.history.write("lease", gone, queues=["bulky"], ttr_ms=HANG_UP_TTR_MS, jobs=[])

    def handle(self, job):
        chance = 1.0 if self.run.drains.is_set() else self.random.random()
        queue = job["queue"]
        time.sleep(self.random.uniform(0, 0.004))
        if job["attempts"] > 1 and queue not in SPARED and self.random.random() < AGAIN_SLOWLY:
            # The holder before may have stalled: its late call must find this lease, and not the end of the job.
            time.sleep(self.random.uniform(0, MOST_SLOW_S))
        if queue == "dying" and chance < 0.5:
            self.settle(job, "fail") if chance < 0.1 else self.settle(job, "retry", delay_ms=100)
        elif queue in SPARED:
            self.settle(job, "ack")
        elif chance < 0.03:
            return  # The lease expires.
        elif chance < 0.045:
            # A worker that stalls: another one may have the job by now.
            time.sleep(TTR_MS / 1_000 + self.random.uniform(-0.2, 0.5))
            self.settle(job, "ack")
        elif chance < 0.07:
            self.settle(job, "release", delay_ms=self.random.choice([0, 200]))
        elif chance < 0.1:
            self.settle(job, "retry", delay_ms=self.random.choice([0, 300]))
        elif chance < 0.13:
            answer = self.native("POST", f"jobs/{job['id']}/heartbeat", {"lease": job["lease"], "ttr_ms": TTR_MS})
            self.history.write("heartbeat", answer, id=job["id"], lease=job["lease"], ttr_ms=TTR_MS)
            time.sleep(self.random.uniform(0, 0.05))
            self.settle(job, "ack")
        else:
            self.settle(job, "ack")

    def settle(self, job, how, **options):
        for _ in range(4):
            answer = self.native("POST", f"jobs/{job['id']}/{how}", {"lease": job["lease"], **options})
            self.history.write("settle", answer, how=how, id=job["id"], lease=job["lease"], **options)
            if answer.outcome != "unknown":
                return
            time.sleep(0.1)


def kept_of(job):
    """What the history has of a leased job."""
    body = {name: job["data"][name] for name in ("p", "n")} if isinstance(job["data"], dict) else job["data"]
    return {**{name: job[name] for name in ("id", "lease", "queue", "published_at", "attempts")}, "body": body}


def left(address, token):
    """Jobs that are not done: {id, queue, state, attempts, data}; None: the server did not answer."""
    client, found = Client(token), []
    for state in ("ready", "scheduled", "blocked", "held", "leased", "dead"):
        cursor = ""
        while cursor is not None:
            answer = client.call(address, "GET", f"/v1/{NAMESPACE}/jobs?state={state}&limit=1000{cursor}", timeout=20)
            if answer.outcome != "ok":
                return None
            page = answer.json()
            found.extend(page["items"])
            cursor = f"&cursor={page['cursor']}" if page.get("cursor") else None
    return found


def are_undone(address, token):
    """Whether no client has a job of those that do not read their answers; they never keep one."""
    answer = Client(token).call(address, "GET", f"/v1/{NAMESPACE}/queues/bulky")
    return answer.outcome == "ok" and answer.json()["counts"]["leased"] == 0


def work_of(address, token):
    """How many jobs may still be worked on, in all queues; None: the server did not answer."""
    total = 0
    for queue in QUEUES:
        answer = Client(token).call(address, "GET", f"/v1/{NAMESPACE}/queues/{queue}")
        if answer.outcome != "ok":
            return None
        total += answer.json()["length"]
    return total


