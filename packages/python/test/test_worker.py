"""What a worker of threads does beside the scenarios of all clients."""

import json
import logging
import threading
import time
import unittest
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple
from unittest import mock

from pumphouse import Fail, Job, JobContext, NewJob, Pumphouse, PumphouseError, Retry, Worker
from pumphouse import worker as worker_module

from support import answering, free_port, http_answer, queue_name, run_program, running


def ended_job(client: Pumphouse, job: NewJob, states: str = "done dead") -> Any:
    """The job when it has ended, as the API shows it."""
    job.retention_ms, job.tries = 60_000, 1
    job_id = client.publish(job).id
    for _ in range(600):
        shown = client.call("GET", f"jobs/{job_id}")
        if shown["state"] in states.split():
            return shown
        time.sleep(0.05)
    raise AssertionError(f"the job is {shown['state']}")


class Queues(unittest.TestCase):
    """Queues of a worker."""

    def test_come_from_its_handlers(self) -> None:
        client, queue = Pumphouse(), queue_name()
        worker = Worker(client)
        worker.handle("a", queue=queue)(lambda _job, _context: "from a")
        worker.handle("b", queue=queue)(lambda _job, _context: "from b")
        with self.assertNoWarnings(), running(worker):
            shown = ended_job(client, NewJob(queue, type="b"))
            self.assertEqual(shown["result"]["data"], "from b")
            self.assertEqual(client.call("GET", f"workers/{worker.id}")["queues"], [queue])

    def test_are_missing_where_neither_worker_nor_handler_names_one(self) -> None:
        worker = Worker(Pumphouse())
        worker.handle("a")(lambda _job, _context: None)
        with self.assertRaisesRegex(ValueError, r"queues is missing: .*handle\(type, queue=…\)"):
            worker.run()

    def test_that_no_handler_matches_are_warned_of_once_at_the_start(self) -> None:
        mial, mail = f"mial-{queue_name()}", f"mail-{queue_name()}"
        worker = Worker(Pumphouse(), [mial])
        worker.handle("welcome", queue=mail)(lambda _job, _context: None)
        with self.assertLogs("pumphouse", "WARNING") as logs, running(worker):
            pass
        (line,) = logs.output
        self.assertRegex(line, f"do not match: it has handlers of queues .*: {mail}; no handler .*: {mial}$")

    def test_of_a_worker_without_handlers_are_warned_of(self) -> None:
        with self.assertLogs("pumphouse", "WARNING") as logs, running(Worker(Pumphouse(), ["mail"])):
            pass
        self.assertIn("no handler takes jobs of these queues", logs.output[0])

    @contextmanager
    def assertNoWarnings(self) -> Iterator[None]:
        with mock.patch.object(logging.getLogger("pumphouse"), "warning") as warning:
            yield
        warning.assert_not_called()


class RunLimits(unittest.TestCase):
    """Limits of how long a handler runs."""

    def test_cancel_the_handler_and_fail_its_job(self) -> None:
        client, queue = Pumphouse(), queue_name()
        worker = Worker(client)
        causes: List[Any] = []

        @worker.handle("slow", queue=queue, max_run_ms=200)
        def slow(_job: Job, context: JobContext) -> None:
            context.wait(30)
            causes.append(context.cause and context.cause.code)

        with running(worker):
            shown = ended_job(client, NewJob(queue, type="slow"))
        self.assertEqual(shown["failure"]["group"], "max_run_exceeded")
        self.assertEqual(causes, ["max_run_exceeded"])

    def test_of_a_job_cancel_a_handler_that_has_none(self) -> None:
        client, queue = Pumphouse(), queue_name()
        worker = Worker(client, [queue])
        limits: List[Any] = []

        @worker.handle()
        def slow(job: Job, context: JobContext) -> None:
            limits.append(job.max_run_ms)
            context.wait(30)
            limits.append(context.cause and context.cause.code)

        with running(worker):
            shown = ended_job(client, NewJob(queue, max_run_ms=200))
        self.assertEqual(shown["failure"]["group"], "max_run_exceeded")
        self.assertEqual(limits, [200, "max_run_exceeded"])

    def test_of_a_handler_count_only_for_its_jobs(self) -> None:
        client, queue = Pumphouse(), queue_name()
        worker = Worker(client, [queue])
        worker.handle("fast", max_run_ms=1)(lambda _job, _context: None)
        worker.handle(None)(lambda _job, context: context.wait(0.2) or "in time")
        with running(worker):
            self.assertEqual(ended_job(client, NewJob(queue))["result"]["data"], "in time")

    def test_of_less_than_a_millisecond_are_refused(self) -> None:
        for limit in (0, -5, "5s"):
            with self.assertRaisesRegex(ValueError, "max_run_ms: must be 1 or more"):
                Worker(Pumphouse()).handle("a", max_run_ms=limit)  # type: ignore[arg-type]


