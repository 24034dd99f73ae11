"""What is published, and what a publish says. PUMPHOUSE_URL, _NAMESPACE and _TOKEN name a server."""

import json
import unittest
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Callable, Dict, List
from uuid import UUID

from pumphouse import Cron, Interval, NewJob, Pumphouse, PumphouseError, RetryPolicy, UniqueKey

from support import answering, http_answer, queue_name


@dataclass
class Published:
    """A class of the caller."""

    id: str


class Options(unittest.TestCase):
    """Options of a new job."""

    def published(self, job: NewJob) -> Dict[str, Any]:
        client = Pumphouse()
        answer: Dict[str, Any] = client.call("GET", f"jobs/{client.publish(job).id}")
        return answer

    def test_takes_a_retry_policy_and_a_unique_key_as_dataclasses(self) -> None:
        retry = RetryPolicy("exponential", delay_ms=1_000, factor=3, max_ms=60_000, jitter=0.5, non_retryable=["format"])
        job = NewJob(queue_name(), retry=retry, unique=UniqueKey("order-1", mode="reject", window_ms=5_000))
        shown = self.published(job)
        self.assertEqual(
            shown["retry"],
            {
                "kind": "exponential",
                "delay_ms": 1_000,
                "factor": 3,
                "max_ms": 60_000,
                "jitter": 0.5,
                "non_retryable": ["format"],
            },
        )
        self.assertEqual(shown["unique_key"], "order-1")

    def test_takes_them_as_mappings(self) -> None:
        job = NewJob(queue_name(), retry={"kind": "list", "delays_ms": [1, 2]}, unique={"key": "order-2"})
        shown = self.published(job)
        self.assertEqual((shown["retry"], shown["unique_key"]), ({"kind": "list", "delays_ms": [1, 2]}, "order-2"))

    def test_takes_a_retry_policy_in_the_body_of_any_other_call(self) -> None:
        defaults = {"tries": 8, "retry": RetryPolicy("fixed", delay_ms=4_999.5)}
        queue = Pumphouse().call("PATCH", f"queues/{queue_name()}", {"defaults": defaults})
        self.assertEqual(queue["defaults"]["retry"], {"kind": "fixed", "delay_ms": 5_000})

    def test_rounds_fractions_of_durations_up(self) -> None:
        job = NewJob(
            queue_name(),
            ttr_ms=1_000.2,
            max_run_ms=Decimal("2000.1"),  # type: ignore[arg-type]
            lease_grace_ms=0.5,
            retention_ms=10.0,
            retry=RetryPolicy("list", delays_ms=[0.1, 2]),
            unique=UniqueKey("order-3", window_ms=60_000.5),
        )
        shown = self.published(job)
        names = ("ttr_ms", "max_run_ms", "lease_grace_ms", "retention_ms")
        self.assertEqual([shown[name] for name in names], [1_001, 2_001, 1, 10])
        self.assertEqual(shown["retry"], {"kind": "list", "delays_ms": [1, 2]})
        self.assertEqual(json.loads(NewJob("q", delay_ms=0.1, ttl_ms=1.5).to_json())["ttl_ms"], 2)

    def test_names_a_duration_that_is_no_number(self) -> None:
        for value in (float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "retention_ms: must be a number of milliseconds"):
                NewJob("q", retention_ms=value).to_json()

    def test_names_the_place_of_a_value_that_is_no_json(self) -> None:
        loop: List[Any] = []
        loop.append(loop)
        for data, kind, text in (
            (float("nan"), ValueError, "data: must not be NaN or infinite, .*: give None or text in its place"),
            ({"a": [1, {"b": float("inf")}]}, ValueError, r"data\.a\[1\]\.b: must not be NaN"),
            ({1}, TypeError, r"data: must be JSON, not set: `list\(…\)` makes a list of it"),
            ([b"x"], TypeError, r"data\[0\]: must be JSON, not bytes: give text"),
            ({"a b": Decimal(1)}, TypeError, r'data\["a b"\]: must be JSON, not Decimal: `float'),
            ({"id": UUID(int=1)}, TypeError, r"data\.id: must be JSON, not UUID: `str\(…\)`"),
            ({"day": date(2030, 1, 1)}, TypeError, r"data\.day: must be JSON, not date: `\.isoformat\(\)`"),
            (Interval, TypeError, "data: must be JSON, not type: give a dict"),
            ({"p": Published("1")}, TypeError, r"data\.p: must be JSON, not Published: `dataclasses\.asdict"),
            ({(1, 2): 1}, TypeError, "data: its keys must be text, not tuple"),
            ({float("nan"): 1}, ValueError, "data: a key must not be NaN"),
            (loop, ValueError, r"data\[0\]: must not contain itself"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(kind, f"^{text}"):
                NewJob("q", data).to_json()

    def test_names_the_field_of_any_call_that_is_no_json(self) -> None:
        client, bad = Pumphouse(), NewJob("q", {"a": {1}})
        calls: Dict[str, Callable[[], object]] = {
            r"jobs\[1\]\.data\.a: must be JSON": lambda: client.publish_many([NewJob("q"), bad]),
            "attributes.a: must be JSON": lambda: client.publish(NewJob("q", attributes={"a": {1}})),  # type: ignore[dict-item]
            r"job\.data\.a: must be JSON": lambda: client.put_recurring_job("r", Interval(1_000), bad),
            "schedule.every_ms: must not be NaN": lambda: client.preview_schedule({"every_ms": float("nan")}),
            "value: must be JSON": lambda: client.set_variable("v", {1}),
            "data: must be JSON": lambda: client.log_job("1", "line", {1}),
            "max_running: must be JSON": lambda: client.update_queue("q", {"max_running": {1}}),  # type: ignore[typeddict-item]
            "body: must be JSON": lambda: client.call("POST", "jobs", {1}),  # type: ignore[arg-type]
            "data: must be bytes or text with the content type text/plain, not dict": lambda: client.publish(
                NewJob("q", {}, content_type="text/plain")
            ),
        }
        for text, call in calls.items():
            with self.subTest(text=text), self.assertRaisesRegex((TypeError, ValueError), f"^{text}"):
                call()

    def test_refuses_json_text_that_is_none(self) -> None:
        for value, text in (("{", "Expecting"), ("[NaN]", "JSON does not have NaN"), ("", "Expecting")):
            with self.assertRaisesRegex(ValueError, f"^json: must be JSON text: {text}"):
                NewJob("q", json=value).to_json()
        with self.assertRaisesRegex(TypeError, "^json: must be JSON text, not bytes"):
            NewJob("q", json=b"1").to_json()  # type: ignore[arg-type]

    def test_refuses_a_time_without_a_time_zone(self) -> None:
        client, moment = Pumphouse(), datetime(2030, 1, 31, 12)
        calls: Dict[str, Callable[[], object]] = {
            "run_at": lambda: client.publish(NewJob("q", run_at=moment)),
            r"data\.at": lambda: client.publish(NewJob("q", {"at": moment})),
            "due_at": lambda: client.update_job("1", due_at=moment),
            "schedule.first_at": lambda: client.put_recurring_job("r", Interval(1_000, first_at=moment), NewJob("q")),
            "schedule.start_at": lambda: client.preview_schedule(Cron("* * * * *", "UTC", start_at=moment)),
            "from_": lambda: client.list_dead_jobs(from_=moment),
            "to": lambda: client.list_dead_jobs(to=moment),
            "filter.from": lambda: client.start_operation("cancel", {"queue": "q", "from": moment}),
        }
        for name, call in calls.items():
            pattern = rf"^{name}: the time zone is missing.* datetime\.now\(timezone\.utc\), or \.astimezone\(\) "
            with self.subTest(name=name), self.assertRaisesRegex(ValueError, pattern):
                call()
        self.assertIn('"at":"2030-01-31T', NewJob("q", {"at": moment.astimezone()}).to_json())

    def test_writes_run_at_in_utc(self) -> None:
        moment = datetime(2030, 1, 31, 12, 0, 0, 123_456, tzinfo=timezone.utc)
        self.assertEqual(json.loads(NewJob("q", run_at=moment).to_json())["run_at"], "2030-01-31T12:00:00.123Z")


class Publishing(unittest.TestCase):
    """A publish."""

    def test_says_whether_it_was_replayed(self) -> None:
        client, queue = Pumphouse(), queue_name()
        for is_replayed in (False, True):
            published = [client.publish(NewJob(queue), idempotency_key=f"one-{queue}")]
            published += client.publish_many([NewJob(queue)] * 2, idempotency_key=f"many-{queue}")
            ended = client.publish_and_wait(NewJob(queue), wait_ms=1, idempotency_key=f"wait-{queue}")
            self.assertEqual([*[one.replayed for one in published], ended.replayed], [is_replayed] * 4)

    def test_names_missing_dependencies_or_refuses_them(self) -> None:
        client, queue = Pumphouse(), queue_name()
        job = NewJob(queue, depends_on=["typo"])
        published = [client.publish(job), *client.publish_many([job])]
        self.assertEqual([list(one.missing_dependencies) for one in published], [["typo"]] * 2)
        ended = client.publish_and_wait(job, wait_ms=1)
        self.assertEqual(list(ended.missing_dependencies), ["typo"])
        self.assertEqual(list(client.publish(NewJob(queue)).missing_dependencies), [])
        with self.assertRaises(PumphouseError) as caught:
            client.publish(NewJob(queue, depends_on=["typo"], on_missing_dependency="refuse"))
        self.assertEqual(caught.exception.code, "missing_dependency")

    def test_is_no_replay_when_only_its_own_first_answer_was_lost(self) -> None:
        job = '{"id":"1","state":"ready","existing":false}'
        with answering(b"", http_answer(201, job, "idempotency-replayed: true")) as url:
            self.assertFalse(Pumphouse(url).publish(NewJob("q")).replayed)

    def test_stores_nothing_of_a_list_with_a_job_that_is_no_json(self) -> None:
        client, queue = Pumphouse(), queue_name()
        with self.assertRaises(TypeError):
            client.publish_many([NewJob(queue)] * 64 + [NewJob(queue, {1})])
        self.assertEqual(client.list_jobs(queue=queue).items, [])


if __name__ == "__main__":
    unittest.main()
