"""Judges a run by its history alone. It shares no code with the server, and knows only what clients did and saw.

A call without an answer may have been carried out or not: neither is held against the server.
"""

import calendar
import time
from collections import defaultdict

MS = 1_000_000
#: Clocks of Redis and of the clients differ a little in speed, and Redis ends leases to the millisecond.
TOLERANCE = 5 * MS
FOREVER = float("inf")
#: Within this time a server sees that a client has gone.
SEEN = 250 * MS
#: The ttr of clients that hang up.
HANG_UP_TTR = 600_000 * MS
#: A request that was sent during a partition may arrive so much later: then its sender has given it up.
LATE = 2_000 * MS
#: A job of a slot is leased so soon.
LINGER = 30_000 * MS
#: A step back of Redis's clock by at most so many seconds is a correction.
MOST_CORRECTED_S = 5


class Lease:
    """A lease that a client knows it had: it was granted between t0 and t1."""

    def __init__(self, record, job):
        self.id = job["id"]
        self.number = job["lease"]
        self.queue = job["queue"]
        self.body = job["body"]
        self.slot = job["published_at"]
        self.who = record["who"]
        self.t0 = record["t0"]
        self.t1 = record["t1"]
        #: The earliest moment at which it may have run out.
        self.runs_out = self.t0 + record["ttr_ms"] * MS
        #: {t0, t1} of the call that got it.
        self.record = record
        #: When its holder first sent an end of it; None = never.
        self.end_sent = None

    @property
    def surely_until(self):
        """Until then no other client may have it."""
        return min(self.runs_out, self.end_sent if self.end_sent is not None else FOREVER)

    def __str__(self):
        return f"{self.id} of {self.queue}, lease {self.number} of {self.who}"


