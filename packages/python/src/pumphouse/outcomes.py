"""What a handler says, other than a result."""

import re
import traceback
from typing import Any, Dict, Optional, Sequence

from .errors import PumphouseError

MAX_GROUP = 128
MAX_MESSAGE = 16_384
# The longest delay that the API takes.
MAX_DELAY_MS = 4_294_967_295_000
# The group of a job whose outcome the server refuses.
INVALID_OUTCOME = "invalid_outcome"


class Retry(Exception):
    """Raised by a handler: try the job again, by its retry policy or after ``delay_ms``."""

    def __init__(
        self, message: str = "", *, group: Optional[str] = None, delay_ms: Optional[float] = None
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

    def __init__(self, *, delay_ms: Optional[float] = None) -> None:
        super().__init__("the job is given back")
        self.delay_ms = delay_ms


class Next:
    """Returned by a handler: the job goes on in another queue, with its id, its timeline and fresh tries."""

    def __init__(
        self,
        queue: str,
        *,
        delay_ms: Optional[float] = None,
        depends_on: Optional[Sequence[str]] = None,
        data: Any = None,
    ) -> None:
        members = {"queue": queue, "delay_ms": whole_delay(delay_ms), "depends_on": depends_on}
        self.next = {name: value for name, value in members.items() if value is not None}
        #: Replaces the job's data, unless it is None.
        self.data = data


def failure_of(error: BaseException) -> Dict[str, Any]:
    """Group and message of a failure, both within the bounds of the API. The error may be anything: its texts are repaired."""
    if isinstance(error, (Retry, Fail)):
        group, message = getattr(error, "group", None), text_of(error)
    else:
        group = error.code if isinstance(error, PumphouseError) else type(error).__name__
        # The end says most.
        message = trace_of(error)[-MAX_MESSAGE // 2 :]
    name = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", "" if group is None else text_of(group))
    return {"group": cut(name, MAX_GROUP) or "failed", "message": cut(message, MAX_MESSAGE)}


def whole_delay(delay_ms: Any) -> Optional[int]:
    """A delay as the API takes it; None for none, and for what is no number."""
    if delay_ms is None or isinstance(delay_ms, (str, bytes)):
        return None
    try:
        return int(round(min(max(delay_ms, 0), MAX_DELAY_MS)))
    except BaseException:
        return None


def trace_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException:
        return text_of(error)


def text_of(value: Any) -> str:
    """A text for any value: not every object has one."""
    try:
        return str(value)
    except BaseException:
        return f"a value of the type {type(value).__name__} that cannot be shown"


def cut(text: str, length: int) -> str:
    """The API counts characters as UTF-16 does, and takes no halves of them."""
    return text.encode("utf-16-le", "replace")[: length * 2].decode("utf-16-le", "ignore")
