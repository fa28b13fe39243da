"""Decides whether and when to retry a request."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from .errors import ApiConnectionError, ApiError, ApiTimeoutError, CustomerPlatformError, ResponseError

LONGEST_WAIT = 60.0
"""
Longest Retry-After in seconds that a call waits for. A request that must wait longer fails, so the caller can decide.
"""

_FIRST_BACKOFF = 0.25
_LONGEST_BACKOFF = 5.0
_TEMPORARY = (429, 502, 503, 504)


def backoff(attempt: int, longest: float = _LONGEST_BACKOFF) -> float:
    """
    Seconds to wait after attempt number `attempt`, counted from 1: random, up to 0.25, 0.5, 1 … and at most `longest`.
    The jitter keeps clients that failed together from retrying together.
    """
    return random.random() * min(longest, _FIRST_BACKOFF * 2.0 ** min(attempt - 1, 30))


def retry_delay(error: CustomerPlatformError, retry_after: float | None, attempt: int, retries: int) -> float | None:
    """Seconds until the retry after a failed attempt; None if the request must not be retried."""
    wait = retry_after or 0.0
    if attempt > retries or wait > LONGEST_WAIT or not _is_temporary(error, retry_after):
        return None
    return wait + backoff(attempt)


def _is_temporary(error: CustomerPlatformError, retry_after: float | None) -> bool:
    if isinstance(error, (ApiError, ResponseError)):
        # 409 with Retry-After: the first attempt with the same key is still running.
        return error.status in _TEMPORARY or (error.status == 409 and retry_after is not None)
    return isinstance(error, (ApiConnectionError, ApiTimeoutError))


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """
    Seconds of a Retry-After header, which has seconds or an HTTP date; None if it is missing or malformed.
    """
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}", text):
        return float(text)
    until = _date(text)
    if until is None:
        return None
    # The server's clock may differ from the local one, so measure from its Date header.
    sent = _date(headers.get("date", ""))
    return max(0.0, until.timestamp() - (sent.timestamp() if sent else time.time()))


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None
