"""What a handler says, other than a result."""

import re
import traceback
from typing import Any, Dict, Optional, Sequence, Tuple

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
        super().__init__()
        self.delay_ms = delay_ms

    def __str__(self) -> str:
        return "the job is given back"


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


def ending_of(raised: BaseException, is_to_release: bool) -> Tuple[str, Dict[str, Any]]:
    """What an exception of a handler means: the call that settles its job, with its members.

    Args:
        is_to_release: an exception that says nothing else gives the job back.
    """
    kind = type(raised)
    if issubclass(kind, Retry):
        return "retry", {**failure_of(raised), "delay_ms": whole_delay(member_of(raised, "delay_ms"))}
    if issubclass(kind, Fail):
        return "fail", failure_of(raised)
    if issubclass(kind, Release):
        return "release", {"delay_ms": whole_delay(member_of(raised, "delay_ms"))}
    return ("release", {}) if is_to_release else ("retry", failure_of(raised))


def failure_of(error: BaseException) -> Dict[str, Any]:
    """Group and message of a failure, both within the bounds of the API.

    The error may be anything: its texts are repaired, and what cannot be read counts as left out.
    """
    kind = type(error)
    if issubclass(kind, (Retry, Fail)):
        # guard: python-members-may-raise
        group, message = member_of(error, "group"), text_of(error)
    else:
        group = member_of(error, "code") if issubclass(kind, PumphouseError) else None
        group = name_of(kind) if group is None else group
        message = trace_of(error)
    name = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", "" if group is None else text_of(group))
    return {"group": cut(name, MAX_GROUP) or "failed", "message": cut(message, MAX_MESSAGE)}


def member_of(value: object, name: str) -> Any:
    """A member of an object, whose property may raise anything."""
    try:
        return getattr(value, name, None)
    except BaseException:
        return None


def name_of(kind: type) -> Any:
    """A metaclass may have a name that raises."""
    name = member_of(kind, "__name__")
    return "a class without a name" if name is None else name


def whole_delay(delay_ms: Any) -> Optional[int]:
    """A delay as the API takes it; None for none, and for what is no number."""
    try:
        if delay_ms is None or isinstance(delay_ms, (str, bytes)):
            return None
        return int(round(min(max(delay_ms, 0), MAX_DELAY_MS)))
    except BaseException:
        return None


def trace_of(error: BaseException) -> str:
    """What an exception is, then how it came about. Lists show the first line; Python prints it last."""
    text = text_of(error)
    what = text_of(name_of(type(error))) + (": " + text if text else "")
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        trace = "".join(lines)[-MAX_MESSAGE // 2 :]
    except BaseException:
        return what
    # guard: python-failure-says-what-first
    return what[: MAX_MESSAGE // 4] + "\n" + trace


def text_of(value: Any) -> str:
    """A text for any value: not every object has one. It is of no class of its own, whose methods may raise."""
    try:
        # guard: python-texts-are-plain
        return "".join([str(value)])
    except BaseException:
        return f"a value of the type {type.__repr__(type(value))} that cannot be shown"


def cut(text: str, length: int, mark: str = "") -> str:
    """The API counts characters as UTF-16 does, and takes no halves of them.

    Args:
        mark: the end of a text that is cut.
    """
    units = text.encode("utf-16-le", "replace")
    if len(units) <= length * 2:
        return units.decode("utf-16-le", "ignore")
    return units[: (length - len(mark)) * 2].decode("utf-16-le", "ignore") + mark
