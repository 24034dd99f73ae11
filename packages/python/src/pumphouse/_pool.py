"""Threads that run what is handed to them."""

import logging
import threading
from queue import SimpleQueue
from typing import Callable, Optional


class Pool:
    """Daemon threads, as many as are needed at once: a new one starts when none is idle."""

    def __init__(self, name: str, initialize: Callable[[], object]) -> None:
        """
        Args:
            initialize: each thread runs it first.
        """
        self._name = name
        self._initialize = initialize
        self._tasks: "SimpleQueue[Optional[Callable[[], None]]]" = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._count = 0
        self._has_ended = False

    def submit(self, task: Callable[[], None]) -> None:
        """Raises:
        RuntimeError: there is no thread yet, and none can be started.
        """
        self._tasks.put(task)
        if self._has_ended:
            self._tasks.put(None)
        elif self._idle.acquire(blocking=False):
            return
        thread = threading.Thread(target=self._run, name=f"{self._name}-{self._count}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if self._count == 0:
                raise
            return  # One that runs takes it, a little later.
        self._count += 1

    def end(self) -> None:
        """The threads end when they have nothing to do."""
        self._has_ended = True
        for _ in range(self._count):
            self._tasks.put(None)

    def _run(self) -> None:
        self._initialize()
        while True:
            task = self._tasks.get()
            if task is None:
                return
            try:
                task()
            except BaseException:  # The thread has other tasks to run.
                logging.getLogger("pumphouse").exception("a task of the worker failed")
            self._idle.release()
