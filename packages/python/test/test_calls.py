"""Calls about jobs, queues, dead jobs, recurring jobs and workers, of the client for threads and of that for asyncio."""

import asyncio
import inspect
import json
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, List

from pumphouse import (
    Cron,
    FailureSample,
    Interval,
    NewJob,
    Operation,
    OperationFilter,
    Pumphouse,
    PumphouseError,
    RecurringJob,
    RetryPolicy,
    aio,
)

from support import answering, http_answer, queue_name


class Blocking:
    """The client for asyncio, whose methods are waited for."""

    def __init__(self, **options: Any) -> None:
        self._client, self._loop = aio.Pumphouse(**options), asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        async def run(*args: Any, **kwargs: Any) -> Any:
            answer = method(*args, **kwargs)
            return [item async for item in answer] if inspect.isasyncgen(answer) else await answer

        return lambda *args, **kwargs: self._loop.run_until_complete(run(*args, **kwargs))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


class Clients(unittest.TestCase):
    """The two clients."""

    def test_have_the_same_methods_with_the_same_parameters(self) -> None:
        def methods_of(client: type) -> Any:
            functions = inspect.getmembers(client, inspect.isfunction)
            return {
                name: list(inspect.signature(one).parameters.values())
                for name, one in functions
                if not name.startswith("_")
            }

        self.assertEqual(methods_of(aio.Pumphouse), methods_of(Pumphouse))

    def test_say_what_each_method_does(self) -> None:
        for name, method in inspect.getmembers(Pumphouse, inspect.isfunction):
            with self.subTest(method=name):
                self.assertTrue(inspect.getdoc(method))