class Handlers(unittest.TestCase):
    """Handlers of a worker."""

    def handled(self, handler: Any) -> Dict[str, Any]:
        client, queue = Pumphouse(), queue_name()
        worker = Worker(client, [queue])
        worker.handle()(handler)
        with running(worker):
            shown: Dict[str, Any] = ended_job(client, NewJob(queue))
        return shown

    def test_write_lines_of_any_length_into_the_timeline(self) -> None:
        def handler(_job: Job, context: JobContext) -> None:
            context.log("x" * 2_000, {"n": 1})
            context.log("😀" * 600)
            context.log(ValueError("a value of any kind"))

        lines = [entry for entry in self.handled(handler)["timeline"] if entry.get("message")]
        self.assertEqual(
            [line["message"] for line in lines], ["x" * 1_023 + "…", "😀" * 511 + "…", "a value of any kind"]
        )
        self.assertEqual(lines[0]["data"], {"n": 1})

    def test_write_a_line_into_the_log_for_each_failed_attempt(self) -> None:
        with self.assertLogs("pumphouse", "WARNING") as logs:
            job = self.handled(lambda _job, _context: 1 / 0)
        (line,) = logs.output
        name = f"{job['queue']} {job['id']}"
        self.assertTrue(
            line.endswith(f"an attempt at a job failed: {name}, attempt 1, tries left 0: ZeroDivisionError"), line
        )

        def fail(_job: Job, _context: JobContext) -> None:
            raise Fail("with data of the job", group="smtp")

        with self.assertLogs("pumphouse", "WARNING") as logs:
            job = self.handled(fail)
        (line,) = logs.output
        name = f"{job['queue']} {job['id']}"
        self.assertTrue(
            line.endswith(f"a job failed and is not tried again: {name}, attempt 1, tries left 0: smtp"), line
        )

    def test_go_on_when_there_is_no_room_for_a_line(self) -> None:
        full = http_answer(507, '{"code":"store_full","detail":"the store is full"}')
        job = worker_module.HeldJob(mock.Mock(id="1", queue="mail", max_run_ms=None), None, None)
        with answering(*[full] * 2) as url, self.assertLogs("pumphouse", "WARNING") as logs:
            context = JobContext(job, Worker(Pumphouse(url), ["mail"]))
            context.log("a")
            context.log("b")
        (line,) = logs.output
        self.assertRegex(line, "a line was not written .*: store_full: the store is full .* mail 1$")

    def test_are_warned_of_once_while_there_is_no_room_for_their_outcome(self) -> None:
        refusals = [PumphouseError("store_full", "full", status=507)] * 3

        def settle() -> str:
            if refusals:
                raise refusals.pop()
            return "acked"

        job = worker_module.HeldJob(mock.Mock(id="1", queue="mail", max_run_ms=None), None, None)
        with self.assertLogs("pumphouse", "WARNING") as logs:
            self.assertEqual(Worker(Pumphouse(), ["mail"])._persist(job, settle), "acked")
        (line,) = logs.output
        self.assertRegex(line, "waits until the server can store it: store_full: full: mail 1$")

    def test_go_on_after_lines_that_are_refused_or_no_json(self) -> None:
        def handler(_job: Job, context: JobContext) -> None:
            context.log("a", "x" * 5_000)
            context.log("b", {1})

        with self.assertLogs("pumphouse", "WARNING") as logs:
            self.assertEqual(self.handled(handler)["state"], "done")
        (line,) = logs.output
        self.assertRegex(line, "a line was not written .*: invalid_argument: data ")

    def test_show_the_message_of_what_they_raise(self) -> None:
        class Text(str):
            def __getitem__(self, key: Any) -> str:
                raise RuntimeError

            def __format__(self, spec: str) -> str:
                raise RuntimeError

        class Odd(Exception):
            def __str__(self) -> str:
                return Text("odd text")

        class NoTrace(Odd):
            @property
            def __cause__(self) -> Optional[BaseException]:  # type: ignore[override]
                raise SystemExit

        for raised, group, message in (
            (Retry({"code": 7}), "failed", "{'code': 7}"),  # type: ignore[arg-type]
            (Fail(ValueError("deep")), "failed", "deep"),  # type: ignore[arg-type]
            (Odd(), "Odd", "odd text"),
            (NoTrace(), "NoTrace", "odd text"),
            (KeyError("name"), "KeyError", "KeyError: 'name'"),
        ):
            with self.subTest(raised=type(raised)):

                def handler(_job: Job, _context: JobContext, raised: BaseException = raised) -> None:
                    raise raised

                failure = self.handled(handler)["failure"]
                self.assertEqual(failure["group"], group)
                self.assertIn(message, failure["message"].splitlines()[0])

    def test_are_not_registered_without_parentheses(self) -> None:
        with self.assertRaisesRegex(TypeError, r"@worker.handle\(\)"):
            Worker(Pumphouse(), ["mail"]).handle(lambda _job, _context: None)  # type: ignore[arg-type]


    def test_get_the_place_of_a_value_that_is_no_json(self) -> None:
        errors = []

        def handler(_job: Job, context: JobContext) -> Any:
            try:
                context.progress({"a": [float("nan")]})
            except ValueError as error:
                errors.append(str(error))
            return {"a": [{1}]}

        failure = self.handled(handler)["failure"]
        self.assertEqual(failure["group"], "invalid_output")
        self.assertIn("TypeError: result.a[0]: must be JSON, not set: ", failure["message"].splitlines()[0])
        self.assertRegex(errors[0], r"^progress\.a\[0\]: must not be NaN")


