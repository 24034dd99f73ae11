"""Client and worker runtime of Pumphouse, a job queue server over HTTP."""

from ._http import Limits
from ._version import __version__
from .client import Pumphouse
from .errors import FieldError, PumphouseError
from .jobs import (
    CancelledJob,
    EndedJob,
    Job,
    JobDetails,
    JobFailure,
    JobPage,
    NewJob,
    PublishedJob,
    RetryPolicy,
    UniqueKey,
)
from .outcomes import Fail, Next, Release, Retry
from .webhook import WebhookError, verify
from .worker import JobContext, Worker

__all__ = [
    "CancelledJob",
    "EndedJob",
    "Fail",
    "FieldError",
    "Job",
    "JobContext",
    "JobDetails",
    "JobFailure",
    "JobPage",
    "Limits",
    "NewJob",
    "Next",
    "PublishedJob",
    "Pumphouse",
    "PumphouseError",
    "Release",
    "Retry",
    "RetryPolicy",
    "UniqueKey",
    "WebhookError",
    "Worker",
    "__version__",
    "verify",
]
