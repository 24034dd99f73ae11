"""How long a call is tried again, by the client for threads and by that for asyncio."""

import asyncio
import threading
import time
import unittest
from typing import Callable, List

from pumphouse import Limits, NewJob, PublishedJob, Pumphouse, PumphouseError, aio
from pumphouse._http import pause_after

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


class Pauses(unittest.TestCase):
    """Pauses between attempts."""

    def test_double_up_to_two_seconds_and_half_of_each_is_random(self) -> None:
        for attempt, most in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, 2, 2], start=1):
            pauses = [pause_after(attempt) for _ in range(200)]
            self.assertTrue(most / 2 <= min(pauses) < max(pauses) <= most, (attempt, min(pauses), max(pauses)))
        self.assertLessEqual(pause_after(1_000_000), 2)


if __name__ == "__main__":
    unittest.main()
