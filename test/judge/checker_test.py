"""Each invariant is broken by a small history; a sound one breaks none. Run: python3 -m unittest discover -s test/judge -p '*_test.py'"""

import unittest

from checker import MS, Checker

S = 1_000 * MS
TTR_MS = 1_000


class History:
    """Records as clients write them; times in ms."""

    def __init__(self):
        self.records = []

    def add(self, op, at, until=None, out="ok", who="p", **fields):
        self.records.append({"op": op, "who": who, "t0": at * MS, "t1": (until or at + 1) * MS, "out": out, **fields})
        return self

    def publish(self, at, identity, n=0, queue="plain", out="ok", delay_ms=0, tries=5, key=None, parts=None, attempt=1):
        about = {"n": n, "queue": queue, "delay_ms": delay_ms, "tries": tries, "key": key, "parts": parts}
        return self.add("publish", at, out=out, id=identity, attempt=attempt, **about)

    def lease(self, at, identity, number, n=0, queue="plain", who="w", ttr_ms=TTR_MS, body=None, slot=None):
        job = {"id": identity, "lease": number, "queue": queue, "published_at": slot, "body": body or {"p": "p", "n": n}}
        return self.add("lease", at, who=who, queues=[queue], ttr_ms=ttr_ms, jobs=[job])

    def no_lease(self, at, queue="plain", out="unknown"):
        return self.add("lease", at, out=out, who="w", queues=[queue], ttr_ms=TTR_MS, jobs=[])

    def settle(self, at, identity, number, how="ack", out="ok", delay_ms=0):
        return self.add("settle", at, out=out, who="w", how=how, id=identity, lease=number, delay_ms=delay_ms)

    def heartbeat(self, at, identity, number):
        return self.add("heartbeat", at, who="w", id=identity, lease=number, ttr_ms=TTR_MS)

    def left(self, identity, state="dead", queue="plain", lease_ends=None):
        ends = lease_ends and lease_ends * MS
        self.records.append({"op": "left", "who": "faults", "id": identity, "queue": queue, "state": state, "lease_ends": ends})
        return self

    def push(self, at, identity, n=0, out="ok"):
        return self.add("push", at, out=out, who="receiver", id=identity, body={"p": "p", "n": n}, hung=False)

    def fault(self, at, name, effect="seen", step=0, until=None, lost_from=None, keeps_publishes=False, named=True):
        loss = {"lost_from": lost_from and lost_from * MS, "keeps_publishes": keeps_publishes, "named": named}
        return self.add("fault", at, until, who="faults", name=name, effect=effect, step=step, **loss)

    def broken(self, **limits):
        """Names of the broken invariants."""
        verdict = Checker(sorted(self.records, key=lambda one: one.get("t0", 0)), limits).verdict()
        return sorted(name for name, problems in verdict.items() if problems)


