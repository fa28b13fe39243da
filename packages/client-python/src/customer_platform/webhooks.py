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
    """Headers of Flask, Django, Starlette, FastAPI, aiohttp, or a dict."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Pairs of name and value."""


Headers = HasItems | Mapping[str, Sequence[str]] | Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]]
"""A request's headers: an object with `items()`, or pairs. Names are case-insensitive."""


class WebhookVerificationError(CustomerPlatformError):
    """The request is not a delivery of the platform. Respond with 400 or 401, and do nothing else."""

    reason: WebhookFault
    """Why the request is not a delivery."""

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
    Verifies a delivery's signature and returns its event. An event may arrive more than once, each time with the same
    `event.id`.

    Args:
        headers: Headers of the request.
        body: The request's raw body. Parsing and serializing it changes the bytes.
        secret: The endpoint's `whsec_…`, or both secrets during a rotation's overlap.
        tolerance: Seconds by which the delivery's time may differ from the local clock, in either direction.
        now: The time in Unix seconds, for tests. Default: the local clock.

    Raises:
        WebhookVerificationError: The request is not a delivery of the platform.
        ValueError: A secret is missing or malformed.
        TypeError: The body is not bytes or str.
    """
    identifier, timestamp = _header(headers, "webhook-id"), _header(headers, "webhook-timestamp")
    signatures = _signatures(_header(headers, "webhook-signature"))
    _require_recent(timestamp, time.time() if now is None else now, tolerance)
    expected = [_signature(key, identifier, timestamp, _bytes(body)) for key in _keys(secret)]
    # Compare all pairs, so that the time does not reveal which one matches.
    matches = [hmac.compare_digest(one, other) for one in expected for other in signatures]
    if not any(matches):
        raise WebhookVerificationError("wrong_signature", "No signature matches this body and one of the secrets")
    try:
        return parsed(body, event)
    except ValueError as error:
        raise WebhookVerificationError("malformed_body", f"The body is signed, but is not an event: {error}") from None


def sign_webhook(body: bytes | str, secret: str, *, id: str, timestamp: float | None = None) -> dict[str, str]:
    """
    Returns a delivery's headers as the platform sends them, to test your receiver.

    Args:
        body: Body of the delivery.
        secret: The endpoint's `whsec_…`.
        id: Id of the event.
        timestamp: Time of the attempt in Unix seconds. Default: now.

    Raises:
        ValueError: The secret is missing or malformed.
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
    # Several signature headers make one list. Several ids or timestamps are malformed.
    return (" " if name == "webhook-signature" else ", ").join(values)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _signatures(header: str) -> list[bytes]:
    """The signatures of a list, separated by spaces, or by commas if there were several headers."""
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
    # Usually an unset environment variable.
    if not secrets or not all(secrets):
        raise ValueError("The secret is missing: pass the whsec_… that the endpoint's creation returned")
    keys = [_decoded(each.removeprefix("whsec_")) for each in secrets]
    valid = [each for each in keys if each]
    if len(valid) != len(keys):
        # The message must not contain the secret, since it may be logged.
        raise ValueError("A secret must be whsec_ and base64, as the endpoint's creation returned it")
    return valid


def _signature(key: bytes, identifier: str, timestamp: str, body: bytes) -> bytes:
    return hmac.new(key, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256).digest()


def _bytes(body: bytes | str) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    # Usually a framework has parsed the body, so the signed bytes are lost.
    raise TypeError("body must be the request's raw body as bytes or str, not parsed")
