"""Faults. Each one begins, shows that it took effect, and ends before the next one.

A fault may take away what a store has answered: then it notes from when on (`lost_from`), and whether publishes are kept all the same.
"""

import random
import shutil
import subprocess
import time

import hosts
import load
from history import Writer
from http_client import Client
from processes import RedisError, wait_until

#: How long a fault lasts, in s.
SHORT, LONG = 1.0, 3.0
#: Jumps of Redis's clock, in s.
JUMPS = (-30, -2, 2, 30)
#: Packets of 100 that are lost.
LOSS = 20
#: How far replicas may be behind their master while nothing is wrong, in s.
LAG_S = 1.0
NS = 1_000_000_000
#: What a server logs when it finds that its store has gone back, and within which time, in s.
NAMED, NAMED_S = "Redis has lost data", 10


class Faults:
    """Faults of servers and of the network. Nothing that was answered may be lost."""

    def __init__(self, store, servers, receiver, token, folder, seed):
        self.store = store
        self.token = token
        self.servers = servers
        self.receiver = receiver
        self.random = random.Random(f"{seed} faults")
        #: Of the fault that is played: seconds by which the clock of Redis was set, and from when on answers may be undone.
        self.step, self.lost_from = 0, None
        self.history = Writer(f"{folder}/faults.jsonl", "faults")

    def kinds(self):
        """{name: how to play it}"""
        return {
            "kill of a server": self.kill_server,
            "stop of a server": self.stop_server,
            "partition of clients and a server": self.cut_clients,
            "partition of a server and Redis": self.cut_redis,
            "loss of packets": self.lose,
            "partition of the receiver of pushes": self.cut_receiver,
        }

    def plan(self, count):
        """So many faults, each kind as often as the others, in a random order."""
        names = []
        while len(names) < count:
            round_of_all = list(self.kinds())
            self.random.shuffle(round_of_all)
            names += round_of_all
        return names[:count]

    #: Whether each publish that was answered survives a fault that takes other answers away.
    keeps_publishes = False
    #: Whether a log must name what these faults take away.
    are_named = False

    def play(self, name):
        began, self.step, self.lost_from = time.monotonic_ns(), 0, None
        lines = self.lines()
        effect = self.kinds()[name]()
        wait_until(f"the store after {name}", self.store.is_whole)
        for server in self.servers:
            wait_until(f"{server.host.name} after {name}", server.is_ready)
        loss = {"step": self.step, "lost_from": self.lost_from, "keeps_publishes": self.keeps_publishes}
        if self.are_named:
            loss["named"] = within(NAMED_S, lambda: self.lines() > lines)
        self.history.note("fault", name=name, t0=began, t1=time.monotonic_ns(), effect=effect, **loss)
        return effect

    def lines(self):
        """How many lines of the servers' logs name a loss."""
        return sum(NAMED in line for server in self.servers for line in (server.folder / "log").read_text().splitlines())

    def pause(self):
        time.sleep(self.random.uniform(SHORT, LONG))

    def any_server(self):
        return self.random.choice(self.servers)

    def stores(self):
        """The addresses of all hosts of the store."""
        return [process.host.address for process in self.store.processes]

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

    def cut(self, host, peers, **options):
        for peer in peers:
            host.drop(peer, **options)
        self.pause()
        packets = host.dropped()
        host.heal()
        return f"{host.name}: {packets} packets dropped" if packets > 0 else ""

    def cut_clients(self):
        return self.cut(self.any_server().host, [hosts.CLIENTS])

    def cut_redis(self):
        way = self.random.choice([{}, {"incoming": False}, {"outgoing": False}])
        return self.cut(self.any_server().host, self.stores(), **way)

    def lose(self):
        peers = self.random.choice([[hosts.CLIENTS], self.stores()])
        return self.cut(self.any_server().host, peers, percent=LOSS)

    def cut_receiver(self):
        return self.cut(self.receiver.host, [server.host.address for server in self.servers])


class StoreFaults(Faults):
    """Those of one Redis with `appendfsync always`, too. Nothing that was answered may be lost."""

    def kinds(self):
        return {
            **super().kinds(),
            "kill of Redis": self.kill_redis,
            "stop of Redis": self.stop_redis,
            "full memory": self.fill_memory,
            "full disk": self.fill_disk,
            "full disk that ends Redis": self.fill_disk_of_always,
            "no functions": self.flush_functions,
            **({"clock jump": self.jump} if self.redis.has_clock else {}),
        }

    @property
    def redis(self):
        return self.store.master()

    def kill_redis(self):
        ended = self.redis.kill()
        time.sleep(self.random.uniform(0, SHORT))
        self.redis.start()
        return f"signal {ended}" if ended == 9 else ""

    def stop_redis(self):
        """What clients have asked for that hang up meanwhile is granted afterwards."""
        self.redis.pause()
        wait_until("the stop", lambda: self.redis.state() == "T")
        is_up = self.redis.is_up()
        self.pause()
        self.redis.resume()
        return "" if is_up else "no answer"

    def fill_memory(self):
        self.redis.call("CONFIG", "SET", "maxmemory", "1")
        refusal = self.refusal("OOM")
        self.pause()
        self.redis.call("CONFIG", "SET", "maxmemory", "0")
        return refusal

    def filled(self):
        """A file that takes all the room of the disk."""
        filler = self.redis.data / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 65_536)
            except OSError:
                pass
        return filler

    def fill_disk(self):
        """With `everysec` Redis refuses to write."""
        self.redis.call("CONFIG", "SET", "appendfsync", "everysec")
        filler, refusal = self.filled(), ""
        try:
            refusal = wait_until("a full disk", lambda: self.refusal("MISCONF"), within=60)
            self.pause()
        except TimeoutError:
            pass
        filler.unlink()
        wait_until("Redis writes again", lambda: not self.refusal("MISCONF"))
        self.redis.call("CONFIG", "SET", "appendfsync", "always")
        return refusal

    def fill_disk_of_always(self):
        """With `always` Redis ends, as it may not answer."""
        filler = self.filled()
        code = self.redis.child.wait(60)
        time.sleep(self.random.uniform(0, SHORT))
        filler.unlink()
        self.redis.start()
        return f"Redis ended with {code}" if code == 1 else ""

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


