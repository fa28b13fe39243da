"""Waiting for a status, for both clients."""

from __future__ import annotations

import time
from typing import Literal

from .errors import WaitError
from .models import MessageDetail

ReachedStatus = Literal["sent", "delivered", "read"]
"""Statuses that a message reaches, in this order."""

_PROGRESS = ["scheduled", "queued", "sending", "sent", "delivered", "read"]
_ENDS = ["failed", "cancelled", "refused", "read"]

_FIRST_INTERVAL = 0.25
_LONGEST_INTERVAL = 2.0


class Polling:
    """The poll intervals of a wait, until its deadline."""

    def __init__(self, what: str, timeout: float) -> None:
        self._what = what
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._interval = _FIRST_INTERVAL

    def interval(self, status: str) -> float:
        """Seconds until the next poll. Raises WaitError after the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise WaitError(f"{self._what} is still {status} after {self._timeout:g} s")
        interval = min(self._interval, left)
        self._interval = min(self._interval * 1.5, _LONGEST_INTERVAL)
        return interval


def has_reached(message: MessageDetail, status: ReachedStatus) -> bool:
    """Whether a message has reached or passed a status. Raises WaitError if it can no longer reach the status."""
    if message.status in _PROGRESS and _PROGRESS.index(message.status) >= _PROGRESS.index(status):
        return True
    if message.status in _ENDS:
        raise WaitError(f"the message {message.id} is {message.status} and can never become {status}")
    return False
