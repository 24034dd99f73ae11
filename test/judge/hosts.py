"""Hosts on one machine: a network namespace each, joined by a bridge. Needs no root: the judge runs in `unshare -rnm`."""

import json
import subprocess

NETWORK = "10.77.0"
#: The judge's own clients.
CLIENTS = f"{NETWORK}.1"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Network:
    """A bridge with the clients on it, and hosts that are added."""

    def __init__(self):
        # Where `ip netns` keeps its names: of this mount namespace alone.
        run("mount", "-t", "tmpfs", "judge", "/run")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "addr", "add", f"{CLIENTS}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")

    def host(self, name, number):
        """Adds the host with the address NETWORK.number."""
        return Host(name, f"{NETWORK}.{number}")


class Host:
    def __init__(self, name, address):
        self.name = name
        self.address = address
        outer = f"v-{name}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", outer, "master", "bridge", "up")
        self.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("nft", "add", "table", "ip", "judge")
        for hook in ("input", "output"):
            self.run("nft", "add", "chain", "ip", "judge", hook, f"{{ type filter hook {hook} priority 0; }}")

    def run(self, *command):
        return run("ip", "netns", "exec", self.name, *command)

    def prefix(self):
        """What stands before a command that runs on this host."""
        return ["ip", "netns", "exec", self.name]

    def limit_unsent(self, most):
        """The system takes at most so many bytes of a connection that its peer does not read."""
        self.run("sh", "-c", f"echo 4096 {most // 2} {most} > /proc/sys/net/ipv4/tcp_wmem")

    def drop(self, peer, incoming=True, outgoing=True, percent=100):
        """Drops packets between this host and the address of a peer."""
        some = [] if percent == 100 else ["numgen", "random", "mod", "100", "<", str(percent)]
        if incoming:
            self.run("nft", "add", "rule", "ip", "judge", "input", "ip", "saddr", peer, *some, "counter", "drop")
        if outgoing:
            self.run("nft", "add", "rule", "ip", "judge", "output", "ip", "daddr", peer, *some, "counter", "drop")

    def dropped(self):
        """How many packets its rules have dropped."""
        rules = json.loads(self.run("nft", "-j", "list", "table", "ip", "judge"))["nftables"]
        parts = [part for entry in rules for part in entry.get("rule", {}).get("expr", [])]
        return sum(part["counter"]["packets"] for part in parts if "counter" in part)

    def heal(self):
        for hook in ("input", "output"):
            self.run("nft", "flush", "chain", "ip", "judge", hook)
