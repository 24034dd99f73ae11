"""What a handler says, other than a result."""

import re
import traceback
from typing import Any, Dict, Optional, Sequence

from .errors import PumphouseError

MAX_GROUP = 128
MAX_MESSAGE = 16_384


class Retry(Exception):
    """Raised by a handler: try the job again, by its retry policy or after ``delay_ms``."""

    def __init__(
        self, message: str = "", *, group: Optional[str] = None, delay_ms: Optional[int] = None
    ) -> None:
        super().__init__(message)
        self.group = group
        self.delay_ms = delay_ms


class Fail(Exception):
    """Raised by a handler: the job has failed for good, and goes to the dead letter."""

    def __init__(self, message: str = "", *, group: Optional[str] = None) -> None:
        super().__init__(message)
        self.group = group


class Release(Exception):
    """Raised by a handler: give the job back, at once or after ``delay_ms``. Its try is not used."""

    def __init__(self, *, delay_ms: Optional[int] = None) -> None:
        super().__init__("the job is given back")
        self.delay_ms = delay_ms


class Next:
    """Returned by a handler: the job goes on in another queue, with its id, its timeline and fresh tries."""

    def __init__(
        self,
        queue: str,
        *,
        delay_ms: Optional[int] = None,
        depends_on: Optional[Sequence[str]] = None,
        data: Any = None,
    ) -> None:
        members = {"queue": queue, "delay_ms": delay_ms, "depends_on": depends_on}
        self.next = {name: value for name, value in members.items() if value is not None}
        #: Replaces the job's data, unless it is None.
        self.data = data


def failure_of(error: BaseException) -> Dict[str, str]:
    """Group and message of a failure, both within the bounds of the API."""
    if isinstance(error, (Retry, Fail)):
        group, message = error.group or "failed", str(error)
    else:
        group = error.code if isinstance(error, PumphouseError) else type(error).__name__
        # The end says most.
        message = "".join(traceback.format_exception(type(error), error, error.__traceback__))[
            -MAX_MESSAGE // 2 :
        ]
    return {
        "group": cut(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", group), MAX_GROUP),
        "message": cut(message, MAX_MESSAGE),
    }


def cut(text: str, length: int) -> str:
    """The API counts characters as UTF-16 does, and takes no halves of them."""
    return text.encode("utf-16-le", "replace")[: length * 2].decode("utf-16-le", "ignore")
