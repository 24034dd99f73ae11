"""Texts of errors: one line with what happened, where, and what to do."""

import asyncio
import os
import pickle
import socket
import threading
import time
import unittest
from typing import Any, Callable, Dict, List

from pumphouse import Fail, Limits, NewJob, Pumphouse, PumphouseError, Release, Retry, aio

from support import answering, free_port, http_answer, queue_name

ONCE = Limits(tries=1, within_s=5, attempt_s=2)
# Of long bodies: a busy machine takes seconds to encode and send one.
ONCE_LONG = Limits(tries=1, within_s=60, attempt_s=30)
PLACE = f"/v1/{os.environ['PUMPHOUSE_NAMESPACE']}/jobs"


class Texts(unittest.TestCase):
    """The text of an error, of the client for threads and of that for asyncio."""

    def check(self, code: str, pattern: str, limits: Limits = ONCE, **options: Any) -> None:
        for error in (self.of_threads(limits, options), self.of_asyncio(limits, options)):
            with self.subTest(error=str(error)):
                self.assertEqual(error.code, code)
                self.assertRegex(str(error), f"^{code}: {pattern}$")
                self.assertNotIn("\n", str(error))

    def of_threads(self, limits: Limits, options: Dict[str, Any]) -> PumphouseError:
        with self.assertRaises(PumphouseError) as caught:
            Pumphouse(limits=limits, **options).publish(self.job)
        return caught.exception

    def of_asyncio(self, limits: Limits, options: Dict[str, Any]) -> PumphouseError:
        with self.assertRaises(PumphouseError) as caught:
            asyncio.run(aio.Pumphouse(limits=limits, **options).publish(self.job))
        return caught.exception

    def setUp(self) -> None:
        self.job = NewJob(queue_name())

    def test_names_a_server_that_is_down(self) -> None:
        url = f"http://127.0.0.1:{free_port()}"
        self.check("network", f"no connection to {url}: connection refused. Start the server there, .*", url=url)

    def test_names_an_unknown_host(self) -> None:
        url = "http://no.such.host.invalid"
        self.check("network", f"no connection to {url}: unknown host. Correct the URL", url=url)

    def test_shows_no_password_of_the_url(self) -> None:
        pattern = r"no connection to http://127.0.0.1:1: .*"
        self.check("network", pattern, url="http://name:secret@127.0.0.1:1")

    def test_names_a_server_that_does_not_answer_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            limits = Limits(tries=1, attempt_s=0.2)
            pattern = rf"no answer to POST {url}{PLACE} within 0.2 s. The server may be overloaded: try again later"
            self.check("timeout", pattern, limits, url=url)

    def test_names_a_server_whose_answer_comes_too_slowly(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def drip() -> None:
                for _ in range(2):
                    connection, _address = server.accept()
                    connection.recv(10_000)
                    try:
                        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
                        for _ in range(100):
                            connection.sendall(b" ")
                            time.sleep(0.1)
                    except OSError:
                        connection.close()

            threading.Thread(target=drip, daemon=True).start()
            limits = Limits(tries=1, attempt_s=0.5)
            began = time.monotonic()
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            self.check("timeout", r"no answer to POST .* within 0.5 s\. .*", limits, url=url)
            self.assertLess(time.monotonic() - began, 5)

    def test_names_https_on_a_port_without_tls(self) -> None:
        url = os.environ["PUMPHOUSE_URL"].replace("http:", "https:")
        self.check("network", f"no TLS connection to {url}: .* the URL begins with http://", url=url)

    def test_names_http_on_a_port_with_tls(self) -> None:
        with answering(*[b"\x15\x03\x01\x00\x02\x02\x46"] * 2) as url:
            pattern = f"no answer to POST {url}{PLACE}: what came is not HTTP. With TLS the URL begins with https://"
            self.check("network", pattern, url=url)
        with answering() as url:
            pattern = f"no answer to POST {url}{PLACE}: the connection was closed. With TLS .* https://"
            self.check("network", pattern, url=url)

    def test_names_the_limit_that_a_long_body_exceeds(self) -> None:
        self.job.data = "x" * 60_000_000
        self.check("body_too_large", "the body is longer than .* limits.max_bulk_bytes: .*", ONCE_LONG)

    def test_names_the_size_of_a_long_body_where_the_connection_is_closed(self) -> None:
        self.job.data = "x" * 20_000_000
        with socket.create_server(("127.0.0.1", 0)) as server:

            def close_early() -> None:
                for _ in range(2):
                    connection, _address = server.accept()
                    connection.recv(1_000)
                    connection.close()

            threading.Thread(target=close_early, daemon=True).start()
            pattern = r"no answer to POST .*: the connection was closed. The body of 20\d+ bytes may be longer than .*"
            self.check("network", pattern, ONCE_LONG, url=f"http://127.0.0.1:{server.getsockname()[1]}")

    def test_names_the_admin_port(self) -> None:
        url = os.environ["PUMPHOUSE_ADMIN_URL"]
        pattern = f'404 from POST {url}{PLACE} is no answer of Pumphouse\'s API: ".*"..*and 7778 the admin port'
        self.check("http_404", pattern, url=url)

    def test_shows_the_title_of_the_page_of_a_proxy(self) -> None:
        page = "<html><head><title>404 not\n here</title></head><body>" + "long " * 1_000 + "</body></html>"
        for status, body, code, pattern in (
            (404, page, "http_404", '404 from POST .* is no answer of Pumphouse\'s API: "404 not here". Check .*'),
            (502, "<h1>Bad\n gateway</h1>", "http_502", '502 from POST .*: "Bad gateway". The proxy .* later'),
            (200, page, "invalid_response", '200 from POST .* is no answer of .*: "404 not here". Check .*'),
            (200, "", "invalid_response", "200 from POST .* is no answer of .*: an empty answer. Check .*"),
        ):
            with answering(*[http_answer(status, body)] * 2) as url:
                self.check(code, pattern, url=url)

    def test_names_the_target_of_a_redirect(self) -> None:
        with answering(*[http_answer(301, "", "location: https://queue.example.com/")] * 2) as url:
            pattern = "301 from POST .* leads to https://queue.example.com/. The client follows no redirect: correct the URL"
            self.check("http_301", pattern, url=url)

    def test_says_how_to_get_a_token_for_a_wrong_one(self) -> None:
        pattern = rf".+ \(401 from POST .*{PLACE}\). .*pumphouse token create {os.environ['PUMPHOUSE_NAMESPACE']} -d 'what it is for'"
        self.check("token_invalid", pattern, token="wrong")
        self.check("token_invalid", r".* pumphouse token create other -d 'what it is for'", namespace="other")

    def test_names_each_refused_field_once_with_its_rule(self) -> None:
        self.job = NewJob("no name", priority=200, tries=0)
        rules = r"queue [^;]+; priority must [^;]+; tries must [^;]+|queue [^;]+; tries must [^;]+; priority must [^;]+"
        self.check("invalid_argument", rf"({rules}) \(400 from POST .*{PLACE}\)")

    def test_says_that_the_path_of_the_url_is_wrong(self) -> None:
        url = os.environ["PUMPHOUSE_URL"] + "/v1"
        self.check("not_found", r".+ \(404 from POST .*/v1/v1/.*\). The URL of the client ends before /v1", url=url)


class Copies(unittest.TestCase):
    """Errors and outcomes that come from another process."""

    def test_are_as_they_were(self) -> None:
        refused = PumphouseError("invalid_argument", "a", status=400, details={"errors": [{"field": "a", "rule": "b"}]})
        for error in (refused, Retry("a", group="b", delay_ms=1), Fail("a", group="b"), Release(delay_ms=1)):
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy), vars(copy)), (type(error), str(error), vars(error)))
        self.assertEqual(str(refused), "invalid_argument: a")


