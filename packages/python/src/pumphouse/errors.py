"""The error of this package."""

from typing import Any, List, Mapping, Optional, TypedDict


class FieldError(TypedDict):
    """A field of a request that the server refused, as an argument is called here."""

    field: str
    rule: str


# Names of the API that are no names of arguments here.
OWN_NAMES = {
    "Idempotency-Key": "idempotency_key",
    "Idempotency-TTL-Ms": "idempotency_ttl_ms",
    "X-Durability": "durability",
    "data_base64": "data",
}


def fields_in(errors: Any) -> List[FieldError]:
    """The refused fields of an answer, which may be that of a proxy."""
    found: List[FieldError] = []
    for one in errors if isinstance(errors, list) else []:
        if isinstance(one, dict) and isinstance(one.get("field"), str) and isinstance(one.get("rule"), str):
            *path, last = one["field"].split(".")
            found.append({"field": ".".join([*path, OWN_NAMES.get(last, last)]), "rule": one["rule"]})
    return found


class PumphouseError(Exception):
    """Every error of this package, other than mistakes in arguments (``TypeError``, ``ValueError``).

    Attributes:
        code: the server's code (``job_not_found``, ``lease_lost`` …), or ``network``, ``timeout``, ``invalid_response``.
        status: HTTP status; 0 if there was no answer.
        request_id: the server's log names it too; None if there was no answer.
        retryable: the same call may succeed later. It was tried again already where that was safe.
        attempts: how often the call was sent.
        may_be_done: an earlier attempt, whose answer was lost, may have done it.
        details: what else the answer says of the error: ``state``, ``holder_id``, ``dependents`` …
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: Optional[str] = None,
        retryable: bool = False,
        attempts: int = 1,
        may_be_done: bool = False,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        # As they are given: errors are made again from them behind a pool of processes.
        super().__init__(code, message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retryable = retryable
        self.attempts = attempts
        self.may_be_done = may_be_done
        self.details: Mapping[str, Any] = details or {}

    def __str__(self) -> str:
        return ": ".join(str(arg) for arg in self.args)

    @property
    def fields(self) -> List[FieldError]:
        """The fields that the server refused; [] if it names none."""
        return fields_in(self.details.get("errors"))


def is_of_proxy(error: PumphouseError) -> bool:
    """True if a proxy in between has answered: its answer has no code of the API, and says nothing of the call."""
    return error.code == f"http_{error.status}"