class Judgement(unittest.TestCase):
    def expect(self, history, *names, **limits):
        self.assertEqual(history.broken(**limits), sorted(names))

    def test_a_sound_history(self):
        history = History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1)
        history.publish(30, "b", n=1).lease(40, "b", 1, n=1).lease(1_100, "b", 2, n=1).settle(1_200, "b", 2)
        self.expect(history)

    def test_a_lost_job(self):
        self.expect(History().publish(0, "a"), "lost")
        self.expect(History().publish(0, "a").lease(10, "a", 1), "lost")

    def test_a_publish_without_an_answer_may_be_gone_or_there(self):
        self.expect(History().publish(0, None, out="unknown"))
        self.expect(History().publish(0, None, out="unknown").lease(10, "a", 1).settle(20, "a", 1))

    def test_an_ack_without_an_answer_may_have_been_done(self):
        self.expect(History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1, out="unknown"))

    def test_a_job_that_no_client_published(self):
        self.expect(History().lease(10, "a", 1).settle(20, "a", 1), "unexpected")

    def test_a_refused_job_that_is_leased(self):
        self.expect(History().publish(0, None, out="no").lease(10, "a", 1).settle(20, "a", 1), "unexpected")

    def test_one_publish_that_became_two_jobs(self):
        history = History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1).lease(30, "b", 1).settle(40, "b", 1)
        self.expect(history, "unexpected")

    def test_two_leases_at_once(self):
        history = History().publish(0, "a").lease(10, "a", 1).lease(500, "a", 2, who="x").settle(600, "a", 2)
        self.expect(history, "overlapping")

    def test_a_lease_within_one_that_a_heartbeat_has_extended(self):
        history = History().publish(0, "a").lease(10, "a", 1).heartbeat(900, "a", 1)
        self.expect(history.lease(1_500, "a", 2).settle(1_600, "a", 2), "overlapping")

    def test_a_lease_after_a_release(self):
        history = History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1, how="release")
        self.expect(history.lease(30, "a", 2).settle(40, "a", 2))

    def test_two_leases_at_once_across_a_jump_of_the_clock(self):
        history = History().publish(0, "a").lease(10, "a", 1).fault(400, "clock jump")
        self.expect(history.lease(500, "a", 2).settle(600, "a", 2))

    def test_a_number_that_is_granted_twice(self):
        history = History().publish(0, "a").lease(10, "a", 1).lease(1_500, "a", 1).settle(1_600, "a", 1)
        self.expect(history, "overlapping")

    def test_an_ack_of_a_stale_owner(self):
        history = History().publish(0, "a").lease(10, "a", 1).lease(1_100, "a", 2)
        self.expect(history.settle(1_200, "a", 1), "stale")

    def test_a_refused_ack_of_a_stale_owner(self):
        history = History().publish(0, "a").lease(10, "a", 1).lease(1_100, "a", 2)
        self.expect(history.settle(1_200, "a", 1, out="no").settle(1_300, "a", 2))

    def test_a_lease_after_the_end(self):
        history = History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1).lease(30, "a", 2)
        self.expect(history, "again")

    def test_a_second_life_by_a_publish_that_was_sent_again(self):
        history = History().publish(0, "a", out="unknown").lease(10, "a", 1).settle(20, "a", 1)
        self.expect(history.publish(25, "a", attempt=2).lease(30, "a", 2).settle(40, "a", 2))

    def test_a_job_before_its_time(self):
        self.expect(History().publish(0, "a", delay_ms=100).lease(50, "a", 1).settle(60, "a", 1), "early")

    def test_a_retry_before_its_time(self):
        history = History().publish(0, "a").lease(10, "a", 1).settle(20, "a", 1, how="retry", delay_ms=300)
        self.expect(history.lease(100, "a", 2).settle(110, "a", 2), "early")

    def test_a_key_out_of_order(self):
        history = History().publish(0, "a", queue="strict", key="k").publish(1, "b", n=1, queue="strict", key="k")
        history.lease(10, "a", 1, queue="strict").settle(20, "a", 1, how="retry", delay_ms=10)
        history.lease(25, "b", 1, n=1, queue="strict").settle(30, "b", 1)
        self.expect(history.lease(40, "a", 2, queue="strict").settle(50, "a", 2), "order")

    def test_a_key_whose_first_job_was_published_once_more(self):
        history = History().publish(0, "a", queue="strict", key="k", out="unknown")
        history.publish(1, "a", queue="strict", key="k", attempt=2).publish(2, "b", n=1, queue="strict", key="k")
        history.lease(10, "b", 1, n=1, queue="strict").settle(15, "b", 1)
        self.expect(history.lease(20, "a", 1, queue="strict").settle(25, "a", 1))

    def test_too_many_at_once(self):
        history = History()
        for n in range(3):
            history.publish(n, str(n), n=n).lease(10 + n, str(n), 1, n=n).settle(50 + n, str(n), 1)
        self.expect(history, "limits", plain=2)
        self.expect(history, plain=3)

    def test_two_jobs_of_a_slot(self):
        history = History()
        for identity in ("a", "b"):
            history.lease(10, identity, 1, queue="cron", body="slot", slot="2030-01-01T00:00:00.000Z")
        self.expect(history, "slots")
        self.expect(history.fault(5, "clock jump", step=-2), "slots")
        self.expect(history.fault(6, "clock jump", step=-30))

    def test_two_jobs_of_a_slot_long_after_a_jump(self):
        history = History().fault(6, "clock jump", step=-30)
        for identity in ("a", "b"):
            history.lease(40_000, identity, 1, queue="cron", body="slot", slot="2030-01-01T00:00:00.000Z")
        self.expect(history, "slots")

    def test_a_slot_without_a_job(self):
        history = History()
        for second in (0, 1, 3):
            slot = f"2030-01-01T00:00:0{second}.000Z"
            history.lease(10, f"c{second}", 1, queue="cron", body="slot", slot=slot)
        self.expect(history, "slots")

    def test_a_job_that_died_too_soon(self):
        history = History().publish(0, "a", tries=2).lease(10, "a", 1).settle(20, "a", 1, how="retry")
        self.expect(history.left("a"), "dead")
        self.expect(history.lease(30, "a", 2).settle(40, "a", 2, how="retry"))

    def test_a_callback_before_its_parts(self):
        history = History().publish(0, "a").publish(1, "c", n=1, queue="callback", parts=["a"])
        history.lease(10, "c", 1, n=1, queue="callback").settle(20, "c", 1)
        self.expect(history.lease(30, "a", 1).settle(40, "a", 1), "batches")

    def test_a_job_that_no_worker_gets(self):
        self.expect(History().publish(0, "a").left("a", state="leased"), "idle")

    def test_a_pushed_job(self):
        self.expect(History().publish(0, "a").push(10, "a", out="no").push(20, "a"))
        self.expect(History().publish(0, "a").push(10, "a", out="no"), "lost")
        self.expect(History().push(10, "a"), "unexpected")

    def test_a_push_after_its_2xx(self):
        history = History().publish(0, "a").push(10, "a").push(500, "a")
        self.expect(history, "pushed")
        self.expect(history.fault(100, "kill of a server", until=300))

    def test_what_a_fault_took_away(self):
        def history(lost_from, keeps_publishes):
            return History().publish(100, "a").fault(200, "loss", until=300, lost_from=lost_from, keeps_publishes=keeps_publishes)

        self.expect(history(90, False))
        self.expect(history(90, True), "lost")
        self.expect(history(110, False), "lost")

    def test_an_end_that_a_fault_has_undone(self):
        def history(lost_from):
            done = History().publish(0, "a").lease(10, "a", 1).settle(100, "a", 1)
            return done.fault(200, "loss", until=300, lost_from=lost_from).lease(400, "a", 2).settle(410, "a", 2)

        self.expect(history(90))
        self.expect(history(150), "again")

    def test_a_lease_that_a_fault_has_undone(self):
        def history(lost_from, number=2):
            leased = History().publish(0, "a").lease(100, "a", 1).fault(200, "loss", until=300, lost_from=lost_from)
            return leased.lease(400, "a", number).settle(410, "a", number)

        self.expect(history(90))
        self.expect(history(150), "overlapping")
        # Its holder could end the other one.
        self.expect(history(90, number=1), "overlapping")

    def test_a_lower_number_after_a_loss(self):
        def leased(loss_at):
            history = History().publish(0, "a").lease(100, "a", 9).settle(150, "a", 9, how="retry")
            return history.fault(loss_at, "loss", until=loss_at + 10, lost_from=loss_at - 100).lease(400, "a", 3).settle(410, "a", 3)

        # The job was made again.
        self.expect(leased(200))
        # The loss came when both leases had been granted.
        self.expect(leased(450), "overlapping", "stale")

    def test_a_loss_that_no_log_names(self):
        self.expect(History().fault(0, "empty store", lost_from=0, named=False), "unnamed")

    def test_a_lease_of_a_client_that_had_gone_before(self):
        def history(granted):
            asked = History().publish(0, "a", queue="hung-up").no_lease(100, queue="hung-up")
            return asked.left("a", state="leased", queue="hung-up", lease_ends=granted + 600_000)

        # Its answer may have been on its way.
        self.expect(history(100))
        self.expect(history(1_000), "idle")
        # By a clock that was set ahead since.
        self.expect(history(3_100).fault(2_000, "clock jump", step=-3))

    def test_a_lease_of_a_client_that_did_not_read(self):
        history = History().publish(0, "a", queue="bulky").no_lease(100, queue="bulky")
        history.left("a", state="leased", queue="bulky", lease_ends=600_100)
        self.expect(history, "idle")
        # It is undone before a fault begins.
        self.expect(history.fault(1_000, "kill of a server"), "idle")
        self.expect(history.fault(50, "kill of a server", until=150))

    def test_a_lease_of_a_client_that_did_not_read_and_was_served_late(self):
        history = History().publish(0, "a", queue="bulky").no_lease(100, queue="bulky")
        history.left("a", state="leased", queue="bulky", lease_ends=602_000)
        self.expect(history, "idle")
        self.expect(history.fault(1_000, "stop of a server", until=2_100))

    def test_a_fault_without_effect(self):
        self.expect(History().fault(0, "loss of packets", effect=""), "ineffective")


if __name__ == "__main__":
    unittest.main()
