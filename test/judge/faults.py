"""Faults. Each one begins, shows that it took effect, and ends before the next one. None of them loses data of Redis."""

import random
import time

import hosts
from history import Writer
from http_client import Client
from processes import RedisError, wait_until

#: How long a fault lasts, in s.
SHORT, LONG = 1.0, 3.0
#: Jumps of Redis's clock, in s.
JUMPS = (-30, -2, 2, 30)
#: Packets of 100 that are lost.
LOSS = 20


class Faults:
    def __init__(self, redis, servers, folder, seed):
        self.redis = redis
        self.servers = servers
        self.random = random.Random(f"{seed} faults")
        #: Seconds by which the clock of Redis was set, in the fault that is played.
        self.step = 0
        self.history = Writer(f"{folder}/faults.jsonl", "faults")
        self.kinds = {
            "kill of a server": self.kill_server,
            "stop of a server": self.stop_server,
            "kill of Redis": self.kill_redis,
            "partition of clients and a server": self.cut_clients,
            "partition of a server and Redis": self.cut_redis,
            "one-way partition of a server and Redis": self.cut_one_way,
            "loss of packets": self.lose,
            "full memory": self.fill_memory,
            "full disk": self.fill_disk,
            "no functions": self.flush_functions,
            **({"clock jump": self.jump} if redis.has_clock else {}),
        }

    def plan(self, count):
        """So many faults, each kind as often as the others, in a random order."""
        names = []
        while len(names) < count:
            round_of_all = list(self.kinds)
            self.random.shuffle(round_of_all)
            names += round_of_all
        return names[:count]

    def play(self, name):
        began, self.step = time.monotonic_ns(), 0
        effect = self.kinds[name]()
        self.history.note("fault", name=name, t0=began, t1=time.monotonic_ns(), effect=effect, step=self.step)
        for server in self.servers:
            wait_until(f"{server.host.name} after {name}", server.is_ready)
        return effect

    def pause(self):
        time.sleep(self.random.uniform(SHORT, LONG))

    def any_server(self):
        return self.random.choice(self.servers)

    # -- Each returns what shows that it took effect; "" = nothing did. ------------------------------------------------------------

    def kill_server(self):
        server = self.any_server()
        ended = server.kill()
        answer = Client(timeout=1.0).call(server.address, "GET", "/healthz")
        time.sleep(self.random.uniform(0, SHORT))
        server.start()
        return f"{server.host.name}: signal {ended}" if ended == 9 and answer.status is None else ""

    def stop_server(self):
        server = self.any_server()
        server.pause()
        wait_until("the stop", lambda: server.state() == "T")
        answer = Client(timeout=0.5).call(server.address, "GET", "/healthz")
        self.pause()
        server.resume()
        return f"{server.host.name}: no answer" if answer.status is None else ""

    def kill_redis(self):
        ended = self.redis.kill()
        time.sleep(self.random.uniform(0, SHORT))
        self.redis.start()
        return f"signal {ended}" if ended == 9 else ""

    def cut(self, host, *drop, **options):
        host.drop(*drop, **options)
        self.pause()
        packets = host.dropped()
        host.heal()
        return f"{host.name}: {packets} packets dropped" if packets > 0 else ""

    def cut_clients(self):
        return self.cut(self.any_server().host, hosts.CLIENTS)

    def cut_redis(self):
        return self.cut(self.any_server().host, self.redis.host.address)

    def cut_one_way(self):
        way = self.random.choice([{"incoming": False}, {"outgoing": False}])
        return self.cut(self.any_server().host, self.redis.host.address, **way)

    def lose(self):
        peer = self.random.choice([hosts.CLIENTS, self.redis.host.address])
        return self.cut(self.any_server().host, peer, percent=LOSS)

    def fill_memory(self):
        self.redis.call("CONFIG", "SET", "maxmemory", "1")
        refusal = self.refusal("OOM")
        self.pause()
        self.redis.call("CONFIG", "SET", "maxmemory", "0")
        return refusal

    def fill_disk(self):
        filler = self.redis.data / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 65_536)
            except OSError:
                pass
        refusal = ""
        try:
            refusal = wait_until("a full disk", lambda: self.refusal("MISCONF"), within=60)
            self.pause()
        except TimeoutError:
            pass
        filler.unlink()
        wait_until("Redis writes again", lambda: not self.refusal("MISCONF"))
        return refusal

    def refusal(self, code):
        try:
            self.redis.call("SET", "judge", "x")
            return ""
        except RedisError as error:
            return str(error) if str(error).startswith(code) else ""

    def flush_functions(self):
        had = len(self.redis.call("FUNCTION", "LIST"))
        self.redis.call("FUNCTION", "FLUSH")
        return f"{had} libraries removed" if had > 0 else ""

    def jump(self):
        seconds = self.random.choice(JUMPS)
        before = self.redis.clock() - time.time()
        self.redis.step_clock(round(before) + seconds)
        moved = self.redis.clock() - time.time() - before
        self.step = seconds
        return f"{moved:.1f} s" if abs(moved - seconds) < 1 else ""
