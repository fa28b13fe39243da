"""Verification of deliveries."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from customer_platform import WebhookVerificationError, events, sign_webhook, verify_webhook
from customer_platform.webhooks import Headers

from .samples import EVENT


def secret_of(seed: int) -> str:
    return "whsec_" + base64.b64encode(bytes([seed]) * 32).decode()


SECRET, OTHER = secret_of(1), secret_of(2)
ID = EVENT["id"]
BODY = json.dumps(EVENT, ensure_ascii=False)
NOW = int(time.time())


def signed(body: str = BODY, *secrets: str) -> dict[str, str]:
    each = [sign_webhook(body, secret, id=ID, timestamp=NOW) for secret in secrets or [SECRET]]
    return {**each[0], "webhook-signature": " ".join(one["webhook-signature"] for one in each)}


def fault_of(headers: dict[str, str], body: str = BODY, now: float = NOW) -> str:
    with pytest.raises(WebhookVerificationError) as caught:
        verify_webhook(headers, body, SECRET, now=now)
    return caught.value.reason


def test_a_signature_is_that_of_the_reference_library() -> None:
    # Signed by standardwebhooks 1.1.1 for JavaScript.
    headers = sign_webhook('{"a":"é"}', SECRET, id="msg_1", timestamp=1_700_000_000)
    assert headers == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": "v1,iNPUmk5P8d/LYhZtYkc3rAouhw5K+TPGhW6pHkDBHn4=",
    }


def test_a_delivery_is_an_event_of_its_kind_as_text_and_as_bytes() -> None:
    for body in (BODY, BODY.encode(), bytearray(BODY.encode())):
        event = verify_webhook(signed(), bytes(body) if isinstance(body, bytearray) else body, SECRET)
        assert isinstance(event, events.ContactCreatedEvent)
        assert event.data.contact.name == "Zoë 😀"
        assert event.sequence is None


def test_a_kind_that_is_newer_than_the_client_is_a_generic_event() -> None:
    body = json.dumps({**EVENT, "type": "order.returned", "data": {"order": {"number": 7}}})
    event = verify_webhook(signed(body), body, SECRET)
    assert isinstance(event, events.GenericEvent)
    assert (event.type, event.data["order"]) == ("order.returned", {"number": 7})


@pytest.mark.parametrize("parsed", [EVENT, None, [1], 5])
def test_a_body_that_was_parsed_is_refused(parsed: Any) -> None:
    with pytest.raises(TypeError, match=r"^body must be the request's raw body as bytes or str"):
        verify_webhook(signed(), parsed, SECRET)


def test_either_secret_verifies_while_both_sign_and_any_of_several() -> None:
    verify_webhook(signed(BODY, OTHER, SECRET), BODY, SECRET)
    verify_webhook(signed(), BODY, [OTHER, SECRET])
    verify_webhook({**signed(), "webhook-signature": f"v1a,AAAA v2,x {signed()['webhook-signature']}"}, BODY, SECRET)
    verify_webhook(signed(), BODY, SECRET.removeprefix("whsec_"))


def test_headers_are_taken_in_each_form() -> None:
    headers = signed()
    pairs = [*headers.items()]
    signature = headers["webhook-signature"]
    forms: list[Headers] = [
        headers,
        pairs,
        [(name.encode(), value.encode()) for name, value in pairs],
        {name.upper(): value for name, value in pairs},
        {name: [value] for name, value in pairs},
        {**{name: [value] for name, value in pairs}, "webhook-signature": ["v1,AAAA", signature]},
        {**headers, "webhook-signature": f"v1,AAAA, {signature}"},
    ]
    for form in forms:
        verify_webhook(form, BODY, SECRET)


def test_a_delivery_with_another_body_secret_id_time_or_signature_is_refused() -> None:
    assert fault_of(signed(), BODY.replace("Zoë", "Zoe")) == "wrong_signature"
    assert fault_of(signed(), json.dumps(EVENT, indent=1)) == "wrong_signature"
    assert fault_of(signed(BODY, OTHER)) == "wrong_signature"
    assert fault_of({**signed(), "webhook-id": "another"}) == "wrong_signature"
    assert fault_of({**signed(), "webhook-timestamp": str(NOW + 1)}) == "wrong_signature"
    signature = signed()["webhook-signature"]
    for each in ("", "v1,", "v1,AAAA", "v1,***", "v1,A", signature.replace("v1", "v2")):
        assert fault_of({**signed(), "webhook-signature": each}) == "wrong_signature"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_delivery_without_one_of_the_headers_is_refused(name: str) -> None:
    headers = signed()
    del headers[name]
    assert fault_of(headers) == "missing_header"


@pytest.mark.parametrize("timestamp", ["", "now", "1.5", "-1", "1e9", "9" * 40])
def test_a_time_that_is_none_is_refused(timestamp: str) -> None:
    assert fault_of({**signed(), "webhook-timestamp": timestamp}) == "malformed_header"


def test_a_delivery_more_than_five_minutes_from_its_time_is_refused() -> None:
    for now in (NOW + 300, NOW - 300):
        verify_webhook(signed(), BODY, SECRET, now=now)
    assert fault_of(signed(), now=NOW + 301) == "timestamp_too_old"
    assert fault_of(signed(), now=NOW - 301) == "timestamp_too_new"
    verify_webhook(signed(), BODY, SECRET, 600, now=NOW + 500)


@pytest.mark.parametrize("body", ["", "hello", "null", "[]", '{"type":1}', '{"type":"contact.created"}'])
def test_what_is_signed_and_no_event_is_refused(body: str) -> None:
    assert fault_of(signed(body), body) == "malformed_body"


@pytest.mark.parametrize("secret", ["", [], ["", SECRET], None])
def test_a_missing_secret_is_said_to_be_missing(secret: Any) -> None:
    with pytest.raises(ValueError, match="The secret is missing"):
        verify_webhook(signed(), BODY, secret)


@pytest.mark.parametrize("secret", ["whsec_", "whsec_not base64"])
def test_a_secret_that_is_none_is_not_told(secret: str) -> None:
    with pytest.raises(ValueError, match="A secret must be whsec_ and base64") as caught:
        verify_webhook(signed(), BODY, secret)
    assert "not base64" not in str(caught.value)
