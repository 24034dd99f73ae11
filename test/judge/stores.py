"""What the servers keep jobs in: one Redis, a Sentinel group, or a Cluster. Each Redis is on a host of its own."""

import subprocess

from load import NAMESPACE
from processes import REDIS_PORT, Process, Redis, RedisError, call_redis, wait_until

SENTINEL_PORT = 26379
MASTER_NAME = "judged"
#: After this time without an answer a master is given up, in ms.
PATIENCE_MS = 1_000


class Standalone:
    """One Redis. Tokens are in it, too, or in another one: `FLUSHALL` must not take them away."""

    def __init__(self, network, folder, has_own_tokens=False):
        self.nodes = [Redis(network.host("redis", 10), f"{folder}/redis")]
        self.tokens = Redis(network.host("tokens", 11), f"{folder}/tokens") if has_own_tokens else None
        self.processes = [*self.nodes, *([self.tokens] if self.tokens else [])]

    def start(self):
        for process in self.processes:
            process.start()

    def settings(self):
        more = {"PUMPHOUSE_TOKENS__URL": url_of(self.tokens)} if self.tokens else {}
        return {"PUMPHOUSE_POOLS__DEFAULT__URL": url_of(self.nodes[0]), **more}

    def master(self):
        return self.nodes[0]

    def is_whole(self):
        return self.master().is_up()


class SentinelGroup:
    """A master, two replicas, and three sentinels."""

    def __init__(self, network, folder, durability="replicated:2"):
        self.durability = durability
        self.nodes = [Redis(network.host(f"redis{i}", 10 + i), f"{folder}/redis{i}") for i in range(3)]
        self.sentinels = [Process(network.host(f"sentinel{i}", 15 + i), f"{folder}/sentinel{i}") for i in range(3)]
        self.processes = [*self.nodes, *self.sentinels]

    def start(self):
        first, *replicas = self.nodes
        for node in replicas:
            node.more = ["--replicaof", first.host.address, str(REDIS_PORT)]
        for node in self.nodes:
            node.more += ["--repl-diskless-sync-delay", "0"]
            node.start()
        # After a restart a Redis is what the sentinels make of it.
        for node in replicas:
            node.more = node.more[3:]
        for sentinel in self.sentinels:
            file = sentinel.folder / "sentinel.conf"
            lines = [f"port {SENTINEL_PORT}", f"bind {sentinel.host.address}", "protected-mode no"]
            lines.append(f"sentinel monitor {MASTER_NAME} {first.host.address} {REDIS_PORT} 2")
            lines.append(f"sentinel down-after-milliseconds {MASTER_NAME} {PATIENCE_MS}")
            lines.append(f"sentinel failover-timeout {MASTER_NAME} 5000")
            lines.append(f"sentinel parallel-syncs {MASTER_NAME} 2")
            file.write_text("\n".join(lines) + "\n")
            sentinel.spawn(["redis-server", str(file), "--sentinel"])
        wait_until("the sentinels", self.is_whole)

    def settings(self):
        addresses = ",".join(f"{one.host.address}:{SENTINEL_PORT}" for one in self.sentinels)
        return {
            "PUMPHOUSE_POOLS__DEFAULT__SENTINELS": addresses,
            "PUMPHOUSE_POOLS__DEFAULT__MASTER_NAME": MASTER_NAME,
            "PUMPHOUSE_POOLS__DEFAULT__DURABILITY": self.durability,
        }

    def master(self):
        """The Redis that most sentinels name, or None."""
        named = []
        for sentinel in self.sentinels:
            try:
                named.append(ask(sentinel, "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)[0])
            except (OSError, RedisError, TypeError):
                pass
        return next((node for node in self.nodes if named.count(node.host.address) >= 2), None)

    def is_whole(self):
        """Whether there is a master, all replicas are in step, and the sentinels know each other."""
        try:
            known = [dict_of(ask(one, "MASTER", MASTER_NAME))["num-other-sentinels"] for one in self.sentinels]
        except (OSError, RedisError):
            return False
        return known == ["2", "2", "2"] and replicas_in_step(self.master()) == 2


class Cluster:
    """Three masters with a replica each. All jobs of the judge are in one slot."""

    def __init__(self, network, folder):
        more = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(PATIENCE_MS), "--repl-diskless-sync-delay", "0"]
        more += ["--cluster-require-full-coverage", "no"]
        self.nodes = [Redis(network.host(f"redis{i}", 10 + i), f"{folder}/redis{i}", more) for i in range(6)]
        self.processes = self.nodes

    def start(self):
        for node in self.nodes:
            node.start()
        addresses = [f"{node.host.address}:{REDIS_PORT}" for node in self.nodes]
        create = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        wait_until("the Cluster", self.is_whole)

    def settings(self):
        addresses = ",".join(f"{node.host.address}:{REDIS_PORT}" for node in self.nodes)
        return {"PUMPHOUSE_POOLS__DEFAULT__CLUSTER": addresses, "PUMPHOUSE_POOLS__DEFAULT__DURABILITY": "replicated:1"}

    def master(self):
        """The node that most masters name as the owner of the slot, or None."""
        named = []
        for node in self.nodes:
            try:
                slot = node.call("CLUSTER", "KEYSLOT", f"{{{NAMESPACE}}}")
                named += [owner[0] for first, last, owner, *_ in node.call("CLUSTER", "SLOTS") if first <= slot <= last]
            except (OSError, RedisError):
                pass
        return next((node for node in self.nodes if named.count(node.host.address) > len(self.nodes) / 2), None)

    def is_whole(self):
        return self.master() is not None and all(is_at_ease(node) for node in self.nodes)


def is_at_ease(node):
    """Whether a node of a Cluster serves, with a replica in step, or is such a replica."""
    try:
        facts = node.info()
        is_in_step = facts.get("master_link_status") == "up" if facts["role"] == "slave" else replicas_in_step(node) == 1
        return is_in_step and "cluster_state:ok" in node.call("CLUSTER", "INFO")
    except (OSError, RedisError):
        return False


def replicas_in_step(master):
    if master is None:
        return 0
    try:
        facts = master.info()
        return sum("state=online" in value for name, value in facts.items() if name.startswith("slave") and facts["role"] == "master")
    except (OSError, RedisError):
        return 0


def ask(sentinel, *words):
    return call_redis((sentinel.host.address, SENTINEL_PORT), "SENTINEL", *words)


def dict_of(words):
    return dict(zip(words[::2], words[1::2]))


def url_of(redis):
    return f"redis://{redis.host.address}:{REDIS_PORT}"
