"""How long a call is tried again, by the client for threads and by that for asyncio."""

import asyncio
import math
import threading
import time
import unittest
from typing import Callable, Generator, List
from unittest.mock import patch

from pumphouse import Limits, NewJob, PublishedJob, Pumphouse, PumphouseError, aio
from pumphouse._calls import PublishOptions, publish_and_wait
from pumphouse._http import Api, Attempt, NoAnswer, Reply, Server, Step, pause_after
from pumphouse.jobs import CancelledJob, EndedJob

from support import answering, free_port, http_answer

JOB = http_answer(201, '{"id":"1","state":"ready","existing":false}')


class Retries(unittest.TestCase):
    """A call whose server refuses connections."""

    def test_succeeds_when_the_server_is_back_within_the_time(self) -> None:
        port = free_port()
        is_over = threading.Event()

        def come_back() -> None:
            time.sleep(4)
            with answering(JOB, JOB, port=port):
                is_over.wait(30)

        server = threading.Thread(target=come_back)
        server.start()
        try:
            published = asyncio.run(self.publish_by_both(f"http://127.0.0.1:{port}"))
        finally:
            is_over.set()
            server.join()
        self.assertEqual([one.id for one in published], ["1", "1"])

    async def publish_by_both(self, url: str) -> List[PublishedJob]:
        by_thread = asyncio.get_running_loop().run_in_executor(None, lambda: Pumphouse(url).publish(NewJob("q")))
        return [await aio.Pumphouse(url).publish(NewJob("q")), await by_thread]

    def test_fails_when_the_time_is_over(self) -> None:
        url, limits = f"http://127.0.0.1:{free_port()}", Limits(within_s=3)
        calls: List[Callable[[], object]] = [
            lambda: Pumphouse(url, limits=limits).publish(NewJob("q")),
            lambda: asyncio.run(aio.Pumphouse(url, limits=limits).publish(NewJob("q"))),
            # A server that cannot be reached does not wait for the end of the job.
            lambda: Pumphouse(url, limits=limits).publish_and_wait(NewJob("q"), wait_ms=60_000),
        ]
        for call in calls:
            began = time.monotonic()
            with self.assertRaises(PumphouseError) as caught:
                call()
            self.assertEqual(caught.exception.code, "network")
            # The next pause, of 1.6 s at most, and an attempt of 0.25 s would not have ended in time.
            self.assertTrue(1.1 < time.monotonic() - began < 3.5, time.monotonic() - began)
            self.assertGreaterEqual(caught.exception.attempts, 5)

    def test_fails_after_the_attempts_that_its_limits_allow(self) -> None:
        limits = Limits(tries=2)
        with self.assertRaises(PumphouseError) as caught:
            Pumphouse(f"http://127.0.0.1:{free_port()}", limits=limits).publish(NewJob("q"))
        self.assertEqual(caught.exception.attempts, 2)


class LongWaits(unittest.TestCase):
    """A publish that waits for the end of its job."""

    def steps_of(self, wait_ms: float, limits: Limits) -> Generator[Step, Reply, EndedJob]:
        api = Api(Server("http://127.0.0.1:1"), "ns", "token", limits)
        return api.steps(publish_and_wait(NewJob("q"), wait_ms, PublishOptions(None, None, None)))

    def test_has_a_key_that_counts_longer_than_the_call(self) -> None:
        for wait_ms, limits, ttl_ms in [
            (0, Limits(), 120_000),
            (120_000, Limits(), 195_000),
            (200_000_000, Limits(), 86_475_000),
            (0, Limits(within_s=600.0005), 665_001),
            (0, Limits(within_s=math.inf), 2_592_000_000),
        ]:
            attempt = next(self.steps_of(wait_ms, limits))
            assert isinstance(attempt, Attempt)
            self.assertEqual(attempt.headers["idempotency-ttl-ms"], str(ttl_ms))

    def test_waits_as_long_again_after_a_connection_that_breaks_late(self) -> None:
        now = [0.0]
        with patch("pumphouse._http.time.monotonic", lambda: now[0]):
            steps = self.steps_of(60_000, Limits())
            first = next(steps)
            now[0] = 58
            pause = steps.send(NoAnswer("network", "it broke", True))
            assert isinstance(first, Attempt) and isinstance(pause, float)
            now[0] += pause
            second = steps.send(False)
            assert isinstance(second, Attempt)
            self.assertEqual([first.timeout, second.timeout], [65, 65])
            self.assertEqual(first.path, second.path)


class Cancelled(unittest.TestCase):
    """A cancel that finds no job."""

    def test_is_done_if_an_earlier_attempt_whose_answer_was_lost_has_done_it(self) -> None:
        gone = http_answer(404, '{"code":"job_not_found"}')
        with answering(b"", gone) as url:
            self.assertEqual(Pumphouse(url).cancel_job("a"), CancelledJob("a", "already_cancelled", None))
        page = http_answer(404, "no route")
        for answers, code in [((gone,), "job_not_found"), ((b"", page), "http_404")]:
            with answering(*answers) as url, self.assertRaises(PumphouseError) as caught:
                Pumphouse(url).cancel_job("a")
            self.assertEqual(caught.exception.code, code)

    def test_does_not_hide_that_a_proxy_has_no_route_for_a_delete(self) -> None:
        with answering(b"", http_answer(404, '{"code":404}')) as url, self.assertRaises(PumphouseError) as caught:
            Pumphouse(url).delete_job("a")
        self.assertEqual(caught.exception.code, "http_404")


class Puts(unittest.TestCase):
    """A put without an answer."""

    def test_is_not_tried_again_also_by_the_method_for_any_call(self) -> None:
        puts: List[Callable[[Pumphouse], object]] = [
            lambda client: client.put_job("a", NewJob("q")),
            lambda client: client.call("PUT", "jobs/a", {"queue": "q"}),
        ]
        for put in puts:
            with answering(b"", JOB) as url, self.assertRaises(PumphouseError) as caught:
                put(Pumphouse(url))
            self.assertEqual((caught.exception.code, caught.exception.attempts), ("network", 1))


class Pauses(unittest.TestCase):
    """Pauses between attempts."""

    def test_double_up_to_two_seconds_and_half_of_each_is_random(self) -> None:
        for attempt, most in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, 2, 2], start=1):
            pauses = [pause_after(attempt) for _ in range(200)]
            self.assertTrue(most / 2 <= min(pauses) < max(pauses) <= most, (attempt, min(pauses), max(pauses)))
        self.assertLessEqual(pause_after(1_000_000), 2)


if __name__ == "__main__":
    unittest.main()
