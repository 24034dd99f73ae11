"""Verifies requests that Pumphouse pushes."""

import base64
import binascii
import hashlib
import hmac
import re
import time
from typing import Mapping, Optional, Sequence, Union

SCHEME = "v1,"
PREFIX = "whsec_"
# Signatures that are compared; a sender has one or two.
MOST_SIGNATURES = 10


class WebhookError(Exception):
    """Why a webhook is not to be trusted. Answer it with 401."""


def verify(
    secret: Union[str, Sequence[str]],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: float = 300,
    now: Optional[float] = None,
) -> str:
    """Verifies a request that Pumphouse pushed, or any other by Standard Webhooks (``v1``).

    Args:
        secret: ``whsec_…`` of the target; several while it is rotated.
        headers: names may be in any case.
        body: the bytes as they came, not parsed and written again.
        tolerance_s: how far ``webhook-timestamp`` may be from now, in seconds.
        now: Unix time in seconds; for tests.

    Returns:
        the id of the job. It is the same for each attempt: a job that came before can be recognized.

    Raises:
        WebhookError: it was not signed with one of the secrets, or it is too old.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    job_id, timestamp, given = (lower.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not job_id or not timestamp or not given:
        raise WebhookError("a webhook header is missing")
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise WebhookError("webhook-timestamp is no time")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_s:
        raise WebhookError("webhook-timestamp is too far from now")
    content = f"{job_id}.{timestamp}.".encode() + body
    signatures = [decoded(one[len(SCHEME) :]) for one in given.split(" ") if one.startswith(SCHEME)][
        :MOST_SIGNATURES
    ]
    for one in [secret] if isinstance(secret, str) else secret:
        key = decoded(one[len(PREFIX) :] if one.startswith(PREFIX) else one)
        if not key:
            raise WebhookError("the secret is no base64")
        expected = hmac.new(key, content, hashlib.sha256).digest()
        # Every signature is compared, whether or not an earlier one was right.
        if sum([hmac.compare_digest(signature, expected) for signature in signatures]) > 0:
            return job_id
    raise WebhookError("no webhook-signature is right")


def decoded(text: str) -> bytes:
    """Base64; empty if it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
