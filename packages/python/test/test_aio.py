"""What a worker of asyncio does beside the scenarios of all clients."""

import asyncio
import threading
import time
import unittest
from typing import Any, Awaitable, Callable, Dict

from pumphouse import Job, NewJob, aio

from support import queue_name

JOB: Dict[str, Any] = {"retention_ms": 60_000, "retry": {"kind": "fixed", "delay_ms": 60_000}}


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(600):
        if await is_so():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not happen")


async def state_of(client: aio.Pumphouse, job_id: str) -> str:
    return (await client.get_job(job_id)).state


class Handlers(unittest.IsolatedAsyncioTestCase):
    """Coroutines that handle jobs."""

    async def asyncSetUp(self) -> None:
        self.client, self.queue = aio.Pumphouse(), queue_name()
        self.worker = aio.Worker(self.client, [self.queue], concurrency=100, shutdown_grace_ms=10_000)

    async def asyncTearDown(self) -> None:
        await self.worker.stop()
        await self.client.close()

    async def start(self, handler: aio.Handler) -> "asyncio.Task[None]":
        self.worker.handle()(handler)
        return asyncio.get_running_loop().create_task(self.worker.run())

    async def publish(self, **options: Any) -> str:
        return (await self.client.publish(NewJob(self.queue, **JOB, **options))).id

    async def until_state(self, job_id: str, state: str) -> None:
        async def is_so() -> bool:
            return await state_of(self.client, job_id) == state

        await until(is_so)

    async def test_run_at_once_in_tasks_of_one_thread(self) -> None:
        threads, waiting, all_wait = set(), [], asyncio.Event()

        async def handler(job: Job, _context: aio.JobContext) -> int:
            threads.add(threading.get_ident())
            waiting.append(job.id)
            if len(waiting) == 100:
                all_wait.set()
            await all_wait.wait()
            return len(threads)

        jobs = await self.client.publish_many([NewJob(self.queue, **JOB)] * 100)
        await self.start(handler)
        await self.until_state(jobs[-1].id, "done")
        self.assertEqual(threads, {threading.get_ident()})

    async def test_are_cancelled_at_the_end_of_their_run(self) -> None:
        causes = []

        async def handler(_job: Job, context: aio.JobContext) -> None:
            try:
                await asyncio.sleep(30)
            finally:
                causes.append(context.cause and context.cause.code)

        self.worker.handle("slow", max_run_ms=200)(handler)
        job_id = (await self.client.publish(NewJob(self.queue, type="slow", tries=1))).id
        asyncio.get_running_loop().create_task(self.worker.run())
        await self.until_state(job_id, "dead")

        async def is_told() -> bool:
            return causes == ["max_run_exceeded"]

        await until(is_told)
        failure = (await self.client.get_job(job_id)).failure
        self.assertEqual(failure and failure.group, "max_run_exceeded")

    async def test_keep_their_lease_while_they_block_the_event_loop(self) -> None:
        self.worker = aio.Worker(self.client, [self.queue], ttr_ms=3_000)

        async def handler(_job: Job, _context: aio.JobContext) -> None:
            time.sleep(5)

        job_id = await self.publish()
        await self.start(handler)
        await self.until_state(job_id, "done")
        self.assertEqual((await self.client.get_job(job_id)).attempts, 1)

    async def test_end_and_are_acknowledged_when_the_task_of_run_is_cancelled(self) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def handler(_job: Job, _context: aio.JobContext) -> str:
            begun.set()
            await go_on.wait()
            return "whole"

        job_id = await self.publish()
        task = await self.start(handler)
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0.2)
        self.assertFalse(task.done())
        go_on.set()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual((await self.client.get_job(job_id)).result, "whole")

    async def test_give_their_jobs_back_at_once_when_the_task_of_run_is_cancelled_twice(self) -> None:
        begun, is_over = asyncio.Event(), asyncio.Event()

        async def handler(_job: Job, _context: aio.JobContext) -> None:
            begun.set()
            await is_over.wait()

        job_id = await self.publish()
        task = await self.start(handler)
        await begun.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.1)
        with self.assertRaises(asyncio.CancelledError):
            await task
        is_over.set()
        job = await self.client.get_job(job_id)
        self.assertEqual((job.state, job.tries_left), ("ready", job.tries))

    async def test_fail_when_they_cancel_themselves(self) -> None:
        async def handler(_job: Job, _context: aio.JobContext) -> None:
            raise asyncio.CancelledError

        job_id = await self.publish()
        await self.start(handler)
        await self.until_state(job_id, "scheduled")
        failure = (await self.client.get_job(job_id)).failure
        self.assertEqual(failure and failure.group, "CancelledError")

    async def test_write_lines_and_progress(self) -> None:
        async def handler(_job: Job, context: aio.JobContext) -> None:
            await context.log("x" * 2_000)
            await context.progress({"percent": 50})

        job_id = await self.publish()
        await self.start(handler)
        await self.until_state(job_id, "done")
        job = await self.client.get_job(job_id)
        self.assertEqual(job.progress, {"percent": 50})
        self.assertIn("x" * 1_023 + "…", [entry.get("message") for entry in job.timeline or []])

    async def test_must_be_coroutines(self) -> None:
        with self.assertRaisesRegex(TypeError, "must be an `async def`"):
            self.worker.handle("plain")(lambda _job, _context: None)  # type: ignore[arg-type, return-value]

    async def test_may_be_objects(self) -> None:
        class Handler:
            async def __call__(self, _job: Job, _context: aio.JobContext) -> str:
                return "of an object"

        job_id = await self.publish()
        await self.start(Handler())
        await self.until_state(job_id, "done")
        self.assertEqual((await self.client.get_job(job_id)).result, "of an object")