class FailoverFaults(Faults):
    """Those of a group with replicas. Each publish is confirmed by all replicas of its master, so a failover loses none."""

    keeps_publishes = True

    def kinds(self):
        return {
            **super().kinds(),
            "kill of the master": self.kill_master,
            "stop of the master": self.stop_master,
            "partition of the master": self.cut_master,
            "partition of the master and its group": self.split_brain,
            "kill of a replica": self.kill_replica,
            "loss of packets of the master": self.lose_at_master,
        }

    def begin_loss(self):
        self.lost_from = time.monotonic_ns() - int(LAG_S * NS)

    def successor_of(self, old):
        found = wait_until("another master", lambda: other_than(old, self.store.master()))
        return f"{found.host.name} in place of {old.host.name}"

    def kill_master(self):
        old = self.store.master()
        self.begin_loss()
        old.kill()
        effect = self.successor_of(old)
        old.start()
        return effect

    def stop_master(self):
        old = self.store.master()
        self.begin_loss()
        old.pause()
        effect = self.successor_of(old)
        old.resume()
        return effect

    def cut_master(self):
        """From all others."""
        old = self.store.master()
        return self.partition(old, [*self.others(old), *(server.host.address for server in self.servers)])

    def split_brain(self):
        """Servers reach the old master, and the group has another one."""
        old = self.store.master()
        return self.partition(old, self.others(old))

    def others(self, old):
        return [address for address in self.stores() if address != old.host.address]

    def partition(self, old, peers):
        self.begin_loss()
        for peer in peers:
            old.host.drop(peer)
        try:
            return self.successor_of(old)
        finally:
            old.host.heal()

    def kill_replica(self):
        old = self.random.choice([node for node in self.store.nodes if node is not self.store.master()])
        ended = old.kill()
        self.pause()
        old.start()
        return f"{old.host.name}: signal {ended}" if ended == 9 else ""

    def lose_at_master(self):
        old = self.store.master()
        # It may be given up.
        self.begin_loss()
        return self.cut(old.host, [*self.others(old), *(server.host.address for server in self.servers)], percent=LOSS)


class Losses(Faults):
    """The store of one Redis goes back to an earlier state. Nothing else may be missing, and all servers go on without a restart."""

    are_named = True

    def kinds(self):
        return {
            "older AOF": self.restore,
            "truncated AOF": self.truncate,
            "damaged AOF": self.damage,
            "empty store": self.empty,
        }

    @property
    def redis(self):
        return self.store.master()

    def newest(self):
        """The file that Redis appends to."""
        return max((self.redis.data / "appendonlydir").glob("*.incr.aof"), key=lambda file: int(file.name.split(".")[-3]))

    def restart(self):
        self.redis.start()
        return f"{self.redis.call('DBSIZE')} keys"

    def restore(self):
        kept = self.redis.folder / "kept"
        self.lost_from = time.monotonic_ns()
        shutil.copytree(self.redis.data / "appendonlydir", kept)
        self.pause()
        self.redis.kill()
        shutil.rmtree(self.redis.data / "appendonlydir")
        shutil.move(kept, self.redis.data / "appendonlydir")
        return self.restart()

    def cut_off(self):
        """Kills Redis; returns its newest file, and how long that was some time before."""
        file = self.newest()
        self.lost_from, size = time.monotonic_ns(), file.stat().st_size
        self.pause()
        self.redis.kill()
        return file, size

    def truncate(self):
        file, size = self.cut_off()
        with open(file, "r+b") as opened:
            # Within a command: Redis drops what is left of it.
            opened.truncate(size + 5)
        return self.restart()

    def damage(self):
        """One byte is changed. Redis does not start, until its own tool has cut the file there."""
        file, size = self.cut_off()
        with open(file, "r+b") as opened:
            opened.seek(size)
            opened.write(b"#")
        self.redis.launch()
        code = self.redis.child.wait(60)
        manifest = next((self.redis.data / "appendonlydir").glob("*.manifest"))
        subprocess.run(["redis-check-aof", "--fix", str(manifest)], input="y\n", text=True, check=True, stdout=subprocess.DEVNULL)
        return f"Redis ended with {code}, {self.restart()}" if code == 1 else ""

    def empty(self):
        had = self.redis.call("DBSIZE")
        self.lost_from = 0
        self.redis.call("FLUSHALL")
        load.set_up(self.servers[0].address, self.token)
        return f"{had} keys removed" if had > 0 else ""


class LaggingReplica(FailoverFaults):
    """A replica is promoted that has not all that its master has answered: publishes ask for no replica."""

    keeps_publishes = False
    are_named = True

    def kinds(self):
        return {"promotion of a replica that lags": self.promote}

    def promote(self):
        old = self.store.master()
        self.begin_loss()
        for node in self.store.nodes:
            if node is not old:
                old.host.drop(node.host.address)
        self.pause()
        old.kill()
        effect = self.successor_of(old)
        old.host.heal()
        old.start()
        return effect


def within(seconds, check):
    try:
        return bool(wait_until("", check, seconds))
    except TimeoutError:
        return False


def other_than(old, master):
    return master if master is not old else None