class Leasing(unittest.TestCase):
    """Lease requests of a worker."""

    def test_write_a_line_when_they_work_again(self) -> None:
        port = free_port()
        worker = Worker(Pumphouse(f"http://127.0.0.1:{port}"), ["mail"], wait_ms=0)
        worker.handle()(lambda _job, _context: None)
        with self.assertLogs("pumphouse", "WARNING") as logs, running(worker):
            began = time.monotonic()
            self.until(logs, "leasing jobs failed; trying again: network: ")
            self.assertLess(time.monotonic() - began, 5)
            with answering(*[http_answer(200, '{"jobs":[]}')] * 1_000, port=port):
                over = self.until(logs, "leasing jobs works again after ")
                failures = [line for line in logs.output if "leasing jobs failed" in line]
                time.sleep(0.5)
        count = f"{len(failures)} failed request{'' if len(failures) == 1 else 's'}"
        self.assertEqual(over, [f"WARNING:pumphouse:leasing jobs works again after {count}"])
        self.assertEqual([line for line in logs.output if "works again" in line], over)

    def types_of(self, *handlers: Tuple[Optional[str], Optional[str]]) -> Any:
        worker = Worker(Pumphouse(), ["mail"])
        for queue, kind in handlers:
            worker.handle(kind, queue=queue)(lambda _job, _context: None)
        worker._prepare()
        return worker._types()

    def test_name_the_types_of_the_handlers_unless_these_take_all_or_are_too_many(self) -> None:
        named = (None, "a"), ("mail", "b"), (None, "b"), (None, None)
        self.assertEqual(self.types_of(*named), ["a", "b", None])
        self.assertEqual(self.types_of((None, "a"), ("other", "*")), ["a"])
        self.assertIsNone(self.types_of((None, "a"), ("mail", "*")))
        self.assertIsNone(self.types_of((None, "a"), (None, "*")))
        self.assertIsNone(self.types_of())
        many: List[Tuple[Optional[str], Optional[str]]] = [(None, str(i)) for i in range(65)]
        self.assertEqual(len(self.types_of(*many[:64])), 64)
        self.assertIsNone(self.types_of(*many))

    def test_name_no_types_for_10_minutes_after_a_refusal_which_is_logged_once(self) -> None:
        too_old = PumphouseError("format_too_old", "the format is 3", status=409)
        errors = [{"field": "types", "rule": "unknown field"}]
        older = PumphouseError("invalid_argument", "types", status=400, details={"errors": errors})
        worker = Worker(Pumphouse(), ["mail"])
        worker.handle("known")(lambda _job, _context: None)
        worker._prepare()
        sent: List[Any] = []
        now = 1_000.0

        def send(call: Any, _connections: Any) -> List[Job]:
            sent.append(json.loads(call.body).get("types"))
            if sent[-1] is not None and refusals:
                raise refusals.pop(0)
            return []

        refusals = [too_old, older]
        with self.assertLogs("pumphouse", "WARNING") as logs, mock.patch.object(worker, "_send", send):
            for passed in (0, 599, 2, 1, 600):
                now += passed
                with mock.patch.object(time, "monotonic", return_value=now):
                    self.assertEqual(worker._lease(1), [])
        self.assertEqual(sent, [["known"], None, None, ["known"], None, None, ["known"]])
        (line,) = logs.output
        self.assertRegex(line, "cannot lease by type; .* `pumphouse format raise`: format_too_old: the format is 3$")

    def test_are_not_repeated_after_a_refusal_of_other_fields(self) -> None:
        errors = [{"field": "queues[0]", "rule": "must be a name"}]
        refusal = PumphouseError("invalid_argument", "queues[0]", status=400, details={"errors": errors})
        worker = Worker(Pumphouse(), ["mail"])
        worker.handle("known")(lambda _job, _context: None)
        worker._prepare()
        with mock.patch.object(worker, "_send", side_effect=refusal) as send:
            with self.assertRaises(PumphouseError):
                worker._lease(1)
        send.assert_called_once()

    def until(self, logs: Any, text: str) -> List[str]:
        """The lines with a text, as soon as there is one."""
        for _ in range(600):
            lines = [line for line in logs.output if text in line]
            if lines:
                return lines
            time.sleep(0.05)
        raise AssertionError(f"no line has: {text}")