class EventLoops(unittest.TestCase):
    """Event loops that end."""

    def test_give_back_jobs_without_using_a_try(self) -> None:
        queue = queue_name()

        async def main() -> str:
            client = aio.Pumphouse()
            begun = asyncio.Event()
            worker = aio.Worker(client)

            @worker.handle(queue=queue)
            async def handle(_job: Job, _context: aio.JobContext) -> None:
                begun.set()
                await asyncio.sleep(3_600)

            asyncio.get_running_loop().create_task(worker.run())
            job = await client.publish(NewJob(queue, **JOB))
            await begun.wait()
            return job.id  # All tasks are cancelled now.

        job_id = asyncio.run(main())

        # The lease request that was open may have leased it once more: then the server takes that lease back.
        async def is_ready() -> bool:
            job = await aio.Pumphouse().get_job(job_id)
            return (job.state, job.tries_left, job.failures) == ("ready", job.tries, 0)

        asyncio.run(until(is_ready))

    def test_may_share_a_client_one_after_the_other(self) -> None:
        client, queue = aio.Pumphouse(), queue_name()
        for _ in range(2):
            asyncio.run(client.publish(NewJob(queue)))
        self.assertEqual(len(asyncio.run(client.list_jobs(queue=queue)).items), 2)


class Calls(unittest.IsolatedAsyncioTestCase):
    """Calls of a client of asyncio."""

    async def test_may_be_made_at_once_and_cancelled(self) -> None:
        queue = queue_name()
        async with aio.Pumphouse() as client:
            waits = [
                asyncio.create_task(client.publish_and_wait(NewJob(queue), wait_ms=60_000)) for _ in range(50)
            ]

            async def all_are_there() -> bool:
                return len((await client.list_jobs(queue=queue)).items) == 50

            await until(all_are_there)
            for wait in waits:
                wait.cancel()
            ended = await asyncio.gather(*waits, return_exceptions=True)
            self.assertEqual({type(one) for one in ended}, {asyncio.CancelledError})
            self.assertEqual([job.state async for job in client.each_job(queue=queue)], ["ready"] * 50)


class Answers(unittest.TestCase):
    """Answers of a server, in any parts."""

    def check(self, answer: bytes, body: bytes, is_reusable: bool, closes: bool = False) -> None:
        from pumphouse._aio_http import AnswerReader

        for size in (1, 3, len(answer)):
            with self.subTest(answer=answer, size=size):
                reader = AnswerReader()
                for at in range(0, len(answer), size):
                    reader.feed(answer[at : at + size])
                if closes:
                    self.assertIsNone(reader.response)
                    reader.feed_end()
                assert reader.response is not None
                self.assertEqual(reader.response.body, body)
                self.assertEqual(reader.is_reusable, is_reusable)

    def test_are_read_whole(self) -> None:
        self.check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole", b"whole", True)
        self.check(b"HTTP/1.1 200\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", b"", False)
        self.check(b"HTTP/1.1 204 No Content\r\n\r\n", b"", True)
        self.check(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", b"x", True)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nwhole\r\nA\r\n and more!\r\n0\r\n"
        self.check(chunked + b"\r\n", b"whole and more!", True)
        self.check(chunked + b"X-Trailer: 1\r\n\r\n", b"whole and more!", True)
        self.check(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end", False, closes=True)

    def test_that_are_none_are_refused(self) -> None:
        from http.client import HTTPException

        from pumphouse._aio_http import AnswerReader

        for answer in (
            b"\x15\x03\x01\x00\x02\x02\x46",
            b"SSH-2.0-OpenSSH\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            b"HTTP/1.1 " + b"x" * 70_000,
        ):
            with self.assertRaises(HTTPException):
                AnswerReader().feed(answer)
        for answer in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhol"):
            reader = AnswerReader()
            reader.feed(answer)
            with self.assertRaises(HTTPException):
                reader.feed_end()


if __name__ == "__main__":
    unittest.main()
