"""What the waits of both clients wait for."""

from __future__ import annotations

import time
from typing import Literal

from .errors import WaitError
from .models import MessageDetail

ReachedStatus = Literal["sent", "delivered", "read"]
"""Status that a message reaches, one after the other."""

_PROGRESS = ["scheduled", "queued", "sending", "sent", "delivered", "read"]
_ENDS = ["failed", "cancelled", "refused", "read"]

_FIRST_INTERVAL = 0.25
_LONGEST_INTERVAL = 2.0


class Polling:
    """Intervals of a wait, until its deadline."""

    def __init__(self, what: str, timeout: float) -> None:
        self._what = what
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._interval = _FIRST_INTERVAL

    def interval(self, status: str) -> float:
        """Seconds until the next look. Raises WaitError after the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise WaitError(f"{self._what} is still {status} after {self._timeout:g} s")
        interval = min(self._interval, left)
        self._interval = min(self._interval * 1.5, _LONGEST_INTERVAL)
        return interval


def has_reached(message: MessageDetail, status: ReachedStatus) -> bool:
    """Whether a message has a status or one that follows it. Raises WaitError if it cannot reach it any more."""
    if message.status in _PROGRESS and _PROGRESS.index(message.status) >= _PROGRESS.index(status):
        return True
    if message.status in _ENDS:
        raise WaitError(f"the message {message.id} is {message.status}, and will not be {status}")
    return False