class Checker:
    """Times and limits are not judged across a jump of Redis's own clock."""

    def __init__(self, records, max_running=None):
        self.publishes = [one for one in records if one["op"] == "publish"]
        self.settles = [one for one in records if one["op"] == "settle"]
        self.left = {one["id"]: one for one in records if one["op"] == "left"}
        self.faults = [one for one in records if one["op"] == "fault"]
        self.jumps = [one for one in self.faults if one["name"] == "clock jump"]
        self.losses = [one for one in self.faults if one["lost_from"] is not None]
        self.pushes = [one for one in records if one["op"] == "push"]
        #: Jobs that a receiver answered with a 2xx.
        self.received = {one["id"] for one in self.pushes if one["out"] == "ok"}
        self.max_running = max_running or {}
        #: Jobs with a publish that was not answered: it may be carried out at any time, also after a later one that was answered.
        self.republished = {one["id"] for one in self.publishes if one["out"] == "unknown"}
        self.lease_calls = [one for one in records if one["op"] == "lease"]
        self.leases = [Lease(one, job) for one in self.lease_calls for job in one["jobs"]]
        for lease in self.leases:
            lease.runs_out = self.kept_until(lease.record, lease.runs_out)
        self.of_job = defaultdict(list)
        for lease in self.leases:
            self.of_job[lease.id].append(lease)
        self.settles_of = defaultdict(list)
        for one in self.settles:
            self.settles_of[one["id"]].append(one)
        self.by_number = {(lease.id, lease.number): lease for lease in self.leases if lease.number is not None}
        self.end_leases(records)

    def end_leases(self, records):
        """When each lease was extended, and when its holder gave it up."""
        for one in records:
            if one["op"] == "heartbeat" and one["out"] == "ok":
                lease = self.by_number.get((one["id"], one["lease"]))
                if lease is not None:
                    lease.runs_out = max(lease.runs_out, self.kept_until(one, one["t0"] + one["ttr_ms"] * MS))
            if one["op"] == "settle" and one["out"] != "no":
                for lease in self.holders(one):
                    lease.end_sent = min(lease.end_sent or FOREVER, one["t0"])

    def holders(self, settle):
        """The leases that a call ends. One of lmstfy's API has no number: it ends whichever the job has."""
        if settle["lease"] is not None:
            lease = self.by_number.get((settle["id"], settle["lease"]))
            return [lease] if lease is not None else []
        return [lease for lease in self.of_job[settle["id"]] if lease.t0 < settle["t0"]]

    # -- What a fault may have taken away -------------------------------------------------------------------------------------------

    def loss_of(self, record):
        """The first fault that may have undone what a call did; None = it is kept for sure."""
        return next((one for one in self.losses if record["t1"] >= one["lost_from"] and record["t0"] <= one["t1"]), None)

    def kept_until(self, record, end):
        """The end of what a call did, or the fault that may have undone it, if that is earlier."""
        loss = self.loss_of(record)
        return end if loss is None else min(end, loss["t0"])

    def is_undone(self, record, at):
        """Whether a fault before a moment may have undone what a call did."""
        loss = self.loss_of(record)
        return loss is not None and loss["t0"] < at

    def may_be_lost(self, publish):
        loss = self.loss_of(publish)
        return loss is not None and not loss["keeps_publishes"]

    def jumped(self, begin, end):
        return any(one["t0"] <= end and one["t1"] >= begin for one in self.jumps)

    def during(self, begin, end, *names):
        """Whether such a fault, or any if none is named, was in effect within this time."""
        return any((not names or one["name"] in names) and one["t0"] < end and one["t1"] > begin for one in self.faults)

    def verdict(self):
        """{invariant: [what is wrong]}; all lists are empty if the run was sound."""
        checks = [
            *(self.lost, self.unexpected, self.overlapping, self.stale, self.again, self.early, self.order),
            *(self.limits, self.slots, self.dead, self.batches, self.pushed, self.idle, self.unnamed, self.ineffective),
        ]
        return {check.__name__: list(check()) for check in checks}

    # -- What may have become of a job ------------------------------------------------------------------------------------------

    def may_be_done(self, identity):
        is_acked = any(one["how"] == "ack" and one["out"] != "no" for one in self.settles_of[identity])
        return is_acked or identity in self.received

    def accepted(self):
        """The first record of each job whose publish was answered."""
        found = {}
        for one in self.publishes:
            if one["out"] == "ok" and one["id"] is not None:
                found.setdefault(one["id"], one)
        return found

    # -- Invariants -------------------------------------------------------------------------------------------------------------

    def lost(self):
        """A publish was answered, and the job was neither done nor is it there."""
        accepted = self.accepted()
        total = defaultdict(int)
        for one in accepted.values():
            total[one["who"]] += 1
        place = defaultdict(int)
        for identity, one in accepted.items():
            place[one["who"]] += 1
            if identity in self.left or self.may_be_done(identity) or self.may_be_lost(one):
                continue
            share = place[one["who"]] / total[one["who"]]
            part = "first third" if share <= 1 / 3 else "middle" if share <= 2 / 3 else "last third"
            yield f"{identity} of {one['queue']}: accepted, and gone ({part} of {one['who']})"

    def unexpected(self):
        """A job that no producer sent, or one publish that became several jobs."""
        sent = defaultdict(list)
        for one in self.publishes:
            sent[(one["who"], one["n"])].append(one)
        jobs = defaultdict(set)
        for push in self.pushes:
            jobs[(push["body"].get("p"), push["body"].get("n"))].add(push["id"])
        for lease in self.leases:
            if isinstance(lease.body, dict):
                jobs[(lease.body.get("p"), lease.body.get("n"))].add(lease.id)
            elif lease.slot is None:
                yield f"{lease}: its body is {lease.body}"
        for name, ids in jobs.items():
            calls = sent.get(name)
            if not calls:
                yield f"{name}: leased, and never published"
            elif len(ids) > 1:
                yield f"{name}: published once, and is {len(ids)} jobs: {sorted(ids)}"
            elif all(one["out"] == "no" for one in calls):
                yield f"{name}: refused, and leased"

    def overlapping(self):
        """Two clients had the same job at one moment."""
        for identity, leases in self.of_job.items():
            # A job that was stored a second time has numbers of its own; so has one that was made again after a loss.
            has_order = identity not in self.republished and all(one.number is not None for one in leases)
            ordered = sorted(leases, key=lambda one: one.number if has_order else one.t1)
            for one, other in zip(ordered, ordered[1:]):
                if one.number is not None and other.number == one.number:
                    yield f"{other}: this number was granted twice, to {one.who} too"
                elif has_order and other.t1 < one.t0:
                    if not self.is_undone(other.record, one.t1):
                        yield f"{other}: granted before the lower number {one.number}"
                # The later one was granted at its t1 at the latest.
                elif other.t1 + TOLERANCE < one.surely_until and not self.jumped(one.t0, other.t1):
                    left = (one.surely_until - other.t1) / MS
                    yield f"{other}: granted while lease {one.number} of {one.who} had {left:.0f} ms left"

    def stale(self):
        """A call of an earlier lease was accepted after a later one had been granted."""
        for one in self.settles:
            if one["out"] != "ok" or one["lease"] is None:
                continue
            for lease in self.of_job[one["id"]]:
                is_later = lease.number is not None and lease.number > one["lease"]
                if is_later and lease.t1 < one["t0"] and not self.is_undone(lease.record, one["t0"]):
                    yield f"{one['how']} of {one['id']} by lease {one['lease']}: accepted, and lease {lease.number} was granted before"
                    break

    def again(self):
        """A job was leased after its end was confirmed."""
        for identity, leases in self.of_job.items():
            done = [one for one in self.settles_of[identity] if one["how"] == "ack" and one["out"] == "ok"]
            # A publish that is sent again stores a job that was done in between a second time: this is documented.
            if identity not in self.republished:
                for lease in leases:
                    if any(lease.t0 > one["t1"] and not self.is_undone(one, lease.t1) for one in done):
                        yield f"{lease}: leased after the job was done"

    def early(self):
        """A job was leased before its delay was over."""
        first = {}
        for one in self.publishes:
            if one["id"] is not None and one["delay_ms"]:
                first.setdefault(one["id"], (one["t0"], one["delay_ms"]))
        for lease in self.leases:
            sent, delay = first.get(lease.id, (None, 0))
            if sent is not None:
                yield from self.too_early(lease, sent, delay, "published")
            for one in self.settles_of[lease.id]:
                # Only the call of the lease before: a later one has its own delay. A publish that is sent again has another one, too.
                has_delay = one.get("delay_ms") and one["out"] == "ok" and one["lease"] is not None and lease.id not in self.republished
                if has_delay and one["lease"] < lease.number and one["t0"] < lease.t1 and not self.is_undone(one, lease.t1):
                    yield from self.too_early(lease, one["t0"], one["delay_ms"], one["how"])

    def too_early(self, lease, sent, delay, why):
        missing = (sent + delay * MS - lease.t1) / MS
        if missing > TOLERANCE / MS and not self.jumped(sent, lease.t1):
            yield f"{lease}: {missing:.0f} ms before the delay of {delay} ms is over ({why})"

    def order(self):
        """A job of a strict order began before an earlier one of its key had ended."""
        keys = defaultdict(list)
        for identity, one in self.accepted().items():
            # While the store has no settings, jobs have no order.
            if one["queue"] == "strict" and not any(loss["t0"] < one["t1"] and one["t0"] < loss["t1"] for loss in self.losses):
                keys[one["key"]].append((one["n"], identity))
        for key, jobs in keys.items():
            ends = 0
            before = None
            for _n, identity in sorted(jobs):
                for lease in self.of_job[identity]:
                    if before is not None and lease.t1 < ends:
                        yield f"{lease}: began {(ends - lease.t1) / MS:.0f} ms before the end of {before} of its key {key}"
                sent = [one["t0"] for one in self.settles_of[identity] if one["how"] == "ack" and one["out"] != "no"]
                end = min(sent, default=0 if identity in self.left else FOREVER)
                # A job that was published once more has a new place.
                if end != FOREVER and end > ends and identity not in self.republished:
                    ends, before = end, identity

    def limits(self):
        """More jobs ran at once than the queue allows."""
        for queue, most in self.max_running.items():
            moments = []
            for lease in self.leases:
                if lease.queue == queue and lease.t1 < lease.surely_until - TOLERANCE:
                    if not self.jumped(lease.t0, lease.surely_until):
                        moments += [(lease.t1, 1, lease), (lease.surely_until - TOLERANCE, -1, lease)]
            running = 0
            for at, step, lease in sorted(moments, key=lambda one: (one[0], one[1])):
                running += step
                if running > most:
                    yield f"{queue}: {running} leases at once, {most} are allowed ({lease})"

    def comes_again(self, firsts):
        """Whether a slot with jobs, given by their first leases, may have come twice: its first job is lost, or Redis's clock was set back
        between them by more than a correction. This is documented.
        """
        began, ended = min(one.t0 for one in firsts), max(one.t1 for one in firsts)
        jumps = [one for one in self.faults if one["step"] < -MOST_CORRECTED_S]
        return bool(self.losses) or any(one["t0"] <= ended and one["t1"] + LINGER >= began for one in jumps)

    def slots(self):
        """A slot of a recurring job made two jobs, or none."""
        jobs = defaultdict(dict)
        for lease in self.leases:
            if lease.queue == "cron":
                first = jobs[lease.slot].setdefault(lease.id, lease)
                jobs[lease.slot][lease.id] = min(first, lease, key=lambda one: one.t0)
        for slot, firsts in jobs.items():
            if len(firsts) > 1 and not self.comes_again(firsts.values()):
                yield f"slot {slot}: {len(firsts)} jobs, {sorted(firsts)}"
        seconds = sorted(int(epoch(slot)) for slot in jobs)
        if self.jumps or self.losses or any(one["name"] in ("full memory", "full disk") for one in self.faults):
            return  # Slots may be skipped: this is documented.
        for one, other in zip(seconds, seconds[1:]):
            if other - one > 1:
                yield f"no job for {other - one - 1} slots after {one}"

    def dead(self):
        """A job is dead with fewer leases than it has tries."""
        tries = {one["id"]: one["tries"] for one in self.publishes if one["id"] is not None}
        for identity, one in self.left.items():
            if one["state"] != "dead" or identity not in tries:
                continue
            if any(settle["how"] == "fail" and settle["out"] != "no" for settle in self.settles_of[identity]):
                continue
            # A lease whose answer was lost on the network used a try, too.
            known = len(self.of_job[identity])
            lost = sum(1 for call in self.lease_calls if call["out"] == "unknown" and one["queue"] in call["queues"])
            if known + lost < tries[identity]:
                yield f"{identity} of {one['queue']}: dead after {known} of {tries[identity]} tries"

    def batches(self):
        """A job ran before those that it waits for had ended."""
        gone = {one["id"] for one in self.publishes if self.may_be_lost(one)}
        for one in self.publishes:
            if one["parts"] and one["out"] == "ok":
                for part in one["parts"]:
                    sent = [end["t0"] for end in self.settles_of[part] if end["how"] == "ack" and end["out"] != "no"]
                    if part in self.left or part in gone:
                        continue
                    for lease in self.of_job[one["id"]]:
                        if lease.t1 < min(sent, default=FOREVER):
                            yield f"{lease}: began before {part} had ended"

    def pushed(self):
        """A job was pushed once more after its 2xx, and no fault had disturbed that."""
        ends = {}
        for one in self.pushes:
            end = ends.get(one["id"])
            if end is not None and not any(fault["t0"] < one["t0"] and fault["t1"] + LATE > end for fault in self.faults):
                yield f"{one['id']}: pushed {(one['t0'] - end) / MS:.0f} ms after its 2xx"
            if one["out"] == "ok" and not one["hung"]:
                ends.setdefault(one["id"], one["t1"])

    def may_be_held(self, job):
        """Whether a client may have hung up after the server had sent it this job: then its lease lasts.

        Not if no client was waiting when the lease was granted, but for the time that the server needs to see that one is gone. Nor if it was
        a large answer that the client did not read, because no system takes all of it, unless the lease was granted during a fault. A fault
        begins only when all earlier ones were undone.
        """
        if job["lease_ends"] is None or job["queue"] not in ("hung-up", "bulky"):
            return False
        calls = [one for one in self.lease_calls if one["queues"] == [job["queue"]] and one["out"] == "unknown"]
        # The clock of Redis may have been set since.
        granted, steps = {job["lease_ends"] - HANG_UP_TTR}, 0
        for one in reversed(self.faults):
            steps += one["step"]
            granted.add(job["lease_ends"] - HANG_UP_TTR + steps * 1_000 * MS)
        if job["queue"] == "bulky":
            granted = {at for at in granted if self.during(at - SEEN, at + SEEN)}
            # A slow server may serve such a call long after its client has gone.
            return any(one["t0"] - SEEN <= at for one in calls for at in granted)
        return any(one["t0"] - SEEN <= at <= self.seen_gone(one) for one in calls for at in granted)

    def seen_gone(self, call):
        """Until when the server may not know that a client has hung up."""
        hide = ("partition of clients and a server", "loss of packets", "stop of a server")
        ends = [one["t1"] for one in self.faults if one["name"] in hide and one["t0"] < call["t1"] + SEEN and one["t1"] > call["t0"]]
        return max([call["t1"], *ends]) + SEEN

    def idle(self):
        """A job was there at the end, and no worker got it."""
        for identity, one in self.left.items():
            if one["state"] != "dead" and not self.may_be_held(one):
                yield f"{identity} of {one['queue']}: still {one['state']} when workers had found nothing more"

    def unnamed(self):
        """The store lost data, and no server logged it."""
        for one in self.faults:
            if not one.get("named", True):
                yield f"{one['name']}: no log names it"

    def ineffective(self):
        """A fault that did not take effect proves nothing."""
        for one in self.faults:
            if not one["effect"]:
                yield f"{one['name']}: it had no effect"


def epoch(text):
    """Unix seconds of an ISO 8601 time in UTC."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(f"0{text[19:-1]}")
