"""Connections of the client that stay open, of that for threads and of that for asyncio."""

import asyncio
import threading
import unittest
from typing import List
from unittest import mock

from pumphouse import Limits, Pumphouse, aio

from support import Silenced, WorkerServer, until

TWICE = Limits(tries=2, attempt_s=1)


class Together:
    """Lets calls wait until so many have come, so that each has a connection of its own."""

    def __init__(self, count: int) -> None:
        self.server = WorkerServer()
        barrier = threading.Barrier(count)
        self.server.on_call = lambda path: barrier.wait(30) if path.endswith("/together") else None


def call_together(client: Pumphouse, count: int) -> None:
    threads = [threading.Thread(target=client.call, args=("GET", "together")) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Silent(unittest.TestCase):
    """A host that has gone silent."""

    def test_costs_one_attempt_however_many_connections_there_were(self) -> None:
        with Together(5).server.running() as behind:
            silenced = Silenced(int(behind.rpartition(":")[2]))
            with silenced.running() as url:
                client = Pumphouse(url, limits=TWICE)
                call_together(client, 5)
                silenced.mute()
                self.assertEqual(client.call("GET", "again"), {})

    def test_costs_one_attempt_with_asyncio_too(self) -> None:
        async def play(url: str, silenced: Silenced) -> object:
            async with aio.Pumphouse(url, limits=TWICE) as client:
                await asyncio.gather(*[client.call("GET", "together") for _ in range(5)])
                silenced.mute()
                return await client.call("GET", "again")

        with Together(5).server.running() as behind:
            silenced = Silenced(int(behind.rpartition(":")[2]))
            with silenced.running() as url:
                self.assertEqual(asyncio.run(play(url, silenced)), {})


class IdleConnections(unittest.TestCase):
    """Connections that no call uses."""

    def idle(self, client: Pumphouse) -> List[object]:
        return list(client._api.connections._idle._all)

    def test_are_64_at_most_and_are_closed_after_a_minute(self) -> None:
        with Together(80).server.running() as url:
            client = Pumphouse(url)
            call_together(client, 80)
            until(lambda: len(self.idle(client)) == 64)
            sockets = [connection.sock for _, connection in client._api.connections._idle._all]
            last = client._api.connections._idle._all[-1][0]
            with mock.patch("pumphouse._http.time.monotonic", return_value=last + 61):
                self.assertEqual(client.call("GET", "later"), {})
            self.assertEqual(len(self.idle(client)), 1)
            self.assertTrue(all(sock is not None and sock.fileno() == -1 for sock in sockets))


if __name__ == "__main__":
    unittest.main()
