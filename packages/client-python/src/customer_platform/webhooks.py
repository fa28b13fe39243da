"""Verification of webhook deliveries, by Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from ._responses import event, parsed
from .errors import CustomerPlatformError
from .events import Event

WebhookFault = Literal[
    "missing_header", "malformed_header", "timestamp_too_old", "timestamp_too_new", "wrong_signature", "malformed_body"
]


class HasItems(Protocol):
    """Headers as frameworks have them: Flask, Django, Starlette, FastAPI, aiohttp, or a dict."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Pairs of a name and a value."""


Headers = HasItems | Mapping[str, Sequence[str]] | Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]]
"""Headers of a request: an object with `items()`, or pairs. Names count in any case."""


class WebhookVerificationError(CustomerPlatformError):
    """A request that is no delivery of the platform: respond with 400 or 401, and do nothing else."""

    reason: WebhookFault
    """Why it is none."""

    def __init__(self, reason: WebhookFault, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


def verify_webhook(
    headers: Headers,
    body: bytes | str,
    secret: str | Sequence[str],
    tolerance: float = 300,
    *,
    now: float | None = None,
) -> Event:
    """
    Returns the event of a delivery, after its signature was verified. Events may come more than once: `event.id` is the
    same each time.

    Args:
        headers: Headers of the request.
        body: Body of the request exactly as it was received: parsing it and writing it again changes it.
        secret: The endpoint's `whsec_…`, or several while a rotation's overlap lasts.
        tolerance: Seconds by which the delivery's time may differ from this machine's, before and after.
        now: The time in Unix seconds, for tests. Default: this machine's.

    Raises:
        WebhookVerificationError: The request is no delivery of the platform.
        ValueError: A secret is missing or is none.
        TypeError: The body is neither bytes nor text.
    """
    identifier, timestamp = _header(headers, "webhook-id"), _header(headers, "webhook-timestamp")
    signatures = _signatures(_header(headers, "webhook-signature"))
    _require_recent(timestamp, time.time() if now is None else now, tolerance)
    expected = [_signature(key, identifier, timestamp, _bytes(body)) for key in _keys(secret)]
    # Each is compared with each, so that the time tells nothing of which one matches.
    matches = [hmac.compare_digest(one, other) for one in expected for other in signatures]
    if not any(matches):
        raise WebhookVerificationError("wrong_signature", "No signature is of this body with one of the secrets")
    try:
        return parsed(body, event)
    except ValueError as error:
        raise WebhookVerificationError("malformed_body", f"The body is signed, but is {error}") from None


def sign_webhook(body: bytes | str, secret: str, *, id: str, timestamp: float | None = None) -> dict[str, str]:
    """
    Returns the headers of a delivery as the platform sends them, for tests of your own receiver.

    Args:
        body: Body of the delivery.
        secret: The endpoint's `whsec_…`.
        id: Id of the event.
        timestamp: Time of the try in Unix seconds. Default: now.

    Raises:
        ValueError: The secret is missing or is none.
    """
    seconds = str(int(time.time() if timestamp is None else timestamp))
    signature = base64.b64encode(_signature(_keys(secret)[0], id, seconds, _bytes(body))).decode()
    return {"webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": f"v1,{signature}"}


def _header(headers: Headers, name: str) -> str:
    pairs = headers if isinstance(headers, Sequence) else headers.items()
    values: list[str] = []
    for each, value in pairs:
        if _text(each).lower() == name and value is not None:
            values.extend([_text(value)] if isinstance(value, (str, bytes)) else map(_text, value))
    if not values:
        raise WebhookVerificationError("missing_header", f"The header {name} is missing")
    # A list of signatures may come as several headers; one id or time may not.
    return (" " if name == "webhook-signature" else ", ").join(values)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _signatures(header: str) -> list[bytes]:
    """The signatures of a list that spaces separate, or commas where there were several headers."""
    found = (_decoded(each) for each in re.findall(r"(?:^|[ ,])v1,([A-Za-z0-9+/=]+)", header))
    return [each for each in found if each]


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _require_recent(timestamp: str, now: float, tolerance: float) -> None:
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        message = "The header webhook-timestamp must be a time in Unix seconds"
        raise WebhookVerificationError("malformed_header", message)
    age = int(now) - int(timestamp)
    if age > tolerance:
        raise WebhookVerificationError("timestamp_too_old", f"The delivery was sent {age} seconds ago")
    if age < -tolerance:
        raise WebhookVerificationError("timestamp_too_new", f"The delivery was sent {-age} seconds ahead of this clock")


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret or [])
    # An environment variable that is not set, most often.
    if not secrets or not all(secrets):
        raise ValueError("The secret is missing: give the whsec_… that the endpoint was created with")
    keys = [_decoded(each.removeprefix("whsec_")) for each in secrets]
    valid = [each for each in keys if each]
    if len(valid) != len(keys):
        # The secret itself belongs into no log.
        raise ValueError("A secret must be whsec_ and base64, as the endpoint was created with")
    return valid


def _signature(key: bytes, identifier: str, timestamp: str, body: bytes) -> bytes:
    return hmac.new(key, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256).digest()


def _bytes(body: bytes | str) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    # A framework that has parsed it, which is the usual mistake: nothing signed is left of it.
    raise TypeError("body must be the body of the request as it was received, as bytes or text: not parsed")