class Arguments(unittest.TestCase):
    """Arguments of a client."""

    def test_names_the_argument_and_the_variable_that_are_missing(self) -> None:
        for name in ("url", "namespace", "token"):
            variable = f"PUMPHOUSE_{name.upper()}"
            value = os.environ.pop(variable)
            try:
                for make in (Pumphouse, aio.Pumphouse):
                    with self.assertRaisesRegex(ValueError, f"^{name} is missing: .*`{name}`.* {variable}$"):
                        make()
            finally:
                os.environ[variable] = value

    def test_refuses_a_job_that_is_no_new_job(self) -> None:
        job: Any = {"queue": "mail"}
        client = Pumphouse()
        many: Callable[[Any], Any] = lambda one: client.publish_many([one])
        calls: List[Callable[[Any], Any]] = [client.publish, client.publish_and_wait, many]
        for publish in calls:
            with self.assertRaisesRegex(TypeError, r"NewJob\(queue, data\), not dict"):
                publish(job)

    def test_refuses_a_url_that_is_none(self) -> None:
        for url in ("127.0.0.1:7777", "localhost", "http://", "http://a:b", "ftp://a", "http://[::1"):
            with self.assertRaisesRegex(ValueError, "url: must be as http://127.0.0.1:7777"):
                Pumphouse(url)

    def test_refuses_a_token_with_a_line_break_and_does_not_show_it(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Pumphouse(token="secret\n")
        self.assertNotIn("secret", str(caught.exception))

    def test_refuses_a_path_that_is_not_encoded(self) -> None:
        for path in ("queues/my queue", "queues/größe", "queues/a\r\nx: y"):
            with self.assertRaisesRegex(ValueError, "path: .*encoded"):
                Pumphouse().call("GET", path)

    def test_refuses_an_idempotency_key_that_no_header_can_have(self) -> None:
        for key in ("a\r\nb", "日本"):
            with self.assertRaisesRegex(ValueError, "idempotency_key: "):
                Pumphouse().publish(NewJob("q"), idempotency_key=key)

    def test_refuses_a_lifetime_without_an_idempotency_key(self) -> None:
        with self.assertRaisesRegex(ValueError, "idempotency_ttl_ms: .*give both or neither"):
            Pumphouse().publish(NewJob("q"), idempotency_ttl_ms=60_000)
        with self.assertRaisesRegex(ValueError, "idempotency_ttl_ms: must be a number of milliseconds"):
            Pumphouse().publish(NewJob("q"), idempotency_key="k", idempotency_ttl_ms=float("nan"))

    def test_are_named_as_they_are_called_here(self) -> None:
        for name, options in (
            ("idempotency_ttl_ms", {"idempotency_key": "k", "idempotency_ttl_ms": 1}),
            ("idempotency_key", {"idempotency_key": "a b"}),
            ("durability", {"durability": "none"}),
        ):
            with self.assertRaisesRegex(PumphouseError, f"invalid_argument: {name} must ") as caught:
                Pumphouse().publish(NewJob("q"), **options)  # type: ignore[arg-type]
            self.assertEqual([one["field"] for one in caught.exception.fields], [name])


class Connections(unittest.TestCase):
    """A connection on which more comes than the answer."""

    def test_is_not_used_again(self) -> None:
        # Half of a second answer: the other half would be taken for the beginning of that to the next request.
        first, second, right = (
            http_answer(201, f'{{"id":"{number}","state":"ready","existing":false}}') for number in (1, 2, 3)
        )

        async def publish_twice(url: str) -> str:
            client = aio.Pumphouse(url, limits=ONCE)
            await client.publish(NewJob("q"))
            return (await client.publish(NewJob("q"))).id

        answers = ((first + second[:40], second[40:] + right), (right,))
        with answering(*answers) as url:
            client = Pumphouse(url, limits=ONCE)
            client.publish(NewJob("q"))
            self.assertEqual(client.publish(NewJob("q")).id, "3")
        with answering(*answers) as url:
            self.assertEqual(asyncio.run(publish_twice(url)), "3")


if __name__ == "__main__":
    unittest.main()
