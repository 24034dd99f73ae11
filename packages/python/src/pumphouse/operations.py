"""Operations: actions of the server over all jobs that a filter matches."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Optional, TypedDict, Union

#: Which jobs; all that is given must hold. ``from`` and ``to`` are when they died. ``{}``: all of the namespace.
OperationFilter = TypedDict(
    "OperationFilter",
    {
        "queue": str,
        "state": List[str],
        "tag": str,
        "type": str,
        "group": str,
        "worker": str,
        "text": str,
        "attributes": Dict[str, str],
        "from": Union[str, datetime],
        "to": Union[str, datetime],
    },
    total=False,
)


@dataclass(frozen=True)
class OperationRefusal:
    """Why jobs were not acted on, and how many."""

    #: ``changed``, ``has_dependents``, ``unique_key_taken`` … Later servers have more.
    reason: str
    jobs: int


@dataclass(frozen=True)
class OperationSample:
    """A job that matched."""

    id: str
    queue: str
    #: Before the operation.
    state: str


@dataclass(frozen=True)
class OperationUndo:
    """What can be brought back of the jobs that an operation has ended, and what is."""

    #: ``kept``: it can be undone. ``dropped``, ``expired``: it cannot any more. ``running``, ``done``, ``stopped``: its undo.
    state: str
    #: Until when an undo can begin; None: the operation runs.
    ends_at: Optional[str]
    #: Jobs that are kept, or were.
    jobs: int
    restored: int
    failed: int
    #: Why it was stopped, or is not possible any more.
    message: Optional[str]
    #: Why jobs cannot come back.
    refusals: List[OperationRefusal] = field(metadata={"of": OperationRefusal})
    #: What does not come back of jobs that are back.
    incomplete: List[OperationRefusal] = field(metadata={"of": OperationRefusal})


@dataclass(frozen=True)
class Operation:
    """An operation as the server shows it."""

    id: str
    action: str
    #: With the states that it acts on.
    filter: Dict[str, Any]
    dry_run: bool
    rate_per_s: Optional[int]
    to: Optional[str]
    set: Optional[Dict[str, Any]]
    #: ``running``, ``done`` or ``stopped``.
    state: str
    #: Why it was stopped: ``stopped`` (by a call), ``token_revoked``, ``rights_changed``, ``pool_moving``, ``store_full``.
    reason: Optional[str]
    message: Optional[str]
    #: Jobs that matched so far: done, failed and skipped ones; of a dry run, those that would be acted on.
    matched: int
    done: int
    #: The single call would refuse them.
    failed: int
    #: They have changed since the operation began, or there was nothing to do.
    skipped: int
    #: Entries that were read, and how many there were when it began; None: not known.
    looked: int
    to_look: Optional[int]
    created_at: str
    #: The first characters of the token.
    created_by: Optional[str]
    ended_at: Optional[str]
    #: With ``rate_per_s``: when it goes on.
    next_at: Optional[str]
    refusals: List[OperationRefusal] = field(metadata={"of": OperationRefusal})
    #: The first five jobs that matched.
    samples: List[OperationSample] = field(metadata={"of": OperationSample})
    #: None: it was started without ``undo_ms``, or the server is of an earlier version.
    undo: Optional[OperationUndo] = field(default=None, metadata={"of": OperationUndo})

    @property
    def has_ended(self) -> bool:
        """True: it goes on no more, and neither does its undo."""
        return self.state != "running" and (self.undo is None or self.undo.state != "running")
