"""Says where a value is that has no JSON, and what to give in its place."""

import json
import math
import re
from contextlib import contextmanager
from dataclasses import is_dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, Callable, Iterator, Optional, Tuple
from uuid import UUID

# A key that a path shows as it is. Others are quoted, and cut.
PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_KEY = 64
REMEDIES: Tuple[Tuple[Tuple[type, ...], str], ...] = (
    ((set, frozenset), "`list(…)` makes a list of it"),
    ((bytes, bytearray, memoryview), "give text. Only data or a result as a whole may be bytes"),
    ((Decimal,), "`float(…)` makes a number of it, `str(…)` text"),
    ((UUID,), "`str(…)` makes text of it"),
    ((date, time), "`.isoformat()` makes text of it"),
)


def no_json_text(value: object) -> str:
    """What is wrong with an object that JSON does not have."""
    remedy = "give a dict, a list, text, a number, a bool or None"
    if is_dataclass(value) and not isinstance(value, type):
        remedy = "`dataclasses.asdict(…)` makes a dict of it"
    for kinds, text in REMEDIES:
        if isinstance(value, kinds):
            remedy = text
    return f"must be JSON, not {type(value).__name__}: {remedy}"


def fault_of(value: Any, place: str, convert: Callable[[Any], Any]) -> Optional[str]:
    """The first value in a value that has no JSON: its place and the rule. None if there is none that can be found.

    Args:
        place: that of the value; "" if its members are the fields of a request.
        convert: what becomes of an object that JSON does not have; raises TypeError or ValueError.
    """
    try:
        return find_fault(value, place, convert, ())
    except Exception:  # It is nested too deeply, or its methods raise.
        return None


def find_fault(
    value: Any, place: str, convert: Callable[[Any], Any], around: Tuple[int, ...]
) -> Optional[str]:
    here = place or "body"
    if value is None or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{here}: {NOT_FINITE}"
    if id(value) in around:
        return f"{here}: must not contain itself"
    around = (*around, id(value))
    if isinstance(value, (list, tuple)):
        pairs = [(f"{place}[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        for key in value:
            if isinstance(key, float) and not math.isfinite(key):
                return f"{here}: a key {NOT_FINITE}"
            if key is not None and not isinstance(key, (str, int, float)):
                return f"{here}: its keys must be text, not {type(key).__name__}"
        pairs = [(below(place, str(key)), item) for key, item in value.items()]
    else:
        try:
            pairs = [(place, convert(value))]
        except (TypeError, ValueError) as error:
            return f"{here}: {error}"
    return next(filter(None, (find_fault(item, at, convert, around) for at, item in pairs)), None)


NOT_FINITE = "must not be NaN or infinite, which JSON does not have: give None or text in its place"


def below(place: str, key: str) -> str:
    """The place of a member: ``data.a``, or ``data["a b"]``."""
    if not PLAIN_KEY.fullmatch(key):
        return f"{place}[{json.dumps(key[:MAX_KEY])}]"
    return f"{place}.{key}" if place else key


@contextmanager
def named(before: str) -> Iterator[None]:
    """Puts a text before those of mistakes in arguments."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{before}{error}") from error
    except ValueError as error:
        raise ValueError(f"{before}{error}") from error
