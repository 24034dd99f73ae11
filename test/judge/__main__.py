"""A judge from outside: plays jobs and faults against three servers, and judges what clients did and saw.

    npm run judge -- [--store redis|losses|sentinel|cluster|lagging] [--jobs N] [--bulk] [--faults N] [--seed N]
                     [--tree FOLDER] [--keep FOLDER] [--check FOLDER]

--store: redis = one Redis that loses nothing; losses = one that goes back to an earlier state; sentinel, cluster = replicas, and publishes
that they all confirm; lagging = a Sentinel group and publishes that no replica confirms.

It needs Linux with `unshare`, `ip` and `nft`, redis-server, Node.js and Python 3.9; no root. Exit code 0: sound, 1: not sound, 2: it
cannot run here.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import checker
import history
import hosts
import load
from faults import FailoverFaults, LaggingReplica, Losses, StoreFaults
from processes import Process, Server, wait_until
from stores import Cluster, SentinelGroup, Standalone

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = ("unshare", "ip", "nft", "mount", "redis-server", "redis-cli", "redis-check-aof", "node")
#: {value of --store: (how to make the store, faults)}
STORES = {
    "redis": (Standalone, StoreFaults),
    "losses": (lambda *of: Standalone(*of, has_own_tokens=True), Losses),
    "sentinel": (SentinelGroup, FailoverFaults),
    "cluster": (Cluster, FailoverFaults),
    "lagging": (lambda *of: SentinelGroup(*of, durability="memory"), LaggingReplica),
}
SERVERS = 3
#: Seconds by which the clocks of the servers are wrong. Only that of Redis counts.
OFFSETS = (0, -40, 40)
#: When so long no job has ended, what is left is left. Longer than a clock that was set back delays leases.
DRAIN_S = 75
#: Between two faults.
CALM_S = 1.0
#: Servers take back within this time what clients did not read, also on a slow machine.
UNDONE_S = 10.0
#: Of each invariant so many problems are printed.
SHOWN = 5


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", choices=[*STORES], default="redis")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--bulk", action="store_true", help="most jobs are published, leased and acknowledged 100 at a time")
    parser.add_argument("--faults", type=int, default=13)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    parser.add_argument("--tree", default=str(ROOT), help="a folder with a built server")
    parser.add_argument("--keep", help="where the history goes; else it is kept if the run is not sound")
    parser.add_argument("--check", help="judges a history that was kept, and plays nothing")
    return parser.parse_args()


def main():
    options = parse()
    if options.check:
        return report(options, judge(options.check), options.check)
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        print(f"judge: missing programs: {', '.join(missing)}", file=sys.stderr)
        return 2
    if os.environ.get("PUMPHOUSE_JUDGE_INSIDE") != "1":
        # Network and mounts of its own, which end with it; --kill-child ends its processes, too.
        own = ["unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        env = {**os.environ, "PUMPHOUSE_JUDGE_INSIDE": "1"}
        return subprocess.run([*own, sys.executable, *sys.argv], env=env).returncode
    folder = options.keep or tempfile.mkdtemp(prefix="pumphouse-judge-")
    Path(folder).mkdir(parents=True, exist_ok=True)
    play(options, folder)
    verdict = judge(folder)
    code = report(options, verdict, folder)
    if code == 0 and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def play(options, folder):
    """Runs the processes of a run, and writes its history into a folder."""
    network = hosts.Network()
    make_store, kinds = STORES[options.store]
    store = make_store(network, folder)
    settings = store.settings()
    servers = [Server(network.host(f"server{i}", 21 + i), f"{folder}/server{i}", options.tree, settings) for i in range(SERVERS)]
    for server in servers:
        server.host.limit_unsent(load.BULKY_BYTES // 2)
    receiver = Process(network.host("receiver", 31), f"{folder}/receiver")
    try:
        store.start()
        receiver.spawn([sys.executable, str(ROOT / "test/judge/receiver.py"), *map(str, load.RECEIVER), f"{folder}/receiver.jsonl"])
        for server, offset in zip(servers, OFFSETS):
            server.step_clock(offset)
            server.start()
        token = servers[0].make_token(load.NAMESPACE)
        load.set_up(servers[0].address, token)
        run = load.Run(folder, [server.address for server in servers], token, options.seed, options.bulk)
        faults = kinds(store, servers, receiver, token, folder, options.seed)
        began = time.monotonic()
        workers = run.workers()
        producers = run.producers(options.jobs)
        play_faults(run, faults, options.faults, producers)
        for process in producers:
            process.join()
        wait_until("the end of the recurring job", lambda: load.stop_cron(servers[0].address, token))
        run.drains.set()
        seconds = drain(servers[0].address, token)
        run.ends.set()
        for process in workers:
            process.join()
        if run.has_mistake.is_set():
            raise RuntimeError("the judge made a call that the server refuses")
        note_left(faults.history, store.master(), servers[0].address, token)
        faults.history.close()
        print(f"{time.monotonic() - began:.0f} s, of which {seconds:.0f} s until the queues were empty")
    finally:
        for process in [*servers, receiver, *store.processes]:
            process.end()


def play_faults(run, faults, count, producers):
    """One after the other while jobs are published, and in any case all of them."""
    for name in faults.plan(count):
        run.is_calm.set()
        time.sleep(CALM_S)
        run.is_calm.clear()
        time.sleep(CALM_S / 2)
        wait_for_undos(faults)
        effect = faults.play(name)
        print(f"{name}: {effect or 'no effect'}{'' if any(one.is_alive() for one in producers) else ' (after the last publish)'}")


def wait_for_undos(faults):
    """Until the servers have taken back what clients did not read, however slow they are. If they never do, the checker says so."""
    try:
        wait_until("undos", lambda: load.are_undone(faults.servers[0].address, faults.token), UNDONE_S)
    except TimeoutError:
        pass


def drain(address, token):
    """Waits until no work is left, or until it does not get less any more. Returns the seconds."""
    began, least, since = time.monotonic(), None, time.monotonic()
    while time.monotonic() - since < DRAIN_S:
        work = load.work_of(address, token)
        if work == 0:
            break
        if work is not None and (least is None or work < least):
            least, since = work, time.monotonic()
        time.sleep(0.5)
    return time.monotonic() - began


def note_left(writer, redis, address, token):
    def answered():
        found = load.left(address, token)
        # An empty list is an answer, too.
        return None if found is None else (found,)

    (jobs,) = wait_until("the list of what is left", answered, 60)
    # Of the clock of Redis over the monotonic one of the history, in s.
    ahead = redis.clock() - time.monotonic()
    for job in jobs:
        ends = job.get("lease_ends_at")
        ends_ns = ends and int((checker.epoch(ends) - ahead) * 1e9)
        writer.note("left", id=job["id"], queue=job["queue"], state=job["state"], lease_ends=ends_ns)


def judge(folder):
    records = history.read(glob.glob(f"{folder}/*.jsonl"))
    found = checker.Checker(records, {"limited": load.MAX_RUNNING})
    counts = {
        "published": len(found.accepted()),
        "unknown publishes": sum(one["out"] == "unknown" for one in found.publishes),
        "leases": len(found.leases),
        "settled": sum(one["out"] == "ok" for one in found.settles),
        "dead": sum(one["state"] == "dead" for one in found.left.values()),
        "faults": len(found.faults),
    }
    return counts, found.verdict()


def report(options, found, folder):
    counts, verdict = found
    problems = sum(len(list_of) for list_of in verdict.values())
    print(f"seed {options.seed}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for name, list_of in verdict.items():
        if list_of:
            print(f"{name}: {len(list_of)}")
            for line in list_of[:SHOWN]:
                print(f"  {line}")
    print("sound" if problems == 0 else f"NOT SOUND; the history is in {folder}")
    return 0 if problems == 0 and counts["leases"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