class Stopping(unittest.TestCase):
    """A worker that stops."""

    def test_is_not_taken_for_one_that_waits_after_an_interrupted_stop(self) -> None:
        # Ctrl-C ends `stop` in a handler of the one; its worker does not wait for the other any more.
        client = Pumphouse()
        one, other = Worker(client, ["one"]), Worker(client, ["other"])
        worker_module.callers.set((one,))
        other._has_started = True
        with mock.patch.object(other._ended, "wait", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                other.stop()
        self.assertEqual(one._awaited, [])
        worker_module.callers.set(())

    def test_stops_where_no_thread_can_be_started(self) -> None:
        worker = Worker(Pumphouse(), ["mail"])
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            worker.stop()
        self.assertTrue(worker._polls.hurried.is_set())


class Logging(unittest.TestCase):
    """Lines of a worker."""

    PROGRAM = """
import logging, threading
{setup}
from pumphouse import Pumphouse, Worker
worker = Worker(Pumphouse(), ["mail"])
worker.stop()
worker.run()
"""

    def test_have_the_time_in_a_program_that_has_not_set_up_logging(self) -> None:
        lines = run_program(self.PROGRAM.format(setup="")).stderr.splitlines()
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING pumphouse: queues and handlers")

    def test_are_written_as_the_program_wants_it_and_once(self) -> None:
        setup = 'logging.basicConfig(format="MINE %(message)s")'
        lines = run_program(self.PROGRAM.format(setup=setup)).stderr.splitlines()
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], "^MINE queues and handlers")


if __name__ == "__main__":
    logging.disable(logging.NOTSET)
    unittest.main()