class Calls(unittest.TestCase):
    """Calls of the client for threads."""

    make: Callable[..., Any] = Pumphouse

    def setUp(self) -> None:
        self.client, self.queue = type(self).make(), queue_name()
        self.addCleanup(self.client.close)

    def of(self, url: str) -> Any:
        """A client of another server."""
        client = type(self).make(url=url)
        self.addCleanup(client.close)
        return client

    def dead_job(self, group: str, **options: Any) -> str:
        job_id: str = self.client.publish(NewJob(self.queue, type="mail", **options)).id
        (job,) = self.client.call("POST", "leases", {"queues": [self.queue]})["jobs"]
        self.client.call("POST", f"jobs/{job_id}/fail", {"lease": job["lease"], "group": group, "message": "554 refused"})
        return job_id

    def refusal_of(self, call: Callable[[], object]) -> str:
        with self.assertRaises(PumphouseError) as caught:
            call()
        return caught.exception.code

    def test_explain_a_job_and_name_calls_that_remove_the_cause(self) -> None:
        client, queue = self.client, self.queue
        job_id = client.publish(NewJob(queue)).id
        client.pause_queue(queue)
        found = client.explain_job(job_id)
        self.assertEqual((found.cause, found.facts["queue"]), ("paused", queue))
        self.assertIn(queue, found.message)
        self.assertIsNotNone(datetime.fromisoformat(found.since.replace("Z", "+00:00")).tzinfo)
        self.assertIsNone(found.next_at)
        (remedy,) = [one for one in found.remedies if one.about == "resume the queue"]
        self.assertTrue(remedy.command.startswith(f"pumphouse queue resume {queue}"))
        method, path = remedy.call.split(" ")[:2]
        client.call(method, path.split("/", 3)[3])
        self.assertNotIn("paused", [after.cause for after in (client.explain_job(job_id), *found.also)])

    def test_explain_a_queue_and_an_unknown_job(self) -> None:
        self.client.pause_queue(self.queue)
        self.assertEqual(self.client.explain_queue(self.queue).cause, "paused")
        self.assertEqual(self.refusal_of(lambda: self.client.explain_job("unknown")), "job_not_found")

    def test_change_replace_revoke_and_log_a_job(self) -> None:
        client, queue = self.client, self.queue
        job = NewJob(queue, {"n": 1}, delay_ms=60_000, tags=["a"], history=True)
        job_id = client.put_job(f"put-{queue}", job).id
        self.assertEqual(client.put_job(job_id, NewJob(queue, {"n": 2}, delay_ms=60_000)).id, job_id)
        self.assertEqual(client.get_job(job_id).data, {"n": 2})
        self.assertEqual(self.refusal_of(lambda: client.put_job(job_id, NewJob(queue), only_new=True)), "job_exists")
        changed = client.update_job(job_id, delay_ms=0, priority=-3, tags=["b"], data=b"\x00", retry=RetryPolicy("none"))
        self.assertEqual((changed.id, changed.state), (job_id, "ready"))
        shown = client.get_job(job_id)
        self.assertEqual((shown.priority, shown.tags, shown.data), (-3, ["b"], b"\x00"))
        self.assertEqual(self.refusal_of(lambda: client.revoke_job(job_id)), "not_leased")
        client.call("POST", "leases", {"queues": [queue]})
        self.assertEqual(client.revoke_job(job_id).state, "ready")
        client.log_job(job_id, "half way", {"sent": 1})
        self.assertIn("half way", json.dumps(client.get_job(job_id).timeline))
        later = datetime.now(timezone.utc) + timedelta(hours=1)
        self.assertEqual(client.update_job(job_id, due_at=later, json='{"n":1.50}').state, "scheduled")

    def test_pause_resume_and_change_a_queue(self) -> None:
        client, queue = self.client, self.queue
        self.assertFalse(client.get_queue(queue).exists)
        client.publish(NewJob(queue))
        self.assertIsNotNone(client.pause_queue(queue).paused_at)
        (pause,) = client.pause_queue(queue, type="sms", note="provider is down", for_ms=60_000).pauses
        self.assertEqual((pause.type, pause.note), ("sms", "provider is down"))
        self.assertIsNotNone(pause.ends_at)
        self.assertEqual(client.resume_queue(queue, type="sms").pauses, [])
        (untyped,) = client.pause_queue(queue, without_type=True).pauses
        self.assertEqual((untyped.type, untyped.fair_key), (None, None))
        self.assertEqual(client.resume_queue(queue, without_type=True).pauses, [])
        self.assertIsNone(client.resume_queue(queue).paused_at)
        settings = {"max_running": 20, "rate": {"rate": 10, "period_ms": 1_000}, "defaults": {"retry": RetryPolicy("none")}}
        changed = client.update_queue(queue, settings)
        self.assertEqual((changed.max_running, changed.rate["burst"]), (20, 1))
        self.assertEqual(changed.defaults, {"retry": {"kind": "none"}})
        changed = client.update_queue(queue, {"rate": None})
        self.assertEqual((changed.max_running, changed.rate), (20, None))
        self.assertIn(queue, [one.queue for one in client.each_queue(limit=1)])

    def test_drain_purge_and_delete_a_queue(self) -> None:
        client, queue = self.client, self.queue
        client.publish_many([NewJob(queue), NewJob(queue, delay_ms=60_000)])
        self.assertEqual(client.drain_queue(queue, wait_ms=0.5).length, 2)
        self.assertEqual(self.refusal_of(lambda: client.publish(NewJob(queue))), "queue_draining")
        self.assertEqual(self.refusal_of(lambda: client.delete_queue(queue)), "queue_not_empty")
        dry = client.purge_queue(queue, ["ready", "scheduled"], dry_run=True)
        self.assertEqual((dry.jobs, dry.dry_run), ({"ready": 1, "scheduled": 1}, True))
        self.assertEqual(client.purge_queue(queue, ["ready"]).jobs, {"ready": 1})
        self.assertTrue(client.purge_queue(queue, ["scheduled"]).complete)
        client.resume_queue(queue)
        client.update_queue(queue, {"max_running": 1})
        client.delete_queue(queue)
        self.assertEqual(self.refusal_of(lambda: client.delete_queue(queue)), "queue_not_found")

    def test_list_dead_jobs_by_filters_and_count_their_groups(self) -> None:
        client, group = self.client, f"g-{self.queue}"
        job_id = self.dead_job(group, attributes={"shop": "north"})
        self.dead_job(f"{group}-2")
        before = datetime.now(timezone.utc) - timedelta(hours=1)
        (found,) = client.each_dead_job(group=group, text="Refused", attribute="shop=north", from_=before)
        self.assertEqual((found.id, found.state, found.failure.message), (job_id, "dead", "554 refused"))
        self.assertEqual(client.list_dead_jobs(group=group, to=before).items, [])
        self.assertEqual(len(list(client.each_dead_job(queue=self.queue, limit=1, order="newest"))), 2)
        (found_group,) = [one for one in client.each_failure_group(limit=1) if one.name == group]
        self.assertEqual((found_group.jobs, sum(found_group.trend)), (1, 1))
        self.assertEqual(found_group.sample, FailureSample(job_id, self.queue, "554 refused"))

    def test_respawn_move_and_delete_dead_jobs(self) -> None:
        client, queue = self.client, self.queue
        one, two, three = (self.dead_job(f"{name}-{queue}") for name in "abc")
        dry = client.respawn_dead_jobs({"queue": queue}, dry_run=True)
        self.assertEqual((dry.jobs, dry.dry_run, dry.next_cursor), (3, True, None))
        self.assertEqual(client.respawn_dead_jobs({"group": f"a-{queue}"}, tries=7).jobs, 1)
        self.assertEqual((client.get_job(one).state, client.get_job(one).tries_left), ("ready", 7))
        self.assertEqual(client.move_dead_jobs(f"{queue}-2", ids=[two]).jobs, 1)
        self.assertEqual(client.get_job(two).queue, f"{queue}-2")
        self.assertEqual(client.delete_dead_jobs({"queue": queue}, ids=[one, three]).jobs, 1)
        self.assertEqual(self.refusal_of(lambda: client.get_job(three)), "job_not_found")

    def test_change_no_dead_jobs_without_a_filter(self) -> None:
        self.dead_job("smtp")
        with self.assertRaisesRegex(TypeError, "give a filter, or ids"):
            self.client.delete_dead_jobs()
        self.assertEqual(len(self.client.list_dead_jobs(queue=self.queue).items), 1)

    def test_store_change_pause_and_run_a_recurring_job(self) -> None:
        client, queue = self.client, self.queue
        cron = Cron("30 2 * * *", "Europe/Berlin", jitter_ms=0.5, end_at=datetime(2099, 1, 1, tzinfo=timezone.utc))
        job = NewJob(queue, b"\xff", priority=3, content_type="image/png")
        stored: RecurringJob = client.put_recurring_job(queue, cron, job, overlap="skip", catch_up_ms=1.5)
        self.assertEqual((stored.schedule["cron"], stored.schedule["jitter_ms"]), ("30 2 * * *", 1))
        self.assertEqual(stored.schedule["end_at"], "2099-01-01T00:00:00.000Z")
        self.assertEqual((stored.job["data_base64"], stored.overlap, stored.catch_up_ms), ("/w==", "skip", 2))
        self.assertIsNone(stored.last_skip)
        self.assertEqual([one.id for one in client.each_recurring_job(queue=queue)], [queue])
        changed = client.update_recurring_job(queue, {"schedule": Interval(60_000, offset_ms=3_600_000), "job": {"priority": 1}})
        self.assertEqual((changed.schedule["every_ms"], changed.job["priority"]), (60_000, 1))
        paused = client.pause_recurring_job(queue, note="the warehouse is closed")
        self.assertEqual((paused.paused, paused.note, paused.next_at), (True, "the warehouse is closed", None))
        self.assertEqual(client.explain_recurring_job(queue).cause, "paused")
        self.assertFalse(client.resume_recurring_job(queue).paused)
        self.assertTrue(client.run_recurring_job(queue).startswith(queue))
        self.assertEqual(client.get_recurring_job(queue).id, queue)
        client.delete_recurring_job(queue)
        self.assertEqual(self.refusal_of(lambda: client.get_recurring_job(queue)), "recurring_not_found")

    def test_list_the_next_slots_of_a_schedule(self) -> None:
        client, queue = self.client, self.queue
        client.put_recurring_job(queue, {"every_ms": 60_000}, {"queue": queue}, paused=True)
        self.assertEqual(len(client.list_upcoming_slots(queue, 3)), 3)
        (slot,) = client.preview_schedule(Cron("30 2 * * *", "UTC"), 1)
        self.assertTrue(slot.local.endswith("02:30:00+00:00") or "02:30" in slot.local, slot.local)
        self.assertFalse(slot.moved)
        client.delete_recurring_job(queue)

    def test_list_workers_and_ask_them_to_stop(self) -> None:
        client, name = self.client, f"w-{self.queue}"
        info = {"name": "mailer", "language": "python", "queues": [self.queue], "concurrency": 4}
        heartbeat = {"ttr_ms": 60_000, "leases": [], "info": info}
        client.call("POST", f"workers/{name}/heartbeat", heartbeat)
        shown = client.get_worker(name)
        self.assertEqual((shown.display_name, shown.queues, shown.quiet), ("mailer", [self.queue], False))
        client.quiet_worker(name)
        client.stop_worker(name)
        self.assertIn((name, True, True), [(one.name, one.quiet, one.stop) for one in client.each_worker(limit=1)])
        client.delete_worker(name)
        self.assertEqual(self.refusal_of(lambda: client.get_worker(name)), "worker_not_found")

    def test_start_an_operation_and_wait_for_its_end(self) -> None:
        client, queue = self.client, self.queue
        client.publish_many([NewJob(queue, type="mail"), NewJob(queue, type="mail"), NewJob(queue, type="sms")])
        mails: OperationFilter = {"queue": queue, "type": "mail"}
        dry = client.wait_operation(client.start_operation("cancel", mails, dry_run=True).id)
        self.assertEqual((dry.state, dry.matched, dry.done, len(dry.samples)), ("done", 2, 0, 2))
        self.assertEqual((dry.samples[0].queue, dry.samples[0].state), (queue, "ready"))
        seen: List[Operation] = []
        started = client.start_operation("patch", mails, set={"priority": -5, "data": {"n": 1}})
        ended = client.wait_operation(started.id, on_progress=seen.append)
        self.assertEqual((ended.done, ended.failed, ended.has_ended, seen[-1]), (2, 0, True, ended))
        self.assertEqual([job.priority for job in client.each_job(queue=queue, type="mail")], [-5, -5])
        self.assertEqual(client.get_operation(started.id).filter["queue"], queue)
        self.assertIn(started.id, [one.id for one in client.each_operation(limit=1)])

    def test_stop_an_operation_and_name_refused_jobs(self) -> None:
        client, queue = self.client, self.queue
        first, *_ = client.publish_many([NewJob(queue)] * 100)
        slow = client.start_operation("move", {"queue": queue}, to=f"{queue}-2", rate_per_s=1)
        self.assertFalse(client.wait_operation(slow.id, timeout_s=0.2).has_ended)
        stopped = client.stop_operation(slow.id)
        self.assertEqual((stopped.state, stopped.reason, stopped.rate_per_s), ("stopped", "stopped", 1))
        client.publish(NewJob(queue, depends_on=[first.id]))
        one = client.start_operation("cancel", {"queue": queue, "tag": "none"}, idempotency_key=f"k-{queue}")
        again = client.start_operation("cancel", {"queue": queue, "tag": "none"}, idempotency_key=f"k-{queue}")
        self.assertEqual(one.id, again.id)
        both: OperationFilter = {"queue": f"{queue}-2", "state": ["ready"]}
        refused = client.wait_operation(client.start_operation("cancel", both).id)
        self.assertEqual([(one.reason, one.jobs) for one in refused.refusals], [("has_dependents", 1)])
        self.assertEqual(self.refusal_of(lambda: client.get_operation("unknown")), "operation_not_found")

    def test_undo_an_operation(self) -> None:
        client, queue = self.client, self.queue
        job = client.publish(NewJob(queue, data={"n": 1}, priority=2))
        every: OperationFilter = {"queue": queue}
        ended = client.wait_operation(client.start_operation("delete", every, undo_ms=60_000).id)
        assert ended.undo is not None
        self.assertEqual((ended.undo.state, ended.undo.jobs, ended.undo.restored), ("kept", 1, 0))
        self.assertFalse(client.undo_operation(ended.id).has_ended)
        undone = client.wait_operation(ended.id).undo
        assert undone is not None
        self.assertEqual((undone.state, undone.restored, undone.failed, undone.refusals), ("done", 1, 0, []))
        self.assertEqual(client.get_job(job.id).priority, 2)
        plain = client.wait_operation(client.start_operation("delete", every).id)
        self.assertIsNone(plain.undo)
        self.assertEqual(self.refusal_of(lambda: client.undo_operation(plain.id)), "undo_gone")

    def test_give_the_statistics_of_a_day(self) -> None:
        self.dead_job("smtp")
        for _ in range(600):
            stats = self.client.get_statistics(queue=self.queue)
            if stats.failures == 1:  # They are a second behind.
                break
            time.sleep(0.05)
        self.assertEqual(stats.queue, self.queue)
        self.assertIsInstance(stats.waits.mean_ms, (int, float))
        self.assertEqual((stats.failures, stats.still_dead, stats.runs.count), (1, 1, 0))
        self.assertEqual(self.client.get_statistics(day="2026-01-01").day, "2026-01-01")

    def test_take_a_delete_for_done_whose_first_answer_was_lost(self) -> None:
        gone = http_answer(404, '{"code":"queue_not_found"}')
        with answering(b"", gone) as url:
            self.assertIsNone(self.of(url).delete_queue("q"))
        with answering(gone) as url:
            self.assertEqual(self.refusal_of(lambda: self.of(url).delete_queue("q")), "queue_not_found")
        with answering(b"", gone) as url:
            self.assertEqual(self.refusal_of(lambda: self.of(url).call("DELETE", "queues/q")), "queue_not_found")

    def test_ignore_fields_that_a_later_server_adds(self) -> None:
        remedy = {"about": "x", "call": "GET /", "command": None, "new": 1}
        later = {"cause": "new", "message": "m", "facts": {}, "since": None, "next_at": None, "remedies": [remedy], "also": [], "new": 1}
        with answering(http_answer(200, json.dumps(later))) as url:
            found = self.of(url).explain_job("j")
        self.assertEqual((found.cause, found.remedies[0].call), ("new", "GET /"))

    def test_name_an_answer_that_is_none_of_the_api(self) -> None:
        with answering(http_answer(200, "[1]")) as url:
            self.assertEqual(self.refusal_of(lambda: self.of(url).explain_job("j")), "invalid_response")


class CallsOfAsyncio(Calls):
    """Calls of the client for asyncio."""

    make = Blocking


if __name__ == "__main__":
    unittest.main()
